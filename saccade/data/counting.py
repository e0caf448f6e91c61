"""A text as numbers: its words by frequency, and their ids, in four bytes per word."""

import hashlib
from array import array
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from saccade.data.text_files import File, display_name, read_lines

LEFT_OUT = -1

Ids = NDArray[np.int32]


@dataclass(frozen=True)
class CountedText:
    name: str
    words: tuple[str, ...]  # by frequency; words of equal frequency in the order of the text
    counts: NDArray[np.int64]
    ids: Ids  # of all words, line after line; −1 for one that is left out
    lengths: Ids  # words of each line
    digest: str


def count_words(
    file: File, split: Callable[[str], list[str]], *, min_count: int = 1, most: int | None = None
) -> CountedText:
    """Read a text once, split each line, and number the words that occur often enough."""
    numbers, ids, lengths, digest = dict[str, int](), array("i"), array("i"), hashlib.sha256()
    for line in read_lines(file):
        found = split(line)
        ids.extend(numbers.setdefault(word, len(numbers)) for word in found)
        lengths.append(len(found))
        digest.update(line.encode() + b"\n")
    own = np.frombuffer(ids, np.int32) if ids else np.zeros(0, np.int32)
    counts, words = np.bincount(own, minlength=len(numbers)), list(numbers)
    order = np.argsort(-counts, kind="stable")
    order = order[counts[order] >= min_count][:most]
    new_ids = np.full(len(words), LEFT_OUT, np.int32)
    new_ids[order] = np.arange(len(order), dtype=np.int32)
    return CountedText(
        name=Path(display_name(file)).name,
        words=tuple(words[place] for place in order),
        counts=counts[order],
        ids=new_ids[own],
        lengths=np.array(lengths, np.int32),
        digest=digest.hexdigest(),
    )
