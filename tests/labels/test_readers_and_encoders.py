"""Laws of every encoder and reader: padding and other texts change nothing, and no word is read that is not there."""

import pytest
import torch

from saccade.attention.table import ATTENTIONS, AttentionError
from saccade.errors import UserError
from saccade.labels.encoders import ENCODERS
from saccade.labels.networks import TextClassifier, WordTagger
from saccade.labels.readers import READERS, build_reader
from saccade.labels.settings import LabelConfig

WIDTH = 8
# A query before the text may not read it, or only the words near it, or would have to learn by REINFORCE.
NO_READERS = {
    *("vaswani2017-causal", "press2022", "liu2018", "beltagy2020", "xu2015"),
    *(f"luong2015-local-m-{scoring}" for scoring in ("dot", "general", "concat", "location")),
}


def config(**changes: object) -> LabelConfig:
    settings = {"embedding": 6, "width": WIDTH, "hops": 3, "hop_width": 5, "hidden": 7, "heads": 2, "dropout": 0.0}
    return LabelConfig(**(settings | changes))  # type: ignore[arg-type]


def texts() -> tuple[torch.Tensor, torch.Tensor]:
    """Three texts of 5, 3 and 1 tokens, padded to 7 places"""
    lengths, generator = torch.tensor([5, 3, 1]), torch.Generator().manual_seed(1)
    readable = torch.arange(7) < lengths[:, None]
    return torch.randint(4, 20, (3, 7), generator=generator) * readable, readable


@pytest.mark.parametrize("encoder", ENCODERS)
@pytest.mark.parametrize("reader", [*READERS, "bahdanau2014", "vaswani2017"])
def test_padding_and_other_texts_change_nothing(encoder: str, reader: str) -> None:
    torch.manual_seed(1)
    model = TextClassifier(config(encoder=encoder, reader=reader, layers=2), 20, 4).eval()
    ids, readable = texts()
    together = model(ids, readable)
    assert together.logits.shape == (3, 4)
    for row, length in enumerate((5, 3, 1)):
        alone = model(ids[row : row + 1, :length], readable[row : row + 1, :length])
        torch.testing.assert_close(alone.logits[0], together.logits[row])
        if together.weights is not None:
            torch.testing.assert_close(alone.weights[0], together.weights[row, :, :length])
            assert (together.weights[row, :, length:] == 0).all()
    together.logits.sum().backward()
    assert all(p.grad is not None and torch.isfinite(p.grad).all() for p in model.parameters() if p.requires_grad)


@pytest.mark.parametrize("encoder", ENCODERS)
def test_a_tag_does_not_depend_on_padding_or_other_texts(encoder: str) -> None:
    torch.manual_seed(1)
    model = WordTagger(config(encoder=encoder, reader=None, layers=2), 20, 4).eval()
    ids, readable = texts()
    together = model(ids, readable).logits
    for row, length in enumerate((5, 3, 1)):
        alone = model(ids[row : row + 1, :length], readable[row : row + 1, :length]).logits
        torch.testing.assert_close(alone[0], together[row, :length])


def test_the_tag_of_a_word_depends_on_the_words_after_it() -> None:
    torch.manual_seed(1)
    ids, readable = torch.tensor([[5, 6, 7], [5, 6, 8]]), torch.ones(2, 3, dtype=torch.bool)
    for encoder in ENCODERS:
        logits = WordTagger(config(encoder=encoder, reader=None), 20, 4).eval()(ids, readable).logits
        differs = (logits[0] - logits[1]).abs().amax(-1) > 1e-6
        alone = [False, False, True]
        expected = {"words": alone, "cheng2016": alone, "convolution": [False, True, True]}  # a kernel of 3 places
        assert differs.tolist() == expected.get(encoder, [True, True, True]), encoder


@pytest.mark.parametrize("name", ATTENTIONS)
def test_every_attention_reads_a_text_or_gives_its_reason(name: str) -> None:
    torch.manual_seed(1)
    if name in NO_READERS:
        with pytest.raises(AttentionError, match="as a reader, choose lin2017 or another attention"):
            build_reader(config(reader=name))
        return
    reader = build_reader(config(reader=name)).eval()
    annotations, readable = torch.randn(3, 7, WIDTH), texts()[1]
    vector, weights, penalty = reader(annotations, readable)
    assert vector.shape == (3, reader.size) and penalty is None
    assert weights is not None and weights.shape[::2] == (3, 7) and (weights[0, :, 5:] == 0).all()
    changed = torch.where(readable[..., None], annotations, torch.nan)
    torch.testing.assert_close(reader(changed, readable).vector, vector)


def test_readers_without_attention_by_hand() -> None:
    annotations = torch.tensor([[[1.0, 2.0], [3.0, 6.0], [50.0, 50.0]]])
    readable = torch.tensor([[True, True, False]])
    assert build_reader(config(reader="mean"))(annotations, readable).vector.tolist() == [[2, 4]]
    assert build_reader(config(reader="last"))(annotations, readable).vector.tolist() == [[3, 6, 1, 2]]
    nothing = torch.zeros(1, 3, dtype=torch.bool)
    for reader in READERS:
        assert torch.isfinite(build_reader(config(reader=reader))(torch.ones(1, 3, WIDTH), nothing).vector).all()


def test_wrong_names_and_sizes_say_what_to_type() -> None:
    with pytest.raises(UserError, match=r"there is no reader 'lin217'; did you mean 'lin2017'\?"):
        build_reader(config(reader="lin217"))
    with pytest.raises(UserError, match=r"model.reader: none; a classifier needs one, such as lin2017"):
        build_reader(config(reader=None))
    with pytest.raises(UserError, match=r"there is no encoder 'recurent'; did you mean 'recurrent'\?"):
        TextClassifier(config(encoder="recurent"), 20, 2)
    with pytest.raises(ValueError, match="width must be even for two directions"):
        config(width=7)
    with pytest.raises(ValueError, match="width must be a multiple of the 3 heads, got 8"):
        config(encoder="transformer", heads=3)
