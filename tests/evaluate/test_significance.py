import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saccade.errors import UserError
from saccade.evaluate.significance import significance, significance_over_seeds

WORDS = [f"w{n}" for n in range(40)]


def corpus(sentences: int, seed: int = 0) -> list[str]:
    draw = random.Random(seed)
    return [" ".join(draw.choices(WORDS, k=draw.randint(4, 9))) for _ in range(sentences)]


def spoilt(references: list[str], rate: float, seed: int) -> list[str]:
    """A system that gets each word wrong at this rate."""
    draw = random.Random(seed)
    return [" ".join("x" if draw.random() < rate else word for word in text.split()) for text in references]


REFERENCES = corpus(60)


@settings(deadline=None, max_examples=10)
@given(st.sampled_from(["bootstrap", "randomisation"]), st.integers(0, 100), st.floats(0, 0.5), st.floats(0, 0.5))
def test_a_test_does_not_care_which_comes_first(test: Any, seed: int, one: float, other: float) -> None:
    a, b = spoilt(REFERENCES, one, seed), spoilt(REFERENCES, other, seed + 1)
    options: dict[str, Any] = {"metrics": ["wer", "exact"], "test": test, "resamples": 60}
    for forth, back in zip(significance(a, b, REFERENCES, **options), significance(b, a, REFERENCES, **options)):
        assert 0 < forth.p <= 1
        assert forth.p == back.p
        assert forth.difference == pytest.approx(-back.difference)
        assert (forth.low, forth.high) == (pytest.approx(-back.high), pytest.approx(-back.low))


def test_p_is_that_of_sacrebleu() -> None:
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


def test_a_great_difference_is_significant_and_none_is_not() -> None:
    a, b = spoilt(REFERENCES, 0.1, 1), spoilt(REFERENCES, 0.4, 2)
    for test in ("bootstrap", "randomisation"):
        chosen: Any = test
        (great,) = significance(a, b, REFERENCES, metrics=["wer"], test=chosen, resamples=200)
        assert great.p < 0.02
        assert great.difference > 0
        assert great.low > 0
        (none,) = significance(a, a, REFERENCES, metrics=["wer"], test=chosen, resamples=200)
        assert (none.difference, none.low, none.high) == (0, 0, 0)
    assert great.to_dict()["runs"] == (1, 1)


def test_over_seeds_a_lucky_seed_is_not_a_better_system() -> None:
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


def test_over_seeds_a_better_system_is_found() -> None:
    a = [spoilt(REFERENCES, 0.3, n) for n in range(3)]
    b = [spoilt(REFERENCES, 0.1, n + 10) for n in range(3)]
    for found in significance_over_seeds(a, b, REFERENCES, resamples=300):
        assert found.p < 0.01
        assert found.low > 0


@pytest.mark.slow
def test_over_seeds_little_is_found_where_there_is_nothing() -> None:
    """Two systems of one kind whose seeds differ: at 5 %, a test of single runs cries wolf half the time."""
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


def test_mistakes_are_told() -> None:
    unknown: Any = "t-test"
    with pytest.raises(UserError, match="unknown test 't-test': choose one of bootstrap, randomisation"):
        significance(["a"], ["a"], ["a"], test=unknown)
    with pytest.raises(UserError, match="1 baseline and 2 system and 1 references"):
        significance(["a"], ["a", "b"], ["a"])
    with pytest.raises(UserError, match="baseline must be a list of runs"):
        significance_over_seeds(["a"], [["a"]], ["a"])
    with pytest.raises(UserError, match="2 in run 1 of the system and 1 references"):
        significance_over_seeds([["a"]], [["a"], ["a", "b"]], ["a"])
