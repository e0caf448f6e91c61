"""Picking a recipe from the data and the hardware, and saying why.

What is known of small data (a small model, strong dropout, a small joint vocabulary, tied embeddings, label smoothing,
averaged weights) decides; none of it needs the user to know hyper-parameters.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import torch

from saccade import config, tasks
from saccade.checkpoint import ModelConfig
from saccade.layers.embedding import Tie
from saccade.models.table import find_model
from saccade.text import HasTexts, Policy, words
from saccade.train.recipe import Data, Recipe, Training

_LOOKED_AT = 20_000  # pairs, to estimate lengths
_FURTHER = 0.3  # of the learning rate
_WITHOUT_RECURRENCE = ("vaswani2017", "gehring2017")  # which want a smaller rate


@dataclass(frozen=True, kw_only=True)
class Facts:
    """What picking looks at."""

    pairs: int
    mean_words: float  # of a source
    mean_characters: float  # of a source and its target together
    alphabet: int  # different characters
    cuda: bool
    rule: bool = False  # made by a rule, without end and without exception: there is nothing to learn by heart

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

    @classmethod
    def of_task(cls, data: Data, *, cuda: bool | None = None) -> "Facts":
        assert data.task is not None
        known = tasks.entry(data.task)
        if known.finite:
            return cls.of(data.drawn("train", data.count), cuda=cuda)
        facts = cls.of(data.drawn("train", min(2000, data.count)), cuda=cuda)
        return replace(facts, pairs=data.count, rule=known.rule)


@dataclass(frozen=True, kw_only=True)
class Picked:
    recipe: Recipe
    reasons: tuple[str, ...]


def pick(data: Data, facts: Facts, model: str | None = None, begun: ModelConfig | None = None) -> Picked:
    """The recipe for these pairs on this machine. `model` is the user's choice, where there is one; `begun` is what is
    to be trained further, where there is anything.
    """
    if begun is not None:
        return _further(data, facts, begun)
    reasons = [f"{facts.pairs:,} pairs of about {facts.mean_words:.0f} source words"]
    known = None if data.task is None else tasks.entry(data.task)
    if known is not None and known.pieces != "unigram":
        policy = Policy(kind=known.pieces, size=2000)
        reasons.append(f"pieces are {'characters' if known.pieces == 'char' else 'words'}, as suits task:{data.task}")
    elif known is None and facts.mean_words <= 2.5:  # spelling, pronunciation
        policy = Policy(kind="char", size=2000)
        reasons.append("sources are single words, so pieces are characters")
    else:
        spelling = 260 + facts.alphabet  # special and byte ids, and every character
        size = max(400, min(16_000, 100 * round(facts.pairs**0.7 / 200)), spelling + facts.alphabet // 4)
        policy = Policy(kind="unigram", size=size)
        reasons.append(f"a joint vocabulary of at most {size:,} pieces: small data wants few")
    name = model or ("vaswani2017" if facts.cuda or (facts.pairs >= 10_000 and not facts.rule) else "bahdanau2014")
    if model is None:
        enough = "enough pairs for a Transformer" if name == "vaswani2017" else "few pairs"
        enough = "soonest done without a GPU" if facts.rule else enough
        reasons.append(f"model {name}: {'a GPU is there' if facts.cuda else enough}")
    joint = data.joint and (known is None or known.joint)
    settings, said = _settings(name, facts, "all" if joint else "target")
    reasons.append(said)
    train = _training(name, facts, {"char": 1.0, "word": 2.0}.get(policy.kind, 3.0))
    device = "CUDA" if facts.cuda else "the CPU"
    reasons.append(f"batches of {train.tokens:,} pieces, at most {train.max_epochs} epochs, on {device}")
    chosen = replace(data, vocabulary=policy, joint=joint, longest=256)
    if known is not None:
        chosen = replace(chosen, words=data.words or known.words)
    return Picked(recipe=Recipe(data=chosen, model=name, settings=settings, train=train), reasons=tuple(reasons))


def _further(data: Data, facts: Facts, begun: ModelConfig) -> Picked:
    """Model and settings as they are; smaller steps, so that what was learnt is not lost in the first of them."""
    settings = config.from_dict(find_model(begun.model).config_type, begun.config, "config.json", "config")
    usual = _training(begun.model, facts)
    train = replace(usual, lr=usual.lr * _FURTHER)
    reasons = (
        f"{facts.pairs:,} pairs of about {facts.mean_words:.0f} source words",
        f"{begun.model} trained further: its vocabulary and settings, and {_FURTHER:g} of the usual rate",
        f"batches of {train.tokens:,} pieces, at most {train.max_epochs} epochs",
    )
    return Picked(recipe=Recipe(data=data, model=begun.model, settings=settings, train=train), reasons=reasons)


def _settings(name: str, facts: Facts, tie: Tie) -> tuple[Any, str]:
    kind = find_model(name)
    dropout = 0.0 if facts.rule else 0.1 if facts.pairs > 500_000 else 0.3 if facts.pairs > 5_000 else 0.2
    if name == "vaswani2017":
        if facts.cuda and facts.pairs >= 100_000:
            size = {"width": 512, "inner": 1024, "heads": 4, "encoder_layers": 6, "decoder_layers": 6}
        elif facts.cuda or (facts.pairs >= 100_000 and not facts.rule):
            size = {"width": 256, "inner": 512, "heads": 4, "encoder_layers": 4, "decoder_layers": 4}
        else:
            size = {"width": 128, "inner": 256, "heads": 4, "encoder_layers": 3, "decoder_layers": 3}
        settings = config.to_dict(kind.PRESETS["tiny"]) | size | {"dropout": dropout, "tie": tie}
        return config.from_dict(kind.config_type, settings, "picked", "model"), f"size {size}, dropout {dropout}"
    preset = "base" if facts.cuda and facts.pairs >= 100_000 else "small"
    settings = config.to_dict(kind.PRESETS[preset]) | {"dropout": dropout}
    return config.from_dict(kind.config_type, settings, "picked", "model"), f"preset {preset}, dropout {dropout}"


def _training(name: str, facts: Facts, characters: float = 3.0) -> Training:
    """`characters` of a piece, about."""
    tokens = 8192 if facts.cuda else 1500 if facts.pairs >= 10_000 and not facts.rule else 600
    per_epoch = max(1, round(facts.pairs * max(8.0, facts.mean_characters / 2 / characters) / tokens))
    epochs = max(10, min(200, round(40_000 / per_epoch))) if facts.cuda else max(5, min(60, round(12_000 / per_epoch)))
    if facts.rule:
        epochs = max(1, round((20_000 if facts.cuda else 5_000) / per_epoch))
    return Training(
        lr=1e-3 if name in _WITHOUT_RECURRENCE else 4e-3 if facts.rule and name == "bahdanau2014" else 2e-3,
        schedule="cosine",
        warmup=200 if facts.rule else min(1000, max(50, per_epoch)),
        tokens=tokens,
        smoothing=0.0 if facts.rule else 0.1,
        ema=0.999,
        max_epochs=epochs,
        check_every=max(50, min(1000, per_epoch)),
        patience=15,
    )
