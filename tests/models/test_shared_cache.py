"""A cache that hypotheses share gives the numbers of plain caches, which are copied, for every self-attention."""

from functools import partial
from typing import Any

import pytest
import torch
from model_cases import CASES, RARE, B, Case, built, sentences

from saccade.attention import ATTENTIONS, Attention, Memory
from saccade.attention import cache as cache_module
from saccade.attention.cache import SharedCache
from saccade.models import Seq2Seq
from saccade.models.contract import follow_hypotheses, keep_sentences, make_room, map_tensors, take_rows

close = partial(torch.testing.assert_close, rtol=1e-9, atol=1e-10)
HYPOTHESES, STEPS = 3, 7
CACHED = [case for case in CASES if case.model in ("vaswani2017", "radford2018")]
TWO_LAYERS = [
    Case("vaswani2017", {"encoder_layers": 2, "decoder_layers": 2}),
    Case("radford2018", {"layers": 2, "positions": "rotary"}),
]
cached = pytest.mark.parametrize(
    "case", [pytest.param(case, marks=[pytest.mark.slow] * (case in RARE)) for case in CACHED], ids=str
)


def steps_of(case: Case, moving: Any, *, room: bool, ahead: int = 0) -> list[torch.Tensor]:
    """The logits of random steps: hypotheses continue others, and one sentence leaves on the way."""
    model, (source, readable, _) = built(case), sentences()
    generator = torch.Generator().manual_seed(3)
    (fixed, _), count, logits = model.start(source, readable), B, []
    for t in range(STEPS):
        tokens = torch.randint(4, 11, (count * HYPOTHESES,), generator=generator)
        if room:
            moving = make_room(moving, t + 1 + ahead)
        step, moving = model.step(tokens, torch.full_like(tokens, t), fixed, moving)
        logits.append(step)
        rows = torch.randint(0, HYPOTHESES, (count, HYPOTHESES), generator=generator)
        moving = follow_hypotheses(moving, rows, torch.tensor([t]))
        if t == 3:
            going = torch.tensor([0, 2])
            fixed, moving, count = take_rows(fixed, going), keep_sentences(moving, going, HYPOTHESES), len(going)
    return logits


@cached
def test_a_shared_cache_equals_plain_ones(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache_module, "_FEWEST_STEPS", 2)
    model, (source, readable, _) = built(case), sentences()
    with torch.inference_mode():
        _, moving = model.start(source, readable)
        expected = steps_of(case, Seq2Seq.for_hypotheses(model, moving, HYPOTHESES), room=False)
        shared = model.for_hypotheses(moving, HYPOTHESES)
        has_history = any(
            a.needs_history for name, a in _attentions(model) if "cross" not in name and "encoder" not in name
        )
        assert isinstance(_caches(shared)[0], Memory if has_history else SharedCache)
        for ahead in (0, 5):  # slots of steps to come are not read
            shared = model.for_hypotheses(moving, HYPOTHESES)
            close(steps_of(case, shared, room=True, ahead=ahead), expected)


def _caches(moving: Any) -> list[Memory | SharedCache]:
    return [getattr(layer, "past", layer).cache for layer in moving]


def _attentions(model: Seq2Seq[Any, Any]) -> list[tuple[str, Attention]]:
    return [(name, module) for name, module in model.named_modules() if isinstance(module, Attention)]


def test_every_self_attention_is_here() -> None:
    named = {case.options.get("decoder_attention") for case in CACHED}
    assert {name for name in ATTENTIONS if "local-p" not in name} <= named


@pytest.mark.parametrize("case", TWO_LAYERS, ids=str)
def test_layers_keep_sharing_their_paths(case: Case) -> None:
    model, (source, readable, _) = built(case), sentences()
    _, moving = model.start(source, readable)
    moving = model.for_hypotheses(moving, HYPOTHESES)
    for change in (
        partial(make_room, steps=40),
        partial(follow_hypotheses, rows=torch.zeros(B, HYPOTHESES, dtype=torch.long), written=torch.tensor([0])),
        partial(keep_sentences, sentences=torch.tensor([1]), hypotheses=HYPOTHESES),
    ):
        moving = change(moving)
        first, second = _caches(moving)
        assert isinstance(first, SharedCache) and isinstance(second, SharedCache) and first.paths is second.paths


def test_a_cache_is_a_tree_of_tensors() -> None:
    empty = Memory(torch.zeros(2, 1, 0, 4), torch.zeros(2, 1, 0, 4), at=torch.zeros(2, 0, dtype=torch.long))
    cache = SharedCache.start(empty, 3)
    assert cache.steps == cache.visible == 16
    doubled = map_tensors(lambda tensor: tensor.clone(), cache)
    assert isinstance(doubled, SharedCache) and doubled.visible == 16 and torch.equal(doubled.paths, cache.paths)
