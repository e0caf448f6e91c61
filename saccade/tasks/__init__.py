"""The built-in tasks: `task("phrasebook-en-fr").pairs(1000, seed=1)`."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial
from typing import Protocol

from saccade.errors import UserError
from saccade.tasks.pair import Pair, Sense
from saccade.tasks.phrasebook import Phrasebook


class Task(Protocol):
    """Anything that gives pairs for a split, the same ones whenever it is asked the same."""

    def pairs(
        self, count: int, seed: int, split: str = "train", words: tuple[int, int] = (3, 20)
    ) -> Iterator[Pair]: ...


@dataclass(frozen=True, kw_only=True)
class Entry:
    make: Callable[[], Task]
    summary: str


TASKS: dict[str, Entry] = {
    "phrasebook-en-fr": Entry(make=partial(Phrasebook, source="en", target="fr"), summary="English to French"),
    "phrasebook-en-de": Entry(make=partial(Phrasebook, source="en", target="de"), summary="English to German"),
    "phrasebook-en-zh": Entry(make=partial(Phrasebook, source="en", target="zh"), summary="English to Chinese"),
    "phrasebook-fr-en": Entry(make=partial(Phrasebook, source="fr", target="en"), summary="French to English"),
    "phrasebook-de-en": Entry(make=partial(Phrasebook, source="de", target="en"), summary="German to English"),
    "phrasebook-zh-en": Entry(make=partial(Phrasebook, source="zh", target="en"), summary="Chinese to English"),
    "phrasebook-fr-de": Entry(make=partial(Phrasebook, source="fr", target="de"), summary="French to German"),
    "phrasebook-de-fr": Entry(make=partial(Phrasebook, source="de", target="fr"), summary="German to French"),
    "phrasebook-fr-zh": Entry(make=partial(Phrasebook, source="fr", target="zh"), summary="French to Chinese"),
    "phrasebook-zh-fr": Entry(make=partial(Phrasebook, source="zh", target="fr"), summary="Chinese to French"),
    "phrasebook-de-zh": Entry(make=partial(Phrasebook, source="de", target="zh"), summary="German to Chinese"),
    "phrasebook-zh-de": Entry(make=partial(Phrasebook, source="zh", target="de"), summary="Chinese to German"),
}


def task(name: str) -> Task:
    """The task of that name."""
    if name not in TASKS:
        near = get_close_matches(name, TASKS, n=1, cutoff=0.4)
        hint = f"did you mean {near[0]}? " if near else ""
        raise UserError(f"no task is called {name!r}; {hint}`saccade tasks` lists them all")
    return TASKS[name].make()


__all__ = ["TASKS", "Entry", "Pair", "Phrasebook", "Sense", "Task", "task"]
