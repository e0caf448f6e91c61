"""How fast each model learns `reverse` and `dates`: exact matches on unseen items, compared with the untrained model.

    python benchmarks/learning.py --figures docs/images/models       # every model on both, one after another
    python benchmarks/learning.py --models cho2014 --tasks dates --steps 4000 --out cho2014.json
    python benchmarks/learning.py --join one.json other.json         # joins the rows of parallel runs

The word-by-word RNN writes one word for each word that it reads, and wu2019 only moves forward: both learn `copy`,
which keeps the order. At `reverse`, the RNN fails, and wu2019 has only what its states remember. A run ends at the
first validation with 99 % exact matches, or after its last update. The system tests in
tests/models/test_models_learn.py train the same recipes.
"""

import argparse
import json
import os
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from saccade import config
from saccade.decode import load
from saccade.decode.translator import Translator
from saccade.inspect import plot_heatmap
from saccade.models import MODELS
from saccade.provenance import provenance
from saccade.tasks import task
from saccade.train.learner import TrainingState
from saccade.train.recipe import Recipe, recipe_of
from saccade.train.translation import train

ENOUGH = 0.99  # share of correct validation items at which a run ends
ITEMS = 300  # unseen items for the final evaluation
LENGTHS = {"reverse": (3, 6), "copy": (3, 6)}
TASKS = ("reverse", "dates")
ORDER_KEEPING = dict.fromkeys(("aligned-rnn", "wu2019"), ("copy", "reverse"))  # the tasks of such models

# Settings that a model needs, besides its tiny preset, for the dates of 48 locales.
FOR_DATES: Mapping[str, Mapping[str, Any]] = {
    "kalchbrenner2013": {"embedding": 256, "hidden": 128, "cell": "gru", "first": "last"},
    "cho2014": {"hidden": 128, "maxout": 128},
    "sutskever2014": {"hidden": 128, "layers": 1},
    "luong2015": {"bidirectional": True},
    "vaswani2017": {"width": 64, "inner": 128, "dropout": 0.0},
    "russin2019": {"syntax_acts": True},
}
FOR_LETTERS: Mapping[str, Mapping[str, Any]] = {name: FOR_DATES[name] for name in ("cho2014", "vaswani2017")}
RATES = {"kalchbrenner2013": 6e-3, "vaswani2017": 2e-3}
MORE_DATES = ("kalchbrenner2013",)  # it would memorise half of them
SMALLER_BATCHES = ("kalchbrenner2013", "cho2014", "sutskever2014")  # a single vector needs more updates
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
    curve: list[tuple[int, float]]  # updates, exact on the validation items


class _EnoughError(Exception):
    """Raised by the observer to end a run that has learnt the task."""


def recipe(model: str, name: str, steps: int, like: Path | None = None) -> Recipe:
    """`like` is a model folder whose vocabulary is reused: then a few pairs suffice."""
    sequences = name in LENGTHS
    own = (FOR_LETTERS if sequences else FOR_DATES).get(model, {})
    tiny = config.to_dict(MODELS[model].PRESETS["tiny"])
    return recipe_of(
        {
            "data": {
                "pairs": f"task:{name}",
                "count": 500 if like else 20_000 if sequences else 200_000 if model in MORE_DATES else 100_000,
                "vocab_from": None if like is None else str(like),
                "joint": False,
                "vocabulary": {"kind": "word" if sequences else "char", "size": 2000, "byte_fallback": False},
                **({"words": list(LENGTHS[name])} if sequences else {}),
            },
            "model": {"name": model, **tiny, "tie": "none", **own},
            "train": {
                "lr": 4e-3 if sequences else RATES.get(model, 3e-3),
                "schedule": "cosine",
                "warmup": 100,
                "tokens": 600 if sequences else 1000 if model in SMALLER_BATCHES else 2000,
                "ema": None if sequences else 0.999,
                "smoothing": 0.0,
                "weight_decay": 0.0,
                "max_steps": steps,
                "check_every": 100 if sequences else 250,
                "patience": 1000,
                "judge": "loss",
                "threads": 1,
                "device": "cpu",
            },
        },
        "learning",
    )


def exact(translator: Translator, name: str, split: str, count: int = ITEMS) -> float:
    """The share of items of a split that are translated exactly."""
    pairs = list(task(name).pairs(count, seed=2, split=split, **({"words": LENGTHS[name]} if name in LENGTHS else {})))
    found = translator.translate([pair.source for pair in pairs])
    return sum(one.text == pair.target for one, pair in zip(found, pairs, strict=True)) / len(pairs)


def learn(model: str, name: str, out: Path, steps: int | None = None, say: bool = False) -> Learnt:
    """Train in `out`; the model is then in `trained` there."""
    curve: list[tuple[int, float]] = []

    def observe(state: TrainingState, translator: Translator) -> None:
        curve.append((state.step, exact(translator, name, "valid", 200)))
        if say:
            print(f"  {model} {name} step {state.step}: {curve[-1][1]:.3f}, {state.seconds:.0f} s", flush=True)
        if curve[-1][1] >= ENOUGH:
            raise _EnoughError

    began = time.monotonic()
    with suppress(_EnoughError):
        train(recipe(model, name, steps or STEPS[name]), out / "trained", observe=observe)
    seconds = time.monotonic() - began
    train(recipe(model, name, 0, out / "trained"), out / "untrained")
    trained = load(out / "trained", device="cpu")
    return Learnt(
        model=model,
        task=name,
        exact=exact(trained, name, "test"),
        untrained=exact(load(out / "untrained", device="cpu"), name, "test"),
        steps=curve[-1][0],
        seconds=round(seconds, 1),
        parameters=sum(p.numel() for p in trained.model.parameters()),
        curve=curve,
    )


def draw(rows: list[Learnt], trained: Translator, path: Path) -> None:
    """Plot how a model learnt and, if it has attention, where it looks."""
    from matplotlib import pyplot

    attends = trained.attends
    figure, axes = pyplot.subplots(1, 1 + attends, figsize=(5 + 5 * attends, 3.4), layout="constrained", squeeze=False)
    for row in rows:
        axes[0, 0].plot(*zip(*row.curve, strict=True), marker=".", label=row.task)
    axes[0, 0].set(xlabel="updates", ylabel="exact, unseen", ylim=(-0.03, 1.03), title=rows[0].model)
    axes[0, 0].legend()
    if attends:
        items = task(rows[-1].task).pairs(200, seed=5, split="test")
        written = next(item.source for item in items if item.source.isascii() and item.source[0].isalpha())
        shown = trained.translate([written])[0]
        pieces = shown.token_weights
        assert pieces is not None and shown.attention is not None
        source = [*trained.vocabularies.source.tokens(trained.vocabularies.source.encode(shown.source)), "</s>"]
        plot_heatmap(pieces.mean(0), source, shown.tokens, ax=axes[0, 1])
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=90)
    pyplot.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", nargs="+", default=list(MODELS), choices=list(MODELS))
    parser.add_argument("--tasks", nargs="+", default=list(TASKS))
    parser.add_argument("--steps", type=int, help="maximum number of updates")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "learning.json")
    parser.add_argument("--figures", type=Path, help="a folder for MODEL.png")
    parser.add_argument("--join", nargs="+", type=Path, help="train nothing; join these results in --out")
    options = parser.parse_args()
    made = provenance(seed=1)
    result: dict[str, Any] = {"load": os.getloadavg()[0], "rows": [], "provenance": made}
    if options.join:
        parts = [json.loads(path.read_text(encoding="utf-8")) for path in options.join]
        ranked = sorted(
            (row for part in parts for row in part["rows"]), key=lambda row: list(MODELS).index(row["model"])
        )
        result = parts[0] | {"rows": ranked, "side_by_side": len(parts)}
        options.out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
        return
    for model in options.models:
        rows = []
        with tempfile.TemporaryDirectory() as place:
            for name in ORDER_KEEPING.get(model, options.tasks):
                rows.append(learn(model, name, Path(place) / name, options.steps, say=True))
                result["rows"].append(asdict(rows[-1]))
                print(json.dumps(asdict(rows[-1])), flush=True)
                options.out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
            if options.figures:
                trained = load(Path(place) / rows[-1].task / "trained", device="cpu")
                draw(rows, trained, options.figures / f"{model}.png")


if __name__ == "__main__":
    main()
