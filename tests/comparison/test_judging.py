"""Means over runs, tests of pairs with their correction, and differing sentences, by hand."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saccade.comparison.judging import (
    METRICS_COMPARED,
    ComparedRun,
    ComparedSystem,
    compare_pairs,
    correct_by_holm,
    find_differing_sentences,
)
from saccade.comparison.result import verdict
from saccade.evaluation import choose_metrics, evaluate
from saccade.evaluation.evaluation_set import EvaluationSet

REFERENCES = [["le chat dort bien"], ["un chien mange une pomme"], ["il dort"], ["il dort"], ["la maison est grande"]]
SOURCES = ["the cat sleeps well", "a dog eats an apple", "it sleeps", "it sleeps", "the house is big"]
PAIRS = EvaluationSet(name="five", sources=SOURCES, references=REFERENCES, places=list(range(5)), total=5)
RIGHT = [one for (one,) in REFERENCES]


def judge(name: str, runs: list[list[str]], pairs: EvaluationSet, metrics: list[str]) -> ComparedSystem:
    options = {"sources": pairs.sources, "metrics": metrics, "longest_trained": 4, "resamples": 20}
    evaluations = [evaluate(texts, pairs.references, **options) for texts in runs]
    compared = [ComparedRun(name=name, evaluation=evaluation, folder=Path(name)) for evaluation in evaluations]
    return ComparedSystem.of(name, compared, resamples=20)


def judged(**systems: list[list[str]]) -> list[ComparedSystem]:
    return [judge(name, runs, PAIRS, ["bleu", "chrf", "exact"]) for name, runs in systems.items()]


def test_holm_correction_by_hand() -> None:
    assert correct_by_holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert correct_by_holm([0.5, 0.9]) == [1.0, 1.0] and correct_by_holm([]) == []


@settings(deadline=None, max_examples=50)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_holm_correction_keeps_the_order_and_lowers_no_p(ps: list[float]) -> None:
    found = correct_by_holm(ps)
    assert all(p <= q <= 1 for p, q in zip(ps, found))
    assert max(found) <= min(1, len(ps) * max(ps))
    order = sorted(range(len(ps)), key=lambda place: ps[place])
    assert [found[place] for place in order] == sorted(found)


def test_scores_are_means_over_runs() -> None:
    wrong = ["le chien dort bien", *RIGHT[1:]]
    (system,) = judged(one=[RIGHT, wrong])
    assert system.scores["exact"].mean == pytest.approx(90) and system.scores["exact"].runs == (100, 80)
    assert system.scores["exact"].deviation == pytest.approx(200**0.5)
    labels = [row.bucket.label for row in system.runs[0].evaluation.lengths]
    assert labels[:2] == ["1–4", "5"] and system.lengths("exact")[:2] == [pytest.approx((100 + 75) / 2), 100]
    assert system.runs[0].evaluation.lengths[1].beyond
    assert system.behaviour().length_ratio == pytest.approx(1.0)


def test_every_pair_is_tested_by_every_metric() -> None:
    wrong = ["x"] * len(RIGHT)
    systems = judged(good=[RIGHT], bad=[wrong], both=[RIGHT, wrong])
    found = compare_pairs(systems, resamples=50)
    assert [(one.baseline, one.system) for one in found[:3]] == [("good", "bad"), ("good", "both"), ("bad", "both")]
    assert [one.difference.metric for one in found] == ["bleu"] * 3 + ["chrf"] * 3 + ["exact"] * 3
    exact = found[6:]
    assert [one.difference.difference for one in exact] == pytest.approx([-100, -50, 50])
    assert exact[0].randomised is not None and exact[1].randomised is None  # one run against two
    assert all(one.corrected >= one.difference.p for one in found)
    assert exact[0].to_dict() == exact[0].to_dict() | {"baseline": "good", "system": "bad", "system_score": 0.0}


def test_differing_sentences_are_sorted_and_unique() -> None:
    other = ["le chat dort", "x", "il mange", "il mange", RIGHT[4]]
    found = find_differing_sentences(judged(one=[RIGHT], two=[other]), PAIRS, 9)
    assert [one.source for one in found] == [SOURCES[1], "it sleeps", SOURCES[0]]  # the last is the same
    assert found[0].outputs == {"one": RIGHT[1], "two": "x"} and found[0].chrf["one"] == pytest.approx(100)
    assert len(find_differing_sentences(judged(one=[RIGHT], two=[other]), PAIRS, 1)) == 1
    assert find_differing_sentences(judged(one=[RIGHT], two=[RIGHT]), PAIRS, 9) == ()


def test_one_seed_is_never_called_better() -> None:
    wrong = ["x"] * len(RIGHT)
    single, several = (compare_pairs(judged(a=[RIGHT] * runs, b=[wrong] * 2), resamples=200) for runs in (1, 2))
    assert single[0].corrected < 0.05 and verdict(single[0]) == "one seed cannot tell"
    assert several[0].corrected < 0.05 and verdict(several[0]) == "a is better"
    same = compare_pairs(judged(a=[RIGHT] * 2, b=[RIGHT] * 2), resamples=50)
    assert verdict(same[0]) == "no clear difference"


def test_single_words_are_judged_by_error_rates() -> None:
    sources, references = ["thought", "read"], [["TH AO T"], ["R IY D"]]
    pairs = EvaluationSet(name="two", sources=sources, references=references, places=[0, 1], total=2)
    of_words, of_sentences = (
        [metric for metric in choose_metrics(texts) if metric in METRICS_COMPARED] for texts in (sources, SOURCES)
    )
    assert of_words == ["word_error", "phone_error", "exact"] and of_sentences == ["bleu", "chrf", "exact"]
    system = judge("a", [["TH AO T", "R EH D"]], pairs, of_words)
    assert system.scores["word_error"].mean == pytest.approx(50) and system.scores["exact"].mean == pytest.approx(50)
