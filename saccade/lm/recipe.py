"""Choose the recipe of a network that learns a text, by the size of the text and the hardware, and give the reasons.

A text of few tokens is read often, by a small network with dropout; the validations end the run before it is learnt by
heart. docs/language-models.md has runs on real texts.
"""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

from saccade import config
from saccade.data.text_files import File, read_lines
from saccade.errors import UserError, plural
from saccade.lm.options import LanguageTraining, Unit
from saccade.models.table import ALL_MODELS, LANGUAGE_MODELS, find_model
from saccade.text import Policy
from saccade.train.data_options import Data
from saccade.train.recipe import Recipe, recipe_of
from saccade.train.request import parse_budget
from saccade.train.training_options import Training

_CHARACTERS: dict[Unit, float] = {"char": 1.0, "word": 5.0, "subword": 4.0}  # per token, about
_FEWEST_TOKENS = 100  # in a text that is worth learning
_SMALL_TEXT, _LARGE_TEXT = 300_000, 10_000_000  # tokens
_WORDS, _CHARACTERS_AT_MOST = 30_000, 8_000  # in a vocabulary
_SUBWORDS = 500, 16_000
_PER_ROOT = 3.5  # subwords per square root of the number of tokens, as in translation
_TOKENS_READ = 30_000_000  # without a budget, if the text does not suffice before
_EPOCHS = 3, 40
_UPDATES_PER_EPOCH = 100
_BATCH = 512, 8_192  # tokens; four times as many on a GPU


class TextFacts(NamedTuple):
    lines: int
    characters: int

    @classmethod
    def of(cls, file: File) -> "TextFacts":
        lengths = [len(line) + 1 for line in read_lines(file)]
        return cls(len(lengths), sum(lengths))

    def tokens(self, unit: Unit) -> int:
        return round(self.characters / _CHARACTERS[unit])


@dataclass(frozen=True, kw_only=True)
class LanguageRecipe:
    recipe: Recipe
    reasons: tuple[str, ...]


def choose_recipe(options: LanguageTraining, facts: TextFacts, *, cuda: bool) -> LanguageRecipe:
    if options.model in ALL_MODELS and options.model not in LANGUAGE_MODELS:
        raise UserError(
            f"{options.model} translates: saccade train PAIRS --model {options.model}; the language models are "
            f"chen1998 (n-grams), {', '.join(LANGUAGE_MODELS)}"
        )
    unit: Unit = options.unit or "subword"
    if (tokens := facts.tokens(unit)) < _FEWEST_TOKENS:
        raise UserError(
            f"{options.text}: about {plural(tokens, 'token')}; a network needs at least {_FEWEST_TOKENS}, and hundreds "
            "of thousands to learn much: give a longer text"
        )
    preset = "tiny" if tokens < _SMALL_TEXT else "base" if cuda and tokens > _LARGE_TEXT else "small"
    data = Data(
        pairs=options.text,
        contents="text",
        block=options.block,
        valid=options.valid,
        vocabulary=_vocabulary(unit, tokens, options),
    )
    model = {"name": options.model, **config.to_dict(find_model(options.model).PRESETS[preset])}
    train = _training(options, tokens, cuda)
    chosen = {"data": config.to_dict(data), "model": model, "train": config.to_dict(train)}
    requested = config.override({}, options.settings).get("model")
    if isinstance(requested, dict) and "preset" in requested:
        preset, chosen["model"] = requested["preset"], {"name": options.model}
    if options.block is not None and "longest" in model:  # a position for each token of a block
        chosen["model"]["longest"] = max(model["longest"], options.block)
    recipe = recipe_of(config.override(chosen, options.settings), "--set")
    units = "characters" if unit == "char" else f"{unit}s"
    read = plural(facts.lines, "line") if options.block is None else f"blocks of {options.block} tokens"
    reasons = (
        f"about {tokens:,} {units}, read as {read}",
        f"{options.model}, preset {preset}, with at most {recipe.data.vocabulary.size:,} different {units}",
        f"batches of {recipe.train.batch_tokens:,} tokens, on {'CUDA' if cuda else 'the CPU'}",
    )
    return LanguageRecipe(recipe=recipe, reasons=reasons)


def _vocabulary(unit: Unit, tokens: int, options: LanguageTraining) -> Policy:
    """Unknown words are one token, as for n-grams; subwords can spell any text."""
    if unit == "subword":
        least, most = _SUBWORDS
        size = min(most, max(least, round(_PER_ROOT * math.sqrt(tokens))))
        return Policy(kind="unigram", size=options.vocabulary or size, lower=options.lower)
    size = options.vocabulary or (_WORDS if unit == "word" else _CHARACTERS_AT_MOST)
    return Policy(kind=unit, size=size, lower=options.lower, byte_fallback=False)


def _training(options: LanguageTraining, tokens: int, cuda: bool) -> Training:
    least, most = _BATCH
    batch = min(most * (4 if cuda else 1), max(least, tokens // _UPDATES_PER_EPOCH))
    per_epoch = max(1, tokens // batch)
    fewest, largest = _EPOCHS
    epochs = min(largest, max(fewest, round(_TOKENS_READ / tokens)))
    budget: dict[str, Any] = {"max_epochs": epochs} if options.budget is None else parse_budget(options.budget)
    return Training(
        lr=1e-3 if options.model == "radford2018" else 2e-3,
        weight_decay=0.1,
        warmup=min(200, 2 * per_epoch),
        smoothing=0.0,
        tokens=batch,
        check_every=min(1_000, max(50, per_epoch // 2)),
        patience=6,
        judge="loss",
        **budget,
    )
