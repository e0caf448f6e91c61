import pytest

from saccade.errors import UserError
from saccade.tasks import TASKS, Numbers, Phrasebook, task


def test_task_names_contain_the_languages() -> None:
    for name in TASKS:
        kind, *languages = name.split("-")
        if kind == "phrasebook":
            assert task(name) == Phrasebook(source=languages[0], target=languages[1])
        elif kind in ("numbers", "figures"):
            assert task(name) == Numbers(language=languages[0], to_figures=kind == "figures")
    assert sum(name.startswith("phrasebook") for name in TASKS) == 12


def test_an_unknown_task_names_the_nearest() -> None:
    with pytest.raises(UserError, match="there is no task 'frasebook-en-de'; did you mean 'phrasebook-en-de'"):
        task("frasebook-en-de")
