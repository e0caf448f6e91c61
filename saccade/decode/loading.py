"""A trained model as one folder: weights, configuration, vocabularies and card, written together and read together.

save("my-model", model, vocabularies, card="# My model")
load("my-model").translate(["Hello!"])
"""

import dataclasses
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from saccade import config, files, model_folder, names
from saccade.align.attention import AlignmentHead
from saccade.decode.confidence import Calibration
from saccade.decode.ensemble import Ensemble
from saccade.decode.translator import Translator
from saccade.errors import UserError
from saccade.model_folder import ModelConfig, StoredModel
from saccade.models.contract import Seq2Seq
from saccade.models.table import MODELS, find_model
from saccade.ranges import Length
from saccade.text import Vocabularies

CARD = "README.md"
_MAKERS = (torch.empty, torch.zeros, torch.ones, torch.full, torch.rand, torch.randn, torch.arange)
_FREE = 1 << 20  # values that any model may take, however few are stored


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
        model_folder.save_model(new, model.state_dict(), described)
        if card is not None:
            (new / CARD).write_text(card, encoding="utf-8")


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Known:
    """What a folder may tell a translator beside the model; other values are its owner's."""

    calibration: Calibration | None = None
    reader: AlignmentHead | None = None
    longest_trained: Length | None = None


def load(folder: Path | str, *, device: str | torch.device = "auto", trust_code: bool = False) -> Translator:
    """The model of a folder, ready to translate; `device` is "auto" (CUDA, then Apple MPS, then CPU) or one's name.

    The folder may come from anywhere: nothing in it is changed, and no code in it or named by it is run. A model or an
    attention of your own, as `my_module:Class`, is imported only with `trust_code=True`.
    """
    with names.trusting_code(trust_code):
        model, vocabularies, extra, where = model_folder.open_model(Path(folder), _built)
    known = {field.name: extra[field.name] for field in dataclasses.fields(_Known) if field.name in extra}
    found = config.from_dict(_Known, known, where=where, at="extra")
    return Translator(
        model.eval(),
        vocabularies,
        device,
        longest_trained=found.longest_trained,
        calibration=found.calibration,
        alignment_head=found.reader,
    )


def load_vocabularies(folder: Path | str) -> Vocabularies:
    """Of a model folder, from the files that its config.json lists; or of a folder that has nothing else in it."""
    folder = Path(folder)
    if not files.exists(folder, "config.json"):
        return Vocabularies.load(folder)
    return model_folder.open_model(folder, lambda stored: Vocabularies.from_files(stored.vocabularies, folder))


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

    trusted = any(names.outside({"model": described.model, "config": described.config}))
    # Weights drawn only to be replaced leave the caller's random numbers alone.
    with torch.random.fork_rng(devices=[]), nullcontext() if trusted else _bounded(stored):
        model = model_class(settings, len(vocabularies.source), len(vocabularies.target))
    _fill(model, stored.tensors(), folder)
    return model, vocabularies, described.extra, where


@contextmanager
def _bounded(stored: StoredModel) -> Iterator[None]:
    """A model that is built here takes memory and time in proportion to the weights that are stored for it: settings
    that ask for more are refused on the way."""
    folder, shapes = stored.folder, stored.shapes()
    values = sum(map(math.prod, shapes.values()))
    for name, size in stored.config.config.items():
        if type(size) is int and abs(size) > max(_FREE, values):
            raise _misfit(folder, f"config.{name} is {size:,}, for {values:,} weights")
    try:
        with Budget(tensors=100 * len(shapes) + 1000, values=8 * values + _FREE):
            yield
    except (ArithmeticError, LookupError, MemoryError, RuntimeError, TypeError, ValueError) as error:
        reason = str(error).partition("\n")[0]  # settings that no range forbids may fail anywhere in a model
        raise _misfit(folder, f"it cannot be built: {reason}") from error


class Budget(TorchFunctionMode):
    """Refuses to make more tensors, or tensors of more values in all, than it was given, before they take memory."""

    def __init__(self, *, tensors: int, values: int) -> None:
        super().__init__()
        self._tensors, self._values = tensors, values

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func in _MAKERS:
            sizes = args[0] if args and isinstance(args[0], list | tuple) else args
            self._tensors -= 1
            self._values -= math.prod(size for size in sizes if isinstance(size, int))
            if self._tensors < 0 or self._values < 0:
                raise ValueError("it needs far more memory than the weights that are stored")
        return func(*args, **(kwargs or {}))


def _misfit(folder: Path, reason: str) -> UserError:
    return UserError(
        f"{folder}: the weights do not fit the model that config.json describes: {reason}; copy the whole folder "
        "again, or install the version of Saccade that wrote it"
    )


def _fill(model: Seq2Seq[Any, Any], tensors: Mapping[str, torch.Tensor], folder: Path) -> None:
    expected = model.state_dict()
    for name in sorted(expected.keys() | tensors.keys()):
        there, wanted = (tuple(some[name].shape) if name in some else None for some in (tensors, expected))
        if there != wanted:
            raise _misfit(folder, f"{name} is {there or 'not there'}, expected {wanted or 'no such tensor'}")
        if tensors[name].dtype != expected[name].dtype:
            raise UserError(
                f"{folder}: {name} is of {tensors[name].dtype}, expected {expected[name].dtype}; copy the folder "
                "again, or save the model again after model.float()"
            )
    model.load_state_dict(tensors)
