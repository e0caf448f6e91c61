"""A request becomes a recipe: chosen for the pairs, or read from a file, with the requested settings and budget."""

from pathlib import Path

import pytest

from saccade.ranges import OptionError
from saccade.train.request import TrainingRequest, parse_budget, plan_recipe


@pytest.mark.parametrize(
    ("budget", "settings"),
    [
        ("10m", {"max_minutes": 10.0}),
        ("1.5 h", {"max_minutes": 90.0}),
        ("30s", {"max_minutes": 0.5}),
        (5000, {"max_steps": 5000}),
        ("5000 updates", {"max_steps": 5000}),
        ("20 epochs", {"max_epochs": 20}),
    ],
)
def test_budget_becomes_a_setting(budget: str | int, settings: dict[str, float]) -> None:
    assert parse_budget(budget) == settings


@pytest.mark.parametrize("budget", ["", "ten minutes", "5 parsecs", "2.5 epochs", "-3", "m"])
def test_unknown_budget_is_refused(budget: str) -> None:
    with pytest.raises(OptionError, match="must be a time"):
        parse_budget(budget)


def test_request_becomes_a_recipe(pairs_file: Path, tmp_path: Path) -> None:
    reasons: list[str] = []
    request = TrainingRequest(
        pairs=str(pairs_file), out=tmp_path / "run", model="luong2015", budget="7 updates", settings=("train.lr=0.5",)
    )
    recipe = plan_recipe(request, reasons.append)
    assert (recipe.model, recipe.train.max_steps, recipe.train.lr) == ("luong2015", 7, 0.5)
    assert recipe.data.pairs == str(pairs_file) and "pairs" in reasons[0]

    saved = tmp_path / "recipe.toml"
    saved.write_text(recipe.to_toml(), encoding="utf-8")
    again = plan_recipe(TrainingRequest(pairs=str(saved), budget="2 epochs"))
    assert (again.model, again.train.max_epochs, again.settings) == ("luong2015", 2, recipe.settings)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        (("model.preset=tiny",), "preset tiny, dropout 0.1"),
        (
            ("model.width=64", "model.dropout=0.4"),
            "width 128, inner 256, 4 heads, 3 + 3 layers, dropout 0.4; as requested: width 64",
        ),
        (("data.vocabulary.size=300",), "the vocabulary is as requested"),
        (("train.tokens=77", "train.max_steps=9"), "batches of 77 tokens, at most 9 updates, on the CPU"),
        (("train.tokens=auto", "train.max_steps=none"), "the largest batches that fit, on the CPU"),
    ],
)
def test_explanation_describes_the_recipe_with_the_settings(
    settings: tuple[str, ...], expected: str, pairs_file: Path, tmp_path: Path
) -> None:
    reasons: list[str] = []
    settings = ("train.device=cpu", *settings)
    plan_recipe(TrainingRequest(pairs=str(pairs_file), out=tmp_path / "run", settings=settings), reasons.append)
    assert expected in reasons
