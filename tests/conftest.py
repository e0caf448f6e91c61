"""Fixtures for several folders: two small models, trained in seconds, and a factory of untrained ones."""

import gc
import os
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import saccade  # noqa: F401 (first: it sets how the threads of torch wait)

# isort: split
import torch
from torch.nn.functional import cross_entropy

from saccade.data import TextPair
from saccade.data.batching import Batch
from saccade.decode import Translator, save
from saccade.models import MODELS, Seq2Seq
from saccade.text import PAD, Policy, Vocabularies

PAIRS = [
    TextPair("the cat sleeps", "le chat dort"),
    TextPair("the black cat sleeps", "le chat noir dort"),
    TextPair("a dog eats", "un chien mange"),
    TextPair("a big dog eats an apple", "un grand chien mange une pomme"),
    TextPair("I see the house", "我看见房子"),
    TextPair("we see the black house", "我们看见黑房子"),
    TextPair("it sleeps", "il dort"),
    TextPair("extraordinarily", "extraordinairement"),
]

torch.set_num_threads(1)  # there is one test worker per core
os.environ["LC_ALL"] = "C.UTF-8"  # reports are in English, whatever the language of the machine


def pytest_collection_finish() -> None:
    """Thousands of collected tests stay until the end: every garbage collection would traverse them again."""
    gc.collect()
    gc.freeze()


Untrained = Callable[..., Seq2Seq[Any, Any]]


@pytest.fixture(scope="session")
def pairs() -> list[TextPair]:
    return PAIRS


@pytest.fixture(scope="session")
def vocabularies() -> Vocabularies:
    return Vocabularies.train(PAIRS, Policy(kind="bpe", size=330))


@pytest.fixture(scope="session")
def untrained(vocabularies: Vocabularies) -> Untrained:
    """untrained("cho2014", embedding=8) is the tiny preset with these settings, always with the same weights."""

    def make(name: str, **settings: object) -> Seq2Seq[Any, Any]:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(1)
            config = replace(MODELS[name].PRESETS["tiny"], **settings)
            return MODELS[name](config, len(vocabularies.source), len(vocabularies.target)).eval()

    return make


@pytest.fixture(scope="session")
def learnt(untrained: Untrained, vocabularies: Vocabularies) -> Translator:
    """A vaswani2017 that reproduces `pairs`."""
    model = untrained("vaswani2017", width=64, inner=128, heads=2, encoder_layers=1, dropout=0.0).train()
    batch = Batch.of(
        [vocabularies.source.encode(pair.source) for pair in PAIRS],
        [vocabularies.target.encode(pair.target) for pair in PAIRS],
        range(len(PAIRS)),
    )
    optimiser = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for _ in range(80):
        logits = model(batch.source, batch.source_readable, batch.target_in)
        optimiser.zero_grad()
        cross_entropy(logits.flatten(0, 1), batch.target_out.flatten(), ignore_index=PAD).backward()
        optimiser.step()
    return Translator(model.eval(), vocabularies, "cpu")


@pytest.fixture(scope="session")
def model_folder(learnt: Translator, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models") / "learnt"
    save(folder, learnt.model, learnt.vocabularies, card="# Learnt by heart\n")
    return folder


@pytest.fixture(scope="session")
def speller() -> Translator:
    """A character model that writes a word in capitals and, for each letter, reads that letter."""
    draw = random.Random(0)
    drawn = ["".join(draw.sample("abcdefgh", draw.randint(3, 5))) for _ in range(400)]
    words = [TextPair(word, word.upper()) for word in drawn]
    vocabularies = Vocabularies.train(words, Policy(kind="char", size=60, byte_fallback=False))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        kind = MODELS["bahdanau2014"]
        model = kind(replace(kind.PRESETS["tiny"], dropout=0.0), len(vocabularies.source), len(vocabularies.target))
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-2)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, 80)
    for _ in range(80):
        sides = zip(*map(vocabularies.encode, draw.sample(words, 32)))
        batch = Batch.of(*map(list, sides), range(32))
        logits = model(batch.source, batch.source_readable, batch.target_in)
        optimiser.zero_grad()
        cross_entropy(logits.flatten(0, 1), batch.target_out.flatten(), ignore_index=PAD).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        schedule.step()
    return Translator(model.eval(), vocabularies, "cpu")


@pytest.fixture(scope="session")
def speller_folder(speller: Translator, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models") / "speller"
    save(folder, speller.model, speller.vocabularies)
    return folder
