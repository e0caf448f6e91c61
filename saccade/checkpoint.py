"""A model is a folder, and nothing in it is ever unpickled:

    model.safetensors      the weights, each tied tensor once
    config.json            format version, model and its configuration, vocabulary hashes, checksum of the weights
    (tokeniser files)      put there by the caller, named in `vocabularies`
    README.md              the model card, put there by the caller
    training/              what only a resumed run needs: state.json and state.safetensors

Each save is atomic by itself. To save the weights, the state, the tokeniser and the card as one, do it all inside one
`with files.atomic_folder(folder) as new:`, saving to `new`.
"""

import dataclasses
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import safetensors.torch
from safetensors import SafetensorError
from torch import Tensor

from saccade import __version__, config, files, structure
from saccade.errors import UserError

FORMAT = 1

_CONFIG, _WEIGHTS = "config.json", "model.safetensors"
_STATE, _STATE_TENSORS = "training/state.json", "training/state.safetensors"

Loaded = TypeVar("Loaded")


@dataclasses.dataclass(frozen=True, kw_only=True)
class ModelConfig:
    """All that makes a model of its weights."""

    model: str  # a name in MODELS, or my_module:factory
    config: dict[str, Any]  # that model's own configuration, as `config.to_dict` gives it
    vocabularies: dict[str, str] = dataclasses.field(default_factory=dict)  # file in the folder -> its SHA-256
    extra: dict[str, Any] = dataclasses.field(default_factory=dict)  # calibration and the like; plain JSON values


def save_model(folder: Path, tensors: Mapping[str, Tensor], model: ModelConfig) -> None:
    """Write the weights (a `state_dict()`) and the configuration; the folder's other files stay."""
    tree, stored = structure.split(dict(tensors))
    weights = safetensors.torch.save(stored)
    first = {name: mark["tensor"] for name, mark in tree["dict"].items()}  # of the names of one tensor
    described = {
        "format": FORMAT,
        "saccade": __version__,
        **config.to_dict(model),
        "tied": {name: other for name, other in first.items() if other != name},
        "sha256": files.sha256(weights),
    }
    with files.atomic_folder(folder) as new:
        (new / _WEIGHTS).write_bytes(weights)
        (new / _CONFIG).write_text(json.dumps(described, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def load_model(folder: Path) -> tuple[dict[str, Tensor], ModelConfig]:
    """The weights (on the CPU) and the configuration; both, and the vocabularies, are checked against their hashes."""
    return _steadily(folder, _CONFIG, lambda: _load_model(folder))


def load_config(folder: Path) -> ModelConfig:
    """The configuration alone, without reading the weights."""
    return _steadily(folder, _CONFIG, lambda: _model_config(folder)[0])


def add_extra(folder: Path, **extra: Any) -> None:
    """Keep these plain JSON values with a model that is there, in place of those of the same names."""
    _, described = _steadily(folder, _CONFIG, lambda: _model_config(folder))
    described["extra"] = {**described.get("extra", {}), **extra}
    text = json.dumps(described, indent=2, ensure_ascii=False, allow_nan=False)
    files.write_atomically(folder / _CONFIG, text + "\n")


def save_training(folder: Path, state: Any) -> None:
    """Write what a resumed run needs: any nest of dicts, lists, tuples, tensors, numbers, strings, bools and None."""
    tree, tensors = structure.split(state)
    content = safetensors.torch.save(tensors)
    described = {
        "format": FORMAT,
        "saccade": __version__,
        "sha256": {"state": _digest(tree), "tensors": files.sha256(content)},
        "state": tree,
    }
    with files.atomic_folder(folder) as new:
        (new / _STATE).parent.mkdir()
        (new / _STATE_TENSORS).write_bytes(content)
        (new / _STATE).write_text(json.dumps(described, allow_nan=False) + "\n", encoding="utf-8")


def load_training(folder: Path) -> Any:
    """The state exactly as it was saved: types, key types and ties of tensors included; tensors are on the CPU."""
    return _steadily(folder, _STATE, lambda: _load_training(folder))


def _load_model(folder: Path) -> tuple[dict[str, Tensor], ModelConfig]:
    model, described = _model_config(folder)
    for name, expected in model.vocabularies.items():
        path = files.inside(folder, name)
        _require(folder, (name,), "a whole model folder")
        if files.sha256(_read(path)) != expected:
            raise UserError(
                f"{path}: not the vocabulary that this model was trained with (its SHA-256 differs from {_CONFIG}): "
                "copy the one that came with the model"
            )
    tensors = _read_tensors(folder / _WEIGHTS, described.get("sha256"))
    tied = described.get("tied", {})
    try:
        return tensors | {alias: tensors[name] for alias, name in tied.items()}, model
    except (KeyError, AttributeError, TypeError) as error:
        raise _damaged(folder / _CONFIG, f'"tied" is {tied!r}') from error


def _load_training(folder: Path) -> Any:
    _require(folder, (_STATE, _STATE_TENSORS), "a run that can be resumed")
    described = _read_json(folder / _STATE)
    sums, tree = described.get("sha256"), described.get("state")
    if not isinstance(sums, dict) or _digest(tree) != sums.get("state"):
        raise _damaged(folder / _STATE, "its checksum differs")
    return structure.join(tree, _read_tensors(folder / _STATE_TENSORS, sums.get("tensors")))


def _steadily(folder: Path, record: str, load: Callable[[], Loaded]) -> Loaded:
    """Load; where that fails because a running training replaced the files between two reads, load again."""
    files.settle(folder)
    while True:
        before = _version(folder / record)
        try:
            return load()
        except UserError:
            files.settle(folder)  # the writer may be half way through moving its files
            if _version(folder / record) == before:
                raise


def _model_config(folder: Path) -> tuple[ModelConfig, dict[str, Any]]:
    """What `save_model` was given, and all that it wrote."""
    _require(folder, (_CONFIG, _WEIGHTS), "a model folder")
    described = _read_json(folder / _CONFIG)
    given = {key: described[key] for key in described if key not in ("format", "saccade", "tied", "sha256")}
    return config.from_dict(ModelConfig, given, where=str(folder / _CONFIG)), described


def _require(folder: Path, names: tuple[str, ...], what: str) -> None:
    if not folder.is_dir():
        raise UserError(f"{folder}: {'not a folder' if folder.exists() else 'no such folder'}; expected {what}")
    missing = [name for name in names if not (folder / name).is_file()]
    if missing:
        raise UserError(f"{folder}: not {what}: it has no {' and no '.join(missing)}")


def _read_json(path: Path) -> dict[str, Any]:
    try:
        described = json.loads(_read(path))
    except ValueError as error:  # not JSON, or not UTF-8
        raise _damaged(path, f"not JSON: {error}") from error
    if not isinstance(described, dict) or not {"format", "saccade"} <= described.keys():
        raise UserError(f'{path}: not written by Saccade: it has no "format" and "saccade" (their versions)')
    if described["format"] != FORMAT:
        writer = described["saccade"]
        raise UserError(
            f"{path}: format {described['format']!r}, written by Saccade {writer}; this is Saccade {__version__}, "
            f"which reads format {FORMAT}: pip install 'saccade=={writer}' to use it, or train it again"
        )
    return described


def _read_tensors(path: Path, expected: object) -> dict[str, Tensor]:
    content = _read(path)
    if files.sha256(content) != expected:
        raise _damaged(path, f"its checksum differs from the recorded one ({len(content):,} bytes)")
    try:
        return safetensors.torch.load(content)
    except SafetensorError as error:
        raise _damaged(path, str(error)) from error


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from error


def _version(path: Path) -> tuple[int, int] | None:
    """Another one for each file that is renamed to `path`."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns


def _damaged(path: Path, how: str) -> UserError:
    return UserError(f"{path}: damaged or half copied: {how}; copy the whole folder again, or train it again")


def _digest(tree: Any) -> str:
    return files.sha256(json.dumps(tree).encode())
