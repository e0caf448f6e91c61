"""One function per paper: the composition that it describes. `saccade.attention.table` lists them by name.

Each takes `query_dim`, `memory_dim` and `width` by keyword, and then the paper's own options.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import NotRequired, TypedDict, TypeVar, Unpack

from saccade.attention.attention import Attention
from saccade.attention.bias import ALiBi, Buckets, RelativeKeys
from saccade.attention.normalisers import (
    Entmax15,
    GumbelStraightThrough,
    Monotonic,
    Normaliser,
    Sampled,
    Sigmoid,
    SoftmaxOrNothing,
    Sparsemax,
)
from saccade.attention.positions import Rotary
from saccade.attention.scores import (
    Additive,
    Bilinear,
    Cosine,
    Coverage,
    Dot,
    LocationAware,
    LocationOnly,
    ScaledDot,
    Score,
    Trilinear,
)
from saccade.attention.windows import Block, Causal, Everywhere, Near, Predicted, Sliding, Window


class Dims(TypedDict):
    query_dim: int
    memory_dim: int
    width: int
    value_dim: NotRequired[int]  # where values are not projected from the source of the keys


@dataclass(frozen=True)
class Paper:
    authors: str
    year: int
    title: str


_PAPERS: dict[Callable[..., Attention], Paper | None] = {}  # None: common knowledge
_F = TypeVar("_F", bound=Callable[..., Attention])


def paper(authors: str, year: int, title: str) -> Callable[[_F], _F]:
    """Record where a factory's composition was published."""

    def note(factory: _F) -> _F:
        _PAPERS[factory] = Paper(authors, year, title)
        return factory

    return note


def textbook(factory: _F) -> _F:
    """Record that a factory's composition is common knowledge: no paper proposed it."""
    _PAPERS[factory] = None
    return factory


def paper_of(factory: Callable[..., Attention]) -> Paper | None:
    return _PAPERS.get(_without_arguments(factory))


def origin_of(factory: Callable[..., Attention]) -> str | None:
    """Where a composition comes from, in words; None where nothing is recorded."""
    if _without_arguments(factory) not in _PAPERS:
        return None
    source = paper_of(factory)
    return (
        f"{source.authors}: {source.title} ({source.year})"
        if source
        else "a textbook construction; no paper of its own"
    )


def _without_arguments(factory: Callable[..., Attention]) -> Callable[..., Attention]:
    return factory.func if isinstance(factory, partial) else factory


def _most_heads(width: int, *, even: bool = False) -> int:
    """The most heads, up to the 8 of Vaswani 2017, that divide the width equally (into even widths if `even`)."""
    return max((h for h in range(1, 9) if width % (2 * h if even else h) == 0), default=1)


def _and_causal(window: Window | None) -> Window:
    return Causal() if window is None else window & Causal()


@paper("Bahdanau, Cho, Bengio", 2014, "Neural Machine Translation by Jointly Learning to Align and Translate")
def bahdanau2014(*, normaliser: Normaliser | None = None, **dims: Unpack[Dims]) -> Attention:
    """e = v·tanh(W s₋₁ + U h): the query is the decoder's previous state; the source itself is read."""
    return Attention(**dims, score=Additive(dims["width"]), normaliser=normaliser)


@paper("Graves, Wayne, Danihelka", 2014, "Neural Turing Machines")
def graves2014(*, temperature: float = 0.1, **dims: Unpack[Dims]) -> Attention:
    """Content addressing: cosine between a key that the query emits and each slot, over a learned temperature."""
    dims["width"] = dims["memory_dim"]
    return Attention(**dims, score=Cosine(temperature), project="q")


@paper("Luong, Pham, Manning", 2015, "Effective Approaches to Attention-based Neural Machine Translation")
def luong2015(
    region: str, scoring: str, *, radius: int = 10, renormalise: bool = False, longest: int = 256, **dims: Unpack[Dims]
) -> Attention:
    """`region` is global, local-m or local-p; `scoring` is dot, general, concat, concat-released or location.

    The query is the decoder's *current* state. Concat projects both sides, v·tanh(W[h_t; h_s]); as released, only the
    query is, to the width of the source.
    """
    query_dim, width = dims["query_dim"], dims["width"]
    scores: dict[str, Callable[[], Score]] = {
        "dot": Dot,
        "general": Bilinear,
        "concat": lambda: Additive(width),
        "concat-released": lambda: Additive(dims["memory_dim"], formula="v·tanh(W q + k)"),
        "location": lambda: LocationOnly(query_dim, longest=longest),
    }
    windows: dict[str, Callable[[], Window]] = {
        "global": Everywhere,
        "local-m": lambda: Near(radius),
        "local-p": lambda: Predicted(query_dim, width, radius=radius, renormalise=renormalise),
    }
    if scoring not in scores or region not in windows:
        raise ValueError(f"luong2015 has {', '.join(windows)} × {', '.join(scores)}; got {region!r} and {scoring!r}")
    score, window = scores[scoring](), windows[region]()
    if scoring == "concat-released":
        dims["width"] = dims["memory_dim"]
        return Attention(**dims, score=score, window=window, project="q")
    return Attention(**dims, score=score, window=window)


@paper("Chorowski, Bahdanau, Serdyuk, Cho, Bengio", 2015, "Attention-Based Models for Speech Recognition")
def chorowski2015(*, filters: int = 10, kernel: int = 201, **dims: Unpack[Dims]) -> Attention:
    """e = v·tanh(W s + V h + U f + b) with f = F ∗ α₋₁: aware of the last place, it distinguishes repeated sounds."""
    return Attention(**dims, score=LocationAware(dims["width"], filters=filters, kernel=kernel))


@paper(
    "Xu, Ba, Kiros, Cho, Courville, Salakhutdinov, Zemel, Bengio",
    2015,
    "Show, Attend and Tell: Neural Image Caption Generation with Visual Attention",
)
def xu2015(**dims: Unpack[Dims]) -> Attention:
    """Hard attention: one place is sampled, and REINFORCE learns from `Reading.log_prob`."""
    return bahdanau2014(**dims, normaliser=Sampled())


@paper("Tu, Lu, Liu, Liu, Li", 2016, "Modeling Coverage for Neural Machine Translation")
def tu2016(*, most: float = 2.0, **dims: Unpack[Dims]) -> Attention:
    """e = v·tanh(W s + U h + V C₋₁): the score knows what has already been translated."""
    return Attention(**dims, score=Coverage(dims["width"], memory_dim=dims["memory_dim"], most=most))


@paper("Martins, Astudillo", 2016, "From Softmax to Sparsemax: A Sparse Model of Attention")
def martins2016(**dims: Unpack[Dims]) -> Attention:
    """Most weights are exactly zero."""
    return bahdanau2014(**dims, normaliser=Sparsemax())


@paper("Jang, Gu, Poole", 2017, "Categorical Reparameterization with Gumbel-Softmax")
def jang2017(*, temperature: float = 1.0, **dims: Unpack[Dims]) -> Attention:
    """One place is sampled; the gradient is that of a softmax with a temperature."""
    return bahdanau2014(**dims, normaliser=GumbelStraightThrough(temperature))


@paper("Raffel, Luong, Liu, Weiss, Eck", 2017, "Online and Linear-Time Attention by Enforcing Monotonic Alignments")
def raffel2017(*, noise: float = 1.0, hard_when_testing: bool = False, **dims: Unpack[Dims]) -> Attention:
    """The expected monotonic alignment of p = sigmoid(g·v/‖v‖·tanh(W s + V h + b) + r)."""
    score = Additive(dims["width"], bias=True, normalised=True, formula="g·v/‖v‖·tanh(W q + U k + b) + r")
    return Attention(**dims, score=score, normaliser=Monotonic(noise=noise, hard_when_testing=hard_when_testing))


@paper("Seo, Kembhavi, Farhadi, Hajishirzi", 2017, "Bidirectional Attention Flow for Machine Comprehension")
def seo2017(**dims: Unpack[Dims]) -> Attention:
    """w·[q; k; q∘k], the context-to-query half of BiDAF; `BidirectionalAttention` has both halves."""
    dims["width"] = dims["memory_dim"]
    project = "" if dims["query_dim"] == dims["memory_dim"] else "q"
    return Attention(**dims, score=Trilinear(dims["memory_dim"]), project=project)


@paper("Vaswani, Shazeer, Parmar, Uszkoreit, Jones, Gomez, Kaiser, Polosukhin", 2017, "Attention Is All You Need")
def vaswani2017(
    *,
    heads: int | None = None,
    memory_heads: int | None = None,
    causal: bool = False,
    window: Window | None = None,
    normaliser: Normaliser | None = None,
    dropout: float = 0.0,
    **dims: Unpack[Dims],
) -> Attention:
    """Concat(softmax(Q Kᵀ/√d) V) Wᴼ: queries, keys and values projected, several heads at once."""
    return Attention(
        **dims,
        heads=heads or _most_heads(dims["width"]),
        memory_heads=memory_heads,
        score=ScaledDot(),
        window=_and_causal(window) if causal else window,
        normaliser=normaliser,
        dropout=dropout,
    )


@textbook
def weightless(**dims: Unpack[Dims]) -> Attention:
    """softmax(X Xᵀ/√d) X: nothing is learned; the inputs themselves are the queries, keys and values."""
    return Attention(**dims, score=ScaledDot(), project="")


@paper("Shaw, Uszkoreit, Vaswani", 2018, "Self-Attention with Relative Position Representations")
def shaw2018(*, heads: int | None = None, clip: int = 16, **dims: Unpack[Dims]) -> Attention:
    """q·(k + a[clip(j − i)]) / √d"""
    heads = heads or _most_heads(dims["width"])
    return Attention(
        **dims, heads=heads, score=ScaledDot(), bias=RelativeKeys(heads, dims["width"] // heads, clip=clip)
    )


@paper(
    "Liu, Saleh, Pot, Goodrich, Sepassi, Kaiser, Shazeer",
    2018,
    "Generating Wikipedia by Summarizing Long Sequences",
)
def liu2018(*, size: int = 256, **dims: Unpack[Dims]) -> Attention:
    """Local attention: causal, within blocks."""
    return vaswani2017(**dims, window=Block(size) & Causal())


@paper("Peters, Niculae, Martins", 2019, "Sparse Sequence-to-Sequence Models")
def peters2019(**dims: Unpack[Dims]) -> Attention:
    """Luong's general score under entmax-1.5."""
    return Attention(**dims, score=Bilinear(), normaliser=Entmax15())


@paper("Shazeer", 2019, "Fast Transformer Decoding: One Write-Head is All You Need")
def shazeer2019(*, heads: int | None = None, **dims: Unpack[Dims]) -> Attention:
    """All heads share one head of keys and values."""
    return vaswani2017(**dims, heads=heads, memory_heads=1)


@paper("Beltagy, Peters, Cohan", 2020, "Longformer: The Long-Document Transformer")
def beltagy2020(*, left: int = 64, right: int = 64, **dims: Unpack[Dims]) -> Attention:
    """A sliding window."""
    return vaswani2017(**dims, window=Sliding(left, right))


@paper(
    "Raffel, Shazeer, Roberts, Lee, Narang, Matena, Zhou, Li, Liu",
    2020,
    "Exploring the Limits of Transfer Learning with a Unified Text-to-Text Transformer",
)
def t5(*, heads: int | None = None, **dims: Unpack[Dims]) -> Attention:
    """A learned number for each bucket of distances. Not divided by √d: T5 puts that into its initialisation."""
    heads = heads or _most_heads(dims["width"])
    return Attention(**dims, heads=heads, score=Dot(), bias=Buckets(heads), project="qkvo")


@paper("Su, Lu, Pan, Murtadha, Wen, Liu", 2021, "RoFormer: Enhanced Transformer with Rotary Position Embedding")
def su2021(*, heads: int | None = None, **dims: Unpack[Dims]) -> Attention:
    """Queries and keys are rotated by their positions."""
    heads = heads or _most_heads(dims["width"], even=True)
    return Attention(**dims, heads=heads, score=ScaledDot(), positions=Rotary(dims["width"] // heads))


@paper(
    "Press, Smith, Lewis",
    2022,
    "Train Short, Test Long: Attention with Linear Biases Enables Input Length Extrapolation",
)
def press2022(*, heads: int | None = None, **dims: Unpack[Dims]) -> Attention:
    """ALiBi, causal."""
    heads = heads or _most_heads(dims["width"])
    return Attention(**dims, heads=heads, score=ScaledDot(), bias=ALiBi(heads), window=Causal())


@paper(
    "Ainslie, Lee-Thorp, de Jong, Zemlyanskiy, Lebrón, Sanghai",
    2023,
    "GQA: Training Generalized Multi-Query Transformer Models from Multi-Head Checkpoints",
)
def ainslie2023(*, heads: int | None = None, memory_heads: int | None = None, **dims: Unpack[Dims]) -> Attention:
    """Groups of heads share keys and values; by default half as many groups as heads."""
    heads = heads or _most_heads(dims["width"])
    return vaswani2017(**dims, heads=heads, memory_heads=memory_heads or (heads // 2 if heads % 2 == 0 else 1))


@paper("Miller", 2023, "Attention Is Off By One")
def miller2023(*, heads: int | None = None, **dims: Unpack[Dims]) -> Attention:
    """A softmax with an empty slot, so that a head may read nothing."""
    heads = heads or _most_heads(dims["width"])
    return vaswani2017(**dims, heads=heads, normaliser=SoftmaxOrNothing(heads))


@paper("Ramapuram and others", 2024, "Theory, Analysis, and Best Practices for Sigmoid Self-Attention")
def ramapuram2024(*, heads: int | None = None, **dims: Unpack[Dims]) -> Attention:
    """Each slot is weighed by itself."""
    return vaswani2017(**dims, heads=heads, normaliser=Sigmoid())
