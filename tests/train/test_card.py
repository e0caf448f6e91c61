"""The model card: what, on what, how, how good."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from saccade.models import build_model
from saccade.train.card import card
from saccade.train.dataset import load_dataset
from saccade.train.recipe import Recipe


def test_the_card(make_recipe: Callable[..., Recipe], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = make_recipe(**{"train.seed": 7})
    dataset = load_dataset(recipe.data, tmp_path, 7)
    model = build_model(recipe.model, recipe.settings, 330, 330)
    monkeypatch.setattr(sys, "argv", ["/usr/bin/saccade", "train", "my pairs.tsv", "--out", "x"])
    best = {"step": 12, "loss": 1.23456, "bleu": 45.678, "chrf": None}
    written = card(recipe, model, dataset, best, seconds=90.0)
    for part in (
        f"# bahdanau2014 on {recipe.data.pairs}",
        "Bahdanau, Cho, Bengio (2014)",
        f"{sum(p.numel() for p in model.parameters()):,} parameters",
        "| step | 12 |\n| loss | 1.235 |\n| bleu | 45.68 |\n",
        "kept 114 of 114 pairs",
        "saccade train 'my pairs.tsv' --out x",
        "Seed 7, 1.5 minutes",
        "torch ",
        "saccade.load(",
    ):
        assert part in written
    assert "chrf" not in written
