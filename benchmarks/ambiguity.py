"""Accuracy on the phrasebook's ambiguous words, by the distance of the cue and by the number of updates.

    python benchmarks/ambiguity.py recipes/ambiguity-*.toml --minutes 4 --out benchmarks/results/ambiguity.json

The recipes are trained one after another. At every validation, the model translates the same test sentences (with
combinations of words that are not in the training data, and cues 1 to 20 words away), and as many sentences in which a
neutral word replaces the cue.
"""

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

from saccade.decode.translator import Translator
from saccade.provenance import provenance
from saccade.tasks import Phrasebook
from saccade.tour.run import AmbiguitySet
from saccade.train.learner import TrainingState
from saccade.train.recipe import load_recipe
from saccade.train.translation import train


def run(path: Path, minutes: float | None, items: AmbiguitySet, keep: Path | None) -> dict[str, Any]:
    recipe = load_recipe(path, [f"train.max_minutes={minutes}"] if minutes else [])
    checks: list[dict[str, Any]] = []

    def observe(state: TrainingState, translator: Translator) -> None:
        rows = items.judge(translator)
        total = sum(row.items for row in rows)
        overall = sum(row.right for row in rows) / total
        within = {
            row.bucket.label: {"accuracy": row.accuracy, "control": row.control, "items": row.items} for row in rows
        }
        checks.append({"step": state.step, "seconds": state.seconds, "accuracy": overall, "distance": within})
        print(f"  {path.stem} step {state.step}: {overall:.3f} right, " + ", ".join(
            f"{name}: {cell['accuracy']:.2f}" for name, cell in within.items()), flush=True)  # fmt: skip

    with tempfile.TemporaryDirectory() as place:
        out = keep / path.stem if keep else Path(place) / "run"
        outcome = train(recipe, out, observe=observe)
        parameters = sum(p.numel() for p in _model(out).parameters())
    return {
        "recipe": path.name,
        "model": recipe.model,
        "parameters": parameters,
        "steps": outcome.step,
        "seconds": outcome.seconds,
        "best": outcome.best,
        "checks": checks,
    }


def _model(folder: Path) -> Any:
    from saccade.decode.loading import load

    return load(folder, device="cpu").model


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recipes", nargs="+", type=Path)
    parser.add_argument("--minutes", type=float, help="training time of each recipe (default: the recipe's)")
    parser.add_argument("--items", type=int, default=400, help="number of test sentences with a cue, and without")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/ambiguity.json"))
    parser.add_argument("--keep", type=Path, help="keep the trained models in this folder")
    arguments = parser.parse_args()
    items = AmbiguitySet(Phrasebook(source="en", target="fr"), arguments.items)
    runs = []
    for path in arguments.recipes:
        runs.append(run(path, arguments.minutes, items, arguments.keep))
        arguments.out.parent.mkdir(parents=True, exist_ok=True)
        arguments.out.write_text(
            json.dumps({"runs": runs, "provenance": provenance()}, indent=1) + "\n", encoding="utf-8"
        )


if __name__ == "__main__":
    main()
