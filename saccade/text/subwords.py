"""Training of a sentencepiece model, and subword sampling: both with the same result on every machine, which
sentencepiece's own samples of lines and segmentations do not have, seeded or not. Texts are sampled word by word, since
no token spans a space."""

import io
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from random import Random
from typing import Any, Generic, TypeVar

import numpy as np

from saccade.errors import UserError
from saccade.text.tokeniser import BOS, EOS, PAD, UNK, Policy, split_chunks

_UNTRAINABLE = str.maketrans("▅\t", "  ")  # sentencepiece's own marks: it silently skips a line that contains the first
_LONGEST_LINE = 1 << 18  # bytes; with the default of 4192, long lines would silently be skipped
_BEST = 64  # segmentations of a word to sample from; most words have fewer
_CACHED = 1 << 13  # words

Item = TypeVar("Item")
Sampler = Callable[[str, Random], list[int]]  # returns the tokens of a word with the space before it


def train_subword_model(
    lines: Iterable[str], policy: Policy, *, tags: Sequence[str], symbols: Sequence[str], most_lines: int
) -> bytes:
    """`tags` become tokens that no text contains; `symbols` become tokens wherever a text contains them."""
    from sentencepiece import SentencePieceTrainer

    sample = Sample[str](most_lines)
    for line in lines:  # here, so that an error in the files does not pass through C++
        sample.add(line)

    def training_text() -> Iterator[str]:
        chunks = (chunk for line in sample.items if line.strip() for chunk in split_chunks(line, policy))
        texts = (chunk.translate(_UNTRAINABLE) for chunk in chunks)
        if policy.kind == "word":  # every word once, with its count
            yield from (f"{text}\t{count}" for text, count in Counter(texts).items())
        else:
            yield from texts

    written = io.BytesIO()
    try:
        SentencePieceTrainer.train(
            sentence_iterator=training_text(),
            input_format="tsv" if policy.kind == "word" else "text",
            model_writer=written,
            model_type=policy.kind,
            vocab_size=policy.size,
            hard_vocab_limit=False,
            byte_fallback=policy.byte_fallback,
            # Rare characters are spelled in bytes where there are any.
            character_coverage=0.9995 if policy.byte_fallback and policy.kind != "char" else 1.0,
            pad_id=PAD,
            unk_id=UNK,
            bos_id=BOS,
            eos_id=EOS,
            control_symbols=list(tags),
            user_defined_symbols=list(symbols),
            normalization_rule_name="identity",
            remove_extra_whitespaces=False,
            add_dummy_prefix=False,
            max_sentence_length=_LONGEST_LINE,
            num_threads=16,  # decides the order of sums, on every machine alike
            minloglevel=2,
        )
    except RuntimeError as error:
        # sentencepiece's messages name its source lines and its own options.
        if "sentences_.empty()" in str(error):
            raise UserError("no text to train a vocabulary on: every line is empty") from None
        if needed := re.search(r"required_chars\. \d+ vs (\d+)", str(error)):
            least = int(needed[1])
        elif "vocab_size" in str(error):
            least = 4 + 256 * policy.byte_fallback + len(tags) + len(symbols) + 1
        else:
            raise
        raise UserError(f"a vocabulary of {policy.size} is too small for this text; it needs {least} or more") from None
    return written.getvalue()


class Sample(Generic[Item]):
    """At most so many of the items that are added, drawn uniformly and always the same ones."""

    def __init__(self, most: int) -> None:
        self.items: list[Item] = []
        self.count, self._most, self._random = 0, most, Random(0)

    def add(self, item: Item) -> None:
        self.count += 1
        if self.count <= self._most:
            self.items.append(item)
        elif (place := self._random.randrange(self.count)) < self._most:
            self.items[place] = item


def unigram_sampler(pieces: Any, alpha: float) -> Sampler:
    """Kudo 2018: a segmentation x has probability p(x)^α / Σ p(x')^α. The smaller α, the more uniform."""

    @lru_cache(_CACHED)
    def segment(word: str) -> tuple[list[list[int]], list[float]]:
        segmentations = pieces.nbest_encode_as_ids(word, nbest_size=_BEST)
        scores = alpha * np.array([sum(map(pieces.get_score, ids)) for ids in segmentations])
        return segmentations, np.cumsum(np.exp(scores - scores.max())).tolist()

    def sample(word: str, random: Random) -> list[int]:
        segmentations, cumulative = segment(word)
        place = bisect_right(cumulative, random.random() * cumulative[-1])
        return segmentations[min(place, len(segmentations) - 1)]

    return sample


def bpe_sampler(pieces: Any, rate: float) -> Sampler:
    """BPE dropout (Provilkov, Emelianenko & Voita 2020): at each step, every merge is dropped with probability `rate`
    and the best of the others is applied, until none is left."""
    scores = {
        pieces.id_to_piece(token): pieces.get_score(token)
        for token in range(len(pieces))
        if not (pieces.is_control(token) or pieces.is_unknown(token) or pieces.is_byte(token))
    }

    def sample(word: str, random: Random) -> list[int]:
        parts = [*word.replace(" ", "▁")]
        while merges := [
            (-scores[left + right], place)
            for place, (left, right) in enumerate(pairwise(parts))
            if left + right in scores and random.random() >= rate
        ]:
            _, place = min(merges)
            parts[place : place + 2] = [parts[place] + parts[place + 1]]
        return [token for part in parts for token in encode_part(part)]

    @lru_cache(_CACHED)
    def encode_part(part: str) -> list[int]:
        """Return one id, or the bytes of a character that is not in the vocabulary."""
        return [pieces.piece_to_id(part)] if part in scores else list(pieces.encode(part))

    return sample


SAMPLERS = {"unigram": unigram_sampler, "bpe": bpe_sampler}
