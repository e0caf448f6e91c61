"""Every attention of the table, and its options, against a literal transcription of its paper: values and gradients."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from inspect import isfunction
from typing import Any

import numpy as np
import pytest
import torch
import transcriptions as one_head
import transcriptions_transformer as transformer
from derivatives import arrays, assert_gradients, named, randomise
from torch import Tensor
from transcriptions import Array

from saccade.attention import ATTENTIONS, Attention, describe, papers

B, T, S = 3, 3, 5
READABLE = np.array([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0], [1, 0, 1, 1, 0]], dtype=bool)  # full, padded, with a hole
WIDTH = 16  # 8 heads of 2, where a mechanism has heads

_ADDITIVE = {"W_a": "of_queries.weight", "U_a": "of_keys.weight", "v_a": "score.v"}
_CONCAT = {"W_a, left": "of_queries.weight", "W_a, right": "of_keys.weight", "v_a": "score.v"}
_PLACE = {"W_p": "window.hidden.weight", "v_p": "window.place.weight"}
_LUONG: Mapping[str, Mapping[str, str]] = {
    "dot": {},
    "general": {"W_a": "of_keys.weight"},
    "concat": _CONCAT,
    "concat-released": {"W_a": "of_queries.weight", "v_a": "score.v"},
    "location": {"W_a": "score.weight"},
}
_MULTI_HEAD = {
    "W^Q": "of_queries.weight",
    "W^K": "of_keys.weight",
    "W^V": "of_values.weight",
    "W^O": "of_output.weight",
}
_TRILINEAR = {"w, h": "score.of_query", "w, u": "score.of_key", "w, h∘u": "score.of_both"}


@dataclass(frozen=True, kw_only=True)
class Case:
    name: str  # in ATTENTIONS
    paper: Callable[..., tuple[Array, Array]]  # the transcription
    letters: Mapping[str, str]  # of the paper → parameter of the module
    options: Mapping[str, Any] = field(default_factory=dict)  # of both
    shapes: Mapping[str, Any] = field(default_factory=dict)  # of the module: the transcription sees them in its arrays
    query_dim: int = 4
    memory_dim: int = 6

    def __str__(self) -> str:
        given = {**self.options, **self.shapes}
        return " ".join([self.name, *(f"{key}={value}" for key, value in given.items())])

    def attention(self) -> Attention:
        factory: Callable[..., Attention] = ATTENTIONS[self.name]
        dims = {"query_dim": self.query_dim, "memory_dim": self.memory_dim, "width": WIDTH}
        attention = factory(**dims, **self.options, **self.shapes).double().eval()
        randomise(attention)
        return attention


def _luong(where: str, how: str, **options: Any) -> Case:
    shapes = {key: options.pop(key) for key in ("longest",) if key in options}
    return Case(
        name=f"luong2015-{where}-{how}",
        paper=partial(one_head.luong2015, where=where, how=how),
        letters={**_LUONG[how], **(_PLACE if where == "local-p" else {})},
        options=options,
        shapes=shapes,
        query_dim=6 if how == "dot" else 4,
    )


def _recurrent(name: str, paper: Callable[..., tuple[Array, Array]], letters: Mapping[str, str], **given: Any) -> Case:
    return Case(name=name, paper=paper, letters=letters, **given)


def _transformer(
    name: str, paper: Callable[..., tuple[Array, Array]], extra: Mapping[str, str] | None = None, **given: Any
) -> Case:
    return Case(name=name, paper=paper, letters={**_MULTI_HEAD, **(extra or {})}, **given)


_CHOROWSKI = {
    "W": "of_queries.weight",
    "V": "of_keys.weight",
    "U": "score.of_filters.weight",
    "F": "score.convolution.weight",
    "b": "score.b",
    "w": "score.v",
}
_RAFFEL = {
    "W": "of_queries.weight",
    "V": "of_keys.weight",
    "b": "score.b",
    "v": "score.v",
    "g": "score.gain",
    "r": "score.offset",
}
_TU = {**_ADDITIVE, "V_a": "score.of_coverage", "U_f": "score.fertility.weight"}

CASES = [
    _recurrent("bahdanau2014", one_head.bahdanau2014, _ADDITIVE),
    _recurrent("graves2014", one_head.graves2014, {"W": "of_queries.weight", "log τ": "score.log_temperature"}),
    *(_luong("global", how) for how in _LUONG),
    *(_luong(where, how) for where in ("local-m", "local-p") for how in ("dot", "general", "concat", "location")),
    _luong("global", "location", longest=2),
    *(_luong("local-m", how, radius=1) for how in ("dot", "general", "concat")),
    _luong("local-m", "location", radius=1, longest=3),
    *(_luong("local-p", how, radius=1) for how in ("dot", "general", "concat")),
    *(_luong("local-p", how, radius=2, renormalise=True) for how in ("dot", "general", "concat")),
    _luong("local-p", "location", radius=2, longest=4),
    _recurrent("chorowski2015", one_head.chorowski2015, _CHOROWSKI),
    _recurrent("chorowski2015", one_head.chorowski2015, _CHOROWSKI, shapes={"filters": 3, "kernel": 3}),
    _recurrent("xu2015", one_head.xu2015_at_its_best, _ADDITIVE),
    _recurrent("tu2016", one_head.tu2016, _TU),
    _recurrent("tu2016", one_head.tu2016, _TU, options={"most": 5.0}),
    _recurrent("martins2016", one_head.martins2016, _ADDITIVE),
    _recurrent("jang2017", one_head.xu2015_at_its_best, _ADDITIVE),
    _recurrent("raffel2017", one_head.raffel2017, _RAFFEL),
    _recurrent("seo2017", transformer.seo2017_to_query, _TRILINEAR, query_dim=6),
    _recurrent("seo2017", transformer.seo2017_to_query, {"W": "of_queries.weight", **_TRILINEAR}),
    _transformer("vaswani2017", transformer.vaswani2017),
    _transformer("vaswani2017", transformer.vaswani2017, options={"heads": 2}),
    _transformer("vaswani2017", transformer.vaswani2017, options={"heads": 1}),
    _transformer("vaswani2017-causal", partial(transformer.vaswani2017, causal=True)),
    _recurrent("weightless", transformer.weightless, {}, query_dim=6),
    _transformer("shaw2018", transformer.shaw2018, {"w^K": "bias.vectors"}),
    _transformer("shaw2018", transformer.shaw2018, {"w^K": "bias.vectors"}, options={"heads": 2}, shapes={"clip": 1}),
    _transformer("liu2018", transformer.liu2018),
    _transformer("liu2018", transformer.liu2018, options={"size": 2}),
    _recurrent("peters2019", one_head.peters2019, {"W_a": "of_keys.weight"}),
    _transformer("shazeer2019", transformer.shazeer2019),
    _transformer("beltagy2020", transformer.beltagy2020),
    _transformer("beltagy2020", transformer.beltagy2020, options={"left": 0, "right": 2}),
    _transformer("t5", transformer.t5, {"bias": "bias.table"}),
    _transformer("su2021", transformer.su2021),
    _transformer("su2021", transformer.su2021, options={"heads": 2}),
    _transformer("press2022", transformer.press2022),
    _transformer("press2022", transformer.press2022, options={"heads": 4}),
    _transformer("ainslie2023", transformer.ainslie2023),
    _transformer("ainslie2023", transformer.ainslie2023, options={"heads": 4, "memory_heads": 2}),
    _transformer("miller2023", transformer.miller2023),
    _transformer("ramapuram2024", transformer.ramapuram2024),
]
every_case = pytest.mark.parametrize("case", CASES, ids=str)


def _inputs(case: Case) -> tuple[Tensor, Tensor, Tensor]:
    """Queries, source and what of it may be read; what may not holds numbers too."""
    generator = torch.Generator().manual_seed(1)
    queries = torch.randn(B, T, case.query_dim, generator=generator, dtype=torch.float64)
    source = torch.randn(B, S, case.memory_dim, generator=generator, dtype=torch.float64)
    return queries.requires_grad_(), source.requires_grad_(), torch.from_numpy(READABLE)


def test_every_attention_is_transcribed() -> None:
    assert {case.name for case in CASES} == set(ATTENTIONS)
    published = {papers.paper_of(function) for function in vars(papers).values() if isfunction(function)} - {None}
    assert {papers.paper_of(ATTENTIONS[case.name]) for case in CASES} - {None} == published


def test_textbook_construction_cites_no_paper() -> None:
    said = describe("weightless")
    assert (said["paper"], said["year"]) == (None, None) and "textbook" in said["origin"]
    assert describe("shaw2018")["origin"].endswith("Self-Attention with Relative Position Representations (2018)")


@every_case
def test_values(case: Case) -> None:
    attention = case.attention()
    queries, source, readable = _inputs(case)
    memory = attention.remember(source, readable)
    reading = attention(queries, memory, weights=True)
    letters = arrays(named(attention, case.letters))
    context, weights = case.paper(queries.detach().numpy(), source.detach().numpy(), READABLE, letters, **case.options)
    np.testing.assert_allclose(reading.weights.detach().numpy(), weights, rtol=0, atol=1e-10)
    np.testing.assert_allclose(reading.context.detach().numpy(), context, rtol=0, atol=1e-10)
    unseen = attention(queries, memory)  # perhaps by a fused kernel, which stores no weights
    np.testing.assert_allclose(unseen.context.detach().numpy(), context, rtol=0, atol=1e-10)


@pytest.mark.parametrize("case", [c for c in CASES if "gradcheck" not in c.attention().exempt], ids=str)
def test_gradients(case: Case) -> None:
    """Of a random linear functional of the context, with respect to queries, source and every parameter."""
    attention = case.attention()
    queries, source, readable = _inputs(case)
    tensors = {"queries": queries, "source": source, **named(attention, case.letters)}
    functional = np.random.default_rng(3).standard_normal((B, T, attention.context_dim))

    def backward(weights: bool) -> dict[str, Array]:
        reading = attention(queries, attention.remember(source, readable), weights=weights)
        objective = (torch.from_numpy(functional) * reading.context).sum()
        return arrays(dict(zip(tensors, torch.autograd.grad(objective, list(tensors.values())), strict=True)))

    def value(at: Mapping[str, Array]) -> float:
        letters = {letter: at[letter] for letter in case.letters}
        context, _ = case.paper(at["queries"], at["source"], READABLE, letters, **case.options)
        return float((functional * context).sum())

    plain, unseen = backward(weights=True), backward(weights=False)
    assert_gradients(plain, value, arrays(tensors))
    for name in tensors:  # perhaps by a fused kernel
        np.testing.assert_allclose(unseen[name], plain[name], rtol=1e-9, atol=1e-10)


def test_unknown_luong_variant_is_refused() -> None:
    with pytest.raises(ValueError, match="local-m"):
        papers.luong2015("locally", "dot", query_dim=4, memory_dim=4, width=4)
