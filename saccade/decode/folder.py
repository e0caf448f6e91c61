"""A trained model as one folder: weights, configuration, vocabularies and card, written together and read together.

save("my-model", model, vocabularies, card="# My model")
load("my-model").translate(["Hello!"])
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from saccade import checkpoint, config, files
from saccade.checkpoint import ModelConfig
from saccade.decode.attended import Reader
from saccade.decode.confidence import Calibration
from saccade.decode.ensemble import Ensemble
from saccade.decode.translator import Translator
from saccade.errors import UserError
from saccade.models.contract import Seq2Seq
from saccade.models.table import MODELS, find_model
from saccade.text import Vocabularies

CARD = "README.md"


def save(
    folder: Path | str,
    model: Seq2Seq[Any, Any],
    vocabularies: Vocabularies,
    *,
    extra: Mapping[str, Any] | None = None,
    card: str | None = None,
) -> None:
    """Write all of it, or none. `extra` are plain JSON values to keep with the model; without a `card`, one that is
    there stays.
    """
    if isinstance(model, Ensemble):
        raise UserError("an ensemble has no folder of its own: save its members, and combine them when they are loaded")
    with files.atomic_folder(Path(folder)) as new:
        vocabularies.save(new)
        described = ModelConfig(
            model=model_name(type(model)),
            config=config.to_dict(model.config),
            vocabularies={path.name: files.sha256(path.read_bytes()) for path in sorted(new.iterdir())},
            extra=dict(extra or {}),
        )
        checkpoint.save_model(new, model.state_dict(), described)
        if card is not None:
            (new / CARD).write_text(card, encoding="utf-8")


def load(folder: Path | str, *, device: str | torch.device = "auto") -> Translator:
    """The model of a folder, ready to translate; `device` is "auto" (CUDA, then Apple MPS, then CPU) or one's name."""
    folder = Path(folder)
    tensors, described = checkpoint.load_model(folder)
    vocabularies = Vocabularies.load(folder)
    where = str(folder / "config.json")
    if vocabularies.joint == ("source.json" in described.vocabularies):
        raise UserError(f"{folder}: holds vocabularies of two models; copy the folder of one again")
    model_class = find_model(described.model)
    if not (isinstance(model_class, type) and issubclass(model_class, Seq2Seq)):
        raise UserError(f"{where}: model: {described.model} is not a class of models (a subclass of Seq2Seq)")
    settings = config.from_dict(model_class.config_type, described.config, where=where, at="config")
    with torch.random.fork_rng(devices=[]):  # weights drawn only to be replaced leave the caller's numbers alone
        model = model_class(settings, len(vocabularies.source), len(vocabularies.target))
    _fill(model, tensors, folder)
    found: dict[str, Any] = {
        name: config.from_dict(kind, described.extra[name], where=where, at=f"extra.{name}")
        for name, kind in (("calibration", Calibration), ("reader", Reader))
        if name in described.extra
    }
    longest = described.extra.get("longest_trained")
    return Translator(model.eval(), vocabularies, device, longest_trained=longest, **found)


def model_name(model_class: type[Seq2Seq[Any, Any]]) -> str:
    """The name by which `find_model` finds the class again."""
    for name, known in MODELS.items():
        if known is model_class:
            return name
    if model_class.__module__ == "__main__" or "<locals>" in model_class.__qualname__:
        raise UserError(
            f"{model_class.__qualname__} could not be found again from its folder: define it at the top of a module of "
            "its own, and import it from there"
        )
    return f"{model_class.__module__}:{model_class.__qualname__}"


def _fill(model: Seq2Seq[Any, Any], tensors: Mapping[str, torch.Tensor], folder: Path) -> None:
    expected = {name: tuple(tensor.shape) for name, tensor in model.state_dict().items()}
    found = {name: tuple(tensor.shape) for name, tensor in tensors.items()}
    for name in sorted(expected.keys() | found.keys()):
        if expected.get(name) != found.get(name):
            raise UserError(
                f"{folder}: the weights do not fit the model that config.json describes: {name} is "
                f"{found.get(name, 'not there')}, expected {expected.get(name, 'no such tensor')}; copy the whole "
                "folder again, or install the version of Saccade that wrote it"
            )
    model.load_state_dict(tensors)
