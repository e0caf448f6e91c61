"""What the recurrent models do beyond the laws and the equations."""

import pytest
import torch
from model_cases import Case, build, sentences

from saccade.config import from_dict
from saccade.decode.options import Search
from saccade.decode.search.loop import run_search
from saccade.errors import UserError
from saccade.models import MODELS
from saccade.text import EOS


@pytest.mark.parametrize("how", [Search(), Search(beam=3, length_penalty=0.0), Search(beam=3, length_penalty=3.0)])
def test_aligned_rnn_ends_with_its_source(how: Search) -> None:
    model = build(Case("aligned-rnn", {"feedback": True}))
    source, readable, _ = sentences()
    source = source.where(readable, 0).masked_fill(source == EOS, 4)
    for hypotheses, length in zip(run_search(model, source, readable, how), readable.sum(1).tolist(), strict=True):
        assert hypotheses[0].ended and len(hypotheses[0].tokens) <= length


def test_aligned_rnn_sees_the_words_so_far_or_all_if_bidirectional() -> None:
    source, readable, target = sentences()
    other = source.clone()
    other[1, 3] = (source[1, 3] + 1) % 11
    for bidirectional in (False, True):
        model = build(Case("aligned-rnn", {"bidirectional": bidirectional}))
        same = torch.isclose(model(source, readable, target)[1], model(other, readable, target)[1]).all(-1)
        assert same.tolist() == [not bidirectional] * 3 + [False]


def test_syntax_is_read_by_the_mean_of_several_heads_weights() -> None:
    """Of russin2019, whose semantics each head reads for itself: c_i = Σ_j (1/H Σ_h a_ijh) h_j."""
    model = build(Case("russin2019", {"attention": "vaswani2017"}))
    source, readable, _ = sentences()
    fixed, moving = model.start(source, readable)
    with torch.no_grad(), model.trace() as trace:
        _, read, _ = model.decoder.step(None, 0, fixed, moving)
    weights = trace["decoder.attention"][:, :, 0]  # (B, H, S)
    assert weights.shape[1] > 1 and not torch.allclose(weights[:, 0], weights[:, 1])
    expected = sum(head[:, None] @ fixed.syntax for head in weights.unbind(1)) / weights.shape[1]
    torch.testing.assert_close(read, expected.squeeze(1))
    torch.testing.assert_close(weights.sum(-1), torch.ones_like(weights[..., 0]))


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("kalchbrenner2013", {"widest": 1}, "model.widest: 1 given, expected a whole number from 2"),
        ("luong2015", {"hidden": 7, "bidirectional": True}, "model: hidden must be even, since .* got 7"),
        ("sutskever2014", {"first": "zero"}, 'model.first: "zero" given, expected "last" or "mean"'),
        ("cho2014", {"cell": "rnn"}, 'model.cell: "rnn" given, expected "tanh" or "gru" or "lstm"'),
    ],
)
def test_impossible_settings_are_refused(name: str, settings: dict[str, object], message: str) -> None:
    with pytest.raises(UserError, match=f"recipe.toml: {message}"):
        from_dict(MODELS[name].config_type, settings, "recipe.toml", "model")
