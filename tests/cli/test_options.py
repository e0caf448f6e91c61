"""From the fields of a dataclass to the options of a command."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import pytest
import typer
from typer.testing import CliRunner

from saccade import config
from saccade.cli.options import Only, command
from saccade.errors import UserError
from saccade.ranges import Beam, Checked, Count, Help, OptionError


@dataclass(frozen=True, kw_only=True)
class Baking(Checked):
    minutes: Annotated[Beam, Help("How long to bake.", group="Oven")] = 30
    eggs: Annotated[Count | None, Help("Number of eggs.")] = None
    heat: Annotated[Literal["low", "high"], Help("How hot the oven is.")] = "low"
    toppings: Annotated[tuple[str, ...], Help("A topping; may be repeated.", flags=("--top",))] = ()
    vegan: Annotated[bool, Help("Use no eggs.")] = False
    oven: str = "gas"  # without help: no option

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.vegan and self.eggs:
            raise OptionError("eggs", f"are not vegan, got {self.eggs}")


baked: list[tuple[Path, Baking]] = []


def bake(cake: Path, count: Annotated[int, typer.Option()] = 1, *, baking: Baking) -> None:
    """Bake a cake."""
    baked.extend([(cake, baking)] * count)


def reheat(*, baking: Annotated[Baking, Only("minutes")] = Baking(minutes=5)) -> None:
    """Bake again."""
    baked.append((Path(), baking))


@pytest.fixture
def app() -> typer.Typer:
    baked.clear()
    app = typer.Typer(rich_markup_mode="rich")
    app.command()(command(bake))
    app.command()(command(reheat))
    return app


def test_fields_become_options(app: typer.Typer) -> None:
    run = CliRunner().invoke
    assert run(app, ["bake", "cake"]).exit_code == 0
    assert (
        run(
            app,
            [
                "bake",
                "cake",
                "--minutes",
                "5",
                "--heat",
                "high",
                "--top",
                "nuts",
                "--top",
                "figs",
                "--count",
                "2",
                "--vegan",
            ],
        ).exit_code
        == 0
    )
    changed = Baking(minutes=5, heat="high", toppings=("nuts", "figs"), vegan=True)
    assert baked == [(Path("cake"), Baking()), *[(Path("cake"), changed)] * 2]
    assert run(app, ["reheat"]).exit_code == run(app, ["reheat", "--minutes", "7"]).exit_code == 0
    assert [baking for _, baking in baked[3:]] == [Baking(minutes=5), Baking(minutes=7)]
    assert run(app, ["reheat", "--eggs", "7"]).exit_code == 2


def test_help_has_the_text_the_range_and_the_default(app: typer.Typer) -> None:
    shown = CliRunner().invoke(app, ["bake", "--help"], env={"COLUMNS": "150"}).output
    assert "How long to bake. At least 1. [default: 30]" in shown
    assert "Oven" in shown and "--top" in shown and "--toppings" not in shown and "--oven" not in shown


@pytest.mark.parametrize(
    ("options", "field", "message"),
    [
        ("--minutes 0", "minutes", "must be from 1 to 10,000, got 0"),
        ("--heat mild", "heat", "must be low or high, got 'mild'"),
        ("--vegan --eggs 2", "eggs", "are not vegan, got 2"),
    ],
)
def test_an_error_names_the_option(app: typer.Typer, options: str, field: str, message: str) -> None:
    error = CliRunner().invoke(app, ["bake", "cake", *options.split()]).exception
    assert isinstance(error, UserError) and str(error) == f"--{field} {message}"


def test_an_error_names_the_key_of_a_recipe() -> None:
    with pytest.raises(UserError, match=r"^r\.toml: t\.eggs: are not vegan, got 2$"):
        config.from_dict(Baking, {"vegan": True, "eggs": 2}, "r.toml", "t")
    keys = {key.key: (key.type, key.help) for key in config.describe(Baking)}
    assert keys["eggs"] == ("a whole number from 1 to 1,000,000,000 or none", "Number of eggs.")
