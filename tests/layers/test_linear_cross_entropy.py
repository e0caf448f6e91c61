"""The output layer with its cross-entropy in chunks equals both of them apart, in values and in gradients."""

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.nn.utils.parametrizations import weight_norm

from saccade.layers import linear_cross_entropy as chunks
from saccade.layers.linear_cross_entropy import linear_cross_entropy, why_not_chunked

PAD, D, V = 0, 3, 5


def plainly(features: Tensor, output: nn.Linear, wanted: Tensor, smoothing: float) -> tuple[Tensor, Tensor]:
    logits, ids = output(features).flatten(0, -2), wanted.flatten()
    plain = F.cross_entropy(logits, ids, ignore_index=PAD, reduction="sum")
    return F.cross_entropy(logits, ids, ignore_index=PAD, reduction="sum", label_smoothing=smoothing), plain


def output_layer(kind: str) -> nn.Linear:
    layer = nn.Linear(D, V, bias=kind != "without bias", dtype=torch.float64)
    return weight_norm(layer) if kind == "normalised" else layer  # type: ignore[return-value]


@settings(deadline=None, max_examples=60)
@given(
    rows=st.lists(st.lists(st.integers(0, V - 1), min_size=3, max_size=3), max_size=5),
    at_once=st.integers(1, 60),
    smoothing=st.sampled_from([0.0, 0.1, 1.0]),
    kind=st.sampled_from(["with bias", "without bias", "normalised"]),
)
def test_chunks_equal_all_logits_at_once(rows: list[list[int]], at_once: int, smoothing: float, kind: str) -> None:
    torch.manual_seed(1)
    wanted, layer = torch.tensor(rows, dtype=torch.long).reshape(len(rows), 3), output_layer(kind)
    features = torch.randn(len(rows), 3, D, dtype=torch.float64, requires_grad=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chunks, "_LOGITS_AT_ONCE", at_once)
        loss, plain = linear_cross_entropy(features, layer, wanted, ignored=PAD, smoothing=smoothing)
    expected, expected_plain = plainly(features, layer, wanted, smoothing)
    torch.testing.assert_close((loss, plain), (expected, expected_plain))
    assert not plain.requires_grad
    learnt = [features, *layer.parameters()]
    torch.testing.assert_close(torch.autograd.grad(3 * loss, learnt), torch.autograd.grad(3 * expected, learnt))


def test_gradients_are_the_derivatives() -> None:
    torch.manual_seed(1)
    layer, wanted = output_layer("with bias"), torch.tensor([1, 4, PAD, 2])

    def loss(features: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        applied: Any = chunks._ChunkedCrossEntropy.apply(features, weight, bias, wanted, PAD, 0.1)
        return applied[0]

    features = torch.randn(4, D, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(loss, (features, layer.weight, layer.bias))


def test_an_impossible_word_has_a_large_finite_loss() -> None:
    """Its probability underflows to 0, whose logarithm would be infinite."""
    layer = nn.Linear(1, 2, bias=False)
    with torch.no_grad():
        layer.weight.copy_(torch.tensor([[1000.0], [0.0]]))
    loss, plain = linear_cross_entropy(torch.ones(1, 1), layer, torch.tensor([1]), ignored=-1)
    assert loss.item() == plain.item() == 1000.0


def test_nothing_is_kept_where_no_gradient_is_needed() -> None:
    layer = nn.Linear(D, V)
    with torch.no_grad():
        loss, plain = linear_cross_entropy(torch.randn(4, D), layer, torch.ones(4, dtype=torch.long), ignored=PAD)
    assert loss.grad_fn is None
    torch.testing.assert_close(loss, plain)


def test_backward_may_run_twice() -> None:
    layer, features = nn.Linear(D, V), torch.randn(4, D)
    loss, _ = linear_cross_entropy(features, layer, torch.ones(4, dtype=torch.long), ignored=PAD)
    loss.backward(retain_graph=True)  # type: ignore[no-untyped-call]
    assert layer.weight.grad is not None
    once = layer.weight.grad.clone()
    loss.backward()  # type: ignore[no-untyped-call]
    torch.testing.assert_close(layer.weight.grad, 2 * once)


def test_mixed_precision_takes_the_plain_path_and_gives_the_reason() -> None:
    layer, features, wanted = nn.Linear(D, V), torch.randn(4, D), torch.tensor([1, 2, PAD, 4])
    assert why_not_chunked(features) is None
    exact, _ = linear_cross_entropy(features, layer, wanted, ignored=PAD, smoothing=0.1)
    with torch.autocast("cpu", torch.bfloat16):
        assert why_not_chunked(features) == "the precision is mixed"
        loss, plain = linear_cross_entropy(features, layer, wanted, ignored=PAD, smoothing=0.1)
    assert loss.dtype == plain.dtype == torch.float32
    torch.testing.assert_close(loss, exact, rtol=0.05, atol=0.05)
    assert "meta" in str(why_not_chunked(features.to("meta")))
