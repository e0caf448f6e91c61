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


def recorded(model: str, **scores: float) -> dict[str, Any]:
    return scored(**scores) | {"recipe": {"model": {"name": model}}}


def cells(table: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines()[2:]]


def test_the_grid_shows_how_far_the_choice_is_behind_the_best(monkeypatch: pytest.MonkeyPatch) -> None:
    records = {
        "sentences-5k-gpu-1m-vaswani2017/1": recorded("vaswani2017", bleu=20.0),
        "sentences-29k-cpu-5m-automatic/alone": {"updates": 100},
        "sentences-29k-cpu-5m-automatic/1-busy": recorded("vaswani2017", bleu=1.0) | {"excluded": "timed too early"},
        "sentences-29k-cpu-5m-automatic/1": recorded("vaswani2017", bleu=30.0),
        "sentences-29k-cpu-5m-automatic/2": recorded("vaswani2017", bleu=32.0),
        "sentences-29k-cpu-5m-vocabulary_4000/1": recorded("vaswani2017", bleu=31.4),
        "sentences-29k-cpu-5m-rdrop_0/1": recorded("vaswani2017", bleu=29.0),
        "words-800-cpu-5m-automatic/1": recorded("wu2019", wrong=20.0),
        "words-800-cpu-5m-bahdanau2014/1": recorded("bahdanau2014", wrong=25.0),
    }
    monkeypatch.setattr(results_tables, "load", lambda name: records)
    sentences, words, gpu = cells(results_tables.grid())
    assert sentences[2] == "5m on 2 CPU cores" and sentences[4] == "`vaswani2017` **31.0**"
    assert sentences[5:] == ["vocabulary of 4,000 31.4, without R-Drop 29.0", "0.4"]
    assert words[3:] == ["% wrong", "`wu2019` **20.0**", "`bahdanau2014` 25.0", "0.0"]
    assert gpu[2:5] == ["1m on a GPU", "BLEU", "not measured yet"] and gpu[-1] == "–"


def test_ablations_are_compared_with_the_first_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = "".join(
        f'[[runs]]\nname = "{name}"\ntitle = "{name}"\n' for name in ("gpu-base", "gpu-muon", "gpu-later", "cpu-base")
    )
    (tmp_path / "ablations.toml").write_text(runs, encoding="utf-8")
    scores = {"gpu-base/1": 40.0, "gpu-base/2": 41.0, "gpu-muon/1": 41.2, "cpu-base/1": 30.0}
    records = {name: {"scores": {"valid": {"bleu": bleu}}} for name, bleu in scores.items()}
    monkeypatch.setattr(results_tables, "ROWS", tmp_path / "rows.toml")
    monkeypatch.setattr(results_tables, "load", lambda name: records)
    assert cells(results_tables.ablations("gpu")) == [
        ["gpu-base", "40.0, 41.0", "**40.5**", "–"],
        ["gpu-muon", "41.2", "**41.2**", "+1.2"],
        ["gpu-later", "not measured yet", "–", "–"],
    ]
    assert cells(results_tables.ablations("cpu")) == [["cpu-base", "30.0", "**30.0**", "–"]]
