import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saccade.errors import UserError
from saccade.evaluation import significance_tests as tests
from saccade.evaluation.significance_tests import Difference, MeanScore
from saccade.metrics import Counts

WORDS = [f"w{n}" for n in range(40)]


def corpus(sentences: int, seed: int = 0) -> list[str]:
    draw = random.Random(seed)
    return [" ".join(draw.choices(WORDS, k=draw.randint(4, 9))) for _ in range(sentences)]


def spoilt(references: list[str], rate: float, seed: int) -> list[str]:
    """A system that gets each word wrong at this rate."""
    draw = random.Random(seed)
    return [" ".join("x" if draw.random() < rate else word for word in text.split()) for text in references]


REFERENCES = corpus(60)


def significance(
    a: Any, b: Any, references: list[str], metrics: Any = ("wer",), **options: Any
) -> tuple[Difference, ...]:
    return tests.significance(*(Counts(run, references, metrics=metrics) for run in (a, b)), **options)


def significance_over_seeds(
    a: Any, b: Any, references: list[str], metrics: Any = ("bleu", "chrf", "exact"), **options: Any
) -> tuple[Difference, ...]:
    counted = ([Counts(run, references, metrics=metrics) for run in runs] for runs in (a, b))
    return tests.significance_over_seeds(*counted, **options)


def mean_over_seeds(runs: Any, references: list[str], metrics: Any, **options: Any) -> tuple[MeanScore, ...]:
    return tests.mean_over_seeds([Counts(run, references, metrics=metrics) for run in runs], **options)


@settings(deadline=None, max_examples=10)
@given(st.sampled_from(["bootstrap", "randomisation"]), st.integers(0, 100), st.floats(0, 0.5), st.floats(0, 0.5))
def test_swapping_the_systems_negates_the_difference(test: Any, seed: int, one: float, other: float) -> None:
    a, b = spoilt(REFERENCES, one, seed), spoilt(REFERENCES, other, seed + 1)
    options: dict[str, Any] = {"metrics": ["wer", "exact"], "test": test, "resamples": 60}
    for forth, back in zip(significance(a, b, REFERENCES, **options), significance(b, a, REFERENCES, **options)):
        assert 0 < forth.p <= 1
        assert forth.p == back.p
        assert forth.difference == pytest.approx(-back.difference)
        assert (forth.low, forth.high) == (pytest.approx(-back.high), pytest.approx(-back.low))


def test_p_equals_that_of_sacrebleu() -> None:
    from sacrebleu.metrics.bleu import BLEU
    from sacrebleu.significance import PairedTest

    a, b = spoilt(REFERENCES, 0.2, 1), spoilt(REFERENCES, 0.25, 2)
    for test, kind in (("bootstrap", "bs"), ("randomisation", "ar")):
        systems: Any = [("a", a), ("b", b)]
        _, results = PairedTest(systems, {"bleu": BLEU(force=True)}, [REFERENCES], kind, n_samples=100)()
        expected: Any = results["BLEU"][1]
        chosen: Any = test
        (found,) = significance(a, b, REFERENCES, metrics=["bleu"], test=chosen, resamples=100)
        assert found.p == expected.p_value
        assert found.system == pytest.approx(expected.score)
        assert found.test == f"paired {test}"


def test_a_large_difference_is_significant() -> None:
    a, b = spoilt(REFERENCES, 0.1, 1), spoilt(REFERENCES, 0.4, 2)
    for test in ("bootstrap", "randomisation"):
        chosen: Any = test
        (great,) = significance(a, b, REFERENCES, metrics=["wer"], test=chosen, resamples=200)
        assert great.p < 0.02
        assert great.difference > 0
        assert great.low > 0
        (none,) = significance(a, a, REFERENCES, metrics=["wer"], test=chosen, resamples=200)
        assert (none.difference, none.low, none.high) == (0, 0, 0)
    assert great.runs == (1, 1)


def test_a_lucky_seed_is_not_significant_over_seeds() -> None:
    rates = [0.1, 0.3, 0.2]  # of one system: seeds matter a lot
    a = [spoilt(REFERENCES, rate, n) for n, rate in enumerate(rates)]
    b = [spoilt(REFERENCES, rate, n + 10) for n, rate in enumerate([0.25, 0.3, 0.2])]
    (single,) = significance(a[0], b[0], REFERENCES, metrics=["wer"], resamples=300)
    (many,) = significance_over_seeds(a, b, REFERENCES, metrics=["wer"], resamples=300)
    assert single.p < 0.01
    assert many.p > 0.1
    assert many.runs == (3, 3)
    assert many.low < many.difference < many.high
    (back,) = significance_over_seeds(b, a, REFERENCES, metrics=["wer"], resamples=300)
    assert back.difference == pytest.approx(-many.difference)


def test_a_better_system_is_significant_over_seeds() -> None:
    a = [spoilt(REFERENCES, 0.3, n) for n in range(3)]
    b = [spoilt(REFERENCES, 0.1, n + 10) for n in range(3)]
    for found in significance_over_seeds(a, b, REFERENCES, resamples=300):
        assert found.p < 0.01
        assert found.low > 0


def test_randomisation_over_seeds_swaps_run_for_run() -> None:
    good, bad = ([spoilt(REFERENCES, rate, 10 * n) for n in range(3)] for rate in (0.1, 0.4))
    options: Any = {"metrics": ["wer"], "test": "randomisation", "resamples": 2000}
    for found in significance_over_seeds(bad, good, REFERENCES, **options):
        assert found.p == pytest.approx(1 / 2001) and found.test == "randomisation of all runs"
        assert found.runs == (3, 3)
    for found in significance_over_seeds(good, good, REFERENCES, **options):
        assert found.p == 1 and found.difference == 0
    alike = [spoilt(REFERENCES, 0.4, 10 * n + 5) for n in range(3)]
    (nothing,) = significance_over_seeds(bad, alike, REFERENCES, **options)
    assert nothing.p > 0.05
    options["metrics"] = ["chrf"]  # of so many values that none comes twice
    (single,) = significance(bad[0], alike[0], REFERENCES, **options)
    (one,) = significance_over_seeds(bad[:1], alike[:1], REFERENCES, **options)
    assert one.p == pytest.approx(single.p, abs=0.05)  # sacrebleu's
    with pytest.raises(UserError, match="as many of both, got 3 and 2"):
        significance_over_seeds(bad, good[:2], REFERENCES, **options)


def test_a_mean_over_seeds_has_the_interval_of_sentences_and_seeds() -> None:
    runs = [spoilt(REFERENCES, rate, n) for n, rate in enumerate((0.1, 0.3, 0.2))]
    bleu, wer = mean_over_seeds(runs, REFERENCES, metrics=["bleu", "wer"], resamples=300)
    assert wer.mean == pytest.approx(float(np.mean(wer.runs))) and len(wer.runs) == 3
    assert wer.deviation == pytest.approx(float(np.std(wer.runs, ddof=1)))
    assert bleu.low < bleu.mean < bleu.high
    (alone,) = mean_over_seeds(runs[:1], REFERENCES, metrics=["wer"], resamples=300)
    assert alone.deviation is None and alone.high - alone.low < wer.high - wer.low
    (perfect,) = mean_over_seeds([REFERENCES, runs[0]], REFERENCES, metrics=["bleu"], resamples=300)
    assert perfect.high <= 100
    (nothing,) = mean_over_seeds([["x"] * 60, runs[0]], REFERENCES, metrics=["exact"], resamples=300)
    assert nothing.low >= 0


@pytest.mark.parametrize(("wrong", "deviation"), [((2, 3), 10.0), ((1, 2, 3), 20.0)])
def test_deviations_of_few_runs_are_widened(wrong: tuple[int, ...], deviation: float) -> None:
    """Every sentence has five words and equally many errors: only the draw of n runs moves the mean, by at most
    √(n/(n − 1)) times the distance of the best or worst run."""
    runs = [["x " * count + "a " * (5 - count) for _ in range(9)] for count in wrong]
    references = ["a a a a a"] * 9
    (wer,) = mean_over_seeds(runs, references, metrics=["wer"], resamples=2000)
    half = deviation * np.sqrt(len(wrong) / (len(wrong) - 1))
    assert (wer.low, wer.high) == pytest.approx((wer.mean - half, wer.mean + half))
    (difference,) = significance_over_seeds([references], runs, references, metrics=["wer"], resamples=2000)
    assert (difference.low, difference.high) == pytest.approx((wer.low, wer.high), abs=1e-9)


def test_an_error_rate_and_its_interval_may_be_above_one_hundred() -> None:
    runs = [["x y z", "x y z w"] * 5, ["x y", "x y z"] * 5]
    wer, bleu = mean_over_seeds(runs, ["a"] * 10, metrics=["wer", "bleu"], resamples=300)
    assert wer.runs == pytest.approx((350, 250)) and wer.mean == pytest.approx(300)
    assert 100 < wer.low < wer.mean < wer.high
    assert bleu.high <= 100


@pytest.mark.slow
def test_false_positives_are_rare_over_seeds() -> None:
    """Two systems of one kind whose seeds differ: at 5 %, a test of single runs often finds a difference."""
    references, draw = corpus(100, seed=5), np.random.default_rng(0)
    single = many = 0
    trials = 100
    for trial in range(trials):
        rates = np.clip(draw.normal(0.25, 0.05, size=8), 0.02, 0.9)
        runs = [spoilt(references, rate, 100 * trial + n) for n, rate in enumerate(rates)]
        (one,) = significance(runs[0], runs[4], references, metrics=["wer"], resamples=100)
        (several,) = significance_over_seeds(runs[:4], runs[4:], references, metrics=["wer"], resamples=200)
        single += one.p < 0.05
        many += several.p < 0.05
    assert single > 0.3 * trials
    assert many < 0.12 * trials


def test_invalid_arguments_are_refused() -> None:
    unknown: Any = "t-test"
    with pytest.raises(UserError, match="unknown test 't-test': choose one of bootstrap, randomisation"):
        significance(["a"], ["a"], ["a"], test=unknown)
    with pytest.raises(UserError, match="the same references and metrics"):
        tests.significance(Counts(["a"], ["a"]), Counts(["a"], ["b"]))
    with pytest.raises(UserError, match="the same references and metrics"):
        tests.significance_over_seeds([Counts(["a"], ["a"])], [Counts(["a"], ["a"], metrics=["wer"])])
