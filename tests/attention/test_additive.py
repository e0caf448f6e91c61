"""The additive score on a CPU equals the plain one, in values and in gradients."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from saccade.attention import Additive, Memory, additive
from saccade.attention.additive import score_additively, why_not_additive_on_cpu


def plainly(queries: Tensor, keys: Tensor, v: Tensor) -> Tensor:
    hidden = torch.tanh(queries[:, :, :, None] + keys[:, :, None])
    return (hidden * v[:, None, None]).sum(-1)


def drawn(*shape: int) -> Tensor:
    return torch.randn(shape, dtype=torch.float64, requires_grad=True)


@settings(deadline=None, max_examples=40)
@given(
    sentences=st.integers(0, 3),
    heads=st.integers(1, 3),
    shares_v=st.booleans(),
    count=st.integers(1, 3),
    slots=st.integers(1, 4),
    at_once=st.integers(1, 100),
)
def test_it_equals_the_plain_score(
    sentences: int, heads: int, shares_v: bool, count: int, slots: int, at_once: int
) -> None:
    torch.manual_seed(1)
    inputs = drawn(sentences, heads, count, 5), drawn(sentences, heads, slots, 5), drawn(1 if shares_v else heads, 5)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(additive, "_HIDDEN_AT_ONCE", at_once)
        scores, expected = score_additively(*inputs), plainly(*inputs)
        torch.testing.assert_close(scores, expected)
        direction = torch.randn_like(scores)
        gradients = torch.autograd.grad(scores, inputs, direction)
    torch.testing.assert_close(gradients, torch.autograd.grad(expected, inputs, direction))


def test_gradients_are_the_derivatives() -> None:
    torch.manual_seed(1)
    assert torch.autograd.gradcheck(score_additively, (drawn(2, 2, 2, 3), drawn(2, 2, 3, 3), drawn(2, 3)))


def test_large_sums_saturate_as_a_tanh_does() -> None:
    huge = torch.tensor([[[[1e30, -1e30, 0.0]]]])
    assert score_additively(huge, huge, torch.tensor([[2.0, 3.0, 5.0]])).item() == -1.0


def test_mixed_precision_takes_the_plain_path_and_gives_the_reason() -> None:
    score, queries, keys = Additive(4), torch.randn(2, 1, 1, 4), torch.randn(2, 1, 3, 4)
    assert why_not_additive_on_cpu(queries) is None
    assert why_not_additive_on_cpu(queries.bfloat16()) == "the precision is mixed"
    assert "meta" in str(why_not_additive_on_cpu(queries.to("meta")))
    with torch.autocast("cpu", torch.bfloat16):
        near = score(queries, Memory(keys, keys), None)
    torch.testing.assert_close(near.float(), score(queries, Memory(keys, keys), None), rtol=0.05, atol=0.05)
