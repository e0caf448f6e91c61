"""ROUGE (Lin 2004) by the rouge-score package, which is an extra: how much of a reference summary is there."""

from collections.abc import Sequence
from importlib import import_module

from saccade.errors import UserError
from saccade.evaluate.ratios import Ratio
from saccade.text.words import words


class _Words:
    """rouge-score's own rule keeps the letters of ASCII alone; this one serves every language."""

    def tokenize(self, text: str) -> list[str]:
        return [word for word in words(text.casefold()) if any(map(str.isalnum, word))]


def rouge(kind: str) -> Ratio:
    """The mean of the sentences' F, each against the reference that it is nearest to."""
    try:
        scorers = import_module("rouge_score.rouge_scorer")
    except ImportError:
        raise UserError(f"{kind} needs an extra: pip install 'saccade[rouge]'") from None
    scorer = scorers.RougeScorer([kind], tokenizer=_Words())

    def count(hypothesis: str, references: Sequence[str]) -> tuple[float, float]:
        return scorer.score_multi(list(references), hypothesis)[kind].fmeasure, 1

    return Ratio(kind, "word", count)
