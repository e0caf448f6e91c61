"""Metrics, and the scores of translations against their references, with intervals and signatures.

BLEU, chrF and TER are by sacrebleu; exact match, error rates and ROUGE, which is an extra, are of its kind, so that one
bootstrap and two paired tests serve them all. All are percentages. Two scores are comparable only if their signatures
are equal.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from saccade.errors import UserError, check_same_length
from saccade.names import Registry

if TYPE_CHECKING:
    from saccade.metrics.sacrebleu_adapter import CountedMetric

DEFAULT_METRICS = ("bleu", "chrf", "exact")
Tokenisation = Literal["auto", "13a", "zh", "char", "none"]
References: TypeAlias = "Sequence[str] | Sequence[Sequence[str]]"  # one reference per sentence, or a list of them
Alternatives: TypeAlias = Sequence[Sequence[str]]

_HAN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
_KANA = re.compile(r"[\u3040-\u30ff]")
_LETTER = re.compile(r"[^\W\d_]")


class MetricInfo(NamedTuple):
    title: str
    higher_is_better: bool = False


METRICS: Registry[MetricInfo] = Registry[MetricInfo]("metric") | {
    "bleu": MetricInfo("BLEU", higher_is_better=True),
    "chrf": MetricInfo("chrF", higher_is_better=True),
    "ter": MetricInfo("TER"),
    "exact": MetricInfo("exact", higher_is_better=True),
    "wer": MetricInfo("WER"),
    "per": MetricInfo("PER"),
    "cer": MetricInfo("CER"),
    # For data of single words, such as pronunciations: the share of wrong words, and of wrong phones.
    "word_error": MetricInfo("WER"),
    "phone_error": MetricInfo("PER"),
    "rouge1": MetricInfo("ROUGE-1", higher_is_better=True),
    "rouge2": MetricInfo("ROUGE-2", higher_is_better=True),
    "rougeL": MetricInfo("ROUGE-L", higher_is_better=True),
}


class Measured(NamedTuple):
    """A percentage, with its 95 % interval by a bootstrap over sentences if one was requested."""

    value: float
    low: float | None
    high: float | None
    signature: str


@dataclass(frozen=True, kw_only=True)
class Scores:
    measured: Mapping[str, Measured]  # the keys are names of METRICS
    sentences: int

    def __getitem__(self, metric: str) -> float:
        return self.measured[metric].value

    def to_dict(self) -> dict[str, float | int | str]:
        """A flat mapping: bleu, bleu_low and bleu_high if an interval was drawn, bleu_signature …, sentences."""
        values: dict[str, float | int | str] = {}
        for name, measured in self.measured.items():
            values[name] = measured.value
            if measured.low is not None and measured.high is not None:
                values |= {f"{name}_low": measured.low, f"{name}_high": measured.high}
            values[f"{name}_signature"] = measured.signature
        return {**values, "sentences": self.sentences}


class Counts:
    """The statistics of every sentence, counted once: the scores of any subset are computed from their sums."""

    def __init__(
        self,
        hypotheses: Sequence[str],
        references: References,
        *,
        metrics: Sequence[str] = DEFAULT_METRICS,
        tokenise: Tokenisation = "auto",
    ) -> None:
        check_same_length(hypotheses=hypotheses, references=references)
        self.hypotheses, self.references = list(hypotheses), alternatives(references)
        self.tokenise = choose_tokenisation(self.references, tokenise)  # one for all subsets, so that they compare
        self.metrics = make_metrics(metrics, self.references, self.tokenise)
        self.rows = {name: metric.count(hypotheses, self.references) for name, metric in self.metrics.items()}

    def scores(self, places: Sequence[int] | None = None, *, resamples: int = 0) -> Scores:
        """Score the sentences at these places, or all; `resamples` bootstrap draws give intervals (1000 is usual)."""
        places = list(range(len(self.references)) if places is None else places)
        subset = [self.references[place] for place in places]
        measured = {}
        for name, metric in make_metrics(list(self.rows), subset, self.tokenise).items():
            rows = self.rows[name][places]
            value = float(metric.score_sums(rows.sum(axis=0, keepdims=True))[0])
            low, high = metric.interval(rows, resamples) if resamples > 1 else (None, None)
            measured[name] = Measured(value, low, high, metric.signature(self.metrics[name].num_refs, resamples))
        return Scores(measured=measured, sentences=len(places))

    def sentence_scores(self, metric: str) -> list[float]:
        """Score each sentence by itself."""
        return list(map(float, self.metrics[metric].score_sums(self.rows[metric])))


def score(
    hypotheses: Sequence[str],
    references: References,
    *,
    metrics: Sequence[str] = DEFAULT_METRICS,
    tokenise: Tokenisation = "auto",
    resamples: int = 0,
) -> Scores:
    """Score line by line, by any of METRICS. White space at the ends of a line does not count for exact match."""
    return Counts(hypotheses, references, metrics=metrics, tokenise=tokenise).scores(resamples=resamples)


def score_pairwise(texts: Sequence[str], metric: str) -> NDArray[np.float64]:
    """Score every text (row) against every text (column) by itself; a text scores 100 against itself."""
    if metric == "bleu":
        # Sentences: the orders of n-grams that exist, whatever the length.
        from saccade.metrics.sacrebleu_adapter import Bleu

        return Bleu(tokenize=choose_tokenisation(texts), effective_order=True, force=True).pairwise(texts)
    return make_metrics([metric], texts)[metric].pairwise(texts)


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
    from saccade.metrics.sacrebleu_adapter import make_metric

    listed = alternatives(references)
    tokenise = choose_tokenisation(listed, tokenise)
    titles = {name: METRICS[name].title for name in names}
    return {name: make_metric(name, title, listed, tokenise) for name, title in titles.items()}


def choose_tokenisation(references: References, choice: Tokenisation = "auto") -> Tokenisation:
    """Resolve "auto": "zh" where most letters are Chinese and none is kana, "13a" otherwise."""
    if choice not in get_args(Tokenisation):
        raise UserError(f"unknown tokenisation '{choice}': choose one of {', '.join(get_args(Tokenisation))}")
    if choice != "auto":
        return choice
    text = "\n".join(text for texts in alternatives(references) for text in texts)
    is_chinese = 2 * len(_HAN.findall(text)) > len(_LETTER.findall(text)) and not _KANA.search(text)
    return "zh" if is_chinese else "13a"
