"""Choose the recipe of a classifier or a tagger by the size of its data, and give the reasons; or read it from a file.

Few texts are read often by a small network, and the validations end the run before they are learnt by heart.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from saccade import config, files, names
from saccade.attention.table import ATTENTIONS
from saccade.data.formats import PairFiles
from saccade.data.text_files import is_read_once
from saccade.errors import Say, UserError, plural
from saccade.labels.dataset import Examples, labels_of, read_examples
from saccade.labels.encoders import ENCODERS
from saccade.labels.readers import READERS
from saccade.labels.scores import are_entities, why_no_f1
from saccade.labels.settings import PRESETS, LabelData, LabelRecipe
from saccade.names import nearest
from saccade.ranges import OptionError
from saccade.text import Policy
from saccade.train.recipe import RECIPE, read_recipe
from saccade.train.request import LabelKind, TrainingRequest, parse_budget
from saccade.train.resume import merge, refuse_changes
from saccade.train.run import refuse_used_folder
from saccade.train.training_options import Training

_SMALL, _LARGE = 100_000, 1_000_000  # tokens of data, from which the preset is small or, on a GPU, base
_CHARACTERS = 4.0  # per token, about
_SUBWORDS, _PER_ROOT = (400, 16_000), 3.5  # their number, by the root of the number of tokens
_TOKENS_READ, _EPOCHS = 5_000_000, (4, 40)  # without a budget
_UPDATES_PER_EPOCH, _BATCH = 60, (512, 8_192)  # tokens
_RATES = {"recurrent": 4e-3, "cheng2016": 4e-3, "words": 4e-3, "transformer": 1e-3}  # highest learning rates
_OF_TRANSLATION = ("r_drop", "simcut", "sampling", "guided", "init_from")
_NOT_FOR_LABELS = ("vocab_from", "data_folder", "init_from", "mix")  # of a request
_JUDGES = ("accuracy", "f1", "loss")


@dataclass(frozen=True, kw_only=True)
class _ModelTable:
    model: dict[str, Any]


def plan_recipe(request: TrainingRequest, say: Say) -> LabelRecipe:
    """The recipe of a file, or of the run to resume, or one chosen for the texts; with the request's settings."""
    assert request.kind != "translate"
    for name in _NOT_FOR_LABELS:
        if getattr(request, name) is not None:
            raise OptionError(name, "is for translation; leave it out")
    if request.resume:
        return _resumed(request)
    refuse_used_folder(request.folder)
    if request.is_recipe:
        tables = config.override(read_recipe(Path(request.pairs)), _settings(request))
        return _checked(merge(tables, _model_tables(request)), request.pairs, request.kind)
    return _chosen(request, request.kind, say)


def model_title(recipe: LabelRecipe) -> str:
    """As `--model` takes it: recurrent+lin2017."""
    return "+".join(name for name in (recipe.model.encoder, recipe.model.reader) if name is not None)


def _resumed(request: TrainingRequest) -> LabelRecipe:
    path = files.path_inside(request.folder, RECIPE)
    if not path.exists():
        raise UserError(f"{request.folder}: there is no run to resume; leave --resume out to start one")
    tables = config.load_toml(path)
    if not isinstance(tables.get("data"), dict) or "kind" not in tables["data"]:
        raise UserError(f"{path}: not a run of `saccade train --kind {request.kind}`; give another --out")
    names.refuse_outside({"model": tables.get("model")}, where=str(path))
    saved = _checked(tables, str(path), None)
    requested = merge(_requested(request), _model_tables(request))
    wanted = merge(tables, config.override(requested, _settings(request)))
    preset = wanted.get("model", {}).pop("preset", None)  # what it stood for is saved
    if preset is not None and preset not in PRESETS:
        raise _unknown_preset(preset)
    return refuse_changes(request.folder, saved, _checked(wanted, "--set", None))


def _requested(request: TrainingRequest) -> dict[str, Any]:
    data: dict[str, Any] = {"kind": request.kind}
    if request.is_recipe:
        return merge(read_recipe(Path(request.pairs)), {"data": data})
    if not is_read_once(request.pairs):
        data["pairs"] = request.pairs
    if request.targets is not None:
        data["targets"] = request.targets
    return {"data": data}


def _settings(request: TrainingRequest) -> list[str]:
    return list(replace(request, model=None).overrides())


def _model_tables(request: TrainingRequest) -> dict[str, Any]:
    """`--model` as keys of [model]: ENCODER+READER, or one of the two."""
    if request.model is None:
        return {}
    encoder, plus, reader = request.model.partition("+")
    if not plus and encoder not in ENCODERS and (encoder in READERS or encoder in ATTENTIONS):
        encoder, reader = "recurrent", encoder
    if ":" not in encoder and encoder not in ENCODERS:
        raise OptionError(
            "model",
            f"{request.model!r} is not ENCODER, READER or ENCODER+READER, such as transformer+mean; "
            f"{nearest(encoder, [*ENCODERS, *READERS, *ATTENTIONS])}",
        )
    chosen = {"encoder": encoder} | ({"reader": reader} if reader else {})
    if reader and request.kind == "tag":
        raise OptionError("model", f"has a reader, {reader}, but a tagger labels every word; leave it out")
    return {"model": chosen}


def _chosen(request: TrainingRequest, kind: LabelKind, say: Say) -> LabelRecipe:
    pairs, targets = request.pairs, request.targets
    if targets is None and is_read_once(pairs):
        request.folder.mkdir(parents=True, exist_ok=True)
        pairs = str(PairFiles(pairs).buffered_in(request.folder).source)
    data: dict[str, Any] = {"kind": kind, "pairs": pairs, "targets": targets}
    tables = config.override({"data": data, "model": {}, **_model_tables(request)}, _settings(request))
    requested = config.from_dict(LabelData, tables["data"], "--set", "data")
    examples = read_examples(kind, pairs, targets, requested.fields, split="train", count=requested.count)
    tokens = max(1, round(sum(len(pair.source) for pair in examples.pairs) / _CHARACTERS))
    model = config.from_dict(_ModelTable, {"model": tables["model"]}, "--set").model
    preset = _preset(model.pop("preset", None), tokens)
    encoder = model.get("encoder", PRESETS[preset].encoder)
    judge, reason = _judge(kind, examples)
    train = tables.get("train", {})
    batch = train.get("tokens") if isinstance(train, Mapping) else None
    chosen = {
        "data": {**data, "vocabulary": config.to_dict(_vocabulary(tokens))},
        "model": config.to_dict(PRESETS[preset]) | ({"reader": None} if kind == "tag" else {}),
        "train": config.to_dict(_training(request, encoder, tokens, judge, batch if isinstance(batch, int) else None)),
    }
    recipe = _checked(merge(chosen, {**tables, "model": model}), "--set", kind)
    for line in (
        f"{plural(len(examples.pairs), 'text')}, about {tokens:,} tokens",
        f"{model_title(recipe)}, preset {preset}, at most {recipe.data.vocabulary.size:,} different subwords",
        reason if recipe.train.judge == judge else f"judged by {recipe.train.judge}",
    ):
        say(line)
    return recipe


def _preset(preset: Any, tokens: int) -> str:
    if preset is None:
        cuda = torch.cuda.is_available()
        return "tiny" if tokens < _SMALL else "base" if cuda and tokens >= _LARGE else "small"
    if preset not in PRESETS:
        raise _unknown_preset(preset)
    return str(preset)


def _unknown_preset(preset: Any) -> UserError:
    return UserError(f"model.preset: {preset!r} given, expected one of {', '.join(PRESETS)}")


def _judge(kind: LabelKind, examples: Examples) -> tuple[str, str]:
    """What chooses the best model, and why"""
    if kind == "classify":
        return "accuracy", "judged by accuracy"
    if not are_entities(list({tag for pair in examples.pairs for tag in labels_of(kind, pair)})):
        return "accuracy", "the tags are no entities (B-, I-, O): judged by accuracy"
    if (missing := why_no_f1()) is not None:
        return "accuracy", f"judged by accuracy; {missing}"
    return "f1", "the tags are entities: judged by F1"


def _vocabulary(tokens: int) -> Policy:
    """Subwords: a word that never occurred still has known parts."""
    least, most = _SUBWORDS
    return Policy(kind="unigram", size=min(most, max(least, round(_PER_ROOT * math.sqrt(tokens)))))


def _training(request: TrainingRequest, encoder: str, tokens: int, judge: Any, batch: int | None) -> Training:
    least, most = _BATCH
    batch = batch or min(most, max(least, tokens // _UPDATES_PER_EPOCH))
    per_epoch = max(1, tokens // batch)
    fewest, largest = _EPOCHS
    epochs = min(largest, max(fewest, round(_TOKENS_READ / tokens)))
    budget: dict[str, Any] = {"max_epochs": epochs} if request.budget is None else parse_budget(request.budget)
    return Training(
        lr=_RATES.get(encoder, 2e-3),
        weight_decay=1e-2,
        warmup=min(100, 2 * per_epoch),
        smoothing=0.0,
        word_dropout=0.1,  # a hidden word must be guessed from the others, as one that never occurred
        tokens=batch,
        check_every=max(20, min(1_000, per_epoch)),
        patience=10,
        judge=judge,
        **budget,
    )


def _checked(tables: Mapping[str, Any], where: str, kind: LabelKind | None) -> LabelRecipe:
    recipe = config.from_dict(LabelRecipe, tables, where)
    if kind is not None and recipe.data.kind != kind:
        raise UserError(f"{where}: data.kind is {recipe.data.kind}; add --kind {recipe.data.kind}")
    if recipe.data.kind == "tag" and recipe.model.reader is not None:
        recipe = replace(recipe, model=replace(recipe.model, reader=None))
    for name in _OF_TRANSLATION:
        if getattr(recipe.train, name):
            raise UserError(f"{where}: train.{name} is for translation; leave it out")
    if recipe.train.judge not in _JUDGES:
        raise UserError(f"{where}: train.judge: {recipe.train.judge} is for translation; expected {', '.join(_JUDGES)}")
    if recipe.train.judge == "f1" and (missing := why_no_f1()) is not None:
        raise UserError(f"{where}: train.judge = 'f1': {missing}, or set it to accuracy")
    return recipe
