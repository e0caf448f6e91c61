"""Commands that write, to be killed or met by a second writer; and what each writes when it is left alone."""

import re
import shutil
from collections.abc import Container, Mapping
from dataclasses import dataclass
from pathlib import Path

from .child import LONGEST, Ended, Process, rehearse
from .corpora import SEARCH
from .oracle import Failure, Tree, tree
from .samples import Samples, new_place, pairs_tsv, recipe, recipe_toml, texts

LONGEST_JOB = 3 * LONGEST  # a whole training is longer than a mistake may take to be found
_STEPS = ("--set", "train.max_steps=6", "--set", "train.check_every=2")
_COMPARED = (
    *("compare", "cho2014:embedding=4", "bahdanau2014:align=4", "--data", "pairs.tsv", "--on", "pairs.tsv"),
    *("--steps", "4", "--seeds", "1,2", "--rounds", "0", "--resamples", "20", "--beam", "1", "--device", "cpu"),
    *("--set", "model.preset=tiny", "--set", "model.hidden=4", "--set", "train.threads=1", "--set", "train.tokens=100"),
    *("--set", "data.vocabulary.kind=char", "--set", "train.judge_on=2", "--set", "train.check_every=2"),
)
_SWEPT = ("sweep", "recipe.toml", "--out", "out", "--grid", "train.lr=1e-3,3e-3", "--set", "train.judge=loss")
_HASH = "HASH"  # in place of one, in a file's name


@dataclass(frozen=True, kw_only=True)
class Job:
    arguments: tuple[str, ...]
    promised: tuple[str, ...]  # names of files that must be the same, byte for byte, whenever they are made
    operations: int  # on files in its output, about: the moments at which it may be killed
    goes_on_by: tuple[str, ...] = ()  # added to the command where a run is there already


JOBS: Mapping[str, Job] = {
    "translate": Job(
        arguments=("translate", "model", "in.txt", "--out", "out/o.txt", "--chunk", "1", *SEARCH),
        promised=("o.txt",),
        operations=60,
    ),
    "translate n-best": Job(
        arguments=(
            *("translate", "model", "in.txt", "--out", "out/o.txt", "--chunk", "2", *SEARCH),
            *("--n-best", "2", "--tree", "out/trees.jsonl"),
        ),
        promised=("o.txt", "trees.jsonl"),
        operations=60,
    ),
    "score": Job(
        arguments=("score", "model", "pairs.tsv", "--out", "out/o.txt", "--device", "cpu"),
        promised=("o.txt",),
        operations=12,
    ),
    "train": Job(
        arguments=("train", "recipe.toml", "--out", "out", *_STEPS),
        promised=("model.safetensors", "metrics.jsonl", "recipe.toml"),
        operations=500,
        goes_on_by=("--resume",),
    ),
    "sweep": Job(arguments=_SWEPT, promised=("model.safetensors",), operations=700),
    "compare": Job(
        arguments=(*_COMPARED, "--out", "out"), promised=("model.safetensors", "metrics.jsonl"), operations=1200
    ),
}


def prepare(place: Path, samples: Samples) -> Path:
    folder = new_place(place) / "folder"
    (folder / "in.txt").write_bytes(texts())
    (folder / "pairs.tsv").write_bytes(pairs_tsv())
    (folder / "recipe.toml").write_bytes(recipe_toml(recipe("rnn")))
    (folder / "out").mkdir()
    shutil.copytree(samples.models["rnn"], folder / "model", ignore=shutil.ignore_patterns("cache", "training"))
    return place


def start(job: Job, place: Path, **options: object) -> Process:
    there = (place / "folder" / "out" / "recipe.toml").exists()
    return Process(place, [*job.arguments, *(job.goes_on_by if there else ())], **options)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Lone:
    """What a job writes when nothing disturbs it."""

    files: Tree
    steady: frozenset[str]  # those that are the same at every run: others may hold times
    seconds: float


def lone_runs(names: list[str], samples: Samples, work: Path) -> dict[str, Lone]:
    return {name: _lone(name, samples, work) for name in names}


def _lone(name: str, samples: Samples, work: Path) -> Lone:
    job, trees, seconds = JOBS[name], [], 0.0
    for turn in range(2):
        place = prepare(work / f"lone-{name}-{turn}", samples)
        if turn == 0:
            rehearse(place, list(job.arguments))
        else:
            ended = start(job, place).end(LONGEST_JOB)
            assert ended.code == 0, ended.err
            seconds = ended.seconds
        trees.append(tree(place / "folder" / "out"))
    first, second = map(_by_name, trees)
    steady = frozenset(path for path in first if Path(path).name in job.promised)
    assert steady and all(first[path] == second.get(path) for path in steady), f"{name}: two runs wrote different files"
    return Lone(second, steady, seconds)


def differences(lone: Lone, place: Path, others: Container[str] = ()) -> list[Failure]:
    """Between what is in the output now and what the job writes when it is left alone; `others` may be there, too."""
    now, files = _by_name(tree(place / "folder" / "out")), lone.files
    lost = sorted(path for path in files if path not in now or (path in lone.steady and now[path] != files[path]))
    more = sorted(path for path in now if path not in files and path not in others)
    failures = [Failure("bytes lost", lost[0], f"missing or different: {lost[:5]}")] if lost else []
    return [*failures, *([Failure("left behind", more[0], f"{more[:5]}")] if more else [])]


def _by_name(files: Tree) -> Tree:
    """A name that is a hash of what holds times differs between runs: such files are only counted."""
    found: Tree = {}
    for path, what in files.items():
        name, more = re.subn(r"[0-9a-f]{16,}", _HASH, path)
        while more and name in found:
            name += "'"
        found[name] = what
    return found


def ended_badly(ended: Ended, allowed: tuple[int, ...]) -> list[Failure]:
    if ended.code is None:
        return [Failure("hangs", "job", f"not ended after {ended.seconds:.0f} s")]
    if ended.code not in allowed or "Traceback" in ended.err:
        said = (ended.err.strip().splitlines() or [""])[-1]
        return [Failure("tracebacks", said[:80], f"exit code {ended.code}: {said[:200]}")]
    return []
