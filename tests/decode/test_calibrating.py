"""Calibration on pairs, saved with the model and returned with every translation."""

from pathlib import Path
from typing import Any

import pytest

from saccade import config, model_folder
from saccade.data import TextPair
from saccade.decode import Calibration, Search, Translator, calibrate, combine, load, save
from saccade.errors import UserError
from saccade.models import MODELS
from saccade.text import Vocabularies, words

STRANGE = [TextPair(f"{pair} zz{n}", "dort un chat") for n in range(8) for pair in ("a dog", "house we")]


@pytest.fixture(scope="module")
def calibration(learnt: Translator, pairs: list[TextPair]) -> Calibration:
    return calibrate(learnt, [*pairs, *STRANGE], Search())


def test_confidence_separates_learnt_from_unknown_sentences(learnt: Translator, calibration: Calibration) -> None:
    sure = Translator(learnt.model, learnt.vocabularies, "cpu", calibration=calibration)
    known, strange = sure.translate(["the black cat sleeps", STRANGE[0].source], Search(beam=2, n_best=2))
    assert known.confidence is not None and strange.confidence is not None
    assert known.confidence > 0.6 > 0.4 > strange.confidence
    assert known.token_confidences is not None and len(known.token_confidences) == len(known.token_log_probs)
    assert known.word_confidences is not None
    assert [word for word, _ in known.word_confidences] == words(known.text)
    assert all(0 < result < 1 for _, result in known.word_confidences)
    shown = known.as_dict()
    assert shown["confidence"] == known.confidence and len(shown["word_confidences"]) == 4
    assert shown["alternatives"][0]["confidence"] == known.alternatives[0].confidence
    assert "token" in str(calibration) and calibration.sentences == 24
    for before, after in (calibration.token_error, calibration.sentence_error):
        assert 0 <= after < before <= 1


def test_confidence_is_none_without_calibration(learnt: Translator) -> None:
    (result,) = learnt.translate(["it sleeps"])
    assert result.confidence is None and result.token_confidences is None and result.word_confidences is None
    assert result.as_dict()["confidence"] is None and result.as_dict()["word_confidences"] is None


def test_calibration_is_saved_with_the_model(learnt: Translator, calibration: Calibration, tmp_path: Path) -> None:
    save(tmp_path, learnt.model, learnt.vocabularies, extra={"longest_trained": 6})
    model_folder.add_extra(tmp_path, calibration=config.to_dict(calibration))
    loaded = load(tmp_path, device="cpu")
    assert loaded.calibration == calibration
    assert model_folder.load_config(tmp_path).extra["longest_trained"] == 6
    blank, written = loaded.translate([" ", "it sleeps"])
    assert blank.confidence is None and blank.word_confidences == () and written.confidence is not None
    assert combine({"a": loaded, "b": loaded}).calibration is None  # of an ensemble nothing was fitted
    model_folder.add_extra(tmp_path, calibration={"token": {"slope": 1.0}})
    with pytest.raises(UserError, match=r"config\.json.*extra\.calibration"):
        load(tmp_path, device="cpu")


def test_word_confidences_of_a_right_to_left_model_are_in_order(learnt: Translator, calibration: Calibration) -> None:
    turned = learnt.vocabularies.towards(right_to_left=True)
    (result,) = Translator(learnt.model, turned, "cpu", calibration=calibration).translate(["the black cat sleeps"])
    assert result.word_confidences is not None and [word for word, _ in result.word_confidences] == words(result.text)


@pytest.mark.parametrize("name", MODELS)
def test_any_model_is_calibrated(name: str, untrained: Any, vocabularies: Vocabularies, pairs: list[TextPair]) -> None:
    translator = Translator(untrained(name), vocabularies, "cpu")
    calibration = calibrate(translator, pairs[:5] * 4, Search(longest=4))
    assert calibration.sentences == 20 and calibration.token_error[1] <= 1
    sure = Translator(translator.model, vocabularies, "cpu", calibration=calibration)
    (result,) = sure.translate(["it sleeps"], Search(longest=4))
    assert result.confidence is not None and result.confidence < 0.5


def test_too_few_pairs_are_refused(learnt: Translator, pairs: list[TextPair]) -> None:
    with pytest.raises(UserError, match="calibration needs at least 20 pairs with text on both sides, got 8"):
        calibrate(learnt, [*pairs, ("", "x"), ("y", " ")] + [("", "")] * 30)
