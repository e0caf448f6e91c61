"""`saccade study`: listings, a run, and mistakes."""

import json
from pathlib import Path

import pytest
from running import Run

from saccade.study import list_studies

STUDY = "kernel-regression"


def test_studies_are_listed(run: Run) -> None:
    listed = run("study", "--list")
    assert listed.code == 0 and all(each.name in listed.out for each in list_studies())
    (entry,) = [row for row in json.loads(run("study", "--list", "--json").out) if row["name"] == STUDY]
    assert entry["claim"]["zh"] and entry["thresholds"]


def test_a_study_states_its_claim_runs_and_answers(run: Run, tmp_path: Path) -> None:
    command = ["study", STUDY, "--quick", "--jobs", "1", "--out", tmp_path]
    done = run(*command)
    (study,) = [each for each in list_studies() if each.name == STUDY]
    assert done.code == 0 and "Answer: held" in done.out
    assert study.thresholds[0].text.en in done.err and "page.html" in done.err
    (result,) = json.loads(run(*command, "--json").out)
    assert result["answer"] == "held" and result["quick"]


@pytest.mark.slow
def test_all_studies_run_quickly_and_write_pages_in_chinese(run: Run, tmp_path: Path) -> None:
    """A full run decides about a claim; a quick one takes every step of it."""
    done = run("study", "--all", "--quick", "--lang", "zh", "--out", tmp_path, "--json")
    assert done.code == 0
    results = json.loads(done.out)
    assert [result["study"] for result in results] == [each.name for each in list_studies()]
    for result in results:
        page = (tmp_path / f"{result['study']}-quick" / "page.html").read_text(encoding="utf-8")
        assert "<figure" in page and "论点" in page and result["quick"]
        assert all(threshold["values"] for threshold in result["thresholds"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "which study? Give --all, or names: "),
        ([STUDY, "--all"], "--all runs every study; leave kernel-regression out"),
        (["kernel-regresion"], "did you mean 'kernel-regression'"),
        ([STUDY, "--seeds", "0"], "--seeds must be from 1 to 10, got 0"),
        ([STUDY, "--lang", "fr"], "--lang must be en or zh, got 'fr'"),
    ],
)
def test_mistakes_are_explained(run: Run, arguments: list[str], message: str) -> None:
    refused = run("study", *arguments)
    assert refused.code == 2 and message in refused.err and "Traceback" not in refused.err
