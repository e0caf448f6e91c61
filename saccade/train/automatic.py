"""Choose a recipe by the data, the hardware and the time, and give the reasons.

The rules come from runs on real data (benchmarks/automatic.py). Small data needs a small model, strong dropout, tied
embeddings, label smoothing, averaged weights and several thousand updates: batches shrink with the data until an epoch
has enough of them. If the time is limited, the speed of this machine is measured first, and the model, the batches and
the average are chosen for the number of updates that it allows.
"""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Any, Literal, NamedTuple

import torch

from saccade import config, tasks
from saccade.errors import plural
from saccade.model_folder import ModelConfig
from saccade.models.table import find_model
from saccade.text import HasTexts, Policy, words
from saccade.train.dataset import FIRST_PAIRS, read_first_pairs
from saccade.train.losses import updates_per_second
from saccade.train.recipe import Data, Recipe, Training, recipe_of

_FURTHER = 0.3  # share of the usual learning rate when a trained model is trained further
_FEWEST_PER_EPOCH = 50  # updates; batches shrink until an epoch has this many
_SMALLEST_BATCH = 250  # tokens
_ONE_ALPHABET = 0.3  # overlap of two alphabets above which a joint vocabulary pays
_WORTHWHILE = 1_500  # updates; with fewer, smaller batches learn more
_FOR_UPDATES = 0.85  # share of the time; the rest is for validations and saves
_CHARACTERS = {"char": 1.0, "word": 2.0}  # per token, about; 3 per subword
_MOST_SYMBOLS = 300  # different phones, with stress and tone
_VOCABULARY_KEYS = ("data.vocab", "data.target_vocab", "data.joint")
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
    def of(cls, pairs: Iterable[HasTexts], *, count: int | None = None, cuda: bool | None = None) -> "Facts":
        """`count` is the number of all pairs, if `pairs` are only the first."""
        iterator = iter(pairs)
        sample = list(islice(iterator, FIRST_PAIRS))
        size = max(1, len(sample))
        count = len(sample) + sum(1 for _ in iterator) if count is None else count
        sides = [pair.source for pair in sample], [pair.target for pair in sample]
        characters = [Counter("".join(texts)) for texts in sides]
        source_words, target_words = ([word for text in texts for word in words(text)] for texts in sides)
        return cls(
            pairs=count,
            mean_words=len(source_words) / size,
            mean_characters=sum(side.total() for side in characters) / size,
            alphabet=len(characters[0].keys() | characters[1].keys()),
            cuda=torch.cuda.is_available() if cuda is None else cuda,
            mean_target_words=len(target_words) / size,
            target_words=len(set(target_words)),
            overlap=_overlap(*characters),
        )

    @classmethod
    def of_data(cls, data: Data, *, seed: int = 1, cuda: bool | None = None) -> "Facts":
        """Of several corpora, only the first is examined."""
        if data.task is None:
            pairs, count = read_first_pairs(data, seed)
            return cls.of(pairs, count=count, cuda=cuda)
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
        """Approximate number of tokens per text, including the end symbol."""
        return max(8.0, self.mean_characters / 2 / _CHARACTERS.get(policy.kind, 3.0))


def _overlap(first: Counter[str], second: Counter[str]) -> float:
    """Σ min(p(c), q(c)) over the letters c, where p and q are their shares on the two sides."""
    letters = [{c: n for c, n in side.items() if c.isalpha()} for side in (first, second)]
    totals = [sum(side.values()) for side in letters]
    if not all(totals):
        return 1.0
    return sum(min(n / totals[0], letters[1].get(c, 0) / totals[1]) for c, n in letters[0].items())


class ChosenRecipe(NamedTuple):
    recipe: Recipe
    reasons: tuple[str, ...]


def choose_recipe(
    data: Data,
    facts: Facts,
    model: str | None = None,
    initial: ModelConfig | None = None,
    *,
    minutes: float | None = None,
    settings: Sequence[str] = (),
) -> ChosenRecipe:
    """Choose the recipe for these pairs on this machine, apply the user's `settings` (KEY=VALUE), and explain it.
    `model` is the user's choice, `initial` a model to train further, `minutes` the time for training."""
    requested = config.override({}, settings).get("model")
    requested = requested if isinstance(requested, dict) else {}
    reasons = [f"{plural(facts.pairs, 'pair')} of about {facts.mean_words:.0f} source words"]
    if initial is not None:
        chosen, reason = _train_further(data, facts, initial)
        reasons.append(reason)
    else:
        chosen, choices = _choose(data, facts, model, requested.get("preset"), minutes)
        if any(setting.startswith(_VOCABULARY_KEYS) for setting in settings):
            choices[0] = "the vocabulary is as requested"
        reasons += choices
    tables = chosen.to_dict()
    if "preset" in requested:
        tables["model"] = {"name": chosen.model}  # to which `recipe_of` adds the settings of the preset
    recipe = recipe_of(config.override(tables, settings), "--set")
    train, sizes = recipe.train, {key: requested[key] for key in requested if key not in ("name", "preset", "dropout")}
    if initial is None:
        sizes["dropout"] = getattr(recipe.settings, "dropout", 0.0)
    reasons[-1] += "".join(f", {key} {value}" for key, value in sizes.items())
    if train.judge == facts.judge == "exact":
        reasons.append("texts are single words, so the best model is chosen by exact matches (train.judge)")
    tokens = f"batches of {train.tokens:,} tokens" if isinstance(train.tokens, int) else "the largest batches that fit"
    limit = "" if train.max_steps is None else f", at most {plural(train.max_steps, 'update')}"
    reasons.append(f"{tokens}{limit}, on {'CUDA' if facts.cuda else 'the CPU'}")
    return ChosenRecipe(recipe, tuple(reasons))


def _train_further(data: Data, facts: Facts, initial: ModelConfig) -> tuple[Recipe, str]:
    """Keep the model and its settings; smaller steps, so that the first of them do not undo what was learnt."""
    settings = config.from_dict(find_model(initial.model).config_type, initial.config, "config.json", "config")
    usual = _training(initial.model, settings, facts, data.vocabulary)
    train = replace(usual, lr=usual.lr * _FURTHER)
    recipe = Recipe(data=data, model=initial.model, settings=settings, train=train)
    share = f"{_FURTHER:g} of the usual learning rate"
    return recipe, f"{initial.model} trained further: its vocabulary and settings, and {share}"


def _choose(
    data: Data, facts: Facts, model: str | None, preset: Any, minutes: float | None
) -> tuple[Recipe, list[str]]:
    """A new recipe, and the reasons for its vocabulary, its speed, its model and its size."""
    data, reason = _with_vocabulary(data, facts)
    reasons = [reason]
    name, reason = _usual_model(facts) if model is None else (model, "as requested")
    sizes = _sizes(name, preset, facts, "all" if data.joint else "target")
    size, train = sizes[0], _training(name, sizes[0].settings, facts, data.vocabulary)
    if minutes is not None:
        size, train, pace = _within(minutes, name, sizes, facts, data.vocabulary)
        reasons.append(pace)
    reasons += [f"model {name}: {reason}", size.words]
    lengths = None if data.task is None else data.words or tasks.task(data.task).words
    data = replace(data, longest=256, words=lengths)
    return Recipe(data=data, model=name, settings=size.settings, train=train), reasons


def _with_vocabulary(data: Data, facts: Facts) -> tuple[Data, str]:
    """The data with the kind and the size of the vocabulary, and the reason."""
    task = None if data.task is None else tasks.task(data.task)
    policy, target = Policy(kind="char", size=2000), data.target_vocabulary
    joint = data.joint and (task is None or task.joint)
    if task is not None and task.pieces != "unigram":
        policy = Policy(kind=task.pieces, size=2000)
        reason = f"a vocabulary of {'characters' if task.pieces == 'char' else 'words'}, the units of task:{data.task}"
    elif task is None and facts.is_pronunciation:
        joint, target = False, Policy(kind="word", size=2000)
        reason = "sources are single words and targets are symbols between spaces: from characters to symbols"
    elif task is None and facts.mean_words <= 2.5:  # spelling, for example
        reason = "sources are single words, so tokens are characters"
    else:
        joint = joint and facts.overlap >= _ONE_ALPHABET
        size = 100 * round(0.47 * math.sqrt(facts.pairs) * (1.0 if joint else 0.6))
        spelling = 260 + facts.alphabet  # special and byte ids, and every character
        policy = Policy(kind="unigram", size=max(400, min(16_000, size), spelling + facts.alphabet // 4))
        reason = f"a {'joint ' * joint}vocabulary of at most {policy.size:,} tokens"
        reason += "" if joint else " for each side" + ": two alphabets" * data.joint
    return replace(data, vocabulary=policy, target_vocabulary=target, joint=joint), reason


def _usual_model(facts: Facts) -> tuple[str, str]:
    """The model, and why."""
    if facts.rule:
        return ("vaswani2017", "there is a GPU") if facts.cuda else ("bahdanau2014", "the fastest without a GPU")
    if facts.pairs >= 10_000:
        return "vaswani2017", "enough pairs for a Transformer"
    return "bahdanau2014", "few pairs"


class _Size(NamedTuple):
    words: str
    settings: Any
    least_updates: int  # to be worth training


def _sizes(name: str, preset: Any, facts: Facts, tie: str) -> list[_Size]:
    """The size that suits the data, then smaller ones for when the time is short; or the preset, if there is one."""
    kind = find_model(name)
    if isinstance(preset, str) and preset in kind.PRESETS:
        return [_Size(f"preset {preset}", kind.PRESETS[preset], 0)]
    dropout = 0.0 if facts.rule else 0.1 if facts.pairs > 500_000 else 0.3 if facts.pairs > 5_000 else 0.2

    def size(preset: str, words: str = "", least_updates: int = 0, **changes: Any) -> _Size:
        settings = config.to_dict(kind.PRESETS[preset]) | changes | {"dropout": dropout}
        settings = config.from_dict(kind.config_type, settings, name, "model")
        return _Size(words or f"preset {preset}", settings, least_updates)

    if name == "vaswani2017":
        transformers = []
        for width, inner, layers, least_updates in _transformer_sizes(facts):
            changes = {"width": width, "inner": inner, "heads": 4, "encoder_layers": layers, "decoder_layers": layers}
            words = f"width {width}, inner {inner}, 4 heads, {layers} + {layers} layers"
            transformers.append(size("tiny", words, least_updates, tie=tie, **changes))
        return transformers
    if name == "bahdanau2014" and facts.cuda and not facts.rule:
        changes = {"embedding": 256, "hidden": 512, "align": 256, "maxout": 256}
        words = ", ".join(f"{key} {value}" for key, value in changes.items())
        return [size("base", words, tie="target", **changes)]
    if facts.cuda:
        large = facts.pairs >= 20_000 and not facts.rule
        return [size("base", least_updates=_WORTHWHILE), size("small")] if large else [size("small")]
    return [size("small", least_updates=_WORTHWHILE), size("tiny")]


def _transformer_sizes(facts: Facts) -> list[tuple[int, int, int, int]]:
    """Width, inner width, layers, and the fewest updates that such a Transformer needs."""
    many = facts.pairs >= 100_000 and not facts.rule
    if facts.cuda:
        return [(512, 1024, 6, 0) if many else (128, 256, 4, 0)]
    return [*([(256, 512, 4, 10_000)] if many else []), (128, 256, 3, 5_000), (128, 256, 2, 0)]


def _within(minutes: float, name: str, sizes: list[_Size], facts: Facts, policy: Policy) -> tuple[_Size, Training, str]:
    """The first size for which the time allows enough updates, if need be in smaller batches; else the last."""
    for size in sizes:
        usual = _training(name, size.settings, facts, policy)
        tokens, allowed = _batches_within(minutes, name, size, usual, facts, policy)
        if allowed >= size.least_updates:
            break
    updates = max(1, min(allowed, usual.max_steps or allowed))
    epochs = updates * tokens / (facts.pairs * facts.tokens(policy))
    dropout = min(size.settings.dropout, 0.1 if epochs < 10 else 0.2 if epochs < 20 else 1.0)
    size = size._replace(settings=replace(size.settings, dropout=dropout))
    train = _training(name, size.settings, facts, policy, tokens=tokens, updates=updates)
    train = replace(train, max_steps=usual.max_steps, max_minutes=minutes)
    reason = f"{minutes:g} minutes allow about {allowed:,} updates of {tokens:,} tokens here, {epochs:.1f} epochs"
    return size, train, reason


def _batches_within(
    minutes: float, name: str, size: _Size, usual: Training, facts: Facts, policy: Policy
) -> tuple[int, int]:
    """The largest batches with which the time allows enough updates, and how many it allows."""
    largest = usual.batch_tokens
    choices = [largest] if facts.cuda else [largest, *(tokens for tokens in (1_000, 600, 400) if tokens < largest)]
    pace = partial(updates_per_second, name, size.settings, device=torch.device("cuda" if facts.cuda else "cpu"))
    pace = partial(pace, vocabulary=policy.size, length=round(facts.tokens(policy)), seconds=min(1.0, 0.2 * minutes))
    ends = {tokens: 1 / pace(replace(usual, tokens=tokens)) for tokens in {largest, choices[-1]}}
    for tokens in choices:  # an update costs a + b·tokens
        share = (tokens - choices[-1]) / max(1, largest - choices[-1])
        seconds = ends[choices[-1]] + share * (ends[largest] - ends[choices[-1]])
        allowed = int(60 * minutes * _FOR_UPDATES / seconds)
        if allowed >= max(_WORTHWHILE, size.least_updates):
            break
    return tokens, allowed


def _training(
    name: str, settings: Any, facts: Facts, policy: Policy, *, tokens: int | None = None, updates: int | None = None
) -> Training:
    """The settings for this many `updates` of this many `tokens`; by default, as many as suit the data."""
    epoch = facts.pairs * facts.tokens(policy)
    tokens = tokens or _batch_tokens(epoch, facts)
    most = _updates(name, epoch / tokens, facts)
    updates = updates or most
    transformer = name in ("vaswani2017", "gehring2017")
    return Training(
        lr=_learning_rate(name, settings, tokens, facts),
        warmup=200 if facts.rule else max(20, min(1000 if transformer else 500, updates // 8)),
        tokens=tokens,
        smoothing=0.0 if facts.rule else 0.1,
        ema=round(1 - 1 / max(20, min(2_000, 0.1 * updates)), 5),  # averages over the last tenth of the run
        max_steps=most,
        check_every=max(20, min(1000, updates // 20 if updates == most else updates // 8)),
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
