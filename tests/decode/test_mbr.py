"""Minimum Bayes risk equals its definition, for samples of any model."""

import math
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF

from saccade.decode import Search, Translation, Translator, minimise_risk
from saccade.errors import UserError
from saccade.models import MODELS
from saccade.text import Vocabularies


def listed(texts: list[str], probabilities: list[float] | None = None) -> Translation:
    first, *others = (
        Translation(
            source="x",
            text=text,
            tokens=(),
            score=-float(n),
            log_prob=math.log(p),
            token_log_probs=(math.log(p),),
            ended=True,
        )
        for n, (text, p) in enumerate(zip(texts, probabilities or [0.1] * len(texts), strict=True))
    )
    return replace(first, alternatives=tuple(others))


def ranked(result: Translation) -> list[tuple[str, float]]:
    return [(each.text, each.score) for each in (result, *result.alternatives)]


@settings(deadline=None, max_examples=25)
@given(
    texts=st.lists(
        st.sampled_from(["le chat dort", "le chat", "un chien mange", "房子", "", "le chien dort ici"]),
        min_size=1,
        max_size=6,
    ),
    by_count=st.booleans(),
    by_chrf=st.booleans(),
)
def test_score_is_the_expected_utility(texts: list[str], by_count: bool, by_chrf: bool) -> None:
    probabilities = [0.5 / (n + 1) for n in range(len(texts))]
    weights = [1.0] * len(texts) if by_count else probabilities
    metric: Any = CHRF() if by_chrf else BLEU(effective_order=True)

    def expected(text: str) -> float:
        likeness = [100.0 if text == other else metric.sentence_score(text, [other]).score for other in texts]
        return sum(u * w for u, w in zip(likeness, weights, strict=True)) / sum(weights)

    results = minimise_risk(
        listed(texts, probabilities), "chrf" if by_chrf else "bleu", weigh="count" if by_count else "probability"
    )
    assert dict(ranked(results)) == pytest.approx({text: expected(text) for text in texts})
    scores = [score for _, score in ranked(results)]
    assert scores == sorted(scores, reverse=True) and len(scores) == len(set(texts))


def test_the_most_similar_candidate_wins_and_counts_are_weights() -> None:
    texts = ["aaaa bbbb", "aaaa cccc", "aaaa bbbb cccc"]
    assert minimise_risk(listed(texts)).text == "aaaa bbbb cccc"
    assert minimise_risk(listed([*texts, *texts[:1] * 5])).text == "aaaa bbbb"
    assert minimise_risk(listed(texts, [0.9, 0.01, 0.01]), weigh="probability").text == "aaaa bbbb"


def test_ties_stay_in_order_and_unmet_constraints_stay_last() -> None:
    results = minimise_risk(listed(["xx", "yy", "zz", "vv", "ww"]))
    assert [text for text, _ in ranked(results)] == ["xx", "yy", "zz", "vv", "ww"] and results.score == 20
    first = listed(["xx", "yy"])
    broken = replace(first, unmet=("zz",))
    assert minimise_risk(broken).text == "yy"


def test_equal_texts_in_other_tokens_are_merged() -> None:
    results = minimise_risk(listed(["xx", "yy", "yy", "xx"], [0.4, 0.3, 0.2, 0.1]))
    assert [(each.text, each.log_prob) for each in results.n_best] == [("xx", math.log(0.4)), ("yy", math.log(0.3))]


@pytest.mark.parametrize("name", MODELS)
def test_samples_of_any_model_are_accepted(name: str, untrained: Any, vocabularies: Vocabularies) -> None:
    translator = Translator(untrained(name), vocabularies, "cpu")
    (drawn,) = translator.translate(["the cat sleeps"], Search(sample=True, beam=6, n_best=6, longest=6))
    each = minimise_risk(drawn)
    assert each == minimise_risk(drawn) and 100 / 6 <= each.score <= 100
    assert {text for text, _ in ranked(each)} == {text for text, _ in ranked(drawn)}


def test_a_trained_model_keeps_its_translation(learnt: Translator) -> None:
    (drawn,) = learnt.translate(["the black cat sleeps"], Search(sample=True, beam=16, n_best=16))
    assert minimise_risk(drawn).text == "le chat noir dort" and minimise_risk(drawn, "bleu").text == "le chat noir dort"


def test_unknown_utilities_are_refused() -> None:
    with pytest.raises(UserError, match="expected a utility of chrf or bleu"):
        minimise_risk(listed(["x"]), "ter")  # type: ignore[arg-type]
