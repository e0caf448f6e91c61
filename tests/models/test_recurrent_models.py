"""What the recurrent models do beyond the laws and the equations."""

from typing import Any

import pytest
import torch
from model_cases import Case, build, sentences
from torch import Tensor

from saccade.attention import steps
from saccade.config import from_dict
from saccade.decode.options import Search
from saccade.decode.search.loop import run_search
from saccade.errors import UserError
from saccade.layers import recurrent, scan
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


FUSED = [
    Case("bahdanau2014"),
    Case("bahdanau2014", {"decoder": "conditional", "cell": "lstm"}),
    Case("bahdanau2014", {"attention": "tu2016"}),  # no kernel for its score
    Case("luong2015", {"layers": 2, "bidirectional": True, "first": "mean"}),
    Case("luong2015", {"cell": "gru", "attention": "luong2015-local-p-general"}),
    Case("luong2015", {"cell": "tanh"}),
    Case("russin2019", {"feedback": True}),
    Case("sutskever2014"),
]


def compute_gradients(case: Case, device: str) -> list[Tensor | None]:
    model = build(case).float().to(device)
    source, readable, target = (tensor.to(device) for tensor in sentences())
    logits = model(source, readable, target)
    direction = torch.linspace(-1, 1, logits.numel(), device=device).view_as(logits)
    learnt = [parameter for parameter in model.parameters() if parameter.requires_grad]
    return [logits, *torch.autograd.grad(logits, learnt, direction, allow_unused=True)]


def choose_kernels(patch: pytest.MonkeyPatch, *, fused: bool) -> None:
    """Fused ones wherever CUDA would have them, or none"""
    on_cuda: Any = type("OnCuda", (), {"is_cuda": True, "dtype": torch.float32})()
    why_not_fused, why_not_stepped = scan.why_not_fused, steps.why_not_stepped
    for module in (scan, recurrent):
        patch.setattr(module, "why_not_fused", lambda kind, _: why_not_fused(kind, on_cuda) if fused else "the test")
    patch.setattr(steps, "why_not_stepped", lambda part, _: why_not_stepped(part, on_cuda) if fused else "the test")


@pytest.mark.gpu
@pytest.mark.parametrize("case", FUSED, ids=str)
def test_fused_kernels_learn_what_plain_ones_learn(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    fused = compute_gradients(case, "cuda")
    choose_kernels(monkeypatch, fused=False)
    torch.testing.assert_close(fused, compute_gradients(case, "cuda"), rtol=1e-3, atol=1e-4)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of the interpreter
@pytest.mark.parametrize("case", FUSED, ids=str)
def test_interpreted_kernels_learn_what_plain_ones_learn(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    """With triton, and TRITON_INTERPRET=1 in the environment, the kernels run on a CPU."""
    triton = pytest.importorskip("triton")
    if not triton.knobs.runtime.interpret:
        pytest.skip("the kernels are compiled")
    choose_kernels(monkeypatch, fused=True)
    fused = compute_gradients(case, "cpu")
    choose_kernels(monkeypatch, fused=False)
    torch.testing.assert_close(fused, compute_gradients(case, "cpu"), rtol=1e-4, atol=2e-5)


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
