"""How probable a model finds given translations: one teacher-forced pass over them, and no search.

for one in score_pairs(load("en-fr"), [("the cat sleeps", "le chat dort")]):
    print(one.log_prob, one.perplexity, one.word_log_probs)

A pair that is blank on both sides is not read: its log-probability is 0, as of the blank translation of a blank text.
Otherwise the model is asked, also for a blank target (the end at once) or a blank source (its end alone).
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import cross_entropy

from saccade.align import to_words
from saccade.align.attention import SegmentedText
from saccade.data.batching import Batch
from saccade.decode.translator import CHUNK, Translator

BATCH_TOKENS = 4096  # target pieces at a time: a row of the vocabulary's size for each is in memory

TextPair = tuple[str, str]
IdPair = tuple[Sequence[int], Sequence[int]]
Array = NDArray[np.float32]


@dataclass(frozen=True, kw_only=True)
class PairScore:
    """A given target, by the pieces that its text is cut into. A search may have written the same text in others."""

    source: str
    target: str
    segments: SegmentedText  # of the target: pieces, in the order in which the model writes them, and words
    token_log_probs: tuple[float, ...]  # of each piece, and of the end; none where both sides are blank

    @property
    def log_prob(self) -> float:
        return math.fsum(self.token_log_probs)

    @property
    def mean(self) -> float:
        """Log-probability a piece, the end counted."""
        return self.log_prob / max(1, len(self.token_log_probs))

    @property
    def perplexity(self) -> float:
        return _perplexity(self.log_prob, len(self.token_log_probs))

    @cached_property
    def word_log_probs(self) -> tuple[float, ...]:
        """Of each word, the sum over its pieces; a piece of several words gives each an equal share. The end belongs to
        no word, nor does a lone space."""
        spans, count = self.segments.spans, len(self.segments.words)
        if not spans:
            return ()
        return tuple(to_words([self.token_log_probs[: len(spans)]], spans, [0], source_words=count)[0].tolist())

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "source": self.source,
            "target": self.target,
            "log_prob": self.log_prob,
            "mean": self.mean,
            "perplexity": self.perplexity,
            "tokens": list(self.segments.tokens),
            "token_log_probs": list(self.token_log_probs),
            "words": list(self.segments.words),
            "word_log_probs": list(self.word_log_probs),
        }


@dataclass
class ScoreTotals:
    """Of a whole corpus, gathered as pairs pass."""

    pairs: int = 0
    pieces: int = 0  # ends counted
    words: int = 0
    log_prob: float = 0.0

    def add(self, one: PairScore) -> None:
        self.pairs += 1
        self.pieces += len(one.token_log_probs)
        self.words += len(one.segments.words)
        self.log_prob += one.log_prob

    @property
    def perplexity(self) -> float:
        """A piece: compares only models of one vocabulary."""
        return _perplexity(self.log_prob, self.pieces)

    @property
    def word_perplexity(self) -> float:
        """The same log-probability, shared among words: compares any models on one text."""
        return _perplexity(self.log_prob, self.words)

    def as_dict(self) -> dict[str, float]:
        return {**vars(self), "perplexity": self.perplexity, "word_perplexity": self.word_perplexity}


def score_pairs(
    translator: Translator, pairs: Iterable[TextPair], *, batch_tokens: int = BATCH_TOKENS, chunk: int = CHUNK
) -> Iterator[PairScore]:
    """A result a pair, in order, of pairs without end: `chunk` of them are in memory at a time."""
    rest, sides = iter(pairs), translator.vocabularies
    while some := list(islice(rest, chunk)):
        masked = [sides.mask_pair(*pair) for pair in some]
        cut = [SegmentedText.from_text(right.text, sides.target, right.shown) for _, right in masked]
        ids = [(sides.source.encode(left.text), right.ids) for (left, _), right in zip(masked, cut, strict=True)]
        written = [place for place, pair in enumerate(some) if any(text.strip() for text in pair)]
        read = forced_log_probs(translator, [ids[place] for place in written], batch_tokens=batch_tokens)
        found = dict(zip(written, read, strict=True))
        for place, ((source, target), segments) in enumerate(zip(some, cut, strict=True)):
            yield PairScore(
                source=source,
                target=target,
                segments=segments if place in found else SegmentedText(ids=(), tokens=(), spans=(), words=()),
                token_log_probs=tuple(found[place].tolist()) if place in found else (),
            )


def forced_log_probs(
    translator: Translator, pairs: Sequence[IdPair], *, batch_tokens: int = BATCH_TOKENS
) -> list[Array]:
    """Of ids, such as a search found: the log-probability of each id of the target, and of the end, a row a pair."""
    return forced(translator, pairs, _log_probs, batch_tokens=batch_tokens)


def forced(
    translator: Translator,
    pairs: Sequence[IdPair],
    read: Callable[[Tensor, Tensor], Tensor],  # logits (B, T, V), targets (B, T) → (B, T, …)
    *,
    batch_tokens: int = BATCH_TOKENS,
) -> list[Array]:
    """What `read` finds at each id of each target and at its end, when the model is made to write it: (T + 1, …)"""
    found: list[Array] = [np.empty(0, np.float32)] * len(pairs)

    def of_batch(chosen: list[int]) -> Array:
        sources, targets = zip(*(pairs[i] for i in chosen), strict=True)
        batch = Batch.of(sources, targets, chosen).to(translator.device)
        with torch.inference_mode():
            logits = translator.model(batch.source, batch.source_readable, batch.target_in)
            return np.asarray(read(logits.float(), batch.target_out).cpu().numpy())

    lengths = [max(len(source), len(target)) + 1 for source, target in pairs]
    for part, rows in translator.map_batches(lengths, batch_tokens, of_batch):
        for i, row in zip(part, rows, strict=True):
            found[i] = row[: len(pairs[i][1]) + 1].copy()  # not a view, which would keep the whole batch
    return found


def _log_probs(logits: Tensor, targets: Tensor) -> Tensor:
    return -cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="none").view_as(targets)


def _perplexity(log_prob: float, count: int) -> float:
    return math.exp(min(700.0, -log_prob / max(1, count)))  # beyond 700 a float ends
