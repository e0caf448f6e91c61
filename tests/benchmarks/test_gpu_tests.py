"""The tests that need a GPU are found, and their report is counted; running them needs a GPU."""

import os
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))
import gpu_tests  # noqa: E402  (benchmarks/ is no package: its scripts are found by path)


def test_the_files_with_gpu_tests_are_found() -> None:
    files = gpu_tests.files_with_gpu_tests()
    assert "tests/attention/test_cuda.py" in files and "tests/decode/test_search_cuda.py" in files
    assert "tests/attention/test_laws.py" not in files


def test_tests_run_in_parallel_where_that_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "-n" in gpu_tests.pytest_command(Path("report.xml"), 4)
    monkeypatch.setattr(gpu_tests, "find_spec", lambda name: None)
    assert "-n" not in gpu_tests.pytest_command(Path("report.xml"), 4)


def test_this_checkout_is_tested(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", "packages")
    assert gpu_tests.environment()["PYTHONPATH"].split(os.pathsep) == [str(ROOT), "packages"]


def test_gpu_report_is_counted(tmp_path: Path) -> None:
    (tmp_path / "report.xml").write_text(
        "<testsuites><testsuite>"
        '<testcase classname="tests.a" name="one" time="1.5"/>'
        '<testcase classname="tests.a" name="two" time="2.5"><failure/></testcase>'
        '<testcase classname="tests.b" name="three" time="0.5"><error/></testcase>'
        "</testsuite></testsuites>",
        encoding="utf-8",
    )
    found = gpu_tests.outcomes(tmp_path / "report.xml")
    assert (found["tests"], found["passed"], found["failure"], found["error"]) == (3, 1, 1, 1)
    assert next(iter(found["slowest_seconds"].items())) == ("tests.a::two", 2.5)
