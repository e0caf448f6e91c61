import math
import tomllib
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saccade import config
from saccade.errors import UserError


@dataclass(frozen=True, kw_only=True)
class Train:
    lr: float = 1e-3
    steps: int
    clip: float | None = 1.0
    schedule: Literal["cosine", "warm-up"] = "cosine"
    betas: tuple[float, float] = (0.9, 0.98)
    seeds: tuple[int, ...] = ()
    amp: bool = False

    def __post_init__(self) -> None:
        if self.steps < 1:
            raise ValueError(f"steps is {self.steps}, expected 1 or more")


@dataclass(frozen=True, kw_only=True)
class Recipe:
    train: Train
    data: Path = Path("pairs.tsv")
    names: list[str] = field(default_factory=list)
    model: dict[str, Any] = field(default_factory=dict)
    limit: int | str = "all"
    average: Train | None = None
    stages: tuple[Train, ...] = ()


TEXTS = st.text(st.characters(exclude_characters="\0", codec="utf-8"))  # NUL is refused
TRAINS = st.builds(
    Train,
    lr=st.floats(allow_nan=False, allow_infinity=False),
    steps=st.integers(1, 10**9),
    clip=st.none() | st.floats(allow_nan=False, allow_infinity=False),
    schedule=st.sampled_from(["cosine", "warm-up"]),
    betas=st.tuples(st.floats(0, 1), st.floats(0, 1)),
    seeds=st.lists(st.integers()).map(tuple),
    amp=st.booleans(),
)
RECIPES = st.builds(
    Recipe,
    train=TRAINS,
    data=st.just(Path("some/é.tsv")),
    names=st.lists(TEXTS),
    model=st.dictionaries(st.text(), st.integers() | st.text() | st.booleans()),
    limit=st.integers() | TEXTS,
    average=st.none() | TRAINS,
    stages=st.lists(TRAINS, max_size=3).map(tuple),
)


@given(RECIPES)
@settings(deadline=None, max_examples=60)
def test_recipe_survives_a_round_trip_through_toml(recipe: Recipe) -> None:
    text = config.dump_toml(config.to_dict(recipe))
    assert config.from_dict(Recipe, tomllib.loads(text)) == recipe


VALUES = st.recursive(
    st.text() | st.integers() | st.floats() | st.booleans(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@given(st.dictionaries(st.text(), VALUES, max_size=4))
@settings(deadline=None, max_examples=150)
def test_any_mapping_survives_a_round_trip_through_toml(mapping: dict[str, Any]) -> None:
    assert repr(sorted_keys(tomllib.loads(config.dump_toml(mapping)))) == repr(sorted_keys(mapping))  # repr: nan != nan


def sorted_keys(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: sorted_keys(value[key]) for key in sorted(value)}
    return [sorted_keys(item) for item in value] if isinstance(value, list) else value


def test_toml_is_readable() -> None:
    mapping = {"name": "en→fr", "train": {"lr": 3e-4, "clip": None, "adam": {"betas": [0.9, 0.98]}}, "empty": {}}
    assert config.dump_toml(mapping) == (
        'name = "en→fr"\n\n[train]\nlr = 0.0003\nclip = "none"\n\n[train.adam]\nbetas = [0.9, 0.98]\n\n[empty]\n'
    )
    corpora = {"data": {"corpora": [{"pairs": "a.tsv"}, {"pairs": "b.tsv", "words": [3, 9]}], "longest": 9}}
    assert config.dump_toml(corpora) == (
        "[data]\nlongest = 9\n\n"
        '[[data.corpora]]\npairs = "a.tsv"\n\n[[data.corpora]]\npairs = "b.tsv"\nwords = [3, 9]\n'
    )


def test_int_is_converted_to_float() -> None:
    lr = config.from_dict(Train, {"lr": 1, "steps": 5}).lr
    assert type(lr) is float and lr == 1.0


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"train": {"steps": 1, "lrr": 1}}, "r.toml: train.lrr: unknown key; did you mean 'lr'?"),
        ({"train": {"steps": 1}, "steps": 1}, "r.toml: steps: unknown key; did you mean 'train.steps'?"),
        ({"train": {"lr": 1.0}}, "r.toml: train.steps: missing; expected a whole number"),
        ({}, "r.toml: train: missing; expected a table of keys"),
        ({"train": 3}, "r.toml: train: 3 given, expected a table of keys"),
        ({"train": {"steps": 1.5}}, "r.toml: train.steps: 1.5 given, expected a whole number"),
        ({"train": {"steps": True}}, "r.toml: train.steps: true given, expected a whole number"),
        ({"train": {"steps": 1, "lr": "fast"}}, 'r.toml: train.lr: "fast" given, expected a number'),
        ({"train": {"steps": 1, "lr": None}}, 'r.toml: train.lr: "none" given, expected a number'),
        ({"train": {"steps": 1, "amp": 1}}, "r.toml: train.amp: 1 given, expected true or false"),
        (
            {"train": {"steps": 1, "schedule": "cosin"}},
            'r.toml: train.schedule: "cosin" given, expected "cosine" or "warm-up"',
        ),
        ({"train": {"steps": 1, "betas": [0.9]}}, "r.toml: train.betas: [0.9] given, expected [a number, a number]"),
        ({"train": {"steps": 1, "seeds": [1, "x"]}}, 'r.toml: train.seeds[1]: "x" given, expected a whole number'),
        ({"train": {"steps": 0}}, "r.toml: train: steps is 0, expected 1 or more"),
        ({"train": {"steps": 1}, "limit": 1.5}, "r.toml: limit: 1.5 given, expected a whole number or a string"),
        (
            {"train": {"steps": 1}, "average": {"steps": "x"}},
            'r.toml: average.steps: "x" given, expected a whole number',
        ),
        (
            {"train": {"steps": 1}, "stages": [{"steps": 1}, {"stps": 2}]},
            "r.toml: stages[1].stps: unknown key; did you mean 'steps'?",
        ),
        (
            {"train": {"steps": 1}, "stages": {"steps": 1}},
            "r.toml: stages: a table of keys given, expected a list of tables",
        ),
    ],
)
def test_mistake_is_reported_with_its_place(given: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError) as caught:
        config.from_dict(Recipe, given, where="r.toml")
    assert str(caught.value) == message


def test_table_read_by_itself_is_named() -> None:
    with pytest.raises(UserError, match=r"^r\.toml: train\.stps: unknown key; did you mean 'steps'\?$"):
        config.from_dict(Train, {"stps": 1}, where="r.toml", at="train")


def test_overrides_are_toml_values_or_else_strings() -> None:
    before = {"train": {"lr": 1.0, "steps": 5}}
    after = config.override(
        before,
        ["train.lr=3e-4", "model.attention=luong2015-local-p-general", "train.amp=true", "model.sizes=[1, 2]",
         "date=2024-01-01", "text=a = b", 'quoted="5"', "empty=", "sneaky=1\nother = 2"],
    )  # fmt: skip
    assert after == {
        "train": {"lr": 3e-4, "steps": 5, "amp": True},
        "model": {"attention": "luong2015-local-p-general", "sizes": [1, 2]},
        "date": "2024-01-01",
        "text": "a = b",
        "quoted": "5",
        "empty": "",
        "sneaky": "1\nother = 2",
    }
    assert before == {"train": {"lr": 1.0, "steps": 5}}
    assert config.from_dict(Train, config.override({"steps": 1}, ["clip=none"])).clip is None


@pytest.mark.parametrize("assignment", ["train.lr", "=3", "train..lr=3", "train.lr.x=3"])
def test_malformed_override_shows_the_right_form(assignment: str) -> None:
    with pytest.raises(UserError, match=r"^--set "):
        config.override({"train": {"lr": 1.0}}, [assignment])


def test_describe_lists_every_key_that_can_be_set() -> None:
    keys = {key.key: key for key in config.describe(Recipe)}
    assert list(keys)[: len(fields(Train))] == [f"train.{one.name}" for one in fields(Train)]
    assert (keys["train.lr"].type, keys["train.lr"].default) == ("a number", "0.001")
    assert keys["train.steps"].default == ""
    assert keys["train.clip"].type == "a number or none"
    assert keys["names"] == config.Key(key="names", type="a list of strings", default="[]")
    assert keys["data"].default == '"pairs.tsv"'
    assert "average.lr" in keys and "average" not in keys
    assert keys["stages[].lr"].default == "0.001" and "stages" not in keys


def test_invalid_toml_file_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "r.toml"
    with pytest.raises(UserError, match=r"r\.toml: cannot be read: No such file"):
        config.load_toml(path)
    path.write_bytes(b"a = 1\nb = '\xe9'\n")
    with pytest.raises(UserError, match=r"r\.toml:2: not UTF-8"):
        config.load_toml(path)
    path.write_text("a = 1\nb = = 2\n")
    with pytest.raises(UserError, match=r"r\.toml:2: not valid TOML"):
        config.load_toml(path)
    for text in ("a = " + "[" * 5000 + "]" * 5000, "a = " + "[" * 150 + "]" * 150, "a = " + "9" * 5000):
        path.write_text(text)
        with pytest.raises(UserError, match=r"r\.toml: not valid TOML: "):
            config.load_toml(path)
        assert isinstance(config.override({}, [text])["a"], str)
    path.write_bytes(b"\xef\xbb\xbfa = inf\r\n")
    assert config.load_toml(path) == {"a": math.inf}


@dataclass(frozen=True, kw_only=True)
class Files:
    pairs: str
    folder: Path | None = None


def test_nul_character_is_refused_in_settings() -> None:
    with pytest.raises(UserError, match=r'r\.toml: pairs: "a\\u0000b" given, expected a string without NUL characters'):
        config.from_dict(Files, {"pairs": "a\0b"}, where="r.toml")
    with pytest.raises(UserError, match=r"r\.toml: folder: .* without NUL characters"):
        config.from_dict(Files, {"pairs": "a", "folder": "a\0b"}, where="r.toml")
