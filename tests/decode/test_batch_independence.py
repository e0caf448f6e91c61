"""In float32 on the CPU, a text does not depend on its batch, its place in it or its padding. Another shape rounds
otherwise, so two hypotheses of the same score may change places: these are counted, and at most 1 in 10,000.
"""

import random
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch.nn.functional import pad

from saccade.data.batching import pad_sources
from saccade.decode import Hypothesis, Search, run_search
from saccade.models import MODELS, Seq2Seq

VOCABULARY, SENTENCES, TIE = 60, 330, 1e-3
SEARCHES = (Search(longest=12), Search(beam=4, longest=12, no_repeat=3))


def untrained(name: str) -> Seq2Seq[Any, Any]:
    """As confident as a trained model."""
    torch.manual_seed(1)
    model = MODELS[name](MODELS[name].PRESETS["tiny"], VOCABULARY, VOCABULARY).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter.mul_(2.0)
    return model


def arrangements(lengths: list[int]) -> Iterator[tuple[list[list[int]], int]]:
    """Batches of places, and how much padding is added to them"""
    by_length = sorted(range(len(lengths)), key=lambda place: lengths[place])
    shuffled = random.Random(2).sample(by_length, len(by_length))
    for order, size, padding in ((by_length, 64, 0), (shuffled, 64, 0), (shuffled[::-1], 23, 7)):
        yield [order[start : start + size] for start in range(0, len(order), size)], padding


def found_in(
    model: Seq2Seq[Any, Any], rows: list[list[int]], search: Search, batches: list[list[int]], padding: int
) -> dict[int, Hypothesis]:
    results = {}
    for places in batches:
        source, readable = (pad(part, (0, padding)) for part in pad_sources([rows[place] for place in places]))
        for place, (best, *_) in zip(places, run_search(model, source, readable, search), strict=True):
            results[place] = best
    return results


@pytest.mark.slow
def test_a_text_does_not_depend_on_its_batch(capsys: pytest.CaptureFixture[str]) -> None:
    draw = random.Random(1)
    rows = [[draw.randrange(4, VOCABULARY) for _ in range(draw.randint(1, 9))] for _ in range(SENTENCES)]
    alone = [[place] for place in range(0, SENTENCES, 30)]
    compared = ties = 0
    for name in MODELS:
        model = untrained(name)
        for search in SEARCHES:
            first, *others = (found_in(model, rows, search, *way) for way in arrangements([len(row) for row in rows]))
            for other in (*others, found_in(model, rows, search, alone, 0)):
                compared += len(other)
                for place, best in other.items():
                    if best.tokens != first[place].tokens:
                        assert best.score == pytest.approx(first[place].score, rel=TIE), (name, rows[place])
                        ties += 1
    with capsys.disabled():
        sys.stdout.write(f"\n{compared:,} texts in other batches: {ties} differ, all of them ties\n")
    assert ties <= compared / 10_000
