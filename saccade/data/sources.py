"""Pairs of texts, wherever they come from: they can be read again, from any mark on, one pair in memory at a time."""

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, ClassVar, Literal, NamedTuple, Self

from saccade.errors import UserError
from saccade.text import HasTexts

Fields = tuple[str, str]
PairSide = Literal["source", "target"]
DEFAULT_FIELDS: Fields = ("source", "target")

Mark = tuple[int, ...]
"""Where a pair begins: its line or row, counted from 1, then whatever its reader needs to start there again."""


class TextPair(NamedTuple):
    source: str
    target: str


MarkedPairs = Iterator[tuple[Mark, TextPair]]


class PairSource(ABC):
    unit: ClassVar[str] = "pair"  # what an item is called in messages

    def __iter__(self) -> Iterator[TextPair]:
        return (pair for _, pair in self.marked())

    @abstractmethod
    def marked(self, mark: Mark | None = None) -> MarkedPairs:
        """Read the pairs from a mark on, each with its own mark."""

    def digest(self) -> str:
        return hash_pairs(self)

    def size(self) -> int:
        """Return the size in bytes, as far as it is known without reading."""
        return 0

    def version(self) -> tuple[int, ...]:
        """Return what changes when a file of the pairs is written again."""
        return ()

    def in_memory(self) -> "PairSource":
        """Return the same pairs, read from disk at most once however often they are iterated."""
        return self

    def rereadable(self) -> "PairSource":
        """Return the same pairs; those that can be read only once (standard input, a pipe) in memory."""
        return self


@dataclass(frozen=True, eq=False)
class ListedPairs(PairSource):
    pairs: Sequence[HasTexts]

    def __str__(self) -> str:
        return "the pairs"

    def marked(self, mark: Mark | None = None) -> MarkedPairs:
        first = mark[0] if mark else 1
        rest = islice(self.pairs, first - 1, None)
        return (((number,), TextPair(pair.source, pair.target)) for number, pair in enumerate(rest, first))


@dataclass(frozen=True)
class DerivedPairs(PairSource):
    """Pairs that are made of other pairs, one of each."""

    pairs: PairSource

    @property
    @abstractmethod
    def change(self) -> str:
        """What is done to the other pairs, in a word."""

    @abstractmethod
    def derive(self, pair: TextPair) -> TextPair: ...

    def __str__(self) -> str:
        return f"{self.pairs}, {self.change}"

    def marked(self, mark: Mark | None = None) -> MarkedPairs:
        return ((mark, self.derive(pair)) for mark, pair in self.pairs.marked(mark))

    def digest(self) -> str:
        return f"{self.change} {self.pairs.digest()}"

    def size(self) -> int:
        return self.pairs.size()

    def version(self) -> tuple[int, ...]:
        return self.pairs.version()

    def in_memory(self) -> Self:
        return replace(self, pairs=self.pairs.in_memory())


@dataclass(frozen=True)
class ReversedPairs(DerivedPairs):
    @property
    def change(self) -> str:
        return "reversed"

    def derive(self, pair: TextPair) -> TextPair:
        return TextPair(pair.target, pair.source)


def is_empty(pair: HasTexts) -> bool:
    return not pair.source.strip() or not pair.target.strip()


def add_tag(pair: TextPair, tag: str | None) -> TextPair:
    return pair if tag is None else TextPair(f"{tag} {pair.source}", pair.target)


def hash_pairs(pairs: Iterable[TextPair]) -> str:
    digest = hashlib.sha256()
    for pair in pairs:
        digest.update(repr(pair).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def get_pair(record: Mapping[str, Any], fields: Fields, place: str) -> TextPair:
    """Return the texts of two fields of a record. A field may be nested: translation.en"""
    source, target = (get_text(record, field, place, suggest_fields(record)) for field in fields)
    return TextPair(source, target)


def get_text(record: Mapping[str, Any], field: str, place: str, advice: str) -> str:
    """Return the text of a field. `advice` ends the error message: how to name another field."""
    value: Any = record
    for part in [field] if field in record else field.split("."):
        if not isinstance(value, Mapping) or part not in value:
            problem = f"there is no {field!r}"
            break
        value = value[part]
    else:
        if isinstance(value, str):
            return value
        problem = f"{field!r} is {json.dumps(value, ensure_ascii=False, default=repr)[:30]}; expected a text"
    raise UserError(f"{place}: {problem}; the texts there are {', '.join(_text_fields(record)) or 'none'}; {advice}")


def suggest_fields(record: Mapping[str, Any]) -> str:
    """Say what to type to name two fields of a record."""
    names = _text_fields(record)
    example = json.dumps(names[:2] if len(names) > 1 else ["en", "fr"], ensure_ascii=False)
    return f"name two by --set 'data.fields={example}'"


def _text_fields(record: Mapping[str, Any]) -> list[str]:
    nested = [f"{key}.{inner}" for key, value in record.items() if isinstance(value, Mapping) for inner in value]
    return nested + [key for key, value in record.items() if isinstance(value, str)]
