import sys
from pathlib import Path

import pytest

from saccade.attention import ATTENTIONS
from saccade.errors import UserError
from saccade.names import Registry, nearest, resolve

TABLE = {"cho2014": 1, "bahdanau2014": 2}


def test_known_name_gives_its_entry() -> None:
    assert resolve("cho2014", TABLE, "model") == 1


def test_unknown_name_suggests_the_nearest_and_a_factory() -> None:
    with pytest.raises(UserError, match=r"no model 'bahdanau2015'; did you mean 'bahdanau2014'\?.*my_module:factory"):
        resolve("bahdanau2015", TABLE, "model")
    with pytest.raises(UserError, match="there are bahdanau2014, cho2014"):
        resolve("?", TABLE, "model")
    assert nearest("cho2015", TABLE) == "did you mean 'cho2014'?"


def test_registry_names_the_nearest_entry() -> None:
    table = Registry[int]("model") | TABLE
    assert dict(table) == TABLE and "cho2014" in table and "cho" not in table and table.get("cho") is None
    with pytest.raises(KeyError) as caught:
        table["bahdanu2014"]
    assert str(caught.value) == "there is no model 'bahdanu2014'; did you mean 'bahdanau2014'?"
    with pytest.raises(UserError, match=r"no attention 'bahdanu2014'; did you mean 'bahdanau2014'\?"):
        ATTENTIONS["bahdanu2014"]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory of one's own, not yet on the path"""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    return tmp_path


def test_module_in_the_working_directory_is_found(here: Path) -> None:
    (here / "names_of_mine.py").write_text("def factory():\n    return 'mine'\n")
    assert resolve("names_of_mine:factory", TABLE, "attention")() == "mine"
    assert resolve("math:sqrt", TABLE, "function")(4) == 2


def test_missing_module_or_factory_is_named(here: Path) -> None:
    (here / "names_of_yours.py").write_text("def factory():\n    pass\n")
    with pytest.raises(UserError, match=r"'names_of_yours' has no 'factry'; did you mean 'factory'\?"):
        resolve("names_of_yours:factry", TABLE, "attention")
    with pytest.raises(UserError, match="module 'no_such_module_here' cannot be imported"):
        resolve("no_such_module_here:factory", TABLE, "attention")
    with pytest.raises(UserError, match=r"'pi' is 3\.14.*, not a function or class"):
        resolve("math:pi", TABLE, "attention")


def test_table_entry_comes_before_a_module(here: Path) -> None:
    assert resolve("math:pi", {"math:pi": 4}, "number") == 4


@pytest.mark.parametrize("name", [":", ":factory", "math:", "a b:c", "..math:pi", ""])
def test_incomplete_name_is_reported(name: str, here: Path) -> None:
    with pytest.raises(UserError):
        resolve(name, TABLE, "model")


@pytest.mark.parametrize("line", ["import no_such_module_inside", "1 / 0", "def ("])
def test_broken_module_is_reported_in_one_line(line: str, here: Path) -> None:
    name = f"names_that_break_{len(line)}"
    (here / f"{name}.py").write_text(line + "\n")
    with pytest.raises(UserError, match=f"module '{name}' cannot be imported"):
        resolve(f"{name}:factory", TABLE, "model")
