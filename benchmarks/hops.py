"""What hops, a penalty and attention are worth to a classifier: `task:sentiment`, whose test split has new words.

    python benchmarks/hops.py [--seeds 1 2 3] [--updates 1000]

Trains each system with each seed, scores it on the validation and test splits, and measures how much the hops of
lin2017 overlap on the test split, with the penalty and without. The weights of one sentence are kept for a figure. The
result is written to --out, with the machine, the versions and the commit.
"""

import argparse
import json
import tempfile
from pathlib import Path
from statistics import fmean
from typing import Any

from saccade import labels
from saccade.provenance import provenance
from saccade.tasks import task

ROOT = Path(__file__).parent.parent
TASK = "sentiment"
WITHOUT_PENALTY = "recurrent+lin2017, without the penalty"
DEFAULT = "recurrent+lin2017"
SYSTEMS: dict[str, tuple[str, dict[str, Any]]] = {
    DEFAULT: ("recurrent+lin2017", {}),
    "recurrent+lin2017, with the paper's penalty of 1": ("recurrent+lin2017", {"model.penalty": 1.0}),
    "recurrent+lin2017, with a penalty of 0.1": ("recurrent+lin2017", {"model.penalty": 0.1}),
    WITHOUT_PENALTY: ("recurrent+lin2017", {"model.penalty": 0.0}),
    "recurrent+bahdanau2014": ("recurrent+bahdanau2014", {}),
    "recurrent+mean": ("recurrent+mean", {}),
    "recurrent+last": ("recurrent+last", {}),
    "cheng2016+mean": ("cheng2016+mean", {}),
    "words+mean": ("words+mean", {}),
}
SHOWN = "although the stew was not bad, the ballet was tedious and awful."
SENTENCES = 100  # whose hops are compared


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--updates", type=int, default=1000)
    parser.add_argument("--out", type=Path, default=ROOT / "benchmarks/results/hops.json")
    given = parser.parse_args()
    made = provenance(None, f"python benchmarks/hops.py --updates {given.updates}")
    texts = [pair.source for pair in task(TASK).pairs(SENTENCES, seed=1, split="test")]
    valid = [(pair.source, pair.target) for pair in task(TASK).pairs(SENTENCES * 5, seed=1, split="valid")]
    systems: dict[str, list[dict[str, Any]]] = {}
    shown: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        for seed in given.seeds:
            for number, (name, (model, changes)) in enumerate(SYSTEMS.items()):
                settings = {"train.device": "cpu", "train.threads": 1, "train.seed": seed, **changes}
                out = Path(folder) / f"{number}-{seed}"
                trained = labels.train(
                    f"task:{TASK}", out=out, model=model, budget=str(given.updates), settings=settings
                )
                run: dict[str, Any] = {"seed": seed, "accuracy": trained.evaluate(f"task:{TASK}").accuracy}
                run["valid"] = trained.evaluate(valid).accuracy
                if model.endswith("lin2017"):
                    run["overlap"] = fmean(trained.attend(text).overlap for text in texts)
                if name in (DEFAULT, WITHOUT_PENALTY) and seed == given.seeds[0]:
                    attention = trained.attend(SHOWN)
                    shown[name] = {"words": attention.words, "weights": attention.weights.round(4).tolist()}
                systems.setdefault(name, []).append(run)
                print(name, run, flush=True)
    record = {
        "task": TASK,
        "updates": given.updates,
        "systems": systems,
        "shown": shown,
        "provenance": made,
    }
    given.out.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
