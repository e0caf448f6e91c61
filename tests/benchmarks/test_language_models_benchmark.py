"""benchmarks/language_models.py: its runs are valid, and one of each kind is trained, scored and recorded."""

import json
import math
import sys
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from saccade import config
from saccade.models import LANGUAGE_MODELS
from saccade.tasks import task
from saccade.train.request import parse_budget
from saccade.train.training_options import Training

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
import language_models

SENTENCES = [pair.source for pair in islice(task("phrasebook-en-fr").pairs(300, seed=1), 300)]


@pytest.mark.parametrize("name", language_models.LISTED["runs"])
def test_every_run_is_valid(name: str) -> None:
    run = language_models.LanguageRun(name, "cpu")
    assert run.text["unit"] in ("char", "word")
    if run.model not in language_models.NETWORKS:
        assert run.model == "chen1998" and run.options["order"] >= 1
        return
    config.from_dict(LANGUAGE_MODELS[run.model].config_type, run.options["settings"], name)
    config.from_dict(Training, {**run.shared["train"], "lr": run.options["lr"]}, name)
    parse_budget(run.shared["budget"])


@pytest.mark.parametrize("group", ["shakespeare-cpu", "europarl-cpu"])
def test_models_are_trained_scored_and_recorded(
    group: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = language_models.LISTED["text"][group.split("-")[0]]
    monkeypatch.setitem(text, "file", "text.txt")
    if "valid" in text:
        monkeypatch.setitem(text, "valid", "text.txt")
    (tmp_path / "text.txt").write_text("".join(f"{sentence}\n" for sentence in SENTENCES), encoding="utf-8")
    small = {"embedding": 8, "hidden": 8, "order": 3, "direct": False}
    monkeypatch.setitem(language_models.LISTED["runs"][f"{group}-bengio2003"], "settings", small)
    monkeypatch.setitem(language_models.LISTED["shared"][group], "budget", "60")
    out = tmp_path / "results.json"
    arguments = ["--data", str(tmp_path), "--only", f"{group}-chen1998-5", f"{group}-bengio2003", "--device", "cpu"]
    monkeypatch.setattr(sys, "argv", ["language_models.py", *arguments, "--out", str(out)])
    language_models.main()
    found: dict[str, Any] = json.loads(out.read_text(encoding="utf-8"))
    ngrams, network = found.values()
    assert network["parameters"] > 0 and network["tokens"] == ngrams["tokens"]
    assert network["perplexity"] == pytest.approx(math.exp(network["loss"]))
    assert str(tmp_path) not in out.read_text(encoding="utf-8") and network["provenance"]["seed"] == 1
    if group == "shakespeare-cpu":
        by_position = network["loss_by_position"]
        assert len(by_position) == 63 and sum(by_position) / 63 == pytest.approx(network["loss"], abs=0.05)
        assert by_position[0] > network["loss"]  # nothing was read before
    assert ("mixed_perplexity" in network) == (group == "europarl-cpu")
    assert network.get("mixed_perplexity", 0) < network["perplexity"]
    assert capsys.readouterr().out.count("provenance") == 0
