"""A pair of a task: a source, its target, and how their words belong together."""

from collections.abc import Mapping
from dataclasses import dataclass

from saccade.text.words import words


@dataclass(frozen=True, kw_only=True)
class Sense:
    """An ambiguous source word, and the word elsewhere that decides its sense. Positions count `saccade.text.words`."""

    word: str  # as in a dictionary: "bank"
    name: str  # the sense that is right here
    source: int  # the position of the word
    target: tuple[int, ...]  # the positions of its translation
    forms: Mapping[str, tuple[str, ...]]  # sense → every form of its translation, in the target language
    distance: int  # from the word to the cue, in source words; negative: the cue comes first
    cue: str | None  # the deciding word; None: a neutral word stands in its place, and nothing decides

    def read(self, translation: str) -> str | None:
        """The sense that a translation chose; None if it contains forms of neither sense, or of both."""
        line = f" {' '.join(words(translation))} "
        chosen = [
            name for name, forms in self.forms.items() if any(f" {' '.join(words(form))} " in line for form in forms)
        ]
        return chosen[0] if len(chosen) == 1 else None


@dataclass(frozen=True, kw_only=True)
class Pair:
    source: str
    target: str
    alignment: tuple[tuple[int, int], ...] | None = None  # links (i, j) between words of source and target, sorted
    sense: Sense | None = None
