"""Arguments become systems, and unequal settings are reported before training."""

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saccade.comparison.options import CompareOptions
from saccade.comparison.planning import make_plan
from saccade.errors import UserError

WriteRecipe = Callable[..., Path]
TYPED = st.characters(codec="utf-8", exclude_characters="\0")  # what a command line can hold
TASK = CompareOptions(data="task:phrasebook-en-fr", settings=("data.count=100",), steps=7, seeds="1,4")


def test_names_with_settings_share_data_and_budget() -> None:
    found = make_plan(
        [
            "cho2014",
            "luong2015:attention=luong2015-local-p-general,preset=tiny,as=local-p",
            "vaswani2017:train.lr=1e-4",
        ],
        TASK,
    )
    assert [system.name for system in found.systems] == ["cho2014", "local-p", "vaswani2017 train.lr=1e-4"]
    assert found.unequal == () and found.task == ("task:phrasebook-en-fr", (3, 20))
    recipes = found.recipes
    assert recipes["local-p"].settings.attention == "luong2015-local-p-general"
    assert recipes["local-p"].settings.hidden == 64 and recipes["vaswani2017 train.lr=1e-4"].train.lr == 1e-4
    assert {(one.train.max_steps, one.train.max_epochs, one.data.count) for one in recipes.values()} == {(7, None, 100)}
    order = [(point.settings["system"], point.seed) for point in found.points]
    assert order[:3] == [(name, 1) for name in recipes] and order[3:] == [(name, 4) for name in recipes]
    assert len({point.folder for point in found.points}) == 6


def test_recipes_keep_their_settings_and_take_the_shared_ones(recipe: WriteRecipe) -> None:
    one, other = recipe("cho2014"), recipe("bahdanau2014")
    found = make_plan(
        [f"{one}:hidden=6", f"{other}:as=other"], CompareOptions(minutes=0.5, settings=("train.clip=none",))
    )
    assert [system.name for system in found.systems] == ["cho2014 hidden=6", "other"]
    assert found.recipes["cho2014 hidden=6"].settings.hidden == 6 and found.task is None
    for made in found.recipes.values():
        assert (made.train.max_minutes, made.train.max_steps, made.train.clip) == (0.5, None, None)


def test_folders_are_not_trained(folder_of: Callable[[str], Path]) -> None:
    one, other = folder_of("cho2014"), folder_of("vaswani2017")
    found = make_plan([f"{one},{other}", str(one), f"{other}:as=again"], CompareOptions())
    assert [system.name for system in found.systems] == ["cho2014,vaswani2017", "cho2014", "again"]
    assert found.systems[0].folders == (one, other) and found.points == [] and found.recipes == {}


def test_folder_names_may_contain_commas(folder_of: Callable[[str], Path], tmp_path: Path) -> None:
    runs = [tmp_path / name for name in ("system=a,seed=1", "system=a,seed=2")]
    for run in runs:
        run.symlink_to(folder_of("cho2014"))
    found = make_plan([f"{runs[0]},{runs[1]}:as=both", f"{runs[1]}:as=one"], CompareOptions())
    assert [system.folders for system in found.systems] == [tuple(runs), (runs[1],)]


def test_unequal_settings_are_reported_or_allowed(recipe: WriteRecipe) -> None:
    one = str(recipe("cho2014"))
    for changed, said in (
        ("train.max_steps=3", "train.max_steps is 2 for cho2014 and 3 for other"),
        ("train.tokens=50", "train.tokens is 100 for cho2014 and 50 for other"),
        ("data.longest=9", "data.longest is 256 for cho2014 and 9 for other"),
    ):
        asked = [one, f"{one}:{changed},as=other"]
        with pytest.raises(UserError) as mistake:
            make_plan(asked, CompareOptions())
        assert str(mistake.value).startswith(said) and "--unequal" in str(mistake.value)
        assert make_plan(asked, CompareOptions(unequal=True)).unequal == (said,)
    assert make_plan([one, f"{one}:train.lr=1e-2,embedding=8,as=other"], CompareOptions()).unequal == ()


def test_mistakes_are_reported_in_one_line_before_training(recipe: WriteRecipe, tmp_path: Path) -> None:
    one = str(recipe("cho2014"))
    for systems, asked, said in (
        ([one], CompareOptions(), "two systems or more"),
        ([one, one], CompareOptions(), "two systems are called 'cho2014'"),
        (["cho2014", "cho2015"], TASK, "did you mean 'cho2014'?"),
        (["cho2014", "bahdanau2014"], CompareOptions(), "give --data pairs.tsv, or --data task:NAME"),
        ([one, "cho2014"], TASK, "names its own data; leave out --data"),
        (["cho2014:preset=huge", "bahdanau2014"], TASK, "model.preset: 'huge' given"),
        (["cho2014:hiden=3", "bahdanau2014"], TASK, "model.hiden: unknown key; did you mean 'hidden'?"),
        (["cho2014:hidden=3,tiny", "bahdanau2014"], TASK, "expected KEY=VALUE,KEY=VALUE after the colon"),
        (["luong2015:attention=luong2016", "bahdanau2014"], TASK, "luong2016"),
        (["runs/none", "bahdanau2014"], TASK, "runs/none"),
        ([str(tmp_path), "bahdanau2014"], TASK, str(tmp_path)),
        (["cho2014", "bahdanau2014"], CompareOptions(data="task:phrasebok-en-fr"), "did you mean 'phrasebook-en-fr'?"),
        (["cho2014", "bahdanau2014"], CompareOptions(data="none.tsv"), "none.tsv"),
        ([one, "none.toml"], CompareOptions(), "none.toml: cannot be read"),
    ):
        with pytest.raises(UserError) as mistake:
            make_plan(systems, asked)
        assert said in str(mistake.value) and "\n" not in str(mistake.value), (systems, mistake.value)


@settings(deadline=None, max_examples=60)
@given(st.text(TYPED, max_size=30), st.text(TYPED, max_size=30))
def test_any_text_is_a_system_or_an_error_in_one_line(one: str, other: str) -> None:
    try:
        make_plan([f"x{one}", f"y{other}"], CompareOptions())
    except UserError as mistake:
        assert str(mistake)
