"""A trained model as one folder: weights, configuration, vocabularies and card, written together and read together.

save("my-model", model, vocabularies, card="# My model")
load("my-model").translate(["Hello!"])
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from threading import get_ident
from typing import Any

import torch
from torch.nn.modules.module import register_module_parameter_registration_hook

from saccade import checkpoint, config, files, names
from saccade.checkpoint import ModelConfig, StoredModel
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
    for name, tensor in model.state_dict().items():
        if tensor.is_floating_point() and tensor.dtype != torch.float32:
            raise UserError(f"{name} is of {tensor.dtype}, expected torch.float32; call model.float() before saving it")
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


def load(folder: Path | str, *, device: str | torch.device = "auto", trust_code: bool = False) -> Translator:
    """The model of a folder, ready to translate; `device` is "auto" (CUDA, then Apple MPS, then CPU) or one's name.

    The folder may come from anywhere: nothing in it is changed, and no code in it or named by it is run. A model or an
    attention of your own, as `my_module:Class`, is imported only with `trust_code=True`.
    """
    with names.trusting_code(trust_code):
        model, vocabularies, extra, where = checkpoint.open_model(Path(folder), _built)
    found: dict[str, Any] = {
        name: config.from_dict(kind, extra[name], where=where, at=f"extra.{name}")
        for name, kind in (("calibration", Calibration), ("reader", Reader))
        if name in extra
    }
    return Translator(model.eval(), vocabularies, device, longest_trained=extra.get("longest_trained"), **found)


def load_vocabularies(folder: Path | str) -> Vocabularies:
    """Of a model folder, from the files that its config.json lists; or of a folder that has nothing else in it."""
    folder = Path(folder)
    if not files.exists(folder, "config.json"):
        return Vocabularies.load(folder)
    return checkpoint.open_model(folder, lambda stored: Vocabularies.from_files(stored.vocabularies, folder))


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


def _built(stored: StoredModel) -> tuple[Seq2Seq[Any, Any], Vocabularies, dict[str, Any], str]:
    """Model and vocabularies, the extra values that were kept with them, and the file that describes all of it."""
    folder, described, where = stored.folder, stored.config, str(stored.folder / "config.json")
    vocabularies = Vocabularies.from_files(stored.vocabularies, folder)
    model_class = find_model(described.model)
    settings = config.from_dict(model_class.config_type, described.config, where=where, at="config")

    def build() -> Seq2Seq[Any, Any]:
        return model_class(settings, len(vocabularies.source), len(vocabularies.target))

    shapes = stored.shapes()
    with torch.random.fork_rng(devices=[]):  # weights drawn only to be replaced leave the caller's numbers alone
        if not any(names.outside({"model": described.model, "config": described.config})):
            _compare(_outline(build, len(shapes), where), shapes, folder)
        model = build()
    _fill(model, stored.tensors(), folder)
    return model, vocabularies, described.extra, where


def _outline(build: Callable[[], Seq2Seq[Any, Any]], tensors: int, where: str) -> Seq2Seq[Any, Any]:
    """The model without memory for its weights. Settings that ask for far more than the stored tensors are stopped on
    the way, not after a billion layers."""
    builder, registered, most = get_ident(), 0, 4 * tensors + 100  # a tied one is registered more than once

    def count(module: torch.nn.Module, name: str, parameter: torch.nn.Parameter) -> None:
        nonlocal registered
        registered += get_ident() == builder
        if registered > most:
            raise ValueError(f"it has far more than the {tensors} tensors of model.safetensors")

    hook = register_module_parameter_registration_hook(count)
    try:
        with torch.device("meta"):
            return build()
    except Exception as error:  # settings that no range forbids may fail anywhere in a model
        reason = str(error).partition("\n")[0]
        raise UserError(f"{where}: config does not describe the model that is stored: {reason}") from error
    finally:
        hook.remove()


def _compare(model: Seq2Seq[Any, Any], found: Mapping[str, tuple[int, ...]], folder: Path) -> None:
    expected = {name: tuple(tensor.shape) for name, tensor in model.state_dict().items()}
    for name in sorted(expected.keys() | found.keys()):
        if expected.get(name) != found.get(name):
            raise UserError(
                f"{folder}: the weights do not fit the model that config.json describes: {name} is "
                f"{found.get(name, 'not there')}, expected {expected.get(name, 'no such tensor')}; copy the whole "
                "folder again, or install the version of Saccade that wrote it"
            )


def _fill(model: Seq2Seq[Any, Any], tensors: Mapping[str, torch.Tensor], folder: Path) -> None:
    _compare(model, {name: tuple(tensor.shape) for name, tensor in tensors.items()}, folder)
    for name, expected in model.state_dict().items():
        if tensors[name].dtype != expected.dtype:
            raise UserError(
                f"{folder}: {name} is of {tensors[name].dtype}, expected {expected.dtype}; copy the folder again, or "
                "save the model again after model.float()"
            )
    model.load_state_dict(tensors)
