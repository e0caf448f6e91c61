"""docs/results_tables.py: the mean of the seeds, and whether a goal is reached."""

import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "docs"))
import results_tables

ROWS = """
[[runs]]
name = "good"
title = "good"
seeds = 2
goal = { bleu = 30.0 }

[[runs]]
name = "short"
title = "short"
goal = { above = ["rival"], by = 2.0 }

[[runs]]
name = "rival"
title = "rival"

[[runs]]
name = "words-{language}"
title = "words"
each = { language = ["a", "b"] }
goal = { wrong = 20.0 }

[[runs]]
name = "open"
title = "open"
goal = { above = ["absent"], by = 1.0 }

[[runs]]
name = "absent"
title = "absent"
"""


def scored(**scores: float) -> dict[str, Any]:
    return {"scores": {"test": scores}}


def test_a_goal_is_reached_by_the_mean_of_the_seeds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "rows.toml").write_text(ROWS, encoding="utf-8")
    records = {
        "good/1": scored(bleu=29.0),
        "good/2": scored(bleu=32.0),
        "short/1": scored(bleu=21.0),
        "rival/1": {"bleu": 20.0},
        "words-a/1": scored(wrong=10.0),
        "words-b/1": scored(wrong=28.0),
        "words-high/1": scored(wrong=90.0),  # another run, whose name happens to begin alike
        "words-a/2": scored(wrong=1.0),  # b is missing: the second seed does not count
        "open/1": scored(bleu=1.0),
    }
    monkeypatch.setattr(results_tables, "ROWS", tmp_path / "rows.toml")
    monkeypatch.setattr(results_tables, "load", lambda name: records)
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in results_tables.results().splitlines()[2:]]
    by_name = {row[0]: row[2:] for row in rows}
    assert by_name["good"] == ["29.0, 32.0", "**30.5**", "at least 30", "yes"]
    assert by_name["short"][-1] == "**no**, with 1 seed" and by_name["rival"][-1] == "–"
    assert by_name["words"] == ["19.0", "**19.0** % wrong", "at most 20", "yes, with 1 seed"]
    assert by_name["open"][-1] == "open" and by_name["absent"][0] == "not measured yet"
