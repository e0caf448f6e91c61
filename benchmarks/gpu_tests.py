"""Run the tests that need a GPU, in parallel, and record the run.

python benchmarks/gpu_tests.py [--workers 8] [--out benchmarks/results/gpu-tests.json]

It needs a Python with CUDA torch, pytest and the package's dependencies; with pytest-xdist it runs in parallel.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parent.parent
MARK = "pytest.mark.gpu"


def files_with_gpu_tests() -> list[str]:
    """The test files to import: others need packages that a machine with a GPU may lack."""
    tests = sorted((ROOT / "tests").rglob("test_*.py"))
    return [str(path.relative_to(ROOT)) for path in tests if MARK in path.read_text(encoding="utf-8")]


def pytest_command(report: Path, workers: int) -> list[str]:
    # The options in pyproject.toml exclude these tests, and require pytest-xdist.
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-o",
        "addopts=",
        "-q",
        "--strict-markers",
        "--strict-config",
        "-m",
        "gpu",
        "-p",
        "no:benchmark",  # a plugin that warns about parallel runs
    ]
    if workers > 1 and find_spec("xdist"):
        command += ["-n", str(workers), "--dist", "worksteal"]
    return [*command, "--durations", "10", f"--junitxml={report}", *files_with_gpu_tests()]


def environment() -> dict[str, str]:
    paths = filter(None, [str(ROOT), os.environ.get("PYTHONPATH")])
    # Each worker compiles its own kernels: more compiling processes than cores would only wait for each other.
    return {"TORCHINDUCTOR_COMPILE_THREADS": "2"} | os.environ | {"PYTHONPATH": os.pathsep.join(paths)}


def outcomes(report: Path) -> dict[str, Any]:
    """The counts and the slowest tests of a JUnit report."""
    counts: Counter[str] = Counter()
    seconds = {}
    for case in ElementTree.parse(report).iter("testcase"):
        kinds = {child.tag for child in case} & {"failure", "error", "skipped"}
        counts[min(kinds, default="passed")] += 1
        seconds[f"{case.get('classname')}::{case.get('name')}"] = float(case.get("time", 0))
    slowest = dict(sorted(seconds.items(), key=lambda item: -item[1])[:10])
    return {"tests": sum(counts.values()), **counts, "slowest_seconds": slowest}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", type=int, default=min(8, os.cpu_count() or 1), help="processes that run tests")
    parser.add_argument("--out", type=Path, help="write the record to this file")
    options = parser.parse_args()
    sys.path.insert(0, str(ROOT))
    import torch

    from saccade.provenance import provenance

    if not torch.cuda.is_available():
        print("gpu_tests.py: torch finds no CUDA device; run this on a machine with a GPU", file=sys.stderr)
        return 2
    made = provenance(command="make gpu")  # before the record makes the working tree dirty
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        start = time.perf_counter()
        done = subprocess.run(pytest_command(report, options.workers), cwd=ROOT, env=environment(), check=False)
        seconds = round(time.perf_counter() - start, 1)
        if options.out is not None and report.exists():
            record = {"seconds": seconds, "workers": options.workers, **outcomes(report), "provenance": made}
            options.out.parent.mkdir(parents=True, exist_ok=True)
            options.out.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    print(f"{seconds:.0f} s")
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
