"""A language model as the prior of reranking: n-grams or a network, and what is refused."""

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import saccade
from saccade import lm
from saccade.data import TextPair
from saccade.decode import Reranker, Translation, Translator, save
from saccade.decode.language_models import TextNetwork, load_language_model
from saccade.decode.options import RerankingModels
from saccade.decode.reranking import load_reranker
from saccade.errors import UserError
from saccade.models import MODELS
from saccade.models.elman1990 import Elman1990
from saccade.ngrams.scores import TextModel
from saccade.ranges import OptionError
from saccade.text import Policy, Vocabularies, words

FLUENT, CLUMSY = "le chat noir dort", "le noir chat dort"


@pytest.fixture(scope="module")
def folders(pairs: list[TextPair], vocabularies: Vocabularies, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """n-grams, n-grams in lower case, and a network, which has learnt nothing."""
    place = tmp_path_factory.mktemp("priors")
    (place / "fr.txt").write_text("".join(f"{pair.target}\n" for pair in pairs), encoding="utf-8")
    lm.train(place / "fr.txt", out=place / "ngrams", order=3)
    lm.train(place / "fr.txt", out=place / "lower", order=3, lower=True)
    lm.train(place / "fr.txt", out=place / "letters", order=3, unit="char")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        network = Elman1990(Elman1990.PRESETS["tiny"], len(vocabularies.target), len(vocabularies.target)).eval()
    save(place / "network", network, vocabularies)
    save(place / "blocks", network, vocabularies, extra={"block": 16})
    return place


def load_prior(folder: Path) -> TextModel:
    return load_language_model(folder, TextNetwork, device="cpu")


def candidates(source: str, *texts: str) -> Translation:
    """Equally probable translations."""
    first, *others = (
        Translation(source=source, text=text, tokens=(), score=0, log_prob=-1, token_log_probs=(-1.0,), ended=True)
        for text in texts
    )
    return replace(first, alternatives=tuple(others))


@pytest.mark.parametrize("name", ["ngrams", "letters", "network"])
def test_feature_is_the_score_of_the_language_model_per_word(name: str, folders: Path, learnt: Translator) -> None:
    results = [candidates("the black cat sleeps", FLUENT, CLUMSY, ""), candidates("I see", "我看见", "l'homme, ici.")]
    reranker = load_reranker(learnt, RerankingModels(prior=folders / name))
    assert reranker.names == ("model", "length", "prior")
    model = lm.load(folders / name, device="cpu")
    for result, rows in zip(results, reranker.features(results), strict=True):
        for each, row in zip(result.n_best, rows, strict=True):
            score = model.score([each.text])
            expected = score.log_probability / (len(words(each.text)) + 1)
            assert row[2] == pytest.approx(expected, abs=1e-5) and row[2] == pytest.approx(
                -np.log(score.word_perplexity), abs=1e-5
            )
    assert reranker.rerank([]) == []


@pytest.mark.parametrize("name", ["ngrams", "letters"])
def test_prior_prefers_the_fluent_translation(name: str, folders: Path, learnt: Translator) -> None:
    result, prior = candidates("the black cat sleeps", CLUMSY, FLUENT), load_prior(folders / name)
    reranker = Reranker(translator=learnt, prior=prior)
    (ranked,) = reranker.rerank([result])
    assert [each.text for each in ranked.n_best] == [FLUENT, CLUMSY] and ranked.score > ranked.alternatives[0].score
    without = {"model": 1.0, "length": 0.0, "prior": 0.0}
    assert replace(reranker, weights=without).rerank([result])[0].text == CLUMSY
    tuned = reranker.tune([result] * 3, [FLUENT] * 3)
    assert tuned.before < tuned.after == 100 and tuned.weights["prior"] > 0


def test_model_translates_with_a_prior(folders: Path, model_folder: Path) -> None:
    model, texts = saccade.load(model_folder, device="cpu"), ["the black cat sleeps", "", "it sleeps"]
    weights = "model=1,length=0,prior=2"
    found = model.translate(texts, beam=4, n_best=2, prior=str(folders / "ngrams"), rerank_weights=weights)
    reranker = Reranker(
        translator=model.translator,
        prior=load_prior(folders / "ngrams"),
        weights={"model": 1.0, "length": 0.0, "prior": 2.0},
    )
    expected = reranker.rerank(model.translate(texts, beam=4, n_best=4))
    assert [each.text for each in found] == [each.text for each in expected]
    assert [each.score for each in found] == pytest.approx([each.score for each in expected])
    assert [len(each.alternatives) for each in found] == [1, 0, 1]
    with pytest.raises(OptionError, match="beam 1 finds one hypothesis, and there is nothing to choose from"):
        model.translate(texts, beam=1, prior=folders / "ngrams")


def test_folders_that_are_no_prior_are_refused_in_one_line(
    folders: Path, model_folder: Path, learnt: Translator, tmp_path: Path
) -> None:
    vectors = Path(shutil.copytree(model_folder, tmp_path / "vectors"))
    described = (vectors / "config.json").read_text(encoding="utf-8")
    (vectors / "config.json").write_text(described.replace('"vaswani2017"', '"mikolov2013"'), encoding="utf-8")
    advice = "`saccade lm train` makes these"
    cases: list[tuple[dict[str, Any], str]] = [
        ({"prior": tmp_path / "none"}, "none: no such folder; expected a model folder"),
        ({"prior": model_folder}, f"learnt: a model that translates, not a language model; {advice}"),
        ({"prior": vectors}, f"vectors: a mikolov2013 model, not a language model; {advice}"),
        ({"prior": folders / "blocks"}, "a language model of blocks of 16 tokens.*train it without --block"),
        ({"channel": folders / "ngrams"}, "ngrams: n-grams, not a model that translates; `saccade lm` reads them"),
        ({"channel": folders / "network"}, "network: a language model, which reads no source"),
        ({"right_to_left": folders / "network"}, "network: a language model, which reads no source"),
    ]
    for models, message in cases:
        with pytest.raises(UserError, match=message) as refused:
            load_reranker(learnt, RerankingModels(**models))
        assert "\n" not in str(refused.value)


def test_prior_of_another_language_is_refused(folders: Path, learnt: Translator) -> None:
    strange = [candidates("it sleeps", f"der Hund Nummer {number} schläft", "die Katze schläft") for number in range(9)]
    reranker = Reranker(translator=learnt, prior=load_prior(folders / "ngrams"))
    with pytest.raises(
        UserError, match=r"prior: .*% of the tokens of the translations are unknown.*expected one .* on this language"
    ):
        reranker.rerank(strange)
    assert len(reranker.rerank(strange[:2])) == 2  # too few words to tell
    guessed = [replace(each, token_log_probs=(-6.0,), alternatives=()) for each in strange]
    assert len(reranker.rerank(guessed)) == 9  # in no language, if the translator is bad


def test_prior_in_lower_case_is_refused_where_capitals_are_written(folders: Path, learnt: Translator) -> None:
    lower = load_prior(folders / "lower")
    assert lower.lower and not load_prior(folders / "network").lower
    assert Reranker(translator=learnt, prior=lower).names[-1] == "prior"  # its French has no capitals
    capitals = [TextPair(name, name) for name in ("Anna Berg", "Otto Lund", "Eva Holm")] * 3
    for lowered in (False, True):
        sides = Vocabularies.train(capitals, Policy(kind="char", size=300, lower=lowered))
        kind = MODELS["cho2014"]
        model = kind(kind.PRESETS["tiny"], len(sides.source), len(sides.target))
        writer = Translator(model.eval(), sides, "cpu")
        if lowered:
            assert Reranker(translator=writer, prior=lower).prior is lower
            continue
        with pytest.raises(UserError, match="writes capitals; train the prior without --lower"):
            Reranker(translator=writer, prior=lower)
