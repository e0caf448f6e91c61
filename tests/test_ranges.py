"""Every number that can be set has a range: beyond it, one line names the key; at its edge, it is accepted."""

import dataclasses
import math
from collections.abc import Iterator
from typing import Annotated, Any, NamedTuple, get_args, get_origin, get_type_hints

import pytest
import torch
from typer.testing import CliRunner

from saccade import config
from saccade.cli.commands import app
from saccade.data import Cleaning
from saccade.decode import Search
from saccade.errors import UserError
from saccade.models import MODELS, build_model
from saccade.ranges import (
    Checked,
    Count,
    Exponent,
    Help,
    Range,
    describe_option,
    find_metadata,
    members,
    without_metadata,
)
from saccade.text import Policy
from saccade.train.data_options import Data, WeightedCorpus
from saccade.train.training_options import Training

CONFIGS: dict[str, tuple[type[Any], dict[str, Any]]] = {
    "train": (Training, {}),
    "data": (Data, {}),
    "corpus": (WeightedCorpus, {"pairs": "a.tsv"}),
    "clean": (Cleaning, {}),
    "vocabulary": (Policy, {}),
    "search": (Search, {"sample": True, "beam": 10_000}),
    **{name: (model.config_type, {}) for name, model in MODELS.items()},
}


class Number(NamedTuple):
    """A number in a field: by itself, or at a place of a tuple."""

    config: str
    field: str
    type: Any
    within: Range | None
    place: int | None = None

    def set_to(self, value: Any) -> dict[str, Any]:
        cls, usual = CONFIGS[self.config]
        if self.place is None:
            return usual | {self.field: value}
        items = list(getattr(cls(**usual), self.field) or (1, 1))
        items[self.place] = value
        return usual | {self.field: tuple(items)}

    def __str__(self) -> str:
        return f"{self.config}-{self.field}" + ("" if self.place is None else f"-{self.place}")


def numbers() -> Iterator[Number]:
    for name, (cls, _) in CONFIGS.items():
        for field, hint in get_type_hints(cls, include_extras=True).items():
            for member in members(hint):
                inner = without_metadata(member)
                parts = enumerate(get_args(inner)) if get_origin(inner) is tuple else [(None, member)]
                for place, part in parts:
                    plain = without_metadata(part)
                    if plain in (int, float):
                        yield Number(name, field, plain, find_metadata(part, Range), place)


NUMBERS = list(numbers())


def outside(number: Number) -> Iterator[float]:
    """The nearest values that are not in the range, and what is in none."""
    within = number.within
    assert within is not None
    for bound, direction in ((within.least, -math.inf), (within.most, math.inf)):
        if bound is not None:
            yield bound + math.copysign(1, direction) if number.type is int else math.nextafter(bound, direction)
    yield from (float(bound) for bound in (within.above, within.below) if bound is not None)
    yield from ([10**18, -(10**18), 10**400] if number.type is int else [math.nan, math.inf, -math.inf])


def at_the_edge(number: Number) -> Iterator[float]:
    within = number.within
    assert within is not None
    yield from (number.type(bound) for bound in (within.least, within.most) if bound is not None)
    for bound, direction in ((within.above, math.inf), (within.below, -math.inf)):
        if bound is not None:
            yield math.nextafter(bound, direction)


def test_every_number_of_every_config_has_a_range() -> None:
    assert len(NUMBERS) > 100
    assert [str(number) for number in NUMBERS if number.within is None] == []
    assert [str(n) for n in NUMBERS if n.type is int and n.within is not None and n.within.most is None] == []
    assert [name for name, (cls, _) in CONFIGS.items() if not issubclass(cls, Checked)] == []


@pytest.mark.parametrize("number", NUMBERS, ids=str)
def test_value_outside_its_range_is_refused_and_its_bound_accepted(number: Number) -> None:
    cls, _ = CONFIGS[number.config]
    key = f"t.{number.field}" + ("" if number.place is None else f"[{number.place}]")
    for value in outside(number):
        given = number.set_to(int(value) if number.type is int else value)
        with pytest.raises(UserError) as refused:
            config.from_dict(cls, given, "r.toml", "t")
        said = str(refused.value)
        assert said.startswith(f"r.toml: {key}: ") and str(number.within) in said and "\n" not in said
        with pytest.raises(ValueError, match=f"^{number.field} must be "):
            cls(**given)
    for value in at_the_edge(number):
        try:
            config.from_dict(cls, number.set_to(value), "r.toml", "t")
        except UserError as error:  # only a rule about several fields may refuse what the range allows
            assert str(error).startswith("r.toml: t") and str(number.within) not in str(error), error


def test_ranges_are_shown_in_words() -> None:
    assert [str(Range(least=1, most=65_536)), str(Range(above=0)), str(Range(least=0, below=1)), str(Range())] == [
        "from 1 to 65,536",
        "above 0",
        "at least 0 and below 1",
        "finite",
    ]
    keys = {key.key: key.type for key in config.describe(Training, "train")}
    assert keys["train.clip"] == "a number above 0 or none"
    assert keys["train.betas"] == "[a number at least 0 and below 1, a number at least 0 and below 1]"


def test_numbers_without_a_declared_range_are_finite() -> None:
    @dataclasses.dataclass(frozen=True, kw_only=True)
    class Plain(Checked):
        number: float = 0.0

    with pytest.raises(ValueError, match=r"^number must be finite, got nan$"):
        Plain(number=math.nan)
    with pytest.raises(UserError, match=r"^r\.toml: number: inf given, expected a finite number$"):
        config.from_dict(Plain, {"number": math.inf}, "r.toml")


def test_help_leaves_out_an_upper_bound_that_is_far_above_any_use() -> None:
    assert describe_option(Annotated[Count, Help("Number of eggs.")]) == "Number of eggs. At least 1."
    assert describe_option(Annotated[Exponent, Help("α.")]) == "α. From -10 to 10."
    assert describe_option(Annotated[bool, Help("Bake.")]) == "Bake."


def test_help_shows_the_ranges_of_the_search() -> None:
    shown = CliRunner().invoke(app, ["translate", "--help"], env={"COLUMNS": "200"}).output
    for name, hint in get_type_hints(Search, include_extras=True).items():
        if find_metadata(hint, Range) is not None and name != "repeats":  # 0 of which is no limit there
            (line,) = [line for line in shown.splitlines() if f"--{name.replace('_', '-')} " in line]
            assert describe_option(hint) in line


@pytest.mark.parametrize("name", MODELS)
def test_smallest_sizes_build_a_model(name: str) -> None:
    """So that no lower bound promises what the layers refuse."""
    settings = {n.field: int(n.within.least) for n in NUMBERS if n.config == name and n.type is int and n.within}
    even = {"hidden": 2, "semantics": 2} if name == "russin2019" else {}
    model = build_model(name, MODELS[name].config_type(**settings | even), 7, 7)
    source = torch.tensor([[4, 5, 3]])
    assert model(source, torch.ones_like(source, dtype=torch.bool), source).isfinite().all()
