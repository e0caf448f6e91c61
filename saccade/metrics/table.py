"""The table of metrics: BLEU, chrF and TER by sacrebleu, exact match, error rates, and ROUGE as an extra.

All are percentages. Every entry makes a metric of sacrebleu's kind, so that one bootstrap and two paired tests serve
them all.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Literal, TypeAlias

from saccade.errors import UserError
from saccade.metrics.edits import characters, edit_distance, position_independent_errors
from saccade.names import nearest
from saccade.text.words import words

if TYPE_CHECKING:
    from saccade.metrics.sacrebleu_adapter import CountedMetric

Tokenisation = Literal["auto", "13a", "zh", "char", "none"]
TOKENISATIONS: tuple[Tokenisation, ...] = ("auto", "13a", "zh", "char", "none")
References: TypeAlias = "Sequence[str] | Sequence[Sequence[str]]"  # one reference per sentence, or a list of them
Alternatives: TypeAlias = Sequence[Sequence[str]]
Split = Callable[[str], Sequence[str]]
CountErrors = Callable[[Sequence[str], Sequence[str]], int]

_HAN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
_KANA = re.compile(r"[\u3040-\u30ff]")
_LETTER = re.compile(r"[^\W\d_]")
_BLEU_ORDER = 4


@dataclass(frozen=True, kw_only=True)
class MetricInfo:
    title: str
    higher_is_better: bool
    make: "Callable[[Alternatives, Tokenisation], CountedMetric]"  # (references, tokenisation)


def _bleu(references: Alternatives, tokenise: Tokenisation) -> "CountedMetric":
    from saccade.metrics.sacrebleu_adapter import Bleu

    # Where no reference has four words, no output can have a matching 4-gram and a perfect one would score 0; sacrebleu
    # then counts the orders that exist, and its signature says so (eff:yes).
    short = all(len(words(text)) < _BLEU_ORDER for texts in references for text in texts)
    # force: sacrebleu otherwise logs a warning about text that looks tokenised.
    return Bleu(tokenize=tokenise, effective_order=short, force=True)


def _chrf(references: Alternatives, tokenise: Tokenisation) -> "CountedMetric":
    from saccade.metrics.sacrebleu_adapter import Chrf

    return Chrf()


def _ter(references: Alternatives, tokenise: Tokenisation) -> "CountedMetric":
    from saccade.metrics.sacrebleu_adapter import Ter

    asian = tokenise in ("zh", "char")  # by character there too, or a sentence without spaces is one word
    return Ter(normalized=asian, asian_support=asian)


def _exact(references: Alternatives, tokenise: Tokenisation, *, errors: bool = False) -> "CountedMetric":
    from saccade.metrics.sacrebleu_adapter import Ratio

    return Ratio("WER" if errors else "exact", "text", lambda hypothesis, texts: ((hypothesis in texts) != errors, 1))


def _error_rate(
    name: str,
    unit: str,
    split: Split,
    count_errors: CountErrors,
    references: Alternatives,
    tokenise: Tokenisation,
) -> "CountedMetric":
    from saccade.metrics.sacrebleu_adapter import Ratio

    def count(hypothesis: str, texts: Sequence[str]) -> tuple[int, int]:
        """Errors against the reference with the fewest (the longest of equals), and that reference's length."""
        output = split(hypothesis)
        known = [split(text) for text in texts]
        pairs = ((count_errors(output, reference), len(reference)) for reference in known)
        return min(pairs, key=lambda pair: (pair[0], -pair[1]))

    return Ratio(name, unit, count)


def _phone_error(references: Alternatives, tokenise: Tokenisation) -> "CountedMetric":
    """Phones are separated by white space; if no reference has any, they are single characters."""
    has_spaces = any(len(text.split()) > 1 for texts in references for text in texts)
    unit, split = ("phone", str.split) if has_spaces else ("character", characters)
    return _error_rate("PER", unit, split, edit_distance, references, tokenise)


def _rouge(kind: str, references: Alternatives, tokenise: Tokenisation) -> "CountedMetric":
    """ROUGE (Lin 2004): the mean F1 of the sentences, each against its nearest reference."""
    from saccade.metrics.sacrebleu_adapter import Ratio

    try:
        scorers = import_module("rouge_score.rouge_scorer")
    except ImportError:
        raise UserError(f"{kind} needs rouge-score: pip install rouge-score") from None
    scorer = scorers.RougeScorer([kind], tokenizer=_RougeWords())

    def count(hypothesis: str, texts: Sequence[str]) -> tuple[float, float]:
        return scorer.score_multi(list(texts), hypothesis)[kind].fmeasure, 1

    return Ratio(kind, "word", count)


class _RougeWords:
    """rouge-score's own tokeniser keeps only ASCII letters and digits; this one serves every language."""

    def tokenize(self, text: str) -> list[str]:
        return [word for word in words(text.casefold()) if any(map(str.isalnum, word))]


def _rate(title: str, unit: str, split: Split, count_errors: CountErrors = edit_distance) -> MetricInfo:
    make = partial(_error_rate, title, unit, split, count_errors)
    return MetricInfo(title=title, higher_is_better=False, make=make)


METRICS: Mapping[str, MetricInfo] = {
    "bleu": MetricInfo(title="BLEU", higher_is_better=True, make=_bleu),
    "chrf": MetricInfo(title="chrF", higher_is_better=True, make=_chrf),
    "ter": MetricInfo(title="TER", higher_is_better=False, make=_ter),
    "exact": MetricInfo(title="exact", higher_is_better=True, make=_exact),
    "wer": _rate("WER", "word", words),
    "per": _rate("PER", "word", words, position_independent_errors),
    "cer": _rate("CER", "character", characters),
    # For data of single words, such as pronunciations: the share of wrong words, and of wrong phones.
    "word_error": MetricInfo(title="WER", higher_is_better=False, make=partial(_exact, errors=True)),
    "phone_error": MetricInfo(title="PER", higher_is_better=False, make=_phone_error),
    "rouge1": MetricInfo(title="ROUGE-1", higher_is_better=True, make=partial(_rouge, "rouge1")),
    "rouge2": MetricInfo(title="ROUGE-2", higher_is_better=True, make=partial(_rouge, "rouge2")),
    "rougeL": MetricInfo(title="ROUGE-L", higher_is_better=True, make=partial(_rouge, "rougeL")),
}


def alternatives(references: References) -> list[tuple[str, ...]]:
    """List all references of each sentence, at least one."""
    listed = [(text,) if isinstance(text, str) else tuple(text) for text in references]
    if not all(listed):
        raise UserError(f"sentence {listed.index(())}, counted from 0, has no reference; expected at least one")
    return listed


def make_metrics(
    names: Sequence[str], references: References, tokenise: Tokenisation = "auto"
) -> "dict[str, CountedMetric]":
    """Make these metrics for these references; `tokenise` is for BLEU, and TER counts characters where BLEU does."""
    if isinstance(names, str) or not names:
        raise UserError(f"metrics are a list of names, got {names!r}; choose from {', '.join(METRICS)}")
    listed = alternatives(references)
    tokenise = choose_tokenisation(listed, tokenise)
    for name in names:
        if name not in METRICS:
            raise UserError(f"there is no metric {name!r}; {nearest(name, METRICS)}")
    return {name: METRICS[name].make(listed, tokenise) for name in names}


def choose_tokenisation(references: References, choice: Tokenisation = "auto") -> Tokenisation:
    """Resolve "auto": "zh" where most letters are Chinese and none is kana, "13a" otherwise."""
    if choice not in TOKENISATIONS:
        raise UserError(f"unknown tokenisation '{choice}': choose one of {', '.join(TOKENISATIONS)}")
    if choice != "auto":
        return choice
    han, letters = 0, 0
    for reference in (text for texts in alternatives(references) for text in texts):
        if _KANA.search(reference):
            return "13a"
        han += len(_HAN.findall(reference))
        letters += len(_LETTER.findall(reference))
    return "zh" if 2 * han > letters else "13a"
