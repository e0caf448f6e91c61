"""The attack itself works: a few tries of every campaign, and faults that were planted are found."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from random import Random

import pytest

from . import fuzz
from .child import Ended, Process, preload
from .mutating import compressed, spoil_bytes, spoil_value
from .oracle import MARKER, Case, Failure, judge, tree
from .results import Result, alike, rows
from .samples import Samples, new_place

# Python 3.12 warns of forks in a process with several threads, as a worker of pytest is: its second thread is idle.
pytestmark = pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
preload(["saccade.cli.commands", "saccade.train.corpus_report", "typer._adapters"])


def kinds(failures: list[Failure]) -> set[str]:
    return {failure.kind for failure in failures}


def judged(place: Path, arguments: list[str], ended: Ended | None = None, **case: object) -> set[str]:
    """The kinds of failure, of a command that runs or has ended so."""
    before = tree(place / "folder"), tree(place / "canary")
    attempt = Case(arguments=arguments, accepted=lambda *_: None, **case)  # type: ignore[arg-type]
    return kinds(judge(attempt, ended or Process(place, arguments).end(), place, before))


def ended_with(err: str, code: int | None = 2, outside: tuple[str, ...] = ()) -> Ended:
    return Ended(code, "", err, outside, 1, 1.0)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return new_place(tmp_path / "try")


def test_a_sound_command_passes(place: Path) -> None:
    (place / "folder" / "pairs.tsv").write_text("a b\tc d\n")
    assert judged(place, ["data", "pairs.tsv", "--json"]) == set()
    assert judged(place, ["data", "none.tsv"]) == set()
    assert judged(place, ["data", "pairs.tsv", "--out", "o.tsv"], outputs=("o.tsv",)) == set()


def test_files_written_elsewhere_are_detected(place: Path) -> None:
    (place / "folder" / "pairs.tsv").write_text("a b\tc d\n")
    assert judged(place, ["data", "pairs.tsv", "--out", "o.tsv"]) == {"left behind"}
    assert judged(place, ["data", "pairs.tsv", "--out", "../canary/secret"]) == {"outside files touched"}
    (place / "folder" / MARKER).touch()
    assert judged(place, [], ended_with("", 0)) == {"outside files touched"}
    assert judged(place, [], ended_with("", 0), names_code=True) == set()


@pytest.mark.parametrize(
    ("ended", "found"),
    [
        (ended_with("saccade: pairs.tsv: no such file\n"), set()),
        (ended_with("picked bahdanau2014\nsaccade: pairs.tsv: no such file\n"), set()),
        (ended_with("Usage: saccade train [OPTIONS]\nTry …\n╭─ Error\n"), set()),
        (ended_with("saccade: one\nsaccade: two\n"), {"unclear messages"}),
        (ended_with("saccade: \x1b[31mred\n"), {"unclear messages"}),
        (ended_with("something else\n"), {"unclear messages"}),
        (ended_with("saccade: interrupted\n", 1), {"tracebacks"}),
        (
            ended_with('Traceback (most recent call last):\n  File "saccade/x.py", line 1, in f\nValueError\n', 70),
            {"tracebacks"},
        ),
        (ended_with("", -signal.SIGSEGV), {"tracebacks"}),
        (ended_with("", None), {"hangs"}),
        (ended_with("", 0, ("open /etc/passwd",)), {"outside files touched"}),
    ],
)
def test_each_planted_fault_is_found(place: Path, ended: Ended, found: set[str]) -> None:
    assert judged(place, [], ended) == found


def test_a_wrong_acceptance_is_found(place: Path) -> None:
    before = tree(place / "folder"), tree(place / "canary")
    case = Case(arguments=[], accepted=lambda ended, folder: "a folder that must be refused")
    assert kinds(judge(case, ended_with("", 0), place, before)) == {"wrong acceptances"}
    assert kinds(judge(case, ended_with("saccade: no\n"), place, before)) == set()


def test_hang_is_killed_and_located(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from saccade import cli

    monkeypatch.setattr(cli, "main", lambda: time.sleep(60))
    ended = Process(place, []).end(0.5)
    assert ended.code is None and "Current thread" in ended.err


def test_watcher_sees_executed_code_and_moved_files(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from saccade import cli

    def main() -> None:
        Path("../canary/secret").rename("taken")
        shutil.rmtree("../canary/ssh")
        os.system("true")

    monkeypatch.setattr(cli, "main", main)
    ended = Process(place, []).end()
    events = [line.split()[0] for line in ended.outside]
    assert ended.code == 0 and "os.rename" in events and "os.remove" in events and "os.system" in events


def test_attempt_depends_on_seed_and_number_alone() -> None:
    def drawn(seed: int) -> tuple[bytes, object, bytes]:
        random = Random(f"{seed} fuzz 12")
        return spoil_bytes(random, b"a b\nc d\n"), spoil_value(random, {"a": [1, {"b": 2}]}), compressed(random, b"abc")

    assert repr(drawn(1)) == repr(drawn(1)) != repr(drawn(2))
    assert {fuzz.kind_of(number) for number in range(8)} == set(fuzz.KINDS)


def test_table_counts_an_attempt_once_per_kind_of_failure() -> None:
    failure = Failure("hangs", "x.py", "…")
    results = [Result("fuzz", "corpus", 1, [failure, failure], 1.0, ""), Result("fuzz", "corpus", 2, [], 1.0, "", 2)]
    (row,) = rows(results)
    assert (row["tries"], row["accepted"], row["hangs"], row["tracebacks"]) == (2, 1, 1, 0)
    assert [(found.where, len(met)) for found, met in alike(results)] == [("x.py", 2)]


def test_attack_of_a_quick_command_finds_nothing(tmp_path: Path) -> None:
    """Every try ends, is judged, and cleans up after itself if nothing is wrong."""
    samples = Samples({"none": tmp_path / "model"})
    samples.models["none"].mkdir()

    def quick(number: int) -> bool:
        folder = tmp_path / "drawn"
        folder.mkdir()
        case = fuzz.KINDS[fuzz.kind_of(number)](Random(f"1 fuzz {number}"), folder, samples)
        shutil.rmtree(folder)
        return case.arguments[0] == "data"

    numbers = [number for number in range(100) if fuzz.kind_of(number) == "corpus" and quick(number)]
    results = list(fuzz.campaign(1, numbers, samples, tmp_path, jobs=1))
    assert [result.number for result in results] == numbers and len(numbers) > 8
    kept = {f"fuzz-{one.number}" for one in results if one.failures}
    assert {path.name for path in tmp_path.iterdir()} == {"model", *kept}


@pytest.mark.slow
def test_the_program_runs_every_campaign(tmp_path: Path) -> None:
    counts = ["--tries", "12", "--kills", "3", "--writers", "2", "--crashes", "2", "--jobs", "1", "--seed", "3"]
    places = ["--keep", str(tmp_path / "kept"), "--record", str(tmp_path / "r.json")]
    command = [sys.executable, "-m", "tests.attack", *counts, *places]
    done = subprocess.run(command, cwd=Path(__file__).parents[2], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    record = json.loads((tmp_path / "r.json").read_text())
    assert sum(row["tries"] for row in record["rows"]) == 25 and record["seed"] == 3
    assert {row["campaign"] for row in record["rows"]} == {"crash", "fuzz", "kill", "writers"}
