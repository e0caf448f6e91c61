"""How soon each model learns `reverse` and `dates`: exact matches on unseen items, beside the same model untrained.

    python benchmarks/learning.py                                    # every model on both, one after another
    python benchmarks/learning.py --models cho2014 --tasks dates --steps 4000

The word-by-word RNN writes a word for each word that it reads: it learns `copy`, which keeps the order, and is shown
to fail at `reverse`. A run ends at the first check with 98 % right, or with its updates. The system tests in
tests/test_learning.py train the same recipes.
"""

import argparse
import json
import os
import tempfile
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from saccade import config
from saccade.decode.translator import Translator
from saccade.models import MODELS
from saccade.provenance import provenance
from saccade.tasks import task
from saccade.train.loop import train
from saccade.train.recipe import Recipe, recipe_of
from saccade.train.run import Standing

ENOUGH = 0.98  # of the validation items: then the run ends
ITEMS = 300  # unseen ones, on which a model is judged in the end
LENGTHS = {"reverse": (3, 6), "copy": (3, 6)}
TASKS = ("reverse", "dates")
ORDER_KEEPING = {"aligned-rnn": ("copy", "reverse")}  # what such a model is asked instead

# Beside its tiny preset, what a model wants in order to read 40 locales' dates.
FOR_DATES: Mapping[str, Mapping[str, Any]] = {}
STEPS = {"reverse": 2500, "copy": 2500, "dates": 6000}


@dataclass(frozen=True, kw_only=True)
class Learnt:
    model: str
    task: str
    exact: float  # of unseen items
    untrained: float  # the same before any update
    steps: int
    seconds: float
    parameters: int


class _EnoughError(Exception):
    """Raised by the observer to end a run that has learnt what it should."""


def recipe(model: str, name: str, steps: int) -> Recipe:
    sequences = name in LENGTHS
    own = {} if sequences else FOR_DATES.get(model, {})
    tiny = config.to_dict(MODELS[model].PRESETS["tiny"])
    return recipe_of(
        {
            "data": {
                "pairs": f"task:{name}",
                "count": 20_000 if sequences else 60_000,
                "joint": False,
                "vocabulary": {"kind": "word" if sequences else "char", "size": 2000, "byte_fallback": False},
                **({"words": list(LENGTHS[name])} if sequences else {}),
            },
            "model": {"name": model, **tiny, "tie": "none", **own},
            "train": {
                "lr": 4e-3 if sequences else 3e-3,
                "schedule": "cosine",
                "warmup": 100,
                "tokens": 600 if sequences else 2000,
                "smoothing": 0.0,
                "weight_decay": 0.0,
                "max_steps": steps,
                "check_every": 100 if sequences else 250,
                "patience": 1000,
                "judge_on": 100,
                "threads": 1,
                "device": "cpu",
            },
        },
        "learning",
    )


def exact(translator: Translator, name: str, split: str, count: int = ITEMS) -> float:
    """The share of items of a split that are translated letter by letter right."""
    pairs = list(task(name).pairs(count, seed=2, split=split, **({"words": LENGTHS[name]} if name in LENGTHS else {})))
    found = translator.translate([pair.source for pair in pairs])
    return sum(one.text == pair.target for one, pair in zip(found, pairs, strict=True)) / len(pairs)


def learn(model: str, name: str, out: Path, steps: int | None = None, say: bool = False) -> Learnt:
    def observe(standing: Standing, translator: Translator) -> None:
        judged = exact(translator, name, "valid", 200)
        if say:
            print(f"  {model} {name} step {standing.step}: {judged:.3f}, {standing.seconds:.0f} s", flush=True)
        if judged >= ENOUGH:
            raise _EnoughError

    untrained = train(recipe(model, name, 0), out / "untrained")
    began = time.monotonic()
    try:
        train(recipe(model, name, steps or STEPS[name]), out / "trained", observe=observe)
    except _EnoughError:
        pass
    seconds = time.monotonic() - began
    from saccade import load

    trained = load(out / "trained", device="cpu")
    best = json.loads((out / "trained" / "metrics.jsonl").read_text(encoding="utf-8").splitlines()[-1])
    return Learnt(
        model=model,
        task=name,
        exact=exact(trained, name, "test"),
        untrained=exact(load(untrained.folder, device="cpu"), name, "test"),
        steps=best["step"],
        seconds=round(seconds, 1),
        parameters=sum(p.numel() for p in trained.model.parameters()),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", nargs="+", default=list(MODELS), choices=list(MODELS))
    parser.add_argument("--tasks", nargs="+", default=list(TASKS))
    parser.add_argument("--steps", type=int, help="at most so many updates")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "learning.json")
    options = parser.parse_args()
    made = provenance(seed=1)
    rows = []
    for model in options.models:
        for name in ORDER_KEEPING.get(model, options.tasks):
            with tempfile.TemporaryDirectory() as place:
                rows.append(asdict(learn(model, name, Path(place), options.steps, say=True)))
            print(json.dumps(rows[-1]), flush=True)
            result = {"load": os.getloadavg()[0], "rows": rows, "provenance": made}
            options.out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
