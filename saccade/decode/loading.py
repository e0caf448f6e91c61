"""Save a trained model to a folder, with its configuration, vocabularies and card, and load it to translate."""

import dataclasses
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.overrides import TorchFunctionMode

from saccade import config, files, model_folder, names
from saccade.align.attention import AlignmentHead
from saccade.decode.confidence import Calibration
from saccade.decode.ensemble import Ensemble
from saccade.decode.shortlist.tables import ShortlistRecord, read_shortlist
from saccade.decode.translator import Translator
from saccade.errors import UserError
from saccade.model_folder import ModelConfig, StoredModel
from saccade.models.contract import Seq2Seq
from saccade.models.table import ALL_MODELS, find_model
from saccade.products import accelerate_linear_layers
from saccade.ranges import Length
from saccade.text import Vocabularies

CARD = "README.md"
_NOT_TRANSLATORS = {
    "mikolov2013": "word vectors, not a model that translates; `saccade words` reads them",
    "chen1998": "n-grams, not a model that translates; `saccade lm` reads them",
    "classifier": "a classifier, not a model that translates; `saccade labels` reads it",
    "tagger": "a tagger, not a model that translates; `saccade labels` reads it",
}
_CONSTRUCTORS = (torch.empty, torch.zeros, torch.ones, torch.full, torch.rand, torch.randn, torch.arange)
_FREE_VALUES = 1 << 20  # that any model may allocate, however few weights are stored


def save(
    folder: Path | str,
    model: Seq2Seq[Any, Any],
    vocabularies: Vocabularies,
    *,
    extra: Mapping[str, Any] | None = None,
    card: str | None = None,
) -> None:
    """Save the model: all files are written, or none. `extra` are plain JSON values to store with it. Without a `card`,
    an existing one stays."""
    if isinstance(model, Ensemble):
        raise UserError("an ensemble cannot be saved: save its members, and combine them after loading them")
    for name, tensor in model.state_dict().items():
        if tensor.is_floating_point() and tensor.dtype != torch.float32:
            raise UserError(
                f"{name} has type {tensor.dtype}, expected torch.float32; call model.float() before saving it"
            )
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
class _TranslatorSettings:
    """The extra values of a model folder that a Translator uses. A folder may have others."""

    calibration: Calibration | None = None
    reader: AlignmentHead | None = None
    longest_trained: Length | None = None
    shortlist: ShortlistRecord | None = None


def load(folder: Path | str, *, device: str | torch.device = "auto", trust_code: bool = False) -> Translator:
    """Load a model folder, ready to translate. `device` is a device's name, or "auto": CUDA, then Apple MPS, then CPU.

    The folder may come from anywhere: nothing in it is changed, and no code in it or named by it is run. A model or an
    attention of your own, as `my_module:Class`, is imported only with `trust_code=True`.
    """
    with names.trusting_code(trust_code):
        return model_folder.open_model(Path(folder), partial(_build, device=device))


def load_translator(folder: Path | str, *, device: str | torch.device = "auto", trust_code: bool = False) -> Translator:
    """The same, of a model that reads a source."""
    translator = load(folder, device=device, trust_code=trust_code)
    if not translator.model.reads_source:
        raise UserError(
            f"{folder}: a language model, which reads no source; `saccade lm` scores and writes texts with it"
        )
    return translator


def load_vocabularies(folder: Path | str) -> Vocabularies:
    """The vocabularies of a model folder, or of a folder with vocabularies only."""
    folder = Path(folder)
    if not files.exists(folder, "config.json"):
        return Vocabularies.load(folder)
    return model_folder.open_model(folder, lambda stored: Vocabularies.from_files(stored.vocabularies, folder))


def model_name(model_class: type[Seq2Seq[Any, Any]]) -> str:
    """The name with which `find_model` returns the class."""
    if (name := next((name for name, known in ALL_MODELS.items() if known is model_class), None)) is not None:
        return name
    if model_class.__module__ == "__main__" or "<locals>" in model_class.__qualname__:
        raise UserError(
            f"{model_class.__qualname__} could not be imported when its folder is loaded: define it at the top level "
            "of a module, and import it from there"
        )
    return f"{model_class.__module__}:{model_class.__qualname__}"


def _build(stored: StoredModel, device: str | torch.device) -> Translator:
    folder, described, where = stored.folder, stored.config, str(stored.folder / "config.json")
    if described.model in _NOT_TRANSLATORS:
        raise UserError(f"{folder}: {_NOT_TRANSLATORS[described.model]}")
    vocabularies = Vocabularies.from_files(stored.vocabularies, folder)
    model_class = find_model(described.model)
    settings = config.from_dict(model_class.config_type, described.config, where=where, at="config")

    trusted = any(names.outside({"model": described.model, "config": described.config}))
    # The initial weights are replaced at once: drawing them must not change the caller's random numbers.
    with torch.random.fork_rng(devices=[]), limit_resources(stored, trusted=trusted):
        model = model_class(settings, len(vocabularies.source), len(vocabularies.target))
    accelerate_linear_layers(model)
    set_weights(model, stored.tensors(), folder)
    fields = [field.name for field in dataclasses.fields(_TranslatorSettings)]
    values = {name: described.extra[name] for name in fields if name in described.extra}
    extra = {**vars(config.from_dict(_TranslatorSettings, values, where=where, at="extra"))}
    if (listed := extra.pop("shortlist")) is not None:
        extra["shortlist"] = read_shortlist(folder, listed, model.source_size, model.target_size)
    return Translator(model.eval(), vocabularies, device, alignment_head=extra.pop("reader"), **extra)


@contextmanager
def limit_resources(stored: StoredModel, *, trusted: bool = False) -> Iterator[None]:
    """Refuse settings that need far more memory or time than the stored weights, unless code of the user is `trusted`
    to need them."""
    if trusted:
        yield
        return
    folder, shapes = stored.folder, stored.shapes()
    values = sum(map(math.prod, shapes.values()))
    for name, size in stored.config.config.items():
        if type(size) is int and abs(size) > max(_FREE_VALUES, values):
            raise _misfit(folder, f"config.{name} is {size:,}, for {values:,} weights")
    try:
        with TensorBudget(tensors=100 * len(shapes) + 1000, values=8 * values + _FREE_VALUES):
            yield
    except (ArithmeticError, LookupError, MemoryError, RuntimeError, TypeError, ValueError) as error:
        reason = str(error).partition("\n")[0]  # settings within their ranges may still fail anywhere in a model
        raise _misfit(folder, f"it cannot be built: {reason}") from error


class TensorBudget(TorchFunctionMode):
    """Limits the number of tensors, and of their values in all, before they take memory."""

    def __init__(self, *, tensors: int, values: int) -> None:
        super().__init__()
        self._tensors, self._values = tensors, values

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func in _CONSTRUCTORS:
            sizes = args[0] if args and isinstance(args[0], list | tuple) else args
            self._tensors -= 1
            self._values -= math.prod(size for size in sizes if isinstance(size, int))
            if self._tensors < 0 or self._values < 0:
                raise ValueError("it needs far more memory than the stored weights")
        return func(*args, **(kwargs or {}))


def _misfit(folder: Path, reason: str) -> UserError:
    return UserError(
        f"{folder}: the weights do not fit the model that config.json describes: {reason}; copy the whole folder "
        "again, or install the version of Saccade that wrote it"
    )


def set_weights(model: nn.Module, tensors: Mapping[str, torch.Tensor], folder: Path) -> None:
    expected = model.state_dict()
    for name in sorted(expected.keys() | tensors.keys()):
        stored, needed = (tuple(side[name].shape) if name in side else None for side in (tensors, expected))
        if stored != needed:
            raise _misfit(folder, f"{name} is {stored or 'missing'}, expected {needed or 'no such tensor'}")
        if tensors[name].dtype != expected[name].dtype:
            raise UserError(
                f"{folder}: {name} has type {tensors[name].dtype}, expected {expected[name].dtype}; copy the folder "
                "again, or save the model again after model.float()"
            )
    model.load_state_dict(tensors)
