"""`saccade compare`: the table, the report, JSON, mistakes, and continuing after a kill."""

import json
import signal
import sys
from functools import partial
from pathlib import Path

import pytest
from running import Run

from saccade.comparison.options import CompareOptions
from saccade.comparison.planning import choose_seeds
from saccade.data import TextPair
from saccade.errors import UserError

sys.path.insert(0, str(Path(__file__).parents[1] / "train"))
from training_processes import run_saccade

QUICK = ("--rounds", "0", "--resamples", "20", "--beam", "1", "--device", "cpu")
SMALL = (
    *(
        "--set",
        "model.preset=tiny",
        "--set",
        "model.embedding=4",
        "--set",
        "model.hidden=4",
        "--set",
        "train.threads=1",
    ),
    *("--set", "data.vocabulary.kind=char", "--set", "train.judge_on=2", "--set", "train.tokens=100"),
)


@pytest.fixture
def run(saccade: Run) -> Run:
    return partial(saccade, "compare")


@pytest.fixture
def tsv(tmp_path: Path, pairs: list[TextPair]) -> Path:
    path = tmp_path / "pairs.tsv"
    path.write_text("".join(f"{pair.source}\t{pair.target}\n" for pair in pairs[:4] * 8) + "\t\n", encoding="utf-8")
    return path


def test_compare_prints_a_table_and_writes_a_report_and_json(
    run: Run, tsv: Path, model_folder: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    command_line = (
        "cho2014",
        f"{model_folder},{model_folder}:as=learnt by heart",
        "--data",
        tsv,
        "--on",
        tsv,
        "--steps",
        "2",
        "--seeds",
        "2",
    )
    code, printed, err = run(*command_line, *SMALL, *QUICK, "--out", out)
    assert code == 0 and "left out: 1 pair with a blank side" in err and "report.html" in err
    for part in ("32 sentences of", "cho2014", "learnt by heart", "BLEU", "95 % interval", "p, Holm", "is better"):
        assert part in printed
    assert "Where they differ most" in (out / "report.html").read_text(encoding="utf-8")
    code, printed, err = run(*command_line, *SMALL, *QUICK, "--out", out, "--json")
    results = json.loads(printed)
    assert code == 0 and err.count("finished already") == 2
    assert results == json.loads((out / "results.json").read_text(encoding="utf-8"))
    by_name = {row["name"]: row for row in results["systems"]}
    assert by_name["learnt by heart"]["scores"]["exact"]["mean"] == 100.0
    assert [row["seed"] for row in by_name["cho2014"]["runs"]] == [1, 2] and results["unequal"] == []
    assert by_name["cho2014"]["runs"][0]["training"]["step"] == 2 and results["provenance"]["versions"]["torch"]


def test_compare_evaluates_a_task_on_its_test_split(run: Run, model_folder: Path, tmp_path: Path) -> None:
    command_line = (
        "cho2014",
        "bahdanau2014:align=4",
        "--data",
        "task:copy",
        "--steps",
        "1",
        "--seeds",
        "7,",
        "--count",
        "3",
    )
    code, _, err = run(*command_line, *SMALL, *QUICK, "--out", tmp_path / "out")
    assert code == 2 and "--seeds 7,: expected different whole numbers" in err
    command_line = (*command_line[:6], "--seeds", "1", "--count", "3", "--words", "2-4", "--set", "data.count=60")
    code, out, _ = run(*command_line, *SMALL, *QUICK, "--out", tmp_path / "out")
    assert code == 0 and "3 sentences of task:copy, test split, seed 1, 2 to 4 words" in out
    assert "one seed cannot tell" in out and "is better" not in out


def test_compare_explains_a_mistake_in_one_line_and_leaves_nothing(
    run: Run, tsv: Path, model_folder: Path, tmp_path: Path
) -> None:
    for arguments, message in (
        ((model_folder,), "two systems or more"),
        ((model_folder, f"{model_folder}:as=b"), "there are no test pairs"),
        ((model_folder, f"{model_folder}:as=b", "--on", tmp_path / "none.tsv"), "no such file"),
        ((model_folder, f"{model_folder}:as=b", "--on", tsv, "--words", "3-9"), "--words 3-9 is for a task"),
        (
            (model_folder, f"{model_folder}:as=b", "--on", tsv, "--words", "9-3"),
            "expected the shortest and the longest",
        ),
        ((model_folder, "cho2014", "--on", tsv), "give --data pairs.tsv"),
        (("cho2014", "bahdanau2014:train.tokens=99", "--data", tsv, "--on", tsv), "train.tokens is"),
    ):
        code, out, err = run(*arguments, *QUICK, "--out", tmp_path / "out")
        assert code == 2 and not out and message in err and err.count("\n") == 1, (arguments, err)
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_compare_continues_after_a_kill_to_the_same_results(tsv: Path, tmp_path: Path) -> None:
    def command_line(out: Path) -> tuple[str | Path, ...]:
        systems = ("cho2014", "bahdanau2014:align=4", "--data", tsv, "--on", tsv, "--steps", "12", "--seeds", "2")
        checks = ("--set", "train.check_every=3", "--set", "train.patience=99")
        return ("compare", *systems, *SMALL, *checks, *QUICK, "--out", out)

    whole = run_saccade(*command_line(tmp_path / "whole"), out=tmp_path / "whole")
    assert whole.code == 0, whole.stderr
    out = tmp_path / "out"
    for number, folder in (
        (signal.SIGKILL, "system=bahdanau2014 align=4".replace(" ", ",") + ",seed=1"),
        (signal.SIGINT, "system=cho2014,seed=2"),
    ):
        noted = out / folder / "metrics.jsonl"

        def now(noted: Path = noted, number: int = number) -> int | None:
            return number if noted.exists() and noted.read_bytes().count(b"\n") >= 4 else None

        ended = run_saccade(*command_line(out), out=out, choose_signal=now)
        assert ended.code == (-signal.SIGKILL if number == signal.SIGKILL else 1), ended.stderr
        assert not (out / "report.html").exists()
    assert "interrupted; the finished runs are in" in ended.stderr and "the same command continues" in ended.stderr
    continued = run_saccade(*command_line(out), out=out)
    assert continued.code == 0 and continued.stderr.count("finished already") >= 2, continued.stderr
    results, expected = (json.loads((row / "results.json").read_text()) for row in (out, tmp_path / "whole"))
    for row, other in zip(results["systems"], expected["systems"]):
        assert row["scores"] == other["scores"]
    assert results["pairwise"] == expected["pairwise"] and (out / "report.html").exists()


def seeds(text: str | int, *named: int) -> list[int]:
    return choose_seeds(CompareOptions(seeds=text, seed=named))


def test_compare_takes_a_number_of_seeds_or_a_list() -> None:
    assert choose_seeds(CompareOptions()) == seeds("3") == [1, 2, 3] and seeds("2") == [1, 2]
    assert seeds("7,9") == seeds(3, 7, 9) == [7, 9]
    assert seeds(3, 7) == [7]
    for text, named, message in (
        ("3", [7], "--seeds 3 and --seed 7 exclude each other"),
        (3, [7, 7], "--seed 7,7: expected different whole numbers"),
        ("-", [], "--seeds -: expected different whole numbers"),
    ):
        with pytest.raises(UserError, match=message):
            seeds(text, *named)


@pytest.mark.parametrize("many", ["0", "1000", str(10**18), "9" * 5000], ids=len)
def test_compare_refuses_an_impossible_number_of_seeds(many: str) -> None:
    with pytest.raises(UserError, match=r"^--seeds \d{1,20}: expected how many, from 1 to 999, or which"):
        seeds(many)
