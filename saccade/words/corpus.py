"""A text as numbers: its words by frequency, and their ids, sentence after sentence, in four bytes per word."""

import hashlib
from array import array
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from saccade.data.text_files import File, display_name, read_lines
from saccade.errors import UserError, plural
from saccade.text.words import words as split_words
from saccade.words.options import WordTraining

_HELD_OUT = 0.01  # share of the sentences that validate …
_MOST_HELD_OUT = 1_000  # … and the most of them

Ids = NDArray[np.int32]


@dataclass(frozen=True)
class NumberedText:
    """Ids of words, and the number of the sentence that each belongs to."""

    ids: Ids
    numbers: Ids

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(frozen=True)
class NumberedCorpus:
    name: str
    words: tuple[str, ...]  # by frequency
    counts: NDArray[np.int64]
    train: NumberedText
    valid: NumberedText
    read: int  # words in the text, including those that are left out
    digest: str

    @property
    def notes(self) -> list[str]:
        kept = int(self.counts.sum())
        return [
            f"{self.name}: {self.read:,} words, of which {kept:,} are among the {plural(len(self.words), 'word')} kept"
        ]


def splitter(options: WordTraining) -> Callable[[str], list[str]]:
    split = str.split if options.tokenised else split_words
    return split if options.cased else lambda line: split(line.lower())


def read_corpus(file: File, options: WordTraining) -> NumberedCorpus:
    """Count and number the words of a text in one pass. Some sentences are held out."""
    split, numbers = splitter(options), dict[str, int]()
    ids, lengths, digest = array("i"), array("i"), hashlib.sha256()
    for line in read_lines(file):
        found = split(line)
        ids.extend(numbers.setdefault(word, len(numbers)) for word in found)
        lengths.append(len(found))
        digest.update(line.encode() + b"\n")
    name = Path(display_name(file)).name
    counts = np.bincount(np.frombuffer(ids, np.int32), minlength=len(numbers)) if ids else np.zeros(0, np.int64)
    words, kept_counts, new_ids = _most_frequent(list(numbers), counts, options)
    if len(words) < 2:
        raise UserError(_too_small(name, len(ids), counts, options.min_count))
    renumbered = new_ids[np.frombuffer(ids, np.int32)]
    sentence = np.repeat(np.arange(len(lengths), dtype=np.int32), np.frombuffer(lengths, np.int32))
    kept = renumbered >= 0
    train, valid = _hold_out(NumberedText(renumbered[kept], sentence[kept]), len(lengths), options.seed)
    return NumberedCorpus(name, words, kept_counts, train, valid, len(ids), digest.hexdigest())


def _most_frequent(
    words: list[str], counts: NDArray[np.int64], options: WordTraining
) -> tuple[tuple[str, ...], NDArray[np.int64], Ids]:
    """The words that are kept, by frequency; their counts; and the new id of each word, or −1."""
    order = np.argsort(-counts, kind="stable")  # words of equal frequency stay in the order of the text
    order = order[counts[order] >= options.min_count][: options.most_words]
    new_ids = np.full(len(words), -1, np.int32)
    new_ids[order] = np.arange(len(order), dtype=np.int32)
    return tuple(words[place] for place in order), counts[order], new_ids


def _too_small(name: str, words: int, counts: NDArray[np.int64], min_count: int) -> str:
    if not words:
        return f"{name}: no words; expected a text, one sentence per line"
    least = f"at least 2 words that occur {plural(min_count, 'time')} or more"
    frequent = int((counts >= min_count).sum())
    return (
        f"{name}: {plural(words, 'word')}, of which {frequent} occur{'s' * (frequent == 1)} so often; "
        f"word vectors need {least}: give more text, or lower --min-count (now {min_count})"
    )


def _hold_out(sentences: NumberedText, count: int, seed: int) -> tuple[NumberedText, NumberedText]:
    """Split off random sentences for validation. If there are too few, those of the training validate, too."""
    number = min(_MOST_HELD_OUT, int(_HELD_OUT * count))
    chosen = np.zeros(count, bool)
    chosen[np.random.default_rng(seed).choice(count, number, replace=False)] = True
    held = chosen[sentences.numbers]
    parts = [NumberedText(sentences.ids[part], sentences.numbers[part]) for part in (~held, held)]
    if min(map(len, parts)) < 2:
        return sentences, sentences
    return parts[0], parts[1]
