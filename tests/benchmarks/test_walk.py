"""A walk counts the files whose functions ran."""

import sys
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))
import walk


def test_walk_counts_files_whose_functions_ran() -> None:
    from saccade.attention.heads import split
    from saccade.names import nearest

    recorded = walk.Walk()
    walk.start(recorded)
    try:
        nearest("a", {"b": 1})
        split(torch.ones(1, 1, 2), 2)
    finally:
        walk.stop(recorded)
    assert recorded.summary() == {"files": ["attention/heads.py", "names.py"], "all": 2, "count": 1, "crossings": 0}
