"""On CUDA: SDPA and FlexAttention read what the plain path reads."""

import pytest
import torch
from compositions import build
from torch import Tensor

from saccade.attention import (
    ATTENTIONS,
    ALiBi,
    Attention,
    Block,
    Buckets,
    Causal,
    Graph,
    Near,
    RelativeKeys,
    ScaledDot,
    Sliding,
)
from saccade.attention.bias import Bias
from saccade.attention.windows import Window

# The compiler warns of much; but past its limit of variants FlexAttention would store all scores, and that must not be.
pytestmark = [
    pytest.mark.gpu,
    pytest.mark.filterwarnings("default"),
    pytest.mark.filterwarnings("error:flex_attention called without"),
]
WIDTH, HEADS = 128, 4


def _graph() -> Graph:
    return Graph(torch.rand(600, 600, generator=torch.Generator().manual_seed(1)) < 0.3)


WINDOWS = {
    "everywhere": lambda: None,
    "causal": Causal,
    "near": lambda: Near(20),
    "sliding": lambda: Sliding(50, 3),
    "block": lambda: Block(64),
    "graph": _graph,
    "block and causal": lambda: Block(64) & Causal(),
}
BIASES = {
    "none": lambda: None,
    "ALiBi": lambda: ALiBi(HEADS),
    "buckets": lambda: Buckets(HEADS),
    "Shaw": lambda: RelativeKeys(HEADS, WIDTH // HEADS),
}


def _attention(window: Window | None, bias: Bias | None) -> Attention:
    torch.manual_seed(1)
    attention = Attention(
        query_dim=WIDTH, memory_dim=WIDTH, width=WIDTH, heads=HEADS, score=ScaledDot(), window=window, bias=bias
    )
    return attention.cuda()


def _both(attention: Attention, queries: Tensor, source: Tensor, readable: Tensor | None) -> tuple[list[Tensor], ...]:
    """Context and gradients, plain and quick."""
    found = []
    for weights in (True, False):
        leaves = [queries.clone().requires_grad_(), source.clone().requires_grad_()]
        context = attention(leaves[0], attention.remember(leaves[1], readable), weights=weights).context
        parameters = [p for p in attention.parameters() if p.requires_grad]
        gradients = torch.autograd.grad(context.square().sum(), [*leaves, *parameters])
        found.append([context, *gradients])
    return tuple(found)


@pytest.mark.parametrize("bias", BIASES)
@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("masked", [False, True])
def test_fused_is_plain(window: str, bias: str, masked: bool) -> None:
    attention = _attention(WINDOWS[window](), BIASES[bias]())
    for length in (40, 300, 517):
        queries = torch.randn(2, length, WIDTH, device="cuda")
        source = torch.randn(2, length, WIDTH, device="cuda")
        readable = None
        if masked:
            readable = torch.rand(2, length, device="cuda") < 0.7
            readable[1] = False  # a sentence with nothing to read
        plain, quick = _both(attention, queries, source, readable)
        for one, other in zip(plain, quick, strict=True):
            torch.testing.assert_close(other, one, rtol=2e-2, atol=2e-2 * float(one.detach().abs().max()) + 1e-6)
        if masked:
            assert not quick[0][1].any()


def test_varied_lengths_stay_fused() -> None:
    attention = _attention(Sliding(50, 50), ALiBi(HEADS))
    for length in range(200, 600, 16):
        queries = torch.randn(2, length, WIDTH, device="cuda")
        attention(queries, attention.remember(queries)).context.sum().backward()


@pytest.mark.parametrize("name", ATTENTIONS)
def test_every_attention_reads_the_same_as_on_the_cpu(name: str) -> None:
    attention = build(name, torch.float32)
    queries, source = torch.randn(2, 5, 8), torch.randn(2, 7, 8)
    readable = torch.ones(2, 7, dtype=torch.bool)
    readable[0, 5:] = False
    here = attention(queries, attention.remember(source, readable)).context
    attention = attention.cuda()
    there = attention(queries.cuda(), attention.remember(source.cuda(), readable.cuda())).context
    torch.testing.assert_close(there.cpu(), here, rtol=1e-3, atol=1e-3)


def test_devices_that_differ_are_named() -> None:
    attention = _attention(None, None)
    memory = attention.remember(torch.randn(1, 3, WIDTH, device="cuda"))
    with pytest.raises(ValueError, match="queries is on cpu, the attention on cuda"):
        attention(torch.randn(1, 1, WIDTH), memory)
