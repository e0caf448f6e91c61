"""The pages of the studies are those of the results that are kept."""

import json
import sys
from pathlib import Path

import pytest

from saccade import study

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "docs"))
import study_pages  # noqa: E402  (docs/ is not a package)

RESULTS = study_pages.load_results()


def test_pages_are_up_to_date() -> None:
    expected = study_pages.build_pages(RESULTS)
    for path, content in expected.items():
        assert (ROOT / "docs" / path).read_text(encoding="utf-8") == content, f"run python docs/study_pages.py: {path}"
    written = [*(ROOT / "docs/studies").rglob("*.md"), *(ROOT / "docs/images/studies").glob("*.svg")]
    assert {path.relative_to(ROOT / "docs").as_posix() for path in written} == set(expected)


def test_every_study_has_a_result() -> None:
    assert [result.study.name for result in RESULTS] == [each.name for each in study.list_studies()]


@pytest.mark.parametrize("result", RESULTS, ids=lambda result: result.study.name)
def test_results_are_of_full_runs_of_this_version(result: study.StudyResult) -> None:
    path = study_pages.KEPT / f"{result.study.name}.json"
    saved = json.loads(path.read_text(encoding="utf-8"))
    assert saved["version"] == result.study.version and not result.quick
    assert saved["provenance"]["commit"] and "dirty" not in saved["provenance"]["commit"]
    expected = [(dict(each), seed) for each in result.study.trials(quick=False) for seed in range(1, 11)]
    assert all((dict(run.settings), run.seed) in expected for run in result.runs)
    assert path.stat().st_size < 300_000
