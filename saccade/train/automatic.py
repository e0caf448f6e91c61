"""Choose a recipe by the data, the hardware and the time, and give the reasons.

The rules come from runs on real data (benchmarks/automatic.py). Small data needs a small model, strong dropout, tied
embeddings, label smoothing, averaged weights and several thousand updates: batches shrink with the data until an epoch
has enough of them. If the time is limited, the speed of this machine is measured first, and the model, the batches and
the average are chosen for the number of updates that it allows.
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import Any, Literal

import torch

from saccade import config, tasks
from saccade.layers.embedding import Tie
from saccade.model_folder import ModelConfig
from saccade.models.table import find_model
from saccade.text import HasTexts, Policy, words
from saccade.train.losses import updates_per_second
from saccade.train.recipe import Data, Recipe, Training

_SAMPLE = 20_000  # pairs, to estimate lengths
_FURTHER = 0.3  # share of the usual learning rate when a trained model is trained further
_FEWEST_PER_EPOCH = 50  # updates; batches shrink until an epoch has so many
_SMALLEST_BATCH = 250  # tokens
_ONE_ALPHABET = 0.3  # overlap of two alphabets above which a joint vocabulary pays
_WORTHWHILE = 1_500  # updates; with fewer, smaller batches learn more
_FOR_UPDATES = 0.85  # share of the time; the rest is for validations and saves
_CHARACTERS = {"char": 1.0, "word": 2.0}  # per token, about; 3 per subword
_MOST_SYMBOLS = 300  # different phones, with stress and tone
_SINGLE_WORD = 1.5  # mean words of a side at most, for texts that are single words


@dataclass(frozen=True, kw_only=True)
class Facts:
    """What the choice depends on."""

    pairs: int
    mean_words: float  # per source
    mean_characters: float  # per pair, both sides together
    alphabet: int  # different characters
    cuda: bool
    mean_target_words: float = 9.0
    target_words: int = 10_000  # different words on the target side
    rule: bool = False  # drawn by a rule without exceptions, so that there is nothing to memorise
    overlap: float = 1.0  # of the letters' distributions on the two sides: 0 for two scripts, 1 for one language

    @classmethod
    def of(cls, pairs: Iterable[HasTexts], *, cuda: bool | None = None) -> "Facts":
        iterator = iter(pairs)
        sample = list(islice(iterator, _SAMPLE))
        count = len(sample) + sum(1 for _ in iterator)
        size = max(1, len(sample))
        letters = [Counter(chain.from_iterable(texts)) for texts in _sides(sample)]
        source_words, target_words = ([word for text in texts for word in words(text)] for texts in _sides(sample))
        return cls(
            pairs=count,
            mean_words=len(source_words) / size,
            mean_characters=sum(side.total() for side in letters) / size,
            alphabet=len(letters[0].keys() | letters[1].keys()),
            cuda=torch.cuda.is_available() if cuda is None else cuda,
            mean_target_words=len(target_words) / size,
            target_words=len(set(target_words)),
            overlap=_overlap(*letters),
        )

    @classmethod
    def of_task(cls, data: Data, *, cuda: bool | None = None) -> "Facts":
        assert data.task is not None
        known = tasks.task(data.task)
        if known.finite:
            return cls.of(data.drawn("train", data.count), cuda=cuda)
        facts = cls.of(data.drawn("train", min(2000, data.count)), cuda=cuda)
        return replace(facts, pairs=data.count, rule=known.rule)

    @property
    def judge(self) -> Literal["bleu", "exact"]:
        """Words and their pronunciations, dates and numbers are right or wrong; BLEU would count words of one."""
        return "exact" if min(self.mean_words, self.mean_target_words) <= _SINGLE_WORD else "bleu"

    @property
    def is_pronunciation(self) -> bool:
        """Whether targets spell single words in symbols between spaces, such as phones."""
        return self.mean_words <= _SINGLE_WORD and self.mean_target_words >= 2.5 and self.target_words <= _MOST_SYMBOLS

    def tokens(self, policy: Policy) -> float:
        """Tokens of a text, about, with the end."""
        return max(8.0, self.mean_characters / 2 / _CHARACTERS.get(policy.kind, 3.0))


def _sides(pairs: list[HasTexts]) -> tuple[list[str], list[str]]:
    return [pair.source for pair in pairs], [pair.target for pair in pairs]


def _overlap(first: Counter[str], second: Counter[str]) -> float:
    """Σ min(p(c), q(c)) over the letters c, where p and q are their shares on the two sides."""
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
    initial: ModelConfig | None = None,
    *,
    minutes: float | None = None,
) -> ChosenRecipe:
    """Choose the recipe for these pairs on this machine. `model` is the user's choice, `initial` a model to train
    further, `minutes` the time for training; each may be None."""
    if initial is not None:
        return _further(data, facts, initial)
    reasons = [_counted(facts)]
    data, reason = _with_vocabulary(data, facts)
    reasons.append(reason)
    name, why = _usual_model(facts) if model is None else (model, "as requested")
    candidates = _candidates(name, facts, "all" if data.joint else "target")
    if minutes is None:
        chosen = candidates[0]
        train = _training(name, chosen.settings, facts, data.vocabulary)
    else:
        chosen, train, reason = _within(minutes, candidates, facts, data.vocabulary)
        reasons.append(reason)
    reasons.append(f"model {name}: {why}")
    reasons.append(f"{chosen.size}, dropout {chosen.settings.dropout}")
    device = "CUDA" if facts.cuda else "the CPU"
    if facts.judge == "exact":
        reasons.append("texts are single words, so the best model is chosen by exact matches (train.judge)")
    reasons.append(f"batches of {train.tokens:,} tokens, at most {train.max_steps:,} updates, on {device}")
    lengths = None if data.task is None else data.words or tasks.task(data.task).words
    data = replace(data, longest=256, words=lengths)
    recipe = Recipe(data=data, model=chosen.model, settings=chosen.settings, train=train)
    return ChosenRecipe(recipe=recipe, reasons=tuple(reasons))


def _further(data: Data, facts: Facts, initial: ModelConfig) -> ChosenRecipe:
    """Keep the model and its settings; smaller steps, so that the first of them do not undo what was learnt."""
    settings = config.from_dict(find_model(initial.model).config_type, initial.config, "config.json", "config")
    usual = _training(initial.model, settings, facts, data.vocabulary)
    train = replace(usual, lr=usual.lr * _FURTHER)
    reasons = (
        _counted(facts),
        f"{initial.model} trained further: its vocabulary and settings, and {_FURTHER:g} of the usual learning rate",
        f"batches of {train.tokens:,} tokens, at most {train.max_steps:,} updates",
    )
    return ChosenRecipe(recipe=Recipe(data=data, model=initial.model, settings=settings, train=train), reasons=reasons)


def _counted(facts: Facts) -> str:
    return f"{facts.pairs:,} pair{'s' * (facts.pairs != 1)} of about {facts.mean_words:.0f} source words"


def _with_vocabulary(data: Data, facts: Facts) -> tuple[Data, str]:
    """The data with the kind and the size of the vocabulary, and the reason."""
    task = None if data.task is None else tasks.task(data.task)
    joint = data.joint and (task is None or task.joint)
    if task is not None and task.pieces != "unigram":
        kind = "characters" if task.pieces == "char" else "words"
        data = replace(data, vocabulary=Policy(kind=task.pieces, size=2000), joint=joint)
        return data, f"tokens are {kind}, as suits task:{data.task}"
    if task is None and facts.is_pronunciation:
        data = replace(data, vocabulary=Policy(kind="char", size=2000), joint=False)
        data = replace(data, target_vocabulary=Policy(kind="word", size=2000))
        return data, "sources are single words and targets are symbols between spaces: from characters to symbols"
    if task is None and facts.mean_words <= 2.5:  # spelling, for example
        data = replace(data, vocabulary=Policy(kind="char", size=2000), joint=joint)
        return data, "sources are single words, so tokens are characters"
    joint = joint and facts.overlap >= _ONE_ALPHABET
    size = 100 * round(0.47 * math.sqrt(facts.pairs) * (1.0 if joint else 0.6))
    spelling = 260 + facts.alphabet  # special and byte ids, and every character
    size = max(400, min(16_000, size), spelling + facts.alphabet // 4)
    reason = f"a joint vocabulary of at most {size:,} tokens"
    if not joint:
        reason = f"a vocabulary of at most {size:,} tokens for each side" + (": two alphabets" if data.joint else "")
    return replace(data, vocabulary=Policy(kind="unigram", size=size), joint=joint), reason


def _usual_model(facts: Facts) -> tuple[str, str]:
    """The model, and why."""
    if facts.rule:
        return ("vaswani2017", "there is a GPU") if facts.cuda else ("bahdanau2014", "the fastest without a GPU")
    if facts.pairs >= 10_000:
        return "vaswani2017", "enough pairs for a Transformer"
    return "bahdanau2014", "few pairs"


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
    """Settings, and the fewest updates that such a Transformer needs."""

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
    settings = config.from_dict(kind.config_type, settings, "picked", "model")
    return _Candidate(model=name, settings=settings, size=_describe_size(size, preset), least_updates=least_updates)


def _describe_size(size: dict[str, Any], preset: str) -> str:
    if "heads" in size:
        layers = f"{size['encoder_layers']} + {size['decoder_layers']} layers"
        return f"width {size['width']}, inner {size['inner']}, {size['heads']} heads, {layers}"
    return ", ".join(f"{name} {value}" for name, value in size.items()) or f"preset {preset}"


def _within(
    minutes: float, candidates: list[_Candidate], facts: Facts, policy: Policy
) -> tuple[_Candidate, Training, str]:
    """The first candidate for which the time allows enough updates, if need be in smaller batches; else the last."""
    for candidate in candidates:
        usual = _training(candidate.model, candidate.settings, facts, policy)
        tokens, allowed = _batches_within(minutes, candidate, usual, facts, policy)
        if allowed >= candidate.least_updates:
            break
    updates = max(1, min(allowed, usual.max_steps or allowed))
    epochs = updates * tokens / (facts.pairs * facts.tokens(policy))
    dropout = min(candidate.settings.dropout, 0.1 if epochs < 10 else 0.2 if epochs < 20 else 1.0)
    candidate = replace(candidate, settings=replace(candidate.settings, dropout=dropout))
    train = _training(candidate.model, candidate.settings, facts, policy, tokens=tokens, updates=updates)
    train = replace(train, max_steps=usual.max_steps, max_minutes=minutes)
    reason = f"{minutes:g} minutes allow about {allowed:,} updates of {tokens:,} tokens here, {epochs:.1f} epochs"
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
            length=round(facts.tokens(policy)),
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
    """The settings for so many `updates` of so many `tokens`; by default, as many as suit the data."""
    epoch = facts.pairs * facts.tokens(policy)
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
        judge=facts.judge,
        judge_on=200 if updates == most else 100,
    )


def _batch_tokens(epoch: float, facts: Facts) -> int:
    if facts.rule:
        return 4096 if facts.cuda else 600
    largest = (8192 if facts.pairs >= 100_000 else 4096) if facts.cuda else 1500 if facts.pairs >= 10_000 else 600
    return max(_SMALLEST_BATCH, min(largest, 50 * round(epoch / _FEWEST_PER_EPOCH / 50)))


def _updates(name: str, per_epoch: float, facts: Facts) -> int:
    """Several epochs, but thousands of updates for small data, and a limit for large data."""
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
