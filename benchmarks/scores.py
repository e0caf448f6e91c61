"""Train many runs, several at once, and score each of them on held-out text.

    python benchmarks/scores.py benchmarks/rows.toml --data DATA --only 'multi30k-*' --seeds 1 2 3 --at-once 4

The file lists runs, in tables [[runs]] with the keys

    name      a name; with `each`, which lists values for words in braces, there is one run for each combination
    data      the name of a table [data.NAME] with further keys, also `each`; a run may have these itself:
    train     a TSV file or two parallel files in --data, where they may also end in .gz or .xz
    first     train on this many of the pairs: the first ones
    valid     validation pairs, likewise; by default, `saccade train` holds some out
    test      pairs to score on
    on        which of `valid` and `test` to score: by default, `test`
    lower     true: scores ignore case
    moses     a language: also give the BLEU of lower-cased text after the Moses tokeniser (needs sacremoses)
    recipe    a recipe; without it, `saccade train` chooses
    model     for `saccade train --model`
    budget    for `saccade train --budget`
    set       a list of settings, KEY=VALUE; those of the data come first
    timed_as  the name of a run whose timing --like repeats, with the settings of this run, which must not be slower
    control   the arguments of --control, a program that is no part of Saccade, with the arguments --train, --valid,
              --test, --seed, --lower and --out, and which writes log.json and hypotheses.txt
    vocab_of  a seed, to be run first, whose vocabulary the other seeds take, as those of an ensemble must
    ensemble  a list of seeds: instead of training, score their models of the run `of`, which are in --work, together
    of        the name of that run

A time limit means nothing on a shared machine. So time each run by itself for some seconds, which records the updates
that its minutes would allow (benchmarks/alone.py), and then train all of them at once by these recipes and updates:

    python benchmarks/scores.py benchmarks/rows.toml --data DATA --only 'europarl-*' --alone 20 --at-once 3
    python benchmarks/scores.py benchmarks/rows.toml --data DATA --only 'europarl-*' --like alone --at-once 3

--like also takes a seed, to repeat its recipe and updates.

Each run is one `saccade train`, and its best model translates with the default search. Results are added to --out under
NAME/SEED, with the command, the recipe, the updates and the seconds. Runs that are in --out already are not repeated.
"""

import argparse
import fnmatch
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice, product
from pathlib import Path
from threading import Lock
from typing import Any

from saccade.config import dump_toml
from saccade.data import PairFiles
from saccade.errors import UserError
from saccade.provenance import provenance
from saccade.train.recipe_files import find_file

ROOT = Path(__file__).parent.parent
KEPT = ("model", "budget", "set", "timed_as", "control", "of", "ensemble", "note")
Row = dict[str, Any]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", type=Path)
    parser.add_argument("--data", type=Path, required=True, help="the folder of the data")
    parser.add_argument("--only", nargs="+", default=["*"], help="names of runs, or patterns")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1])
    parser.add_argument("--at-once", type=int, default=1)
    parser.add_argument("--alone", type=float, metavar="SECONDS", help="only time each run, one at a time")
    parser.add_argument("--like", metavar="SEED", help="repeat the recipe and the updates of this seed, or of `alone`")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--control", type=Path, help="the program of the rows that are controls")
    parser.add_argument("--seconds", type=float, default=1e9, help="end all runs after this time, and score them")
    parser.add_argument("--work", type=Path, default=Path("runs/scores"), help="the folder of the models")
    parser.add_argument("--out", type=Path, default=ROOT / "benchmarks/results/scores.json")
    given = parser.parse_args()
    deadline, lock = time.monotonic() + given.seconds, Lock()
    if not given.rows.is_file():
        parser.error(f"{given.rows}: there is no such file")
    try:
        with ThreadPoolExecutor(given.at_once) as pool:
            runs = [pool.submit(run_and_record, row, given, deadline, lock) for row in planned(given)]
        for run in runs:
            run.result()
    except UserError as error:  # such as a file of the data that is missing
        parser.error(str(error))


def planned(given: argparse.Namespace) -> Iterator[Row]:
    """Each seed of each chosen run, with its data."""
    tables = tomllib.loads(given.rows.read_text(encoding="utf-8"))
    done = json.loads(given.out.read_text(encoding="utf-8")) if given.out.exists() else {}
    for run in (expansion for entry in tables["runs"] for expansion in expanded(entry, tables.get("data", {}))):
        if any(fnmatch.fnmatch(run["name"], pattern) for pattern in given.only):
            for seed in given.seeds if given.alone is None else ["alone"]:
                if f"{run['name']}/{seed}" not in done:
                    yield {"on": ["test"], **run, **find_like(run, given.like, done), "seed": seed}


def find_like(run: Row, like: str | None, done: Row) -> Row:
    if like is None:
        return {}
    name = run.get("timed_as", run["name"])
    if f"{name}/{like}" not in done:
        raise UserError(f"--like {like}: there is no record of {name}/{like}; run it first")
    return {"like": done[f"{name}/{like}"]}


def expanded(entry: Row, tables: Row) -> Iterator[Row]:
    """One run for each value in `each`, with its data; for several words, one for each combination of their values."""
    words = (tables.get(entry.get("data"), {}) | entry).get("each", {})
    for values in product(*words.values()):
        chosen = dict(zip(words, values, strict=True))
        run = filled(entry, chosen)
        data = filled(tables.get(run.get("data"), {}), chosen)
        row = data | run | {"set": [*data.get("set", []), *run.get("set", [])]}
        yield {key: row[key] for key in row if key != "each"}


def filled(table: Row, words: dict[str, str]) -> Row:
    """The table with values instead of the words in braces"""
    text = json.dumps(table)
    for word, value in words.items():
        text = text.replace(f"{{{word}}}", value)
    result: Row = json.loads(text)
    return result


def run_and_record(row: Row, given: argparse.Namespace, deadline: float, lock: Lock) -> None:
    name, folder = f"{row['name']}/{row['seed']}", given.work / row["name"] / str(row["seed"])
    if time.monotonic() > deadline:
        return
    folder.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(folder / "model", ignore_errors=True)  # of a run that was killed before it was recorded
    files = {part: find_texts(row, part, given, folder) for part in ("train", "valid", "test") if part in row}
    command = command_of(row, files, given, folder / "model")
    log, begun = folder / "log", time.monotonic()
    with log.open("w", encoding="utf-8") as file:
        code = run_until(command, file, deadline)
        seconds = time.monotonic() - begun
        is_trained = "control" not in row and "ensemble" not in row and given.alone is None
        if code in (0, 1) and is_trained:  # 1: interrupted at the deadline
            code = run_until(score_command(row, files, [folder / "model"], folder), file, deadline + 60)
    if code:
        print(f"{name}: failed, see {log}\n" + log.read_text(encoding="utf-8")[-300:], flush=True)
        return
    record = {"command": " ".join(command), "seconds": round(seconds, 1)} | {
        key: row[key] for key in KEPT if key in row
    }
    record |= {"recipe_file": row["recipe"]} if "recipe" in row else {}
    written = "alone.json" if given.alone is not None else "model/log.json" if "control" in row else "scores.json"
    record |= json.loads((folder / written).read_text("utf-8"))
    record.setdefault("provenance", provenance(seed_of(row)))
    add(given, name, record, lock)
    if given.alone is not None:
        print(f"{name}: {record['updates_per_second']:.1f} updates per second", flush=True)
        return
    for part, scores in record.get("scores", {"test": record}).items():
        shown = ", ".join(f"{key} {scores[key]:.2f}" for key in ("bleu", "wrong") if key in scores)
        print(f"{name}: {part} {shown}, {seconds:.0f} s", flush=True)


def add(given: argparse.Namespace, name: str, record: Row, lock: Lock) -> None:
    """Add a result, without the paths of this machine."""
    text = json.dumps(record, ensure_ascii=False)
    for path, shown in ((given.data, "DATA"), (given.work, "WORK"), (sys.executable, "python"), (ROOT, ".")):
        text = text.replace(str(path), shown)
    with lock:
        found = json.loads(given.out.read_text(encoding="utf-8")) if given.out.exists() else {}
        found[name] = json.loads(text)
        given.out.parent.mkdir(parents=True, exist_ok=True)
        given.out.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def seed_of(row: Row) -> int:
    return 1 if row["seed"] == "alone" else int(row["seed"])


def run_until(command: list[str], log: Any, deadline: float) -> int:
    """Run a command, interrupted at the deadline as by Ctrl-C → its exit code."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
    with subprocess.Popen(command, stdout=log, stderr=log, env=environment) as process:
        try:
            return process.wait(max(1.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGINT)
            return process.wait()


def find_texts(row: Row, part: str, given: argparse.Namespace, folder: Path) -> list[str]:
    """The files of a part; two files instead of one TSV for a control, or for the first pairs."""
    files = [find_file(given.data, name) for name in row[part]]
    first = row.get("first") if part == "train" else None
    if first is None and ("control" not in row or len(files) == 2):
        return [str(path) for path in files]
    pairs, sides = list(islice(PairFiles(*files), first)), [folder / f"{part}.{side}" for side in ("source", "target")]
    sides[0].write_text("".join(f"{pair.source}\n" for pair in pairs), encoding="utf-8")
    sides[1].write_text("".join(f"{pair.target}\n" for pair in pairs), encoding="utf-8")
    return [str(path) for path in sides]


def command_of(row: Row, files: dict[str, list[str]], given: argparse.Namespace, out: Path) -> list[str]:
    if "ensemble" in row:
        members = [given.work / row["of"] / str(seed) / "model" for seed in row["ensemble"]]
        return score_command(row, files, members, out.parent)
    if given.alone is not None:
        return alone_command(row, files, given, out)
    return (control_command if "control" in row else train_command)(row, files, given, out)


def alone_command(row: Row, files: dict[str, list[str]], given: argparse.Namespace, out: Path) -> list[str]:
    """benchmarks/alone.py, given the arguments of `saccade` or of the control"""
    if "control" not in row and "budget" not in row:
        raise UserError(f"--alone: {row['name']} has no budget of minutes")
    command = [sys.executable, str(Path(__file__).with_name("alone.py")), "--lock", str(given.work / "lock")]
    command += ["--seconds", str(given.alone), "--out", str(out.with_name("alone.json"))]
    if "control" in row:
        return [*command, "--control", str(given.control), "--", *control_command(row, files, given, out)[2:]]
    return [*command, "--", *train_command(row, files, given, out)[3:]]


def train_command(row: Row, files: dict[str, list[str]], given: argparse.Namespace, out: Path) -> list[str]:
    """`saccade train`, given a recipe, the record of another seed, or only pairs"""
    command = [sys.executable, "-m", "saccade", "train", "--out", str(out)]
    settings = [f"train.seed={seed_of(row)}", f"train.device={given.device}", *row.get("set", [])]
    if "like" in row:
        command += [str(write_recipe(row["like"]["recipe"], given, out.with_name("recipe.toml")))]
        keys = ("data.pairs", "data.targets")  # of this run: with `first`, each run writes its own
        settings += [f"{key}={json.dumps(path)}" for key, path in zip(keys, files["train"], strict=False)]
        settings += ["train.max_minutes=none", f"train.max_steps={row['like']['updates']}"]
        settings += ["train.threads=1"] * (given.device == "cpu" and given.at_once > 1)
    elif "recipe" in row:
        command += [row["recipe"], "--data-folder", str(given.data)]
    else:
        command += files["train"]
        keys = ("data.valid", "data.valid_targets")
        settings += [f"{key}={json.dumps(path)}" for key, path in zip(keys, files.get("valid", []), strict=False)]
        for key in ("model", "budget"):
            command += [f"--{key}", row[key]] if key in row else []
    if row.get("vocab_of", seed_of(row)) != seed_of(row):
        command += ["--vocab-from", str(given.work / row["name"] / str(row["vocab_of"]) / "model")]
    return [*command, *(part for setting in settings for part in ("--set", setting))]


def write_recipe(recorded: Row, given: argparse.Namespace, path: Path) -> Path:
    """The recipe of a record, with the files of this machine"""
    text = json.dumps(recorded).replace("DATA", str(given.data)).replace("WORK", str(given.work))
    tables = json.loads(text)
    path.write_text(dump_toml(tables), encoding="utf-8")
    return path


def control_command(row: Row, files: dict[str, list[str]], given: argparse.Namespace, out: Path) -> list[str]:
    command = [sys.executable, str(given.control), "--seed", str(seed_of(row)), "--out", str(out)]
    for option, part in (("--train", "train"), ("--valid", "valid"), ("--test", "test")):
        command += [option, *files.get(part, files["test"])]
    command += [*row["control"], *(["--lower"] if row.get("lower") else [])]
    return command + (["--minutes", "10000", "--steps", str(row["like"]["steps"])] if "like" in row else [])


def score_command(row: Row, files: dict[str, list[str]], models: list[Path], out: Path) -> list[str]:
    command = [sys.executable, str(Path(__file__).with_name("score_model.py")), *map(str, models), "--out", str(out)]
    for part in row["on"]:
        command += ["--on", part, *files[part]]
    command += ["--lower"] if row.get("lower") else []
    return command + (["--moses", row["moses"]] if "moses" in row else [])


if __name__ == "__main__":
    main()
