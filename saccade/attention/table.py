"""The table of attentions by name, and their descriptions."""

from collections.abc import Callable, Mapping
from functools import partial
from inspect import signature
from typing import Any, Protocol, Unpack

from saccade.attention import papers
from saccade.attention.attention import Attention
from saccade.attention.papers import Dims, luong2015, vaswani2017
from saccade.attention.windows import Causal, Everywhere
from saccade.errors import UserError
from saccade.names import Registry, resolve


class AttentionError(UserError):
    """A named attention that cannot be built for this place in a model."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(f"attention {name!r} does not fit: {reason}")
        self.name, self.reason = name, reason


class Factory(Protocol):
    def __call__(self, **dims: Unpack[Dims]) -> Attention: ...


ATTENTIONS: Mapping[str, Factory] = Registry[Factory]("attention") | {
    "bahdanau2014": papers.bahdanau2014,
    "graves2014": papers.graves2014,
    "luong2015-global-dot": partial(luong2015, "global", "dot"),
    "luong2015-global-general": partial(luong2015, "global", "general"),
    "luong2015-global-concat": partial(luong2015, "global", "concat"),
    "luong2015-global-concat-released": partial(luong2015, "global", "concat-released"),
    "luong2015-global-location": partial(luong2015, "global", "location"),
    "luong2015-local-m-dot": partial(luong2015, "local-m", "dot"),
    "luong2015-local-m-general": partial(luong2015, "local-m", "general"),
    "luong2015-local-m-concat": partial(luong2015, "local-m", "concat"),
    "luong2015-local-m-location": partial(luong2015, "local-m", "location"),
    "luong2015-local-p-dot": partial(luong2015, "local-p", "dot"),
    "luong2015-local-p-general": partial(luong2015, "local-p", "general"),
    "luong2015-local-p-concat": partial(luong2015, "local-p", "concat"),
    "luong2015-local-p-location": partial(luong2015, "local-p", "location"),
    "chorowski2015": papers.chorowski2015,
    "xu2015": papers.xu2015,
    "tu2016": papers.tu2016,
    "martins2016": papers.martins2016,
    "jang2017": papers.jang2017,
    "raffel2017": papers.raffel2017,
    "seo2017": papers.seo2017,
    "vaswani2017": vaswani2017,
    "vaswani2017-causal": partial(vaswani2017, causal=True),
    "weightless": papers.weightless,
    "shaw2018": papers.shaw2018,
    "liu2018": papers.liu2018,
    "peters2019": papers.peters2019,
    "shazeer2019": papers.shazeer2019,
    "beltagy2020": papers.beltagy2020,
    "t5": papers.t5,
    "su2021": papers.su2021,
    "press2022": papers.press2022,
    "ainslie2023": papers.ainslie2023,
    "miller2023": papers.miller2023,
    "ramapuram2024": papers.ramapuram2024,
}


def build(
    name: str, *, causal: bool = False, dropout: float = 0.0, heads: int | None = None, **dims: Unpack[Dims]
) -> Attention:
    """Build an attention by its name, or by `my_module:factory`, for one place in a model.

    `heads` applies to attentions that have several. `causal` is for a self-attention that must not see the future.
    """
    attention = _construct(name, heads, dims)
    window = attention.window
    if causal and not window.causal:
        window = Causal() if isinstance(window, Everywhere) else window & Causal()
        if not window.causal:
            raise AttentionError(
                name, "it cannot be made causal: its window depends on the length of the whole sequence"
            )
    return attention.with_parts(window=window, dropout=dropout)


def _construct(name: str, heads: int | None, dims: Dims) -> Attention:
    factory: Callable[..., Attention] = resolve(name, ATTENTIONS, "attention")
    expected: tuple[type[Exception], ...] = (ValueError,) if name in ATTENTIONS else (Exception,)
    try:
        several = heads is not None and "heads" in signature(factory).parameters
        attention = factory(**dims, heads=heads) if several else factory(**dims)
    except expected as error:  # a factory from outside the package may fail in any way
        kind = "" if name in ATTENTIONS else f"{type(error).__name__}: "
        raise AttentionError(name, f"{kind}{error}".splitlines()[0]) from error
    if not isinstance(attention, Attention):
        raise AttentionError(name, f"it returns {type(attention).__name__}, expected a saccade.attention.Attention")
    requested = {"query_dim": dims["query_dim"], "memory_dim": dims["memory_dim"]}
    requested["value_dim"] = dims.get("value_dim") or dims["memory_dim"]
    for size, expected_size in requested.items():
        if getattr(attention, size) != expected_size:
            raise AttentionError(
                name, f"{size}={expected_size} is needed, and it returns one of {getattr(attention, size)}"
            )
    return attention


def describe(name: str) -> dict[str, Any]:
    """The paper (or None), year, origin in words, formula and parts of a named attention."""
    factory = ATTENTIONS[name]
    attention = factory(query_dim=16, memory_dim=16, width=16)
    source = papers.paper_of(factory)
    formula = attention.score.formula + (f" {attention.bias.formula}" if attention.bias is not None else "")
    return {
        "name": name,
        "paper": None if source is None else f"{source.authors}: {source.title}",
        "year": None if source is None else source.year,
        "origin": papers.origin_of(factory),
        "formula": formula,
        "parts": attention.parts,
        "fused": attention.why_not_fused() is None,
        "history": attention.needs_history,
    }
