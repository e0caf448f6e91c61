"""The corpus of word vectors: ids of words with their sentences, some of which are held out."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from saccade.data.counting import LEFT_OUT, CountedText, Ids, count_words
from saccade.data.text_files import File
from saccade.errors import UserError, plural
from saccade.text.words import splitter
from saccade.words.options import WordTraining

_HELD_OUT = 0.01  # share of the sentences that validate …
_MOST_HELD_OUT = 1_000  # … and the most of them


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


def read_corpus(file: File, options: WordTraining) -> NumberedCorpus:
    """Count and number the words of a text. Some sentences are held out."""
    split = splitter(lower=not options.cased, tokenised=options.tokenised)
    text = count_words(file, split, min_count=options.min_count, most=options.most_words)
    if len(text.words) < 2:
        raise UserError(_too_small(text, options.min_count))
    lines = np.repeat(np.arange(len(text.lengths), dtype=np.int32), text.lengths)
    kept = text.ids != LEFT_OUT
    train, valid = _hold_out(NumberedText(text.ids[kept], lines[kept]), len(text.lengths), options.seed)
    return NumberedCorpus(text.name, text.words, text.counts, train, valid, len(text.ids), text.digest)


def _too_small(text: CountedText, min_count: int) -> str:
    if not len(text.ids):
        return f"{text.name}: no words; expected a text, one sentence per line"
    least = f"at least 2 words that occur {plural(min_count, 'time')} or more"
    frequent = len(text.words)
    return (
        f"{text.name}: {plural(len(text.ids), 'word')}, of which {frequent} occur{'s' * (frequent == 1)} so often; "
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
