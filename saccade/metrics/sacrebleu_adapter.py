"""The one module that uses sacrebleu: metrics as sums of statistics per sentence, intervals and paired tests.

sacrebleu's `Metric` leaves its statistics to subclasses, so ours are subclasses. Import this module lazily: importing
sacrebleu takes time.
"""

from collections.abc import Callable, Sequence
from importlib import import_module
from itertools import zip_longest
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sacrebleu.metrics.base import Metric, Score, Signature
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER
from sacrebleu.significance import PairedTest, estimate_ci

from saccade import __version__
from saccade.errors import UserError
from saccade.metrics.edits import characters, edit_distance, position_independent_errors
from saccade.metrics.scores import Alternatives
from saccade.text.words import words

Rows = NDArray[np.float64]  # (sentences, statistics)
Count = Callable[[str, Sequence[str]], tuple[float, float]]  # (hypothesis, its references) → (part, whole)
SEED = 12345  # sacrebleu's default
TESTS = {"bootstrap": "bs", "randomisation": "ar"}
_BLEU_ORDER = 4


class CountedMetric(Metric):
    """A metric whose corpus score depends only on the sums of its statistics over sentences."""

    def count(self, hypotheses: Sequence[str], references: Alternatives) -> Rows:
        rows = self._extract_corpus_statistics(list(hypotheses), _streams(references))
        return np.array(rows, dtype=np.float64)

    def score_sums(self, sums: Rows) -> Rows:
        """Score each row of summed statistics."""
        return np.array([float(self._compute_score_from_stats(row).score) for row in sums.tolist()])

    def pairwise(self, texts: Sequence[str]) -> Rows:
        """Score every text (row) against every text (column); a text, even a blank one, scores 100 against itself."""
        segments = [self._preprocess_segment(text) for text in texts]
        infos = [self._extract_reference_info([segment]) for segment in segments]
        rows = [self._compute_segment_statistics(segment, info) for segment in segments for info in infos]
        scores = self.score_sums(np.array(rows, dtype=np.float64)).reshape(len(texts), len(texts))
        np.fill_diagonal(scores, 100.0)
        return scores

    def interval(self, rows: Rows, resamples: int) -> tuple[float, float]:
        """Return sacrebleu's 95 % interval, by a bootstrap over sentences."""
        draws = np.random.default_rng(SEED).choice(len(rows), size=(resamples, len(rows)))
        times = np.stack([np.bincount(draw, minlength=len(rows)) for draw in draws])
        mean, half = estimate_ci(self.score_sums(times @ rows))
        return float(mean - half), float(mean + half)

    def signature(self, num_refs: int, resamples: int = 0) -> str:
        self.num_refs = num_refs
        if resamples > 1:
            self.n_bootstrap, self.seed = resamples, str(SEED)
        return str(self.get_signature())


class Bleu(CountedMetric, BLEU):
    pass


class Chrf(CountedMetric, CHRF):
    pass


class Ter(CountedMetric, TER):
    pass


class RatioSignature(Signature):
    def __init__(self, about: dict[str, Any]) -> None:
        super().__init__(about)
        self.info |= {"case": "mixed", "unit": about["unit"], "version": f"saccade-{__version__}"}


class Ratio(CountedMetric):
    """100 · Σ part / Σ whole over the sentences."""

    _SIGNATURE_TYPE: type[Signature] = RatioSignature

    def __init__(self, name: str, unit: str, count: Count) -> None:
        untyped: Any = super()
        untyped.__init__()
        self.name, self.unit, self.part_and_whole = name, unit, count

    def _preprocess_segment(self, sent: str) -> str:
        return sent.strip()

    def _extract_reference_info(self, refs: Sequence[str]) -> dict[str, Any]:
        return {"references": refs}

    def _compute_segment_statistics(self, hypothesis: str, ref_kwargs: dict[str, Any]) -> list[float]:
        return list(self.part_and_whole(hypothesis, ref_kwargs["references"]))

    def _compute_score_from_stats(self, stats: Sequence[Any]) -> Score:
        part, whole = float(stats[0]), float(stats[1])
        # Against blank references there is no whole: any part is 100 % wrong, none is 0 %.
        return Score(self.name, 100 * (part / whole if whole else float(part > 0)))

    def _aggregate_and_compute(self, stats: Sequence[Sequence[Any]]) -> Score:
        return self._compute_score_from_stats([sum(column) for column in zip(*stats, strict=True)])


def make_metric(name: str, title: str, references: Alternatives, tokenise: str) -> CountedMetric:
    match name:
        case "bleu":
            # Where no reference has four words, no output can have a matching 4-gram and a perfect one would score 0;
            # sacrebleu then counts the orders that exist, and its signature says so (eff:yes).
            short = all(len(words(text)) < _BLEU_ORDER for texts in references for text in texts)
            # force: sacrebleu otherwise logs a warning about text that looks tokenised.
            return Bleu(tokenize=tokenise, effective_order=short, force=True)
        case "chrf":
            return Chrf()
        case "ter":
            asian = tokenise in ("zh", "char")  # by character there too, or a sentence without spaces is one word
            return Ter(normalized=asian, asian_support=asian)
        case "exact":
            return Ratio(title, "text", lambda hypothesis, texts: (hypothesis in texts, 1))
        case "word_error":
            return Ratio(title, "text", lambda hypothesis, texts: (hypothesis not in texts, 1))
        case "wer":
            return _error_rate(title, "word", words)
        case "per":
            return _error_rate(title, "word", words, position_independent_errors)
        case "cer":
            return _error_rate(title, "character", characters)
        case "phone_error":  # phones are separated by white space; if no reference has any, they are single characters
            if any(len(text.split()) > 1 for texts in references for text in texts):
                return _error_rate(title, "phone", str.split)
            return _error_rate(title, "character", characters)
        case _:
            return _rouge(name)


def _error_rate(
    title: str,
    unit: str,
    split: Callable[[str], Sequence[str]],
    count_errors: Callable[[Sequence[str], Sequence[str]], int] = edit_distance,
) -> CountedMetric:
    def count(hypothesis: str, texts: Sequence[str]) -> tuple[int, int]:
        """Errors against the reference with the fewest (the longest of equals), and that reference's length."""
        output = split(hypothesis)
        pairs = ((count_errors(output, reference), len(reference)) for reference in map(split, texts))
        return min(pairs, key=lambda pair: (pair[0], -pair[1]))

    return Ratio(title, unit, count)


def _rouge(kind: str) -> CountedMetric:
    """ROUGE (Lin 2004): the mean F1 of the sentences, each against its nearest reference."""
    try:
        scorers = import_module("rouge_score.rouge_scorer")
    except ImportError:
        raise UserError(f"{kind} needs rouge-score: pip install rouge-score") from None
    scorer = scorers.RougeScorer([kind], tokenizer=_RougeWords())
    return Ratio(
        kind, "word", lambda hypothesis, texts: (scorer.score_multi(list(texts), hypothesis)[kind].fmeasure, 1)
    )


class _RougeWords:
    """rouge-score's own tokeniser keeps only ASCII letters and digits; this one serves every language."""

    def tokenize(self, text: str) -> list[str]:
        return [word for word in words(text.casefold()) if any(map(str.isalnum, word))]


def paired_p_value(
    metric: CountedMetric,
    baseline: Sequence[str],
    system: Sequence[str],
    references: Alternatives,
    test: str,
    resamples: int,
) -> float:
    """Return sacrebleu's p-value; 0 `resamples` means its default, 1000 bootstrap draws or 10,000 swaps."""
    systems: Any = [("baseline", list(baseline)), ("system", list(system))]
    paired = PairedTest(systems, {"metric": metric}, _streams(references), TESTS[test], resamples)
    _, results = paired()
    (tested,) = (column[1] for title, column in results.items() if title != "System")
    p: Any = getattr(tested, "p_value", None)
    return float(p)


def _streams(references: Alternatives) -> list[list[Any]]:
    """All first references, all second ones …; None where a sentence has fewer."""
    return [list(stream) for stream in zip_longest(*references)]
