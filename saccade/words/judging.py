"""How good word vectors are: do they rank pairs of words as people do, and do they solve analogies?"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from saccade.data.text_files import line_error, read_lines
from saccade.errors import UserError
from saccade.words.vectors import WordVectors

_FEWEST = 2  # pairs with a rank


@dataclass(frozen=True)
class SimilarityScore:
    """Spearman's rank correlation between the cosines and people's judgements."""

    correlation: float
    scored: int  # pairs whose words both have vectors
    pairs: int


@dataclass(frozen=True)
class AnalogyScore:
    correct: int
    scored: int  # questions whose words all have vectors
    questions: int

    @property
    def accuracy(self) -> float:
        return 100 * self.correct / max(1, self.scored)


def score_similarity(vectors: WordVectors, path: str | Path) -> SimilarityScore:
    """Compare with a file of pairs: word, word and a number in each line, separated by tabs."""
    human, cosines, pairs = list[float](), list[float](), 0
    for number, line in enumerate(read_lines(path), 1):
        if not line.strip() or line.startswith("#"):
            continue
        fields = line.split("\t")
        try:
            first, second, judgement = fields[0].strip(), fields[1].strip(), float(fields[2])
        except (IndexError, ValueError):
            raise line_error(path, number, "expected two words and a number, separated by tabs") from None
        pairs += 1
        if first in vectors and second in vectors:
            human.append(judgement)
            cosines.append(vectors.similarity(first, second))
    if len(human) < _FEWEST:
        raise UserError(f"{path}: {vectors.name} has the words of {len(human)} of {pairs} pairs; at least 2 are needed")
    return SimilarityScore(rank_correlation(np.array(human), np.array(cosines)), len(human), pairs)


def score_analogies(vectors: WordVectors, path: str | Path) -> AnalogyScore:
    """Answer a file of questions: four words per line, of which the last is the answer. `: name` begins a section."""
    correct = scored = questions = 0
    for number, line in enumerate(read_lines(path), 1):
        if not line.strip() or line.startswith(":"):
            continue
        words = line.split()
        if len(words) != 4:
            raise line_error(path, number, f"{len(words)} words; expected four, the last of which is the answer")
        questions += 1
        if all(word in vectors for word in words):
            scored += 1
            first, second, third, expected = words
            answers = [neighbour.word for neighbour in vectors.analogy(first, second, third, count=1)]
            correct += answers == [vectors.words[vectors.place(expected)]]
    if not scored:
        raise UserError(f"{path}: {vectors.name} lacks a word in each of the {questions} questions")
    return AnalogyScore(correct, scored, questions)


def rank_correlation(first: NDArray[np.float64], second: NDArray[np.float64]) -> float:
    """Spearman's ρ: the correlation of the ranks. Equal values share the mean of their ranks."""
    ranks = np.stack([_ranks(first), _ranks(second)])
    if (ranks.std(axis=1) == 0).any():
        return 0.0  # all values of a side are equal
    matrix: NDArray[np.float64] = np.asarray(np.corrcoef(ranks))
    return float(matrix[0, 1])


def _ranks(values: NDArray[np.float64]) -> NDArray[np.float64]:
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    mean_ranks = np.asarray(last - (counts - 1) / 2, np.float64)
    ranks: NDArray[np.float64] = mean_ranks[places]
    return ranks
