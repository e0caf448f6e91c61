"""Corpus scores of translations against one reference each: BLEU and chrF by sacrebleu, and exact match.

All three are percentages. The signatures say how sacrebleu counted; two BLEU scores compare only if theirs are equal.
"""

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Literal

from saccade.errors import UserError
from saccade.text.words import words

Tokenisation = Literal["auto", "13a", "zh", "char", "none"]
TOKENISATIONS: tuple[Tokenisation, ...] = ("auto", "13a", "zh", "char", "none")

_HAN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
_KANA = re.compile(r"[\u3040-\u30ff]")
_LETTER = re.compile(r"[^\W\d_]")
_BLEU_ORDER = 4


@dataclass(frozen=True, kw_only=True)
class Scores:
    bleu: float
    chrf: float
    exact: float
    sentences: int
    bleu_signature: str
    chrf_signature: str

    def as_dict(self) -> dict[str, float | int | str]:
        return asdict(self)


def score(hypotheses: Sequence[str], references: Sequence[str], *, tokenise: Tokenisation = "auto") -> Scores:
    """Score line by line; `tokenise` is for BLEU alone. An exact match may differ in white space at the ends."""
    from sacrebleu.metrics.bleu import BLEU
    from sacrebleu.metrics.chrf import CHRF

    same_count(hypotheses=hypotheses, references=references)
    # Where no reference has four words, no output could have a matching 4-gram and a perfect one would get 0; sacrebleu
    # then counts the orders that exist, and its signature says so (eff:yes).
    short = all(len(words(reference)) < _BLEU_ORDER for reference in references)
    # force: sacrebleu otherwise logs a warning about text that it takes to be tokenised already.
    bleu = BLEU(tokenize=tokenisation(references, tokenise), effective_order=short, force=True)
    chrf = CHRF()
    streams = [list(references)]
    matches = sum(h.strip() == r.strip() for h, r in zip(hypotheses, references, strict=True))
    return Scores(
        bleu=bleu.corpus_score(list(hypotheses), streams).score,
        chrf=chrf.corpus_score(list(hypotheses), streams).score,
        exact=100 * matches / len(references),
        sentences=len(references),
        bleu_signature=str(bleu.get_signature()),
        chrf_signature=str(chrf.get_signature()),
    )


def tokenisation(references: Sequence[str], choice: Tokenisation = "auto") -> Tokenisation:
    """What "auto" comes to: "zh" where most letters are Chinese and none is kana, "13a" otherwise."""
    if choice not in TOKENISATIONS:
        raise UserError(f"unknown tokenisation '{choice}': choose one of {', '.join(TOKENISATIONS)}")
    if choice != "auto":
        return choice
    han, letters = 0, 0
    for reference in references:
        if _KANA.search(reference):
            return "13a"
        han += len(_HAN.findall(reference))
        letters += len(_LETTER.findall(reference))
    return "zh" if 2 * han > letters else "13a"


def same_count(**columns: Sequence[object]) -> None:
    """Refuse columns that are not lists, are empty, or differ in length."""
    for name, column in columns.items():
        if isinstance(column, str | bytes):
            raise UserError(f"{name} is one string; expected a list with one entry a sentence")
    counts = {name: len(column) for name, column in columns.items()}
    if len(set(counts.values())) > 1:
        raise UserError("need one line each, got " + " and ".join(f"{n} {name}" for name, n in counts.items()))
    if not all(counts.values()):
        raise UserError(f"nothing to score: {' and '.join(counts)} are empty")
