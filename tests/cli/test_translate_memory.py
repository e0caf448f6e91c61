"""`saccade translate` needs no more memory for a file that is fifty times as long."""

import gzip
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from saccade.decode import save
from saccade.models import Seq2Seq
from saccade.text import Vocabularies

PROGRAM = """
import resource, sys, torch
torch.set_num_threads(1)
from saccade.cli import main
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
print("peak", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10, file=sys.stderr)
"""
LINES, TIMES = 1024, 50


def peak(model: Path, source: Path, out: Path, *options: str, piped: bool = False) -> int:
    """MiB"""
    file = "-" if piped else str(source)
    command = [sys.executable, "-c", PROGRAM, "translate", str(model), file, "--out", str(out), "--device", "cpu"]
    command += ["--beam", "1", "--longest", "2", "--too-long", "refuse", *options]
    with source.open("rb") as stream:
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        done = subprocess.run(command, stdin=stream, capture_output=True, text=True, check=True, env=environment)
    match = re.search(r"^peak (\d+)$", done.stderr, re.MULTILINE)
    assert match is not None, done.stderr
    return int(match[1])


@pytest.mark.slow
@pytest.mark.parametrize("kind", [pytest.param("plain", marks=pytest.mark.long), "compressed", "objects"])
def test_translate_memory_does_not_grow_with_the_file(
    kind: str, untrained: Callable[..., Seq2Seq[Any, Any]], vocabularies: Vocabularies, tmp_path: Path
) -> None:
    model = tmp_path / "model"
    save(model, untrained("bahdanau2014", embedding=8, hidden=8), vocabularies, extra={"longest_trained": 99})
    peaks = []
    for times in (1, TIMES):
        texts = (f"the cat {number % 997} sleeps" for number in range(LINES * times))
        lines = (
            f'{{"id": {i}, "source": "{text}"}}\n' if kind == "objects" else f"{text}\n" for i, text in enumerate(texts)
        )
        content = "".join(lines).encode()
        source, out = tmp_path / ("in.jsonl" if kind == "objects" else "in.txt"), tmp_path / f"out-{times}"
        source.write_bytes(gzip.compress(content) if kind == "compressed" else content)
        options = ["--jsonl"] if kind == "objects" else []
        peaks.append(peak(model, source, out, *options, piped=kind == "compressed"))
        assert out.read_bytes().count(b"\n") == LINES * times
    assert peaks[1] - peaks[0] < 24, f"{peaks[0]} MiB became {peaks[1]}"
