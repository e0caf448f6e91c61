"""The table of metrics: BLEU, chrF and TER by sacrebleu, exact match, error rates, and ROUGE as an extra.

All are percentages, and of sacrebleu's kind, so that one bootstrap and two paired tests serve them all.
"""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias, get_args

from saccade.errors import UserError
from saccade.names import Registry

if TYPE_CHECKING:
    from saccade.metrics.sacrebleu_adapter import CountedMetric

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
