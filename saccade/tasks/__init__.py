"""The built-in tasks: `task("phrasebook-en-fr").pairs(1000, seed=1)`."""

from collections.abc import Mapping
from itertools import permutations

from saccade.names import Registry
from saccade.tasks.dates import Dates as Dates
from saccade.tasks.drawing import LANGUAGES
from saccade.tasks.drawing import SPLITS as SPLITS
from saccade.tasks.drawing import Pair as Pair
from saccade.tasks.drawing import Sense as Sense
from saccade.tasks.drawing import Task as Task
from saccade.tasks.entities import Entities as Entities
from saccade.tasks.g2p import G2P as G2P
from saccade.tasks.numbers import Addition as Addition
from saccade.tasks.numbers import Numbers as Numbers
from saccade.tasks.phrasebook import Phrasebook as Phrasebook
from saccade.tasks.sentiment import Sentiment as Sentiment
from saccade.tasks.sequences import Sequences as Sequences
from saccade.tasks.verses import Verses as Verses

TASKS: Mapping[str, Task] = Registry[Task]("task") | {
    **{f"phrasebook-{a}-{b}": Phrasebook(source=a, target=b) for a, b in permutations(LANGUAGES, 2)},
    **{f"everyday-en-{b}": Phrasebook(source="en", target=b, everyday=True) for b in LANGUAGES if b != "en"},
    "verses": Verses(),
    "dates": Dates(),
    "g2p": G2P(),
    "g2p-stress": G2P(stress=True),
    **{f"numbers-{language}": Numbers(language=language) for language in LANGUAGES},
    **{f"figures-{language}": Numbers(language=language, to_figures=True) for language in LANGUAGES},
    "copy": Sequences(order="copy"),
    "reverse": Sequences(order="reverse"),
    "sort": Sequences(order="sort"),
    "addition": Addition(),
    "sentiment": Sentiment(),
    "entities": Entities(),
}


def task(name: str) -> Task:
    return TASKS[name]
