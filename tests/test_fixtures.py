"""Model folders that earlier versions wrote: every later version loads them, and they translate as before."""

from pathlib import Path

import pytest

import saccade
from saccade import model_folder
from saccade.decode import score_pairs

VERSION_0_1 = Path(__file__).parent / "fixtures" / "model-0.1"
SAID = {  # what it was trained on, and the log-probability that version 0.1 gave
    "a red cat": ("un chat rouge", -0.005909),
    "a dog": ("un chien", -0.001769),
    "the dog sees 7 cats": ("le chien voit 7 chats", -0.005985),
    "我看见猫": ("je vois le chat", -0.005355),
}


def test_model_of_version_0_1_translates_as_before() -> None:
    translator = saccade.load(VERSION_0_1, device="cpu").translator
    found = translator.translate(list(SAID), saccade.Search(beam=2))
    assert [translation.text for translation in found] == [text for text, _ in SAID.values()]
    scored = score_pairs(translator, ((source, text) for source, (text, _) in SAID.items()))
    assert [one.log_prob for one in scored] == pytest.approx([score for _, score in SAID.values()], abs=1e-4)
    assert translator.vocabularies.placeholders is not None and "<fr>" in translator.vocabularies.source.tags


def test_training_state_of_version_0_1_loads() -> None:
    state = model_folder.load_training(VERSION_0_1)
    assert state["step"] == 300 and state["best"] == float("-inf")
    assert state["optimiser"]["param_groups"][0]["lr"] == 0.01 and 0 in state["optimiser"]["state"]
