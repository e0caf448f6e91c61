"""Picking a recipe from the data and the hardware, and saying why.

What is known of small data (a small model, strong dropout, a small joint vocabulary, tied embeddings, label smoothing,
averaged weights) decides; none of it needs the user to know hyper-parameters.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import torch

from saccade import config
from saccade.layers.embedding import Tie
from saccade.models.table import find_model
from saccade.text import HasTexts, Policy, words
from saccade.train.recipe import Data, Recipe, Training

_LOOKED_AT = 20_000  # pairs, to estimate lengths


@dataclass(frozen=True, kw_only=True)
class Facts:
    """What picking looks at."""

    pairs: int
    mean_words: float  # of a source
    mean_characters: float  # of a source and its target together
    alphabet: int  # different characters
    cuda: bool

    @classmethod
    def of(cls, pairs: Iterable[HasTexts], *, cuda: bool | None = None) -> "Facts":
        iterator = iter(pairs)
        some = list(islice(iterator, _LOOKED_AT))
        count = len(some) + sum(1 for _ in iterator)
        looked = max(1, len(some))
        return cls(
            pairs=count,
            mean_words=sum(len(words(pair.source)) for pair in some) / looked,
            mean_characters=sum(len(pair.source) + len(pair.target) for pair in some) / looked,
            alphabet=len({character for pair in some for character in pair.source + pair.target}),
            cuda=torch.cuda.is_available() if cuda is None else cuda,
        )


@dataclass(frozen=True, kw_only=True)
class Picked:
    recipe: Recipe
    reasons: tuple[str, ...]


def pick(data: Data, facts: Facts, model: str | None = None) -> Picked:
    """The recipe for these pairs on this machine. `model` is the user's choice, where there is one."""
    reasons = [f"{facts.pairs:,} pairs of about {facts.mean_words:.0f} source words"]
    characters = facts.mean_words <= 2.5  # single words: spelling, pronunciation
    if characters:
        policy = Policy(kind="char", size=2000)
        reasons.append("sources are single words, so pieces are characters")
    else:
        spelling = 260 + facts.alphabet  # special and byte ids, and every character
        size = max(400, min(16_000, 100 * round(facts.pairs**0.7 / 200)), spelling + facts.alphabet // 4)
        policy = Policy(kind="unigram", size=size)
        reasons.append(f"a joint vocabulary of at most {size:,} pieces: small data wants few")
    name = model or ("vaswani2017" if facts.cuda or facts.pairs >= 10_000 else "bahdanau2014")
    if model is None:
        enough = "enough pairs for a Transformer" if name == "vaswani2017" else "few pairs"
        reasons.append(f"model {name}: {'a GPU is there' if facts.cuda else enough}")
    settings, said = _settings(name, facts, "all" if data.joint else "target")
    reasons.append(said)
    train = _training(name, facts)
    device = "CUDA" if facts.cuda else "the CPU"
    reasons.append(f"batches of {train.tokens:,} pieces, at most {train.max_epochs} epochs, on {device}")
    chosen = replace(data, vocabulary=policy, longest=256)
    return Picked(recipe=Recipe(data=chosen, model=name, settings=settings, train=train), reasons=tuple(reasons))


def _settings(name: str, facts: Facts, tie: Tie) -> tuple[Any, str]:
    kind = find_model(name)
    dropout = 0.1 if facts.pairs > 500_000 else 0.3 if facts.pairs > 5_000 else 0.2
    if name == "vaswani2017":
        if facts.cuda and facts.pairs >= 100_000:
            size = {"width": 512, "inner": 1024, "heads": 4, "encoder_layers": 6, "decoder_layers": 6}
        elif facts.cuda or facts.pairs >= 100_000:
            size = {"width": 256, "inner": 512, "heads": 4, "encoder_layers": 4, "decoder_layers": 4}
        else:
            size = {"width": 128, "inner": 256, "heads": 4, "encoder_layers": 3, "decoder_layers": 3}
        settings = config.to_dict(kind.PRESETS["tiny"]) | size | {"dropout": dropout, "tie": tie}
        return config.from_dict(kind.config_type, settings, "picked", "model"), f"size {size}, dropout {dropout}"
    preset = "base" if facts.cuda and facts.pairs >= 100_000 else "small"
    settings = config.to_dict(kind.PRESETS[preset]) | {"dropout": dropout}
    return config.from_dict(kind.config_type, settings, "picked", "model"), f"preset {preset}, dropout {dropout}"


def _training(name: str, facts: Facts) -> Training:
    tokens = 8192 if facts.cuda else 1500 if facts.pairs >= 10_000 else 600
    per_epoch = max(1, round(facts.pairs * max(8.0, facts.mean_characters / 6) / tokens))
    epochs = max(10, min(200, round(40_000 / per_epoch))) if facts.cuda else max(5, min(60, round(12_000 / per_epoch)))
    return Training(
        lr=1e-3 if name == "vaswani2017" else 2e-3,
        schedule="cosine",
        warmup=min(1000, max(50, per_epoch)),
        tokens=tokens,
        smoothing=0.1,
        ema=0.999,
        max_epochs=epochs,
        check_every=max(50, min(1000, per_epoch)),
        patience=15,
    )
