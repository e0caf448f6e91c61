"""On CUDA: SDPA and FlexAttention read what the plain path reads."""

from typing import Any

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
    fused,
)

# The compiler warns of much; but past its limit of variants FlexAttention would store all scores, and that must not be.
pytestmark = [
    pytest.mark.gpu,
    pytest.mark.filterwarnings("default"),
    pytest.mark.filterwarnings("error:flex_attention called without"),
]
# No two sizes are equal, nor is one a number of blocks of 128: equal sizes are compiled as one, and then recompiled.
SENTENCES, WIDTH, HEADS = 7, 128, 4


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


def _attention(window: str, bias: str) -> Attention:
    torch.manual_seed(1)
    attention = Attention(
        query_dim=WIDTH,
        memory_dim=WIDTH,
        width=WIDTH,
        heads=HEADS,
        score=ScaledDot(),
        window=WINDOWS[window](),
        bias=BIASES[bias](),
    )
    return attention.cuda()


@pytest.fixture
def flexed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of queries of each call of FlexAttention."""
    calls: list[int] = []
    flex = fused.flex

    def counted(queries: Tensor, *others: Any) -> Tensor:
        calls.append(queries.shape[2])
        return flex(queries, *others)

    monkeypatch.setattr(fused, "flex", counted)
    return calls


def _read(attention: Attention, length: int, masked: bool, weights: bool) -> list[Tensor]:
    """The context, and the gradients of queries, source and parameters."""
    generator = torch.Generator().manual_seed(length)
    queries, source = (torch.randn(SENTENCES, length, WIDTH, generator=generator).cuda() for _ in range(2))
    readable = None
    if masked:
        readable = (torch.rand(SENTENCES, length, generator=generator) < 0.7).cuda()
        readable[1] = False  # a sentence with nothing to read
    leaves = [queries.requires_grad_(), source.requires_grad_()]
    context = attention(queries, attention.remember(source, readable), weights=weights).context
    parameters = [p for p in attention.parameters() if p.requires_grad]
    return [context, *torch.autograd.grad(context.square().sum(), [*leaves, *parameters])]


def _assert_quick_is_plain(attention: Attention, length: int, masked: bool) -> None:
    plain, quick = (_read(attention, length, masked, weights) for weights in (True, False))
    for expected, found in zip(plain, quick, strict=True):
        largest = float(expected.detach().abs().max())
        torch.testing.assert_close(found, expected, rtol=2e-2, atol=2e-2 * largest + 1e-6)
    assert not masked or not quick[0][1].any()


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize(("bias", "length"), [*((bias, 40) for bias in BIASES), ("Shaw", 300)])
def test_small_input_is_not_compiled(window: str, bias: str, length: int, masked: bool, flexed: list[int]) -> None:
    """SDPA, and chunks of a band: short reads, and long ones with a bias that is not elementwise."""
    _assert_quick_is_plain(_attention(window, bias), length, masked)
    assert not flexed


# Each is compiled, forward and backward, in some ten seconds: every window and every bias once, and some together.
COMPILED = [
    ("causal", "none", True),
    ("near", "none", False),
    ("sliding", "none", True),
    ("block", "none", False),
    ("graph", "none", True),
    ("block and causal", "none", True),
    ("everywhere", "ALiBi", False),
    ("everywhere", "buckets", True),
    ("causal", "ALiBi", True),
    ("sliding", "buckets", False),
]


@pytest.mark.parametrize(("window", "bias", "masked"), COMPILED)
def test_flex_attention_is_plain(window: str, bias: str, masked: bool, flexed: list[int]) -> None:
    attention = _attention(window, bias)
    for length in (300, 517):
        _assert_quick_is_plain(attention, length, masked)
    assert flexed == [300, 517]


def test_varied_lengths_are_compiled_once(flexed: list[int]) -> None:
    attention = _attention("sliding", "ALiBi")
    lengths = [300, 216, 333, 517, 600]
    _assert_quick_is_plain(attention, lengths[0], False)
    with torch.compiler.set_stance("fail_on_recompile"):
        for length in lengths[1:]:
            _assert_quick_is_plain(attention, length, False)
    assert flexed == lengths


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
    attention = _attention("everywhere", "none")
    memory = attention.remember(torch.randn(1, 3, WIDTH, device="cuda"))
    with pytest.raises(ValueError, match="queries is on cpu, the attention on cuda"):
        attention(torch.randn(1, 1, WIDTH), memory)
