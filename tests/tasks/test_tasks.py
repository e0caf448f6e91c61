import pytest

from saccade.errors import UserError
from saccade.tasks import TASKS, Phrasebook, task


def test_every_task_of_the_table_gives_pairs() -> None:
    for name, entry in TASKS.items():
        pairs = list(task(name).pairs(3, seed=1))
        assert len(pairs) == 3
        assert entry.summary


def test_the_name_says_the_languages() -> None:
    for name in TASKS:
        _, source, target = name.split("-")
        assert task(name) == Phrasebook(source=source, target=target)


def test_an_unknown_task_names_the_nearest() -> None:
    with pytest.raises(UserError, match="did you mean phrasebook-en-de"):
        task("frasebook-en-de")
