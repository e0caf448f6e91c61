"""Reranking by weighted sums, with default, given and tuned weights."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saccade.data import TextPair
from saccade.decode import Reranker, RerankingWeights, Search, Translation, Translator, score_pairs
from saccade.decode.language_models import TextNetwork
from saccade.errors import UserError
from saccade.models import MODELS
from saccade.models.elman1990 import Elman1990
from saccade.ngrams.scores import TextModel
from saccade.text import Policy, Vocabularies, words

FIVE = Search(beam=5, n_best=5)


def turned(translator: Translator) -> Translator:
    return Translator(translator.model, translator.vocabularies.towards(right_to_left=True), "cpu")


@pytest.fixture(scope="module")
def channel(untrained: Any, vocabularies: Vocabularies) -> Translator:
    return Translator(untrained("bahdanau2014"), vocabularies, "cpu")


@pytest.fixture(scope="module")
def prior(untrained: Any, vocabularies: Vocabularies) -> TextModel:
    size = len(vocabularies.target)
    network = Elman1990(Elman1990.PRESETS["tiny"], size, size).eval()
    return TextNetwork(Translator(network, vocabularies, "cpu"))


def test_score_is_the_weighted_sum_of_features(learnt: Translator, channel: Translator, prior: TextModel) -> None:
    weights = {"model": 1.0, "length": 0.5, "right_to_left": 0.3, "channel": 2.0, "prior": 0.7}
    reranker = Reranker(
        translator=learnt,
        right_to_left=turned(learnt),
        channel=channel,
        prior=prior,
        weights=weights,
    )
    results = learnt.translate(["the black cat sleeps", "", "a dog eats"], FIVE)
    ranked = reranker.rerank(results)
    assert [result.source for result in ranked] == [result.source for result in results] and ranked[1].text == ""
    for before, after in zip(results, ranked, strict=True):
        assert {result.text for result in before.n_best} == {result.text for result in after.n_best}
        scores = [result.score for result in after.n_best if result.ended]
        assert scores == sorted(scores, reverse=True)
        if not before.source:
            continue
        for result in after.n_best:
            (right,) = score_pairs(turned(learnt), [(result.source, result.text)])
            (back,) = score_pairs(channel, [(result.text, result.source)])
            (alone,) = prior.score_texts([result.text])
            expected = np.mean(result.token_log_probs) + 0.5 * len(words(result.text)) / len(words(result.source))
            expected += 0.3 * right.mean + 2 * back.mean + 0.7 * alone.log_probability / alone.words
            assert result.score == pytest.approx(expected, abs=1e-4)
    streamed = [*reranker.rerank_stream(iter(results), chunk=2)]
    assert [[result.text for result in few.n_best] for few in streamed] == [
        [result.text for result in few.n_best] for few in ranked
    ]


def test_default_weights_are_equal_and_ignore_the_length(learnt: Translator, channel: Translator) -> None:
    reranker = Reranker(translator=learnt, channel=channel)
    results = learnt.translate(["the black cat sleeps"], FIVE)
    (features,), (ranked,) = reranker.features(results), reranker.rerank(results)
    assert reranker.names == ("model", "length", "channel")
    sums = {result.text: row[0] + row[2] for result, row in zip(results[0].n_best, features, strict=True)}
    assert {result.text: result.score for result in ranked.n_best} == pytest.approx(sums)


@pytest.mark.parametrize("name", MODELS)
def test_any_model_can_score(name: str, learnt: Translator, untrained: Any, vocabularies: Vocabularies) -> None:
    other = Translator(untrained(name), vocabularies.towards(right_to_left=True), "cpu")
    results = learnt.translate(["it sleeps"], FIVE)
    (features,) = Reranker(translator=learnt, right_to_left=other).features(results)
    assert features.shape == (5, 3) and np.isfinite(features).all() and (features[:, 2] < 0).all()


def test_tuning_improves_the_metric(learnt: Translator, tmp_path: Path) -> None:
    """The model that wrote hypotheses is untrained; the one that judges them knows better."""
    sources = ["the black cat sleeps", "a dog eats", "it sleeps"] * 2
    references = ["le chat noir dort", "un chien mange", "il dort"] * 2
    drawn = learnt.translate(sources, Search(sample=True, temperature=1.3, beam=8, n_best=8))
    worst_first = [result.rescore([-other.log_prob for other in result.n_best]) for result in drawn]
    reranker = Reranker(translator=turned(learnt), right_to_left=learnt)  # by the order in which it was trained
    tuned = reranker.tune(worst_first, references)
    assert tuned == reranker.tune(worst_first, references) and tuned.after > tuned.before
    assert set(tuned.weights) == {"model", "length", "right_to_left"} and tuned.weights["model"] == 1
    chosen = Reranker(translator=turned(learnt), right_to_left=learnt, weights=tuned.weights).rerank(worst_first)
    from saccade.evaluation import score

    assert score([result.text for result in chosen], references)["chrf"] == pytest.approx(tuned.after)
    assert tuned.candidates == sum(len(result.n_best) for result in drawn) and tuned.sentences == 6
    tuned.save(tmp_path / "weights.json")
    assert RerankingWeights.load(tmp_path / "weights.json") == tuned
    with pytest.raises(UserError, match="chrf or bleu, got 'ter'"):
        reranker.tune(drawn, references, "ter")  # type: ignore[arg-type]


@settings(deadline=None, max_examples=30)
@given(orders=st.lists(st.permutations(range(5)), min_size=3, max_size=3))
def test_tuned_weights_never_score_below_the_search(learnt: Translator, orders: list[list[int]]) -> None:
    """Whatever the order in which the search puts the hypotheses, and however bad the models that judge them are."""
    texts = ["le chat dort", "le chat", "un chien mange", "le chat noir dort", "chat chat chat"]
    results = []
    for order in orders:
        first, *others = [
            Translation(
                source="the cat",
                text=texts[place],
                tokens=(),
                score=-rank,
                log_prob=-1.0,
                token_log_probs=(-float(place),),
                ended=True,
            )
            for rank, place in enumerate(order)
        ]
        results.append(replace(first, alternatives=tuple(others)))
    reranker = Reranker(translator=learnt, right_to_left=turned(learnt))
    tuned = reranker.tune(results, ["le chat dort", "le chat noir dort", "un chien mange"])
    assert tuned.after >= tuned.before
    chosen = replace(reranker, weights=tuned.weights).rerank(results)
    if not any(tuned.weights.values()):
        assert [each.text for each in chosen] == [each.text for each in results]


def test_channel_does_not_score_the_tag(learnt: Translator) -> None:
    sides = Vocabularies.train([TextPair("the cat", "le chat")] * 3, Policy(kind="char", size=300), tags=["<fr>"])
    kind = MODELS["cho2014"]
    tagged = Translator(kind(kind.PRESETS["tiny"], len(sides.source), len(sides.target)).eval(), sides, "cpu")
    result = Translation(
        source="<fr> the cat", text="le chat", tokens=(), score=0, log_prob=-1, token_log_probs=(-1,), ended=True
    )
    (features,) = Reranker(translator=tagged, channel=learnt).features([result])
    (back,) = score_pairs(learnt, [("le chat", "the cat")])
    assert features[0].tolist() == pytest.approx([-1, 1, back.mean])


def test_models_and_weights_that_do_not_fit_are_refused(learnt: Translator, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"both models begin at the left; train one with data\.right_to_left=true"):
        Reranker(translator=learnt, right_to_left=learnt)
    with pytest.raises(UserError, match="weights for model, channel, but the scores are model, length"):
        Reranker(translator=learnt, weights={"model": 1.0, "channel": 1.0})
    greek = Vocabularies.train([TextPair("γάτα", "σπίτι")] * 3, Policy(kind="char", size=300))
    kind = MODELS["cho2014"]
    other = Translator(kind(kind.PRESETS["tiny"], len(greek.source), len(greek.target)).eval(), greek, "cpu")
    results = learnt.translate([f"the black cat sleeps {n}" for n in range(4)], FIVE)
    with pytest.raises(UserError, match=r"channel: .* of the source tokens are unknown"):
        Reranker(translator=learnt, channel=other).rerank(results)
    path = tmp_path / "weights.json"
    with pytest.raises(UserError, match="cannot be read"):
        RerankingWeights.load(path)
    path.write_text("{")
    with pytest.raises(UserError, match="not JSON"):
        RerankingWeights.load(path)
    path.write_text(json.dumps({"weights": {"model": "much"}}))
    with pytest.raises(UserError, match=r"weights\.json"):
        RerankingWeights.load(path)
