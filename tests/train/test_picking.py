"""A recipe from the data and the hardware: sizes grow with the data, reasons are said, and what is picked trains."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from saccade.data import PairFiles, TextPair
from saccade.errors import UserError
from saccade.models import build_model
from saccade.train.loop import train
from saccade.train.picking import Facts, pick
from saccade.train.recipe import Data, Recipe, load_recipe

DATA = Data(pairs="pairs.tsv")
SENTENCES = Facts(pairs=3_000, mean_words=9.0, mean_characters=90.0, alphabet=60, cuda=False)


def parameters(recipe: Recipe) -> int:
    size = recipe.data.vocabulary.size
    return sum(p.numel() for p in build_model(recipe.model, recipe.settings, size, size).parameters())


@pytest.mark.parametrize("cuda", [False, True])
def test_sizes_grow_with_the_data(cuda: bool) -> None:
    picked = [
        pick(DATA, replace(SENTENCES, pairs=pairs, cuda=cuda)).recipe for pairs in (500, 5_000, 50_000, 1_000_000)
    ]
    for smaller, larger in pairwise(picked):
        assert smaller.data.vocabulary.size <= larger.data.vocabulary.size
        assert smaller.train.tokens <= larger.train.tokens
        assert (smaller.train.max_epochs or 0) >= (larger.train.max_epochs or 0)
        if smaller.model == larger.model:
            assert parameters(smaller) <= parameters(larger)
    assert picked[0].data.vocabulary.size < picked[-1].data.vocabulary.size
    assert picked[-1].model == "vaswani2017"


def test_reasons_are_said() -> None:
    said = "\n".join(pick(DATA, SENTENCES).reasons)
    for part in ("3,000 pairs of about 9 source words", "vocabulary", "bahdanau2014: few pairs", "dropout", "the CPU"):
        assert part in said
    assert "a GPU is there" in "\n".join(pick(DATA, replace(SENTENCES, cuda=True)).reasons)


def test_single_words_are_spelled() -> None:
    picked = pick(DATA, replace(SENTENCES, mean_words=1.2))
    assert picked.recipe.data.vocabulary.kind == "char" and "characters" in "\n".join(picked.reasons)


def test_a_large_alphabet_gets_a_vocabulary_that_holds_it() -> None:
    assert pick(DATA, replace(SENTENCES, pairs=300, alphabet=2500)).recipe.data.vocabulary.size > 260 + 2500


def test_the_model_that_was_asked_for() -> None:
    for name in ("cho2014", "bahdanau2014", "vaswani2017"):
        assert pick(DATA, SENTENCES, name).recipe.model == name
    with pytest.raises(UserError, match="did you mean 'cho2014'"):
        pick(DATA, SENTENCES, "cho2015")


def test_embeddings_are_tied_over_one_vocabulary_only() -> None:
    assert pick(DATA, SENTENCES, "vaswani2017").recipe.settings.tie == "all"
    assert pick(replace(DATA, joint=False), SENTENCES, "vaswani2017").recipe.settings.tie == "target"


def test_facts() -> None:
    facts = Facts.of([TextPair("a bb", "c"), TextPair("dd", "ee")] * 15_000, cuda=False)
    assert facts == Facts(pairs=30_000, mean_words=1.5, mean_characters=4.5, alphabet=6, cuda=False)


def test_what_is_picked_trains(pairs_file: Path, tmp_path: Path) -> None:
    files = PairFiles(pairs_file)
    picked = pick(Data(pairs=str(pairs_file)), Facts.of(files, cuda=False)).recipe
    short = replace(picked, train=replace(picked.train, max_steps=2, judge="loss", threads=1, device="cpu"))
    outcome = train(short, tmp_path / "run")
    assert outcome.finished and outcome.step == 2
    assert load_recipe(tmp_path / "run" / "recipe.toml") == short
