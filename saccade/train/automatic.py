"""Choose a recipe by the data, the hardware and the time, and give the reasons.

The rules come from runs on real data (docs/recipes.md). Small data needs strong regularisation (dropout, R-Drop, label
smoothing, averaged weights) and many epochs; if there is no time for them, a smaller model learns more. So the plans of
`plans.py` are tried from the best to the quickest: if the time is limited, the speed of this machine is measured, and
the first plan is chosen for which the time suffices.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import torch

from saccade import config, tasks
from saccade.attention.table import build as build_attention
from saccade.errors import plural
from saccade.model_folder import PRETRAINED, ModelConfig
from saccade.models.table import find_model
from saccade.text import Policy
from saccade.train.data_options import Data
from saccade.train.facts import Facts
from saccade.train.losses import has_sampled_attention
from saccade.train.pace import updates_per_second
from saccade.train.plans import (
    FEW_ON_GPU,
    FEW_PAIRS,
    SHORT,
    WORTHWHILE,
    ModelPlan,
    list_plans,
    plan_training,
    usual_schedule,
)
from saccade.train.recipe import Recipe, recipe_of
from saccade.train.training_options import Training

_FURTHER = 0.3  # share of the usual learning rate when a trained model is trained further
_ONE_ALPHABET = 0.3  # overlap of two alphabets above which a joint vocabulary pays
_FOR_UPDATES = 0.85  # share of the time; the rest is for validations and saves
_MEASURED_MINUTES = 60  # the longest time for which the rules were measured
_HOURS = 240.0  # minutes from which a CPU may train what otherwise needs a GPU
_FEW_MINUTES = 10  # of training, before which nobody wants to wait minutes for a vocabulary
_VOCABULARY_LINES = 100_000  # texts to train it on then
_SHORT_ON_GPU = 2.0  # minutes, of which capturing 64 CUDA graphs and 20 validations would take a third or more
_FEW_SHAPES = 16  # of batches, each of which is a graph
_FEW_CHECKS = 5
_VOCABULARY_KEYS = ("data.vocab", "data.target_vocab", "data.joint")


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
    updates: int | None = None,
    settings: Sequence[str] = (),
) -> ChosenRecipe:
    """Choose the recipe for these pairs on this machine, apply the user's `settings` (KEY=VALUE), and explain it.
    `model` is the user's choice, `initial` a model to train further; `minutes` and `updates` limit the training."""
    requested = config.override({}, settings).get("model")
    requested = requested if isinstance(requested, dict) else {}
    items = ("text", "words") if facts.texts else ("pair", "source words")
    reasons = [f"{plural(facts.pairs, items[0])} of about {facts.mean_words:.0f} {items[1]}"]
    if initial is not None:
        chosen, reason = _train_further(data, facts, initial, updates)
        reasons.append(reason)
    else:
        chosen, choices = _choose(data, facts, model, requested.get("preset"), minutes, updates)
        if any(setting.startswith(_VOCABULARY_KEYS) for setting in settings):
            choices[0] = "the vocabulary is as requested"
        reasons += choices
    tables = chosen.to_dict()
    if chosen.train.r_drop and _refuses_r_drop(chosen, settings):
        tables["train"]["r_drop"] = 0.0
    if "preset" in requested:
        tables["model"] = {"name": chosen.model}  # to which `recipe_of` adds the settings of the preset
    recipe = recipe_of(config.override(tables, settings), "--set")
    train, sizes = recipe.train, {key: requested[key] for key in requested if key not in ("name", "preset", "dropout")}
    if initial is None:
        reasons[-1] += f", dropout {getattr(recipe.settings, 'dropout', 0.0)}"
    if sizes:
        reasons[-1] += "; as requested: " + ", ".join(f"{key} {value}" for key, value in sizes.items())
    if train.r_drop:
        reasons.append(f"R-Drop with weight {train.r_drop:g} against overfitting: each batch is computed twice")
    if train.judge == "loss" != facts.judge:
        reasons.append("there is little time for validations, so the best model is chosen by its loss (train.judge)")
    if train.judge == facts.judge == "exact":
        reasons.append("texts are single words, so the best model is chosen by exact matches (train.judge)")
    tokens = f"batches of {train.tokens:,} tokens" if isinstance(train.tokens, int) else "the largest batches that fit"
    limit = "" if train.max_steps is None else f", at most {plural(train.max_steps, 'update')}"
    reasons.append(f"{tokens}{limit}, on {'CUDA' if facts.cuda else 'the CPU'}")
    return ChosenRecipe(recipe, tuple(reasons))


def _refuses_r_drop(chosen: Recipe, settings: Sequence[str]) -> bool:
    """Whether the user's settings do not go with it: SimCut, guided or sampled attention."""
    asked = config.override({"model": chosen.to_dict()["model"]}, settings)
    train = asked.get("train", {})
    if train.get("guided") or train.get("simcut"):
        return True
    if not any(key.startswith("model.") and "attention" in key for key in settings):
        return False
    names = [name for key, name in asked["model"].items() if key.endswith("attention") and isinstance(name, str)]
    return any(has_sampled_attention(build_attention(name, query_dim=8, memory_dim=8, width=8)) for name in names)


def _train_further(data: Data, facts: Facts, initial: ModelConfig, updates: int | None) -> tuple[Recipe, str]:
    """Keep the model and its settings. After pairs, smaller steps, so that the first of them do not undo what was
    learnt. After texts, the steps and the dropout that suit these pairs: translation is yet to be learnt."""
    name = initial.model
    settings = config.from_dict(find_model(name).config_type, initial.config, "config.json", "config")
    plan, is_pretrained = ModelPlan(settings, "", usual_schedule(name)), PRETRAINED in initial.extra
    if is_pretrained:
        dropout = list_plans(name, None, facts, "all")[0].settings.dropout
        plan = plan._replace(settings=replace(settings, dropout=dropout))
    train = plan_training(name, plan, facts, data.vocabulary)
    if is_pretrained and updates is not None:
        plan, train = _adapt(plan, name, facts, data.vocabulary, tokens=train.batch_tokens, updates=updates)
    if not is_pretrained:
        train = replace(train, lr=train.lr * _FURTHER)
    rate = f"dropout {plan.settings.dropout:g}" if is_pretrained else f"{_FURTHER:g} of the usual learning rate"
    reason = f"{name} {'pre-trained on texts' if is_pretrained else 'trained further'}: its vocabulary and settings"
    return Recipe(data=data, model=name, settings=plan.settings, train=train), f"{reason}, and {rate}"


def _choose(
    data: Data, facts: Facts, model: str | None, preset: Any, minutes: float | None, updates: int | None
) -> tuple[Recipe, list[str]]:
    """A new recipe, and the reasons for its vocabulary, its speed, its model and its size."""
    requested = data
    data, vocabulary = _with_vocabulary(requested, facts)
    name, reason = _usual_model(facts) if model is None else (model, "as requested")
    plans = list_plans(name, preset, facts, "all" if data.joint else "target")
    if not facts.cuda:
        plans = [plan for plan in plans if _suits_cpu(plan, minutes)]
    if facts.texts:  # the corruption differs in each epoch, so that little is learnt by heart
        plans = [plan for plan in plans if not plan.schedule.r_drop]
    plan, train, pace = plans[0], plan_training(name, plans[0], facts, data.vocabulary), []
    if minutes is not None:
        within = _within(minutes, name, plans, facts, data.vocabulary)
        smaller, why_smaller = _with_vocabulary(requested, facts, within.tokens_read)
        if smaller.vocabulary.size < data.vocabulary.size:
            data, vocabulary = smaller, why_smaller
            within = _within(minutes, name, plans, facts, data.vocabulary)
        plan, train, pace = within.plan, within.train, [within.reason]
        if minutes <= _FEW_MINUTES and 2 * facts.pairs > _VOCABULARY_LINES:
            data = replace(data, vocab_lines=_VOCABULARY_LINES)
        if facts.cuda and minutes <= _SHORT_ON_GPU:
            data = replace(data, batch_shapes=_FEW_SHAPES)
    elif updates is not None and not facts.rule:
        plan, train = _for_updates(updates, name, plans, facts, data.vocabulary)
    reasons = [vocabulary, *pace, f"model {name}: {reason}", plan.size]
    lengths = None if data.task is None else data.words or tasks.task(data.task).words
    data = replace(data, longest=256, words=lengths)
    return Recipe(data=data, model=name, settings=plan.settings, train=train), reasons


def _suits_cpu(plan: ModelPlan, minutes: float | None) -> bool:
    least_minutes = {"always": 0.0, "with a budget": 0.0, "with hours": _HOURS}[plan.schedule.on_cpu]
    return plan.schedule.on_cpu == "always" if minutes is None else minutes >= least_minutes


def _with_vocabulary(data: Data, facts: Facts, tokens_read: float = math.inf) -> tuple[Data, str]:
    """The data with the kind and the size of the vocabulary, and the reason.

    A run that ends after `tokens_read` learns little about rare tokens, and each of them costs time.
    """
    task = None if data.task is None else tasks.task(data.task)
    policy, target = Policy(kind="char", size=2000), data.target_vocabulary
    must_share = data.both_directions > 0  # each side is read and written
    joint = data.joint and (must_share or task is None or task.joint)
    if facts.is_pronunciation and not facts.rule and not must_share:
        joint, target = False, Policy(kind="word", size=2000, byte_fallback=False)  # a closed set
        reason = "sources are single words and targets are symbols between spaces: from characters to symbols"
    elif task is not None and task.pieces != "unigram":
        policy = Policy(kind=task.pieces, size=2000)
        reason = f"a vocabulary of {'characters' if task.pieces == 'char' else 'words'}, the units of task:{data.task}"
    elif task is None and facts.mean_words <= 2.5:  # spelling, for example
        reason = "sources are single words, so tokens are characters"
    else:
        joint = joint and (must_share or facts.overlap >= _ONE_ALPHABET)
        enough, in_time = 47 * math.sqrt(facts.pairs), 3.5 * math.sqrt(tokens_read)
        size = 100 * round(min(enough, in_time) / 100 * (1.0 if joint else 0.6))
        policy = Policy(kind="unigram", size=max(400, min(16_000, size), facts.spelling + facts.alphabet // 4))
        reason = f"a {'joint ' * joint}vocabulary of at most {policy.size:,} tokens"
        reason += "" if joint else " for each side" + ": two alphabets" * data.joint
        reason += ", because there is little time" if in_time < enough else ""
    return replace(data, vocabulary=policy, target_vocabulary=target, joint=joint), reason


def _usual_model(facts: Facts) -> tuple[str, str]:
    """The model, and why."""
    if facts.rule:
        return ("vaswani2017", "there is a GPU") if facts.cuda else ("bahdanau2014", "the fastest without a GPU")
    if facts.is_pronunciation:
        return "wu2019", "symbols have the order of their letters"
    if facts.pairs >= (FEW_ON_GPU if facts.cuda else FEW_PAIRS):
        return "vaswani2017", "enough pairs for a Transformer"
    if facts.judge == "bleu" and not facts.cuda:
        return "vaswani2017", "in the same time on a CPU, a Transformer learns more than an RNN"
    return "bahdanau2014", "few pairs"


class _Within(NamedTuple):
    """What is chosen for a limited time."""

    plan: ModelPlan
    train: Training
    tokens_read: float  # infinite if the time suffices for all updates
    reason: str


def _within(minutes: float, name: str, plans: list[ModelPlan], facts: Facts, policy: Policy) -> _Within:
    """The first plan for which the time suffices, if need be in smaller batches; else the last."""
    for plan in plans:
        usual = plan_training(name, plan, facts, policy)
        tokens, allowed = _batches_within(minutes, name, plan, usual, facts, policy)
        if _suffice(plan, allowed, tokens, facts, policy):
            break
    updates = max(1, min(allowed, usual.max_steps or allowed))
    plan, train = _adapt(plan, name, facts, policy, tokens=tokens, updates=updates)
    budget = f"{minutes:g} min" if minutes >= 1 else f"{60 * minutes:.0f} s"
    reason = f"the budget of {budget} allows about {allowed:,} updates of {tokens:,} tokens here"
    reason += f", of which {updates:,} suffice" if updates < allowed else ""
    reason += f": {_epochs(updates, tokens, facts, policy):.1f} epochs"
    if minutes > _MEASURED_MINUTES:
        reason += f"; the rules were measured for up to {_MEASURED_MINUTES} minutes, and are extrapolated beyond"
    train = replace(train, max_steps=usual.max_steps, max_minutes=minutes)
    if facts.cuda and minutes <= _SHORT_ON_GPU:
        train = replace(train, check_every=max(20, updates // _FEW_CHECKS), judge_on=300)
        reason += "; there is little time for validations and for many shapes of batches"
    tokens_read = math.inf if updates < allowed else updates * tokens
    return _Within(plan, train, tokens_read, reason)


def _for_updates(
    updates: int, name: str, plans: list[ModelPlan], facts: Facts, policy: Policy
) -> tuple[ModelPlan, Training]:
    """The first plan for which so many updates suffice; else the last."""
    for plan in plans:
        tokens = plan_training(name, plan, facts, policy).batch_tokens
        if _suffice(plan, updates, tokens, facts, policy):
            break
    return _adapt(plan, name, facts, policy, tokens=tokens, updates=updates)


def _epochs(updates: int, tokens: int, facts: Facts, policy: Policy) -> float:
    return updates * tokens / (facts.pairs * facts.tokens(policy))


def _suffice(plan: ModelPlan, updates: int, tokens: int, facts: Facts, policy: Policy) -> bool:
    schedule = plan.schedule
    return updates >= schedule.least_updates and _epochs(updates, tokens, facts, policy) >= schedule.least_epochs


def _adapt(
    plan: ModelPlan, name: str, facts: Facts, policy: Policy, *, tokens: int, updates: int
) -> tuple[ModelPlan, Training]:
    """Less dropout for few epochs, in which little is learnt by heart, and a schedule for so many updates"""
    epochs = _epochs(updates, tokens, facts, policy)
    without = name == "vaswani2017" and not facts.cuda and epochs < SHORT
    dropout = min(plan.settings.dropout, 0.0 if without else 0.1 if epochs < 10 else 0.2 if epochs < 20 else 1.0)
    plan = plan._replace(settings=replace(plan.settings, dropout=dropout))
    return plan, plan_training(name, plan, facts, policy, tokens=tokens, updates=max(1, updates))


def _batches_within(
    minutes: float, name: str, plan: ModelPlan, usual: Training, facts: Facts, policy: Policy
) -> tuple[int, int]:
    """The largest batches with which the time allows enough updates, and how many it allows."""
    largest = usual.batch_tokens
    choices = [largest] if facts.cuda else [largest, *(tokens for tokens in (1_000, 600, 400) if tokens < largest)]
    pace = partial(
        updates_per_second,
        name,
        plan.settings,
        device=torch.device("cuda" if facts.cuda else "cpu"),
        vocabulary=facts.target_size(policy),
        length=round(facts.tokens(policy)),
        seconds=min(1.0, 0.2 * minutes),
    )
    ends = {tokens: 1 / pace(replace(usual, tokens=tokens)) for tokens in {largest, choices[-1]}}
    for tokens in choices:  # an update costs a + b·tokens
        share = (tokens - choices[-1]) / max(1, largest - choices[-1])
        seconds = ends[choices[-1]] + share * (ends[largest] - ends[choices[-1]])
        allowed = int(60 * minutes * _FOR_UPDATES / seconds)
        if allowed >= max(WORTHWHILE, plan.schedule.least_updates):
            break
    return tokens, allowed
