"""From weights between pieces to weights between words, with numbers worked by hand."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from saccade.align.attention import AlignmentHead, PairAttention, SegmentedText
from saccade.data import TextPair
from saccade.data.batching import Batch
from saccade.decode import Translator
from saccade.errors import UserError
from saccade.models import Seq2Seq
from saccade.text import Vocabularies

SOURCE, TARGET = "extraordinarily black", "看见 chat"


def segments(vocabularies: Vocabularies) -> tuple[SegmentedText, SegmentedText]:
    source = SegmentedText.from_text(SOURCE, vocabularies.source)
    ids = vocabularies.target.encode(TARGET)
    return source, SegmentedText.from_ids(ids, vocabularies.target)


def test_segmented_text_has_tokens_and_words(vocabularies: Vocabularies, pairs: list[TextPair]) -> None:
    source, target = segments(vocabularies)
    assert source.words == ("extraordinarily", "black")
    assert target.words == ("看", "见", "chat")
    assert len(source.ids) == len(source.tokens) == len(source.spans) > 2
    assert (0, 2) in target.spans  # one piece, two words
    for pair in pairs:  # what was cut into pieces and what was put together from them agree
        ids = vocabularies.target.encode(pair.target)
        again = SegmentedText.from_ids(ids, vocabularies.target)
        assert again == SegmentedText.from_text(pair.target, vocabularies.target)


def test_words_get_the_sum_over_source_tokens_and_the_mean_over_target_tokens(vocabularies: Vocabularies) -> None:
    source, target = segments(vocabularies)
    first = [place for place, span in enumerate(source.spans) if span == (0, 1)]
    reading = np.zeros((2, len(target.ids) + 1, len(source.ids) + 1), np.float32)
    reading[0, :, first] = 0.6 / len(first)  # head 0 reads 0.6 of the long word in all
    reading[0, :, -1] = 0.4  # and 0.4 of the end, which is no word
    reading[1, :, -2] = 1.0  # head 1 reads the last piece of "black"
    found = PairAttention.from_batch(
        source, target, [reading], default_head=AlignmentHead(shift=0), tokeniser=vocabularies.source
    )
    assert found.words(head=0) == pytest.approx(np.array([[0.6, 0.0]] * 3))
    assert found.words(head=1) == pytest.approx(np.array([[0.0, 1.0]] * 3))
    assert found.words() == pytest.approx(np.array([[0.3, 0.5]] * 3))
    assert found.alignment(head=0) == {(0, 0), (0, 1), (0, 2)}
    assert found.alignment() == {(1, 0), (1, 1), (1, 2)}
    assert found.source_tokens == (*source.tokens, "</s>")


def test_the_shift_selects_the_step_that_aligns(vocabularies: Vocabularies) -> None:
    source, target = segments(vocabularies)
    steps = len(target.ids) + 3  # padded
    reading = np.arange(steps, dtype=np.float32)[None, :, None].repeat(len(source.ids) + 5, 2)
    for shift in (0, 1):
        pieces = PairAttention.from_batch(
            source, target, [reading], default_head=AlignmentHead(shift=shift), tokeniser=vocabularies.source
        ).token_weights()
        assert pieces.shape == (1, len(target.ids), len(source.ids) + 1)
        assert pieces[0, :, 0].tolist() == [step + shift for step in range(len(target.ids))]


@pytest.mark.parametrize(
    ("name", "shift"),
    [("bahdanau2014", 0), ("luong2015", 0), ("gehring2017", 0), ("russin2019", 0), ("wu2019", 0), ("vaswani2017", 1)],
)
def test_a_token_is_aligned_by_the_step_of_its_model(
    name: str, shift: int, untrained: Callable[..., Seq2Seq[Any, Any]], vocabularies: Vocabularies
) -> None:
    """A Transformer aligns the token that it has just read (shift 1), a recurrent model the next (shift 0)."""
    model = untrained(name)
    (found,) = Translator(model, vocabularies, "cpu").attend([SOURCE], [TARGET])
    batch = Batch.of([found.source.ids], [found.target.ids], [0])
    with torch.no_grad(), model.trace() as trace:
        model(batch.source, batch.source_readable, batch.target_in)
    (weights,) = trace[model.cross[0]]  # (H, T + 1, S + 1)
    assert model.alignment_shift == shift
    np.testing.assert_allclose(
        found.token_weights(0), weights[:, shift : shift + len(found.target.ids)].numpy(), atol=1e-5
    )


def test_the_last_layer_but_one_is_the_default(vocabularies: Vocabularies) -> None:
    source, target = segments(vocabularies)
    readings = [np.full((1, len(target.ids) + 1, len(source.ids) + 1), n, np.float32) for n in range(3)]
    for count, default in ((1, 0), (2, 0), (3, 1)):
        found = PairAttention.from_batch(
            source, target, readings[:count], default_head=AlignmentHead(shift=0), tokeniser=vocabularies.source
        )
        assert found.token_weights()[0, 0, 0] == default
        assert found.token_weights(-1)[0, 0, 0] == found.token_weights(count - 1)[0, 0, 0] == count - 1
    for layer, head in ((3, None), (-4, None), (0, 1)):
        with pytest.raises(UserError, match="does not exist"):
            found.words(layer, head)


def test_tokens_are_the_unit_of_single_words(vocabularies: Vocabularies) -> None:
    source, target = (
        SegmentedText.from_text("extraordinarily", vocabularies.source),
        SegmentedText.from_text("chat", vocabularies.target),
    )
    reading = np.zeros((1, len(target.ids) + 1, len(source.ids) + 1), np.float32)
    reading[0, :, 1] = 0.75
    reading[0, :, -1] = 0.25  # of the end, which is no piece of the text
    found = PairAttention.from_batch(
        source, target, [reading], default_head=AlignmentHead(shift=0), tokeniser=vocabularies.source
    )
    assert found.unit() == "piece" and found.unit("word") == "word"
    assert found.units() == (source.tokens, target.tokens)
    assert found.weights() == pytest.approx(reading[0, :-1, :-1])
    assert found.alignment() == {(1, row) for row in range(len(target.ids))}
    assert found.weights(by="word").tolist() == found.words().tolist() == [[0.75]]
    assert found.alignment(by="word") == {(0, 0)}


def test_tokens_written_from_right_to_left_are_in_the_order_of_the_text(
    vocabularies: Vocabularies,
) -> None:
    turned = vocabularies.target.reversed()
    text = SegmentedText.from_text("le chat noir", turned)
    assert (
        text.units("piece") == SegmentedText.from_text("le chat noir", vocabularies.target).tokens == text.tokens[::-1]
    )
    source = SegmentedText.from_text("the cat", vocabularies.source)
    reading = np.zeros((1, len(text.ids) + 1, len(source.ids) + 1), np.float32)
    reading[0, 0, 0] = 1.0  # what is written first stands last
    found = PairAttention.from_batch(
        source, text, [reading], default_head=AlignmentHead(shift=0), tokeniser=vocabularies.source
    )
    assert found.alignment(by="piece") == {(0, len(text.ids) - 1)}
