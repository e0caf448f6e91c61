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
