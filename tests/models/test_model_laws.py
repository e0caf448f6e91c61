"""The laws of the contract, asked of every model with every attention that fits, in evaluation, in float64."""

import re
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from model_cases import (
    CASES,
    RARE,
    SMALL,
    TWO_DEEP,
    UNFED,
    UNFIT,
    VOCABULARY,
    B,
    Case,
    N,
    S,
    T,
    build,
    built,
    forced,
    leaves,
    sentences,
    stepped,
)
from torch import Tensor
from torch.nn.functional import pad

from saccade import config, model_folder
from saccade.attention import ATTENTIONS, Attention, Memory
from saccade.attention.trace import tracing
from saccade.errors import UserError
from saccade.models import ALL_MODELS, LanguageModel, build_model
from saccade.models.contract import Seq2Seq
from saccade.models.wu2019 import Jumps
from saccade.text import PAD

close = partial(torch.testing.assert_close, rtol=1e-9, atol=1e-10)
MAIN = [Case(name) for name in ALL_MODELS]

every = pytest.mark.parametrize(
    "case", [pytest.param(case, marks=[pytest.mark.slow] * (case in RARE)) for case in CASES], ids=str
)


def attentions(case: Case) -> dict[str, Attention | Jumps]:
    return {name: module for name, module in built(case).named_modules() if isinstance(module, Attention | Jumps)}


@pytest.mark.parametrize(("model", "site"), UNFIT, ids=str)
def test_attention_fits_a_site_or_gives_the_reason(model: str, site: str) -> None:
    unfit = {}
    for name in ATTENTIONS:
        try:
            build(Case(model, {site: name}))
        except (ValueError, UserError) as error:
            unfit[name] = str(error)
    assert unfit.keys() == UNFIT[model, site]
    for message in unfit.values():
        assert re.search("make them equal|length|reads values as they are", message), message


def test_every_model_and_every_option_is_here() -> None:
    assert {case.model for case in CASES} == ALL_MODELS.keys() == SMALL.keys()
    for model, cls in ALL_MODELS.items():
        given = {key for case in CASES if case.model == model for key in (*SMALL[model], *case.options)}
        assert given >= {key for key in config.to_dict(cls.config_type()) if not key.endswith("dropout")}


@every
def test_forward_is_repeated_steps(case: Case) -> None:
    assert forced(case).shape == (B, T, VOCABULARY)
    close(stepped(built(case), *sentences()), forced(case))


@every
def test_hypotheses_of_a_sentence_share_fixed(case: Case) -> None:
    model, (source, readable, _) = built(case), sentences()
    targets = torch.cat([sentences(seed)[2] for seed in range(N)])  # (B·N, T)
    whole = model(source.repeat_interleave(N, 0), readable.repeat_interleave(N, 0), targets)
    close(stepped(model, source, readable, targets), whole)


def joined(one: Any, other: Any) -> Any:
    """Two states of one row each, in one batch: the shorter cache is filled up on the left with what none may read."""
    if isinstance(one, Memory):
        longest = max(one.length, other.length)
        gaps = [longest - cache.length for cache in (one, other)]

        def filled(tensors: list[Tensor], *after: int) -> Tensor:
            return torch.cat([pad(tensor, (*after, gap, 0), value=9) for tensor, gap in zip(tensors, gaps)])

        return one._replace(
            keys=filled([one.keys, other.keys], 0, 0),
            values=filled([one.values, other.values], 0, 0),
            readable=torch.arange(longest) >= torch.tensor(gaps)[:, None],
            at=filled([one.positions, other.positions]),
        )
    if isinstance(one, Tensor):
        return torch.cat([one, other])
    if isinstance(one, tuple):
        branches = [joined(*both) for both in zip(one, other, strict=True)]
        return type(one)(*branches) if hasattr(one, "_fields") else tuple(branches)
    assert one is None and other is None
    return None


GROWING = {"cheng2016", "radford2018"}  # a history of a growing memory has one number per step
RECURRENT = [
    case
    for case in CASES
    if case.model != "vaswani2017"
    and case not in RARE
    and not (case.model in GROWING and case.options.get("attention") in ("raffel2017", "tu2016"))
]
PLACED = [Case("vaswani2017", TWO_DEEP | {"positions": p}) for p in ("sinusoidal", "learned", "rotary", "none")]
BY_PLACE = [Case("vaswani2017", {"decoder_attention": name}) for name in ("press2022", "shaw2018", "t5", "beltagy2020")]


@pytest.mark.parametrize("case", RECURRENT + PLACED + BY_PLACE, ids=str)
def test_local_rows_may_have_different_places(case: Case) -> None:
    model, (source, readable, target) = built(case), sentences()
    steps, states = (3, 1), []
    for b, count in enumerate(steps):
        fixed, moving = model.start(source[b : b + 1], readable[b : b + 1])
        for t in range(count):
            _, moving = model.step(target[b : b + 1, t], torch.tensor([t]), fixed, moving)
        states.append(moving)
    fixed, _ = model.start(source[:2], readable[:2])
    at = torch.tensor(steps)
    logits, _ = model.step(target[:2].gather(1, at[:, None]).squeeze(1), at, fixed, joined(*states))
    close(logits, forced(case)[torch.arange(2), at])


@every
def test_padding_of_the_source_changes_nothing(case: Case) -> None:
    model, (source, readable, target) = built(case), sentences()
    for b, length in enumerate(readable.sum(1).tolist()):
        rows = [source[b, :length].tolist() + [filling] * 2 for filling in (PAD, 7)]
        padded = model(torch.tensor(rows), torch.arange(length + 2).lt(length).expand(2, -1), target[b].expand(2, -1))
        close(padded, forced(case)[b].expand_as(padded))


@every
def test_padding_of_the_target_changes_nothing_before_it(case: Case) -> None:
    model, (source, readable, target) = built(case), sentences()
    padded = pad(target, (0, 3), value=PAD)
    close(model(source, readable, padded)[:, :T], forced(case))


@every
def test_the_future_cannot_change_the_past(case: Case) -> None:
    model, (source, readable, target) = built(case), sentences()
    other = target.clone()
    other[:, 2:] = 4 + (other[:, 2:] - 3) % 7
    before, after = forced(case), model(source, readable, other)
    close(after[:, :2], before[:, :2])
    assert torch.allclose(after[:, 2:], before[:, 2:]) == (case in UNFED)


@every
def test_a_result_does_not_depend_on_its_batch(case: Case) -> None:
    alone = built(case)(*(x[:1] for x in sentences()))
    close(alone, forced(case)[:1])


@every
def test_an_empty_sentence_is_legal_and_its_gradients_are_finite(case: Case) -> None:
    model, (source, readable, target) = built(case), sentences()
    together = model(source, readable & torch.tensor([[True], [False], [True]]), target)
    close(together[::2], forced(case)[::2])
    assert together.isfinite().all()
    gradients = torch.autograd.grad(together.square().sum(), _learnt(model), allow_unused=True)
    assert all(gradient is None or gradient.isfinite().all() for gradient in gradients)


@every
def test_saved_model_is_bit_equal_after_loading(case: Case, tmp_path: Path) -> None:
    model = built(case)
    described = model_folder.ModelConfig(model=case.model, config=config.to_dict(model.config))
    model_folder.save_model(tmp_path / "model", model.state_dict(), described)
    tensors, described = model_folder.load_model(tmp_path / "model")
    settings = config.from_dict(ALL_MODELS[described.model].config_type, described.config)
    assert settings == model.config
    loaded = build_model(described.model, settings, VOCABULARY, VOCABULARY).double().eval()
    loaded.load_state_dict(tensors)
    with torch.no_grad():
        assert torch.equal(loaded(*sentences()), forced(case))


@every
def test_a_trace_has_the_weights_of_every_site(case: Case) -> None:
    model, (source, readable, target) = built(case), sentences()
    with model.trace() as trace:
        traced = model(source, readable, target)
    with model.trace() as by_steps:
        stepped(model, source, readable, target)
    close(traced, forced(case))
    sites = attentions(case)
    reading = set(model.cross) | (set(model.own) if isinstance(model, LanguageModel) else set())
    assert set(trace) == set(by_steps) == sites.keys() >= reading
    assert bool(reading) == bool(sites)
    for name, attention in sites.items():
        weights = trace[name]
        itself = case.model != "cheng2016"  # whose steps read the states before, not their own
        queries, slots = (S, S) if name.startswith("encoder") else (T, S if name in model.cross else T - (not itself))
        assert weights.shape == (B, attention.heads, queries, slots), name
        close(by_steps[name], weights)
        assert (weights >= 0).all()
        if slots == S:
            assert not weights.masked_fill(readable[:, None, None], 0.0).any()
        else:
            assert not weights.triu(int(itself)).any()
        if isinstance(attention, Jumps) or "sums to one" not in attention.exempt:
            total = weights.sum(-1)
            # A causal or near window over a source of one or a few words may hold nothing.
            close(total[total > 0], torch.ones_like(total[total > 0]))
            assert (total[:, :, int(not itself)] > 0).all()


@pytest.mark.parametrize("case", MAIN, ids=str)
def test_closed_trace_stops_recording(case: Case) -> None:
    model, inputs = built(case), sentences()
    sites = list(attentions(case))
    before = {name: dict(vars(module)) for name, module in model.named_modules()}
    with model.trace() as outer, pytest.raises(RuntimeError), model.trace() as inner:
        model(*inputs)
        raise RuntimeError
    assert not tracing()
    assert list(inner) == list(outer) and sorted(inner) == sorted(sites)
    kept = {name: inner[name].clone() for name in inner}
    with built(Case("bahdanau2014", {"tie": "all", "maxout": 6})).trace() as other:
        model(*inputs)
    assert len(other) == 0
    assert all(torch.equal(inner[name], weights) for name, weights in kept.items())
    assert {name: dict(vars(module)) for name, module in model.named_modules()} == before


def _learnt(model: torch.nn.Module) -> list[Tensor]:
    return [parameter for parameter in model.parameters() if parameter.requires_grad]


# A choice has no derivative (REINFORCE learns it); what is added alike to all scores of a softmax changes nothing.
UNREACHED = {
    # Those of a decoder make queries alone; so does syntax.
    "xu2015": r"attention\.(of_queries|of_keys|score)\.|decoder\.(0\.around\.1\.norm|0\.of_state|control)|^syntax\.",
    "seo2017": r"attention\.score\.of_query",
}


@every
def test_gradients_reach_every_parameter(case: Case) -> None:
    model, inputs = built(case), sentences()
    logits = model(*inputs)
    direction = torch.randn(logits.shape, dtype=torch.float64, generator=torch.Generator().manual_seed(3))
    gradients = torch.autograd.grad(logits, _learnt(model), direction, allow_unused=True)
    named = [name for name, parameter in model.named_parameters() if parameter.requires_grad]
    exempt = [UNREACHED[name] for name in case.options.values() if name in UNREACHED]
    for name, gradient in zip(named, gradients, strict=True):
        reached = gradient is not None and bool(gradient.abs().max() > 1e-12)
        allowed = any(re.search(pattern, name) for pattern in exempt)
        assert reached or allowed, name


@pytest.mark.parametrize("case", MAIN, ids=str)
def test_logits_are_made_of_the_features(case: Case) -> None:
    model = built(case)
    features = model.features(*sentences())
    if features is None:  # the model makes its logits in another way
        assert type(model).features is Seq2Seq.features
    else:
        assert torch.equal(model.embeddings.output(features), forced(case))


@pytest.mark.parametrize("case", MAIN, ids=str)
def test_step_does_not_change_its_state(case: Case) -> None:
    """A search takes rows of a state many times, so a step must not write into it."""
    model, (source, readable, target) = built(case), sentences()
    fixed, moving = model.start(source, readable)
    _, moving = model.step(target[:, 0], torch.zeros(B, dtype=torch.long), fixed, moving)
    kept = [leaf.clone() for leaf in leaves((fixed, moving))]
    for leaf in leaves(moving):
        assert leaf.shape[0] == B
    one, two = (model.step(target[:, 1], torch.ones(B, dtype=torch.long), fixed, moving)[0] for _ in range(2))
    assert torch.equal(one, two)
    assert all(torch.equal(now, then) for now, then in zip(leaves((fixed, moving)), kept, strict=True))


@pytest.mark.slow
@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, marks=[pytest.mark.slow] * (case.model not in ("bahdanau2014", "vaswani2017")))
        for case in MAIN
    ],
    ids=str,
)
def test_compiles_as_one_graph(case: Case) -> None:
    model, inputs = built(case), tuple(x[:, :2] for x in sentences())  # a recurrence is unrolled: short is quick
    torch._dynamo.reset()
    compiled = torch.compile(model, fullgraph=True, backend="aot_eager")
    close(compiled(*inputs), model(*inputs))
