"""Pick a recipe from the data, the hardware and the time there is, and say why; nobody needs to know hyper-parameters.

The rules come from runs on real data (benchmarks/automatic.py). Small data wants a small model, strong dropout, tied
embeddings, label smoothing and averaged weights, and several thousand updates: batches shrink with the data until an
epoch has enough of them. Where the time is limited, the pace of this machine is measured first, and the model, the
batches and the average are made to fit the updates that it allows.
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import torch

from saccade import config, tasks
from saccade.layers.embedding import Tie
from saccade.model_folder import ModelConfig
from saccade.models.table import find_model
from saccade.text import HasTexts, Policy, words
from saccade.train.losses import updates_per_second
from saccade.train.recipe import Data, Recipe, Training

_LOOKED_AT = 20_000  # pairs, to estimate lengths
_FURTHER = 0.3  # of the learning rate, where a trained model is trained further
_FEWEST_PER_EPOCH = 50  # updates; batches shrink until an epoch has as many
_SMALLEST_BATCH = 250  # pieces
_ONE_ALPHABET = 0.3  # overlap of two alphabets from which on a joint vocabulary is worth having
_WORTHWHILE = 1_500  # updates; with fewer, smaller batches learn more
_FOR_UPDATES = 0.85  # of the time; the rest goes to checks and saves
_CHARACTERS = {"char": 1.0, "word": 2.0}  # of a piece, about; 3 of a subword


@dataclass(frozen=True, kw_only=True)
class Facts:
    """What picking looks at."""

    pairs: int
    mean_words: float  # of a source
    mean_characters: float  # of a source and its target together
    alphabet: int  # different characters
    cuda: bool
    rule: bool = False  # made by a rule, without end and without exception: there is nothing to learn by heart
    overlap: float = 1.0  # of the distributions of letters on the two sides: 0 for two scripts, 1 for one language

    @classmethod
    def of(cls, pairs: Iterable[HasTexts], *, cuda: bool | None = None) -> "Facts":
        iterator = iter(pairs)
        some = list(islice(iterator, _LOOKED_AT))
        count = len(some) + sum(1 for _ in iterator)
        looked = max(1, len(some))
        sides = [Counter(c for pair in some for c in text(pair)) for text in (_source, _target)]
        return cls(
            pairs=count,
            mean_words=sum(len(words(pair.source)) for pair in some) / looked,
            mean_characters=sum(side.total() for side in sides) / looked,
            alphabet=len(sides[0].keys() | sides[1].keys()),
            cuda=torch.cuda.is_available() if cuda is None else cuda,
            overlap=_overlap(*sides),
        )

    @classmethod
    def of_task(cls, data: Data, *, cuda: bool | None = None) -> "Facts":
        assert data.task is not None
        known = tasks.find_task(data.task)
        if known.finite:
            return cls.of(data.drawn("train", data.count), cuda=cuda)
        facts = cls.of(data.drawn("train", min(2000, data.count)), cuda=cuda)
        return replace(facts, pairs=data.count, rule=known.rule)

    def pieces(self, policy: Policy) -> float:
        """Of a text, about, its end included."""
        return max(8.0, self.mean_characters / 2 / _CHARACTERS.get(policy.kind, 3.0))


def _source(pair: HasTexts) -> str:
    return pair.source


def _target(pair: HasTexts) -> str:
    return pair.target


def _overlap(first: Counter[str], second: Counter[str]) -> float:
    """Σ min(p(c), q(c)) over the letters c, which p and q are the shares of."""
    letters = [{c: n for c, n in side.items() if c.isalpha()} for side in (first, second)]
    totals = [sum(side.values()) for side in letters]
    if not all(totals):
        return 1.0
    return sum(min(n / totals[0], letters[1].get(c, 0) / totals[1]) for c, n in letters[0].items())


@dataclass(frozen=True, kw_only=True)
class ChosenRecipe:
    recipe: Recipe
    reasons: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class _Candidate:
    model: str
    settings: Any
    size: str  # in words
    least_updates: int = 0  # to be worth training


def choose_recipe(
    data: Data,
    facts: Facts,
    model: str | None = None,
    begun: ModelConfig | None = None,
    *,
    minutes: float | None = None,
) -> ChosenRecipe:
    """The recipe for these pairs on this machine. `model` is the user's choice, where there is one; `begun` is what is
    to be trained further, where there is anything; `minutes` is the time for training, where it is limited.
    """
    if begun is not None:
        return _further(data, facts, begun)
    reasons = [_counted(facts)]
    known = None if data.task is None else tasks.find_task(data.task)
    policy, joint, reason = _vocabulary(data, facts)
    reasons.append(reason)
    candidates = _candidates(model or _usual_model(facts), facts, "all" if joint else "target")
    usual = _training(candidates[0].model, candidates[0].settings, facts, policy)
    if minutes is None:
        chosen, train = candidates[0], usual
    else:
        chosen, train, reason = _within(minutes, candidates, facts, policy)
        reasons.append(reason)
    if model is None:
        reasons.append(f"model {chosen.model}: {_why(facts)}")
    reasons.append(f"{chosen.size}, dropout {chosen.settings.dropout}")
    device = "CUDA" if facts.cuda else "the CPU"
    reasons.append(f"batches of {train.tokens:,} pieces, at most {train.max_steps:,} updates, on {device}")
    data = replace(data, vocabulary=policy, joint=joint, longest=256)
    if known is not None:
        data = replace(data, words=data.words or known.words)
    recipe = Recipe(data=data, model=chosen.model, settings=chosen.settings, train=train)
    return ChosenRecipe(recipe=recipe, reasons=tuple(reasons))


def _further(data: Data, facts: Facts, begun: ModelConfig) -> ChosenRecipe:
    """Model and settings as they are; smaller steps, so that what was learnt is not lost in the first of them."""
    settings = config.from_dict(find_model(begun.model).config_type, begun.config, "config.json", "config")
    usual = _training(begun.model, settings, facts, data.vocabulary)
    train = replace(usual, lr=usual.lr * _FURTHER)
    reasons = (
        _counted(facts),
        f"{begun.model} trained further: its vocabulary and settings, and {_FURTHER:g} of the usual rate",
        f"batches of {train.tokens:,} pieces, at most {train.max_steps:,} updates",
    )
    return ChosenRecipe(recipe=Recipe(data=data, model=begun.model, settings=settings, train=train), reasons=reasons)


def _counted(facts: Facts) -> str:
    return f"{facts.pairs:,} pair{'s' * (facts.pairs != 1)} of about {facts.mean_words:.0f} source words"


def _vocabulary(data: Data, facts: Facts) -> tuple[Policy, bool, str]:
    """How texts are cut, whether both sides share the pieces, and why."""
    known = None if data.task is None else tasks.find_task(data.task)
    joint = data.joint and (known is None or known.joint)
    if known is not None and known.pieces != "unigram":
        kind = "characters" if known.pieces == "char" else "words"
        return Policy(kind=known.pieces, size=2000), joint, f"pieces are {kind}, as suits task:{data.task}"
    if known is None and facts.mean_words <= 2.5:  # spelling, pronunciation
        return Policy(kind="char", size=2000), joint, "sources are single words, so pieces are characters"
    joint = joint and facts.overlap >= _ONE_ALPHABET
    size = 100 * round(0.47 * math.sqrt(facts.pairs) * (1.0 if joint else 0.6))
    spelling = 260 + facts.alphabet  # special and byte ids, and every character
    size = max(400, min(16_000, size), spelling + facts.alphabet // 4)
    one = f"a joint vocabulary of at most {size:,} pieces"
    two = f"a vocabulary of at most {size:,} pieces for each side"
    return Policy(kind="unigram", size=size), joint, one if joint else two + (": two alphabets" if data.joint else "")


def _usual_model(facts: Facts) -> str:
    large = facts.cuda if facts.rule else facts.pairs >= 10_000
    return "vaswani2017" if large else "bahdanau2014"


def _why(facts: Facts) -> str:
    if facts.rule:
        return "a GPU is there" if facts.cuda else "soonest done without a GPU"
    return "enough pairs for a Transformer" if facts.pairs >= 10_000 else "few pairs"


def _candidates(name: str, facts: Facts, tie: Tie) -> list[_Candidate]:
    """The size that suits the data, then smaller ones for when the time is short."""
    dropout = 0.0 if facts.rule else 0.1 if facts.pairs > 500_000 else 0.3 if facts.pairs > 5_000 else 0.2
    if name == "vaswani2017":
        return [_sized(name, "tiny", size, dropout, tie, least) for size, least in _transformer_sizes(facts)]
    if name == "bahdanau2014" and facts.cuda and not facts.rule:
        size = {"embedding": 256, "hidden": 512, "align": 256, "maxout": 256}
        return [_sized(name, "base", size, dropout, "target", 0)]
    large = facts.cuda and facts.pairs >= 20_000 and not facts.rule
    presets = (["base"] if large else []) + ["small"] + ([] if facts.cuda else ["tiny"])
    return [_sized(name, preset, {}, dropout, None, 0 if preset == presets[-1] else _WORTHWHILE) for preset in presets]


def _transformer_sizes(facts: Facts) -> Iterator[tuple[dict[str, int], int]]:
    """Settings, and the fewest updates that such a Transformer wants."""

    def size(width: int, inner: int, layers: int) -> dict[str, int]:
        return {"width": width, "inner": inner, "heads": 4, "encoder_layers": layers, "decoder_layers": layers}

    many = facts.pairs >= 100_000 and not facts.rule
    if facts.cuda:
        yield (size(512, 1024, 6) if many else size(128, 256, 4)), 0
        return
    if many:
        yield size(256, 512, 4), 10_000
    yield size(128, 256, 3), 5_000
    yield size(128, 256, 2), 0


def _sized(
    name: str, preset: str, size: dict[str, Any], dropout: float, tie: Tie | None, least_updates: int
) -> _Candidate:
    kind = find_model(name)
    settings = (
        config.to_dict(kind.PRESETS[preset]) | size | {"dropout": dropout} | ({} if tie is None else {"tie": tie})
    )
    said = f"size {size}" if size else f"preset {preset}"
    settings = config.from_dict(kind.config_type, settings, "picked", "model")
    return _Candidate(model=name, settings=settings, size=said, least_updates=least_updates)


def _within(
    minutes: float, candidates: list[_Candidate], facts: Facts, policy: Policy
) -> tuple[_Candidate, Training, str]:
    """The first candidate that the time allows enough updates, if need be in smaller batches; else the last."""
    for candidate in candidates:
        usual = _training(candidate.model, candidate.settings, facts, policy)
        tokens, allowed = _batches_within(minutes, candidate, usual, facts, policy)
        if allowed >= candidate.least_updates:
            break
    updates = max(1, min(allowed, usual.max_steps or allowed))
    epochs = updates * tokens / (facts.pairs * facts.pieces(policy))
    dropout = min(candidate.settings.dropout, 0.1 if epochs < 10 else 0.2 if epochs < 20 else 1.0)
    candidate = replace(candidate, settings=replace(candidate.settings, dropout=dropout))
    train = _training(candidate.model, candidate.settings, facts, policy, tokens=tokens, updates=updates)
    train = replace(train, max_steps=usual.max_steps, max_minutes=minutes)
    reason = f"{minutes:g} minutes allow about {allowed:,} updates of {tokens:,} pieces here, {epochs:.1f} epochs"
    return candidate, train, reason


def _batches_within(
    minutes: float, candidate: _Candidate, usual: Training, facts: Facts, policy: Policy
) -> tuple[int, int]:
    """The largest batches with which the time allows enough updates, and how many it allows."""
    largest = usual.batch_tokens
    sizes = [largest] if facts.cuda else [largest, *(size for size in (1_000, 600, 400) if size < largest)]

    def seconds(tokens: int) -> float:  # of an update
        pace = updates_per_second(
            candidate.model,
            candidate.settings,
            replace(usual, tokens=tokens),
            device=torch.device("cuda" if facts.cuda else "cpu"),
            vocabulary=policy.size,
            length=round(facts.pieces(policy)),
            seconds=min(1.0, 0.2 * minutes),
        )
        return 1 / pace

    ends = {size: seconds(size) for size in {sizes[0], sizes[-1]}}
    for tokens in sizes:  # an update costs a + b·tokens
        between = (tokens - sizes[-1]) / max(1, sizes[0] - sizes[-1])
        each = ends[sizes[-1]] + between * (ends[sizes[0]] - ends[sizes[-1]])
        allowed = int(60 * minutes * _FOR_UPDATES / each)
        if allowed >= max(_WORTHWHILE, candidate.least_updates):
            break
    return tokens, allowed


def _training(
    name: str, settings: Any, facts: Facts, policy: Policy, *, tokens: int | None = None, updates: int | None = None
) -> Training:
    """For so many `updates` of batches of `tokens` pieces, or for as many as the data wants."""
    epoch = facts.pairs * facts.pieces(policy)
    tokens = tokens or _batch_tokens(epoch, facts)
    most = _updates(name, epoch / tokens, facts)
    updates = updates or most
    transformer = name in ("vaswani2017", "gehring2017")
    return Training(
        lr=_learning_rate(name, settings, tokens, facts),
        schedule="cosine",
        warmup=200 if facts.rule else max(20, min(1000 if transformer else 500, updates // 8)),
        tokens=tokens,
        smoothing=0.0 if facts.rule else 0.1,
        ema=round(1 - 1 / max(20, min(2_000, 0.1 * updates)), 5),  # averages over the last tenth of the run
        max_steps=most,
        check_every=max(20, min(1000, updates // 20 if updates == most else updates // 8)),
        patience=10,
        judge_on=200 if updates == most else 100,
    )


def _batch_tokens(epoch: float, facts: Facts) -> int:
    if facts.rule:
        return 4096 if facts.cuda else 600
    largest = (8192 if facts.pairs >= 100_000 else 4096) if facts.cuda else 1500 if facts.pairs >= 10_000 else 600
    return max(_SMALLEST_BATCH, min(largest, 50 * round(epoch / _FEWEST_PER_EPOCH / 50)))


def _updates(name: str, per_epoch: float, facts: Facts) -> int:
    """Those of so many epochs, but thousands for small data, and an end for large."""
    if facts.rule:
        return 20_000 if facts.cuda else 5_000
    epochs, fewest, most = (32, 5_000, 40_000) if name in ("vaswani2017", "gehring2017") else (20, 3_000, 30_000)
    if not facts.cuda:
        fewest, most = fewest - 1_000, most // 3
    return max(fewest, min(most, 100 * round(epochs * per_epoch / 100)))


def _learning_rate(name: str, settings: Any, tokens: int, facts: Facts) -> float:
    if name == "vaswani2017":
        rate = 4e-3 * (128 / settings.width) * (min(tokens, 4096) / 4096) ** 0.15  # 3e-3 for batches of 600
        return float(f"{rate:.1e}")
    if name == "gehring2017":
        return 1e-3
    return 4e-3 if facts.rule and name == "bahdanau2014" else 2e-3
