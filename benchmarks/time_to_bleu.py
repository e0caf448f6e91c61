"""Minutes of training until a tiny Transformer reaches a BLEU on the validation pairs, beside a control.

  python benchmarks/time_to_bleu.py --train train.en train.de --valid val.en val.de \\
      --control control.py --budgets 8 12 16 --bleu 36 --out benchmarks/results/time-to-bleu.json

The control is a program with the arguments --train, --valid, --test, --size, --tokens, --minutes, --seed, --device and
--out, which writes log.json with `minutes` and `bleu`. It reports BLEU only at its end, so it runs once per budget; its
learning rate does not depend on the budget, so the runs are points of one curve. Saccade trains once, with the sizes
and the schedule of the control, and is scored after each validation, while its clock stands still. Both translate the
whole validation set with a beam of 5.
"""

import argparse
import gzip
import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from peers import MARIAN, interpreter
from rich.console import Console
from speed import RESULTS, save

from saccade import config
from saccade.decode.options import DEFAULT_SEARCH
from saccade.decode.translator import Translator
from saccade.metrics.scores import score
from saccade.provenance import provenance
from saccade.train.learner import TrainingState
from saccade.train.log import Log
from saccade.train.recipe import Recipe, recipe_of
from saccade.train.translation import train

Point = dict[str, float]
MODEL = {"name": "vaswani2017", "preset": "tiny", "encoder_layers": 4, "decoder_layers": 4, "dropout": 0.3}
TRAINING = {
    "lr": 5e-3,
    "schedule": "inverse-sqrt",
    "warmup": 2000,
    "tokens": 4096,
    "check_every": 500,
    "patience": 1000,
}


class Reached(Exception):  # noqa: N818  (it is no error)
    """The BLEU was reached."""


class ClockLog(Log):
    """Knows when the updates began: like the control's, the clock does not count the preparation of the data."""

    start = 0.0

    def __enter__(self) -> Log:
        self.start = time.perf_counter()
        return super().__enter__()


class Curve:
    """The BLEU of the run after each validation, by the minutes of training without this measuring."""

    def __init__(self, sources: Sequence[str], references: Sequence[str], wanted: float, log: ClockLog) -> None:
        self.sources, self.references, self.wanted, self.log = sources, references, wanted, log
        self.points: list[Point] = []
        self.scoring = 0.0

    def __call__(self, state: TrainingState, translator: Translator) -> None:
        paused = time.perf_counter()
        texts = [translation.text for translation in translator.translate(self.sources, DEFAULT_SEARCH)]
        bleu = score(texts, self.references)["bleu"]
        minutes = (paused - self.log.start - self.scoring) / 60
        self.points.append({"minutes": minutes, "bleu": bleu, "step": state.step})
        print(f"Saccade: {minutes:.2f} minutes, step {state.step}: BLEU {bleu:.2f}", flush=True)
        if bleu >= self.wanted:
            raise Reached
        self.scoring += time.perf_counter() - paused


def measure_ours(recipe: Recipe, valid: Sequence[Path], wanted: float, folder: Path) -> list[Point]:
    sources, references = (path.read_text(encoding="utf-8").splitlines() for path in valid)
    log = ClockLog(folder / "run", Console(file=io.StringIO()))
    curve = Curve(sources, references, wanted, log)
    with suppress(Reached):
        train(recipe, folder / "run", log=log, observe=curve)
    return curve.points


def run_control(options: argparse.Namespace, files: dict[str, list[Path]], minutes: float, folder: Path) -> Point:
    out = folder / f"control-{minutes:g}"
    names = {name: list(map(str, paths)) for name, paths in files.items()}
    command = [str(options.control_python), str(options.control), "--size", "tiny", "--minutes", str(minutes)]
    command += ["--train", *names["train"], "--valid", *names["valid"], "--test", *names["valid"]]
    command += ["--tokens", str(TRAINING["tokens"]), "--device", options.device, "--seed", str(options.seed)]
    subprocess.run([*command, "--out", str(out)], check=True, stdout=subprocess.DEVNULL)
    log = json.loads((out / "log.json").read_text(encoding="utf-8"))
    print(f"control: {log['minutes']:.2f} minutes: BLEU {log['bleu']:.2f}", flush=True)
    return {"minutes": log["minutes"], "bleu": log["bleu"], "step": log["steps"]}


def minutes_to(points: Sequence[Point], wanted: float) -> float | None:
    """When the curve first reached the BLEU, between two points by a straight line; None if it did not."""
    before: Point = {"minutes": 0.0, "bleu": 0.0}
    for point in sorted(points, key=lambda each: each["minutes"]):
        if point["bleu"] >= wanted:
            part = (wanted - before["bleu"]) / (point["bleu"] - before["bleu"])
            return before["minutes"] + part * (point["minutes"] - before["minutes"])
        before = point
    return None


def recipe_for(options: argparse.Namespace, files: dict[str, list[Path]]) -> Recipe:
    (pairs, targets), (valid, valid_targets) = (map(str, files[kind]) for kind in ("train", "valid"))
    data = {"pairs": pairs, "targets": targets, "valid": valid, "valid_targets": valid_targets}
    vocabulary = {"kind": "bpe", "size": options.vocabulary}
    training = TRAINING | {"max_minutes": max(options.budgets), "device": options.device, "seed": options.seed}
    tables = {"data": data | {"vocabulary": vocabulary}, "model": MODEL, "train": training}
    return recipe_of(config.override(tables, options.set), "--set")


def unpack(path: Path, folder: Path, *, lower: bool) -> Path:
    """A plain copy, in lower case if that is wanted, for both systems"""
    out = folder / path.name.removesuffix(".gz")
    with (gzip.open if path.suffix == ".gz" else Path.open)(path, "rb") as source, out.open("wb") as target:
        shutil.copyfileobj(source, target)
    if lower:
        out.write_text(out.read_text(encoding="utf-8").lower(), encoding="utf-8")
    return out


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--train", nargs=2, type=Path, required=True, metavar="FILE")
    parser.add_argument("--valid", nargs=2, type=Path, required=True, metavar="FILE")
    parser.add_argument("--control", type=Path, help="the control's program; without it, only Saccade is measured")
    parser.add_argument("--control-python", type=Path, default=interpreter(MARIAN) or Path(sys.executable))
    parser.add_argument("--budgets", nargs="+", type=float, default=[20.0], help="minutes of the control's runs")
    parser.add_argument("--bleu", type=float, default=36.0)
    parser.add_argument("--lower", action="store_true", help="lower-case all texts")
    parser.add_argument("--vocabulary", type=int, default=8000)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="of Saccade's recipe")
    parser.add_argument("--out", type=Path, default=RESULTS / "time-to-bleu.json")
    options = parser.parse_args(arguments)
    made = provenance(seed=options.seed)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        files = {
            kind: [unpack(path, folder, lower=options.lower) for path in getattr(options, kind)]
            for kind in ("train", "valid")
        }
        recipe = recipe_for(options, files)
        curves: dict[str, list[Point]] = {"Saccade": [], "control": []}
        result = {"table": "time-to-bleu", "bleu": options.bleu, "recipe": recipe.to_dict(), "provenance": made}

        def keep() -> None:
            reached = {name: minutes_to(points, options.bleu) for name, points in curves.items()}
            ours, control = reached["Saccade"], reached["control"]
            ratio = ours / control if ours and control else None
            load = os.getloadavg()[0]
            save(options.out, result | {"curves": curves, "minutes": reached, "ratio_to_control": ratio, "load": load})

        curves["Saccade"] = measure_ours(recipe, files["valid"], options.bleu, folder)
        keep()
        for minutes in sorted(options.budgets) if options.control else ():
            curves["control"].append(run_control(options, files, minutes, folder))
            keep()
            if curves["control"][-1]["bleu"] >= options.bleu:
                break


if __name__ == "__main__":
    main()
