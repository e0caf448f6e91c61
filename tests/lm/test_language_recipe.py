"""The recipe of a network is chosen by the size of the text, and its parts fit together."""

import pytest

from saccade.lm.options import LanguageTraining
from saccade.lm.recipe import TextFacts, choose_recipe
from saccade.train.recipe import Recipe

FACTS = TextFacts(lines=10_000, characters=1_000_000)


def chosen(facts: TextFacts = FACTS, *, cuda: bool = False, **options: object) -> Recipe:
    return choose_recipe(LanguageTraining(text="text.txt", **options), facts, cuda=cuda).recipe  # type: ignore[arg-type]


@pytest.mark.parametrize("settings", [(), ("model.preset=tiny",)])
def test_a_gpt_has_a_position_for_every_token_of_a_block(settings: tuple[str, ...]) -> None:
    assert chosen(model="radford2018", block=256, settings=settings).settings.longest == 512
    assert chosen(model="radford2018", block=2000, settings=settings).settings.longest == 2000
    asked = chosen(model="radford2018", block=2000, settings=(*settings, "model.longest=100"))
    assert asked.settings.longest == 100
    assert chosen(model="elman1990", block=2000, settings=settings).data.block == 2000


def test_larger_texts_get_larger_networks() -> None:
    widths = [
        chosen(TextFacts(characters // 100, characters), cuda=cuda, model="radford2018").settings.width
        for characters, cuda in ((40_000, False), (4_000_000, False), (400_000_000, False), (400_000_000, True))
    ]
    assert widths == [128, 256, 256, 384]
