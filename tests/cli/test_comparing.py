"""`saccade compare` as a user meets it: the table, the report, JSON, mistakes; and that a killed one goes on."""

import json
import signal
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from saccade.comparison.options import CompareOptions
from saccade.comparison.planning import choose_seeds
from saccade.data import TextPair
from saccade.errors import UserError

sys.path.insert(0, str(Path(__file__).parents[1] / "train"))
from lives import live

Run = Callable[..., tuple[int, str, str]]
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


def test_a_table_a_report_and_json(run: Run, tsv: Path, model_folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    asked = (
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
    code, said, err = run(*asked, *SMALL, *QUICK, "--out", out)
    assert code == 0 and "left out: 1 pair with a blank side" in err and "report.html" in err
    for part in ("32 sentences of", "cho2014", "learnt by heart", "BLEU", "95 % interval", "p, Holm", "is better"):
        assert part in said
    assert "Where they differ most" in (out / "report.html").read_text(encoding="utf-8")
    code, said, err = run(*asked, *SMALL, *QUICK, "--out", out, "--json")
    found = json.loads(said)
    assert code == 0 and err.count("finished already") == 2
    assert found == json.loads((out / "results.json").read_text(encoding="utf-8"))
    by_name = {one["name"]: one for one in found["systems"]}
    assert by_name["learnt by heart"]["scores"]["exact"]["mean"] == 100.0
    assert [one["seed"] for one in by_name["cho2014"]["runs"]] == [1, 2] and found["unequal"] == []
    assert by_name["cho2014"]["runs"][0]["training"]["step"] == 2 and found["provenance"]["versions"]["torch"]


def test_a_task_is_judged_on_its_test_split(run: Run, model_folder: Path, tmp_path: Path) -> None:
    asked = ("cho2014", "bahdanau2014:align=4", "--data", "task:copy", "--steps", "1", "--seeds", "7,", "--count", "3")
    code, _, err = run(*asked, *SMALL, *QUICK, "--out", tmp_path / "out")
    assert code == 2 and "--seeds 7,: expected different whole numbers" in err
    asked = (*asked[:6], "--seeds", "1", "--count", "3", "--words", "2-4", "--set", "data.count=60")
    code, out, _ = run(*asked, *SMALL, *QUICK, "--out", tmp_path / "out")
    assert code == 0 and "3 sentences of task:copy, test split, seed 1, 2 to 4 words" in out
    assert "one seed cannot tell" in out and "is better" not in out


def test_mistakes_are_one_line_and_2_and_leave_nothing(run: Run, tsv: Path, model_folder: Path, tmp_path: Path) -> None:
    for arguments, said in (
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
        assert code == 2 and not out and said in err and err.count("\n") == 1, (arguments, err)
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_killed_or_interrupted_it_goes_on_to_the_same_figures(tsv: Path, tmp_path: Path) -> None:
    def asked(out: Path) -> tuple[str | Path, ...]:
        systems = ("cho2014", "bahdanau2014:align=4", "--data", tsv, "--on", tsv, "--steps", "12", "--seeds", "2")
        checks = ("--set", "train.check_every=3", "--set", "train.patience=99")
        return ("compare", *systems, *SMALL, *checks, *QUICK, "--out", out)

    whole = live(*asked(tmp_path / "whole"), out=tmp_path / "whole")
    assert whole.code == 0, whole.said
    out = tmp_path / "out"
    for number, folder in (
        (signal.SIGKILL, "system=bahdanau2014 align=4".replace(" ", ",") + ",seed=1"),
        (signal.SIGINT, "system=cho2014,seed=2"),
    ):
        noted = out / folder / "metrics.jsonl"

        def now(noted: Path = noted, number: int = number) -> int | None:
            return number if noted.exists() and noted.read_bytes().count(b"\n") >= 4 else None

        ended = live(*asked(out), out=out, at=now)
        assert ended.code == (-signal.SIGKILL if number == signal.SIGKILL else 1), ended.said
        assert not (out / "report.html").exists()
    assert "interrupted; the finished runs are in" in ended.said and "the same command continues" in ended.said
    gone_on = live(*asked(out), out=out)
    assert gone_on.code == 0 and gone_on.said.count("finished already") >= 2, gone_on.said
    found, expected = (json.loads((one / "results.json").read_text()) for one in (out, tmp_path / "whole"))
    for one, other in zip(found["systems"], expected["systems"]):
        assert one["scores"] == other["scores"]
    assert found["pairwise"] == expected["pairwise"] and (out / "report.html").exists()


def seeds(text: str | int, *named: int) -> list[int]:
    return choose_seeds(CompareOptions(seeds=text, seed=named))


def test_seeds_are_counted_or_named() -> None:
    assert choose_seeds(CompareOptions()) == seeds("3") == [1, 2, 3] and seeds("2") == [1, 2]
    assert seeds("7,9") == seeds(3, 7, 9) == [7, 9]
    assert seeds(3, 7) == [7]
    for text, named, said in (
        ("3", [7], "--seeds 3 and --seed 7 exclude each other"),
        (3, [7, 7], "--seed 7,7: expected different whole numbers"),
        ("-", [], "--seeds -: expected different whole numbers"),
    ):
        with pytest.raises(UserError, match=said):
            seeds(text, *named)


@pytest.mark.parametrize("many", ["0", "1000", str(10**18), "9" * 5000], ids=len)
def test_no_number_of_seeds_is_too_large_to_refuse(many: str) -> None:
    with pytest.raises(UserError, match=r"^--seeds \d{1,20}: expected how many, from 1 to 999, or which"):
        seeds(many)
