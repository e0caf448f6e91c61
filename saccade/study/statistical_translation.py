"""A small statistical translator (Brown and others 1993; Koehn, Och and Marcu 2003): phrases are counted in aligned
pairs, and a trigram model of the target language chooses among their translations.
and a trigram model of the target language chooses among their translations.

    (1) t̂ = argmax_t p(t) Π_k φ(s_k | t_k)                 the noisy channel: a fluent target that explains the source
    (2) φ(s | t) = count(s, t) / Σ_s' count(s', t)         phrases of at most `LONGEST` words
    (3) (s, t) is counted where words of s are linked to words of t alone, and the reverse; at least one link

The links are those of an HMM in both directions, combined by grow-diag-final. Deviations: targets are written in the
order of the source phrases, so words change places only within a phrase; the factors have no weights to tune; there is
no lexical smoothing of (2). A word that was never seen is copied.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Self

import numpy as np

from saccade.align.links import Links
from saccade.align.statistical.learning import learn_aligner
from saccade.data import TextPair
from saccade.ngrams.chen1998 import BEGIN, END, UNKNOWN, Floats, Ngrams, estimate
from saccade.ngrams.ngram_model import SPECIAL
from saccade.text import words

LONGEST, _ORDER = 4, 3
_BEAM = 30  # hypotheses for each number of translated source words
_MOST_OPTIONS = 20  # translations of a phrase that are tried, the most probable ones

Phrase = tuple[str, ...]


class Option(NamedTuple):
    target: Phrase
    log_probability: float  # φ(s | t)


class _Hypothesis(NamedTuple):
    score: float
    target: Phrase


@dataclass
class StatisticalTranslator:
    table: Mapping[Phrase, Sequence[Option]]
    ngrams: Ngrams
    ids: Mapping[str, int]
    _next: dict[tuple[int, ...], Floats] = field(default_factory=dict)  # log p of each word after a history

    @classmethod
    def learn(cls, pairs: Sequence[TextPair]) -> Self:
        aligned = list(learn_aligner(pairs).align(pairs))
        counts = Counter(
            phrases for pair in aligned for phrases in extract_phrases(pair.source, pair.target, pair.links)
        )
        vocabulary = dict.fromkeys(word for pair in aligned for word in pair.target)
        ids = {word: place for place, word in enumerate(vocabulary, len(SPECIAL))}
        sentences = [np.array([ids[word] for word in pair.target], np.int64) for pair in aligned]
        return cls(_make_table(counts), estimate(sentences, len(SPECIAL) + len(ids), _ORDER), ids)

    def translate(self, text: str) -> str:
        """Equation 1 by a beam search from left to right; the words are separated by spaces."""
        source = tuple(words(text))
        reached: list[dict[tuple[int, ...], _Hypothesis]] = [{} for _ in range(len(source) + 1)]
        reached[0][(BEGIN,)] = _Hypothesis(0.0, ())
        for start in range(len(source)):
            best = sorted(reached[start].items(), key=lambda item: -item[1].score)[:_BEAM]
            for end in range(start + 1, min(start + LONGEST, len(source)) + 1):
                for option in self._options(source[start:end]):
                    for history, hypothesis in best:
                        self._extend(reached[end], history, hypothesis, option)
        finished = (
            (hypothesis.score + self._log_probability(history, END), hypothesis.target)
            for history, hypothesis in reached[-1].items()
        )
        return " ".join(max(finished)[1])

    def _options(self, phrase: Phrase) -> Sequence[Option]:
        known = self.table.get(phrase)
        if known is None:
            return [Option(phrase, 0.0)] if len(phrase) == 1 else []
        return known

    def _extend(
        self,
        reached: dict[tuple[int, ...], _Hypothesis],
        history: tuple[int, ...],
        hypothesis: _Hypothesis,
        option: Option,
    ) -> None:
        """Of several hypotheses with one history, the best is kept: what follows them is the same."""
        score = hypothesis.score + option.log_probability
        for word in option.target:
            score += self._log_probability(history, place := self.ids.get(word, UNKNOWN))
            history = (*history, place)[-(_ORDER - 1) :]
        known = reached.get(history)
        if known is None or score > known.score:
            reached[history] = _Hypothesis(score, hypothesis.target + option.target)

    def _log_probability(self, history: tuple[int, ...], word: int) -> float:
        if history not in self._next:
            self._next[history] = np.log(np.maximum(self.ngrams.next_probabilities(history), 1e-300))
        return float(self._next[history][word])


def extract_phrases(source: Phrase, target: Phrase, links: Links) -> Iterator[tuple[Phrase, Phrase]]:
    """Equation 3. Target words without a link may stand at the ends of a phrase."""
    linked = {j for _, j in links}
    for start in range(len(source)):
        for end in range(start + 1, min(start + LONGEST, len(source)) + 1):
            inside = [j for i, j in links if start <= i < end]
            if not inside:
                continue
            low, high = min(inside), max(inside)
            if any(low <= j <= high and not start <= i < end for i, j in links):
                continue
            for first in _with_free_words(low, -1, linked):
                for last in _with_free_words(high, 1, linked):
                    if first >= 0 and last < min(len(target), first + LONGEST):
                        yield source[start:end], target[first : last + 1]


def _with_free_words(place: int, step: int, linked: set[int]) -> Iterator[int]:
    """The place, and those beyond it up to the next word with a link"""
    for distance in range(LONGEST):
        if distance and place + step * distance in linked:
            return
        yield place + step * distance


def _make_table(counts: Counter[tuple[Phrase, Phrase]]) -> dict[Phrase, list[Option]]:
    totals: Counter[Phrase] = Counter()
    for (_, target), count in counts.items():
        totals[target] += count
    table = defaultdict[Phrase, list[Option]](list)
    for (source, target), count in counts.most_common():
        if len(table[source]) < _MOST_OPTIONS:
            table[source].append(Option(target, math.log(count / totals[target])))
    return dict(table)
