"""The table of scores: BLEU, chrF and TER by sacrebleu, exact match, edit rates, and ROUGE as an extra.

All are percentages. Every entry makes a metric of sacrebleu's kind, sums of a few numbers a sentence, so that one
bootstrap and one pair of significance tests, sacrebleu's, serve them all.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Literal

from saccade.errors import UserError
from saccade.evaluate.edits import Errors, characters, edit_distance, errors_and_length, unplaced_errors
from saccade.evaluate.references import References, alternatives
from saccade.names import nearest
from saccade.text.words import words

if TYPE_CHECKING:
    from sacrebleu.metrics.base import Metric

Tokenisation = Literal["auto", "13a", "zh", "char", "none"]
TOKENISATIONS: tuple[Tokenisation, ...] = ("auto", "13a", "zh", "char", "none")

_HAN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
_KANA = re.compile(r"[\u3040-\u30ff]")
_LETTER = re.compile(r"[^\W\d_]")
_BLEU_ORDER = 4


@dataclass(frozen=True, kw_only=True)
class About:
    title: str
    higher_is_better: bool
    make: "Callable[[Sequence[Sequence[str]], Tokenisation], Metric]"  # (references, tokenisation)


def _bleu(references: Sequence[Sequence[str]], tokenise: Tokenisation) -> "Metric":
    from sacrebleu.metrics.bleu import BLEU

    # Where no reference has four words, no output could have a matching 4-gram and a perfect one would get 0; sacrebleu
    # then counts the orders that exist, and its signature says so (eff:yes).
    short = all(len(words(one)) < _BLEU_ORDER for some in references for one in some)
    # force: sacrebleu otherwise logs a warning about text that it takes to be tokenised already.
    return BLEU(tokenize=tokenise, effective_order=short, force=True)


def _chrf(references: Sequence[Sequence[str]], tokenise: Tokenisation) -> "Metric":
    from sacrebleu.metrics.chrf import CHRF

    return CHRF()


def _ter(references: Sequence[Sequence[str]], tokenise: Tokenisation) -> "Metric":
    from sacrebleu.metrics.ter import TER

    asian = tokenise in ("zh", "char")  # by characters there too, or a sentence without blanks is one word
    return TER(normalized=asian, asian_support=asian)


def _exact(references: Sequence[Sequence[str]], tokenise: Tokenisation) -> "Metric":
    from saccade.evaluate.ratios import Ratio

    return Ratio("exact", "text", lambda hypothesis, some: (hypothesis in some, 1))


def _edits(
    name: str,
    unit: str,
    cut: Callable[[str], Sequence[str]],
    errors: Errors,
    references: Sequence[Sequence[str]],
    tokenise: Tokenisation,
) -> "Metric":
    from saccade.evaluate.ratios import Ratio

    return Ratio(name, unit, partial(errors_and_length, cut=cut, errors=errors))


def _rouge(kind: str, references: Sequence[Sequence[str]], tokenise: Tokenisation) -> "Metric":
    from saccade.evaluate.rouge import rouge

    return rouge(kind)


METRICS: Mapping[str, About] = {
    "bleu": About(title="BLEU", higher_is_better=True, make=_bleu),
    "chrf": About(title="chrF", higher_is_better=True, make=_chrf),
    "ter": About(title="TER", higher_is_better=False, make=_ter),
    "exact": About(title="exact", higher_is_better=True, make=_exact),
    "wer": About(title="WER", higher_is_better=False, make=partial(_edits, "WER", "word", words, edit_distance)),
    "per": About(title="PER", higher_is_better=False, make=partial(_edits, "PER", "word", words, unplaced_errors)),
    "cer": About(
        title="CER", higher_is_better=False, make=partial(_edits, "CER", "character", characters, edit_distance)
    ),
    "rouge1": About(title="ROUGE-1", higher_is_better=True, make=partial(_rouge, "rouge1")),
    "rouge2": About(title="ROUGE-2", higher_is_better=True, make=partial(_rouge, "rouge2")),
    "rougeL": About(title="ROUGE-L", higher_is_better=True, make=partial(_rouge, "rougeL")),
}


def make_metrics(names: Sequence[str], references: References, tokenise: Tokenisation = "auto") -> "dict[str, Metric]":
    """Those metrics, for these references: `tokenise` is for BLEU, and TER goes by characters where BLEU does."""
    if isinstance(names, str) or not names:
        raise UserError(f"metrics are a list of names, got {names!r}; choose from {', '.join(METRICS)}")
    every = alternatives(references)
    chosen = tokenisation(every, tokenise)
    for name in names:
        if name not in METRICS:
            raise UserError(f"there is no metric {name!r}; {nearest(name, METRICS)}")
    return {name: METRICS[name].make(every, chosen) for name in names}


def tokenisation(references: References, choice: Tokenisation = "auto") -> Tokenisation:
    """What "auto" comes to: "zh" where most letters are Chinese and none is kana, "13a" otherwise."""
    if choice not in TOKENISATIONS:
        raise UserError(f"unknown tokenisation '{choice}': choose one of {', '.join(TOKENISATIONS)}")
    if choice != "auto":
        return choice
    han, letters = 0, 0
    for reference in (one for some in alternatives(references) for one in some):
        if _KANA.search(reference):
            return "13a"
        han += len(_HAN.findall(reference))
        letters += len(_LETTER.findall(reference))
    return "zh" if 2 * han > letters else "13a"
