"""A model is a folder, and nothing in it is ever unpickled:

    model.safetensors      the weights, each tied tensor once
    config.json            format version, model and its configuration, vocabulary hashes, checksum of the weights
    (tokeniser files)      put there by the caller, named in `vocabularies`
    shortlist.safetensors  if `extra` has its checksum
    README.md              the model card, put there by the caller
    training/              the state of a run, for resuming: state.json and state.safetensors

A folder may come from somebody else: reading changes nothing in it, follows no link, reads no file that `config.json`
does not list, and allocates memory for weights only after their sizes are checked.

Each save is atomic. To save weights, state, tokeniser and card together, save them to `new` inside one
`with files.atomic_folder(folder) as new:`.

State is any nest of plain values and tensors. It is stored as JSON beside a flat table of tensors. JSON has no tuples,
no keys other than strings, and no inf or nan, so an object in it is always a mark with one key: {"tuple": [...]},
{"dict": {...}}, {"items": [[key, value], ...]}, {"float": "nan"}, {"tensor": name}.
"""

import dataclasses
import json
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import safetensors.torch
import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from saccade import __version__, config, files, names
from saccade.errors import UserError
from saccade.files import parse_json

FORMAT = 1
PRETRAINED = "pretrained"  # among the extra values of a model that has learnt to restore texts, and nothing else yet

_VERSIONS = {"format": FORMAT, "saccade": __version__}
_CONFIG, _WEIGHTS = "config.json", "model.safetensors"
_STATE, _STATE_TENSORS = "training/state.json", "training/state.safetensors"
_MOST_JSON = 64 << 20  # bytes; the state.json of a long run is far smaller

Loaded = TypeVar("Loaded")
Value = TypeVar("Value")


@dataclasses.dataclass(frozen=True, kw_only=True)
class ModelConfig:
    """Everything that is needed to build a model, apart from its weights."""

    model: str  # a name in MODELS, or my_module:factory
    config: dict[str, Any]  # the model's Config, as `config.to_dict` returns it
    vocabularies: dict[str, str] = dataclasses.field(default_factory=dict)  # file in the folder -> its SHA-256
    extra: dict[str, Any] = dataclasses.field(default_factory=dict)  # plain JSON values, such as the calibration


@dataclasses.dataclass(frozen=True, kw_only=True)
class StoredModel:
    """A model folder with its configuration and vocabularies read and checked; the weights are not read yet."""

    folder: Path
    config: ModelConfig
    vocabularies: dict[str, bytes]  # the files that config.json lists, by name
    tied: dict[str, str]  # name of a tensor -> the name it is stored under
    sha256: object  # checksum of the weights, from config.json

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Read the shapes of all weights from the header of their file."""
        path = files.locate(self.folder, _WEIGHTS)
        try:
            with safe_open(path, framework="pt") as stored:
                shapes = {name: tuple(stored.get_slice(name).get_shape()) for name in stored.keys()}  # noqa: SIM118
        except (SafetensorError, OSError) as error:
            raise _damaged(path, str(error)) from error
        return self._with_tied(shapes)

    def tensors(self) -> dict[str, Tensor]:
        """Load all weights to the CPU; check that they are unchanged and finite."""
        tensors = self._with_tied(_read_tensors(self.folder, _WEIGHTS, self.sha256))
        for name, tensor in tensors.items():
            if not torch.isfinite(tensor).all():
                raise UserError(
                    f"{self.folder / _WEIGHTS}: {name} has values that are not finite (nan or inf); "
                    "use an earlier copy of the model, or train it again with a lower train.lr"
                )
        return tensors

    def _with_tied(self, stored: dict[str, Value]) -> dict[str, Value]:
        try:
            return stored | {alias: stored[name] for alias, name in self.tied.items()}
        except KeyError as error:
            raise _damaged(self.folder / _CONFIG, f'"tied" is {self.tied!r}') from error


def save_model(folder: Path, tensors: Mapping[str, Tensor], model: ModelConfig) -> None:
    """Write the weights (a `state_dict()`) and the configuration; the folder's other files stay."""
    tree, stored = split_tensors(dict(tensors))
    weights = safetensors.torch.save(stored)
    stored_as = {name: mark["tensor"] for name, mark in tree["dict"].items()}
    record = {
        **_VERSIONS,
        **config.to_dict(model),
        "tied": {name: other for name, other in stored_as.items() if other != name},
        "sha256": files.sha256(weights),
    }
    with files.atomic_folder(folder) as new:
        (new / _WEIGHTS).write_bytes(weights)
        (new / _CONFIG).write_text(json.dumps(record, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def open_model(folder: Path, use: Callable[[StoredModel], Loaded]) -> Loaded:
    """Return `use(model)`; call it again if a running training replaced files while it read them."""
    return _retry_if_replaced(folder, _CONFIG, lambda: use(_open_folder(folder)))


def load_model(folder: Path) -> tuple[dict[str, Tensor], ModelConfig]:
    """Load the weights (to the CPU) and the configuration; check them and the vocabularies against their hashes."""
    return open_model(folder, lambda stored: (stored.tensors(), stored.config))


def load_config(folder: Path) -> ModelConfig:
    """Load the configuration, without reading the weights."""
    return _retry_if_replaced(folder, _CONFIG, lambda: _read_config(folder)[0])


def stored_digest(folder: Path) -> str:
    """The checksum of the weights that config.json records."""
    return _retry_if_replaced(folder, _CONFIG, lambda: str(_read_config(folder)[1].get("sha256")))


def digest_weights(tensors: Mapping[str, Tensor]) -> str:
    """The checksum that `save_model` would record for these weights."""
    return files.sha256(safetensors.torch.save(split_tensors(dict(tensors))[1]))


def add_extra(folder: Path, contents: Mapping[str, bytes] | None = None, **extra: Any) -> None:
    """Add plain JSON values to a saved model, or replace those of the same names, together with files."""
    files.recover(folder)
    _, record = _retry_if_replaced(folder, _CONFIG, lambda: _read_config(folder))
    record["extra"] = {**record.get("extra", {}), **extra}
    with files.atomic_folder(folder) as new:
        for name, content in (contents or {}).items():
            (new / name).write_bytes(content)
        files.write_json(new / _CONFIG, record, allow_nan=False)


def save_training(folder: Path, state: Any) -> None:
    """Save the state of a run: any nest of dicts, lists, tuples, tensors, numbers, strings, bools and None."""
    tree, tensors = split_tensors(state)
    content = safetensors.torch.save(tensors)
    record = {
        **_VERSIONS,
        "sha256": {"state": _digest(tree), "tensors": files.sha256(content)},
        "state": tree,
    }
    with files.atomic_folder(folder) as new:
        (new / _STATE).parent.mkdir()
        (new / _STATE_TENSORS).write_bytes(content)
        (new / _STATE).write_text(json.dumps(record, allow_nan=False) + "\n", encoding="utf-8")


def load_training(folder: Path) -> Any:
    """Load the state exactly as it was saved, with types, key types and tied tensors; tensors are on the CPU."""
    return _retry_if_replaced(folder, _STATE, lambda: _load_training(folder))


def _open_folder(folder: Path) -> StoredModel:
    model, record = _read_config(folder)
    tied = record.get("tied", {})
    if not isinstance(tied, dict) or not all(isinstance(name, str) for name in tied.values()):
        raise _damaged(folder / _CONFIG, f'"tied" is {tied!r}')
    return StoredModel(
        folder=folder,
        config=model,
        vocabularies={name: _read_vocabulary(folder, name, digest) for name, digest in model.vocabularies.items()},
        tied=tied,
        sha256=record.get("sha256"),
    )


def _read_vocabulary(folder: Path, name: str, expected: str) -> bytes:
    _require(folder, (name,), "a whole model folder")
    content = files.read(folder, name)
    if files.sha256(content) != expected:
        raise UserError(
            f"{folder / name}: not the vocabulary that this model was trained with (its SHA-256 differs from "
            f"{_CONFIG}): copy the one that came with the model"
        )
    return content


def _load_training(folder: Path) -> Any:
    _require(folder, (_STATE, _STATE_TENSORS), "a run that can be resumed")
    record = _read_json(folder, _STATE)
    sums, tree = record.get("sha256"), record.get("state")
    if not isinstance(sums, dict) or _digest(tree) != sums.get("state"):
        raise _damaged(folder / _STATE, "its checksum differs")
    tensors = _read_tensors(folder, _STATE_TENSORS, sums.get("tensors"))
    try:
        return join_tensors(tree, tensors)
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise _damaged(folder / _STATE, f"not a training state: {error!r}") from error


def _retry_if_replaced(folder: Path, record: str, load: Callable[[], Loaded]) -> Loaded:
    """Load again if loading failed because a running training replaced the files between two reads."""
    while True:
        before = _file_version(folder, record)
        try:
            return load()
        except UserError:
            if _file_version(folder, record) == before:
                raise


def _read_config(folder: Path) -> tuple[ModelConfig, dict[str, Any]]:
    """The ModelConfig, and everything in config.json."""
    _require(folder, (_CONFIG, _WEIGHTS), "a model folder")
    record = _read_json(folder, _CONFIG)
    settings = {key: record[key] for key in record if key not in ("format", "saccade", "tied", "sha256")}
    model = config.from_dict(ModelConfig, settings, where=str(folder / _CONFIG))
    names.refuse_outside({"model": model.model, "config": model.config}, where=str(folder / _CONFIG))
    return model, record


def _require(folder: Path, required: tuple[str, ...], expected: str) -> None:
    if not folder.is_dir():
        raise UserError(f"{folder}: {'not a folder' if folder.exists() else 'no such folder'}; expected {expected}")
    missing = [name for name in required if not files.exists(folder, name)]
    if missing:
        raise UserError(f"{folder}: not {expected}: it has no {' and no '.join(missing)}")


def _read_json(folder: Path, name: str) -> dict[str, Any]:
    path = folder / name
    try:
        record = parse_json(files.read(folder, name, most=_MOST_JSON))
    except ValueError as error:  # not JSON, or not UTF-8
        raise _damaged(path, f"not JSON: {error}") from error
    if not isinstance(record, dict) or not {"format", "saccade"} <= record.keys():
        raise UserError(f'{path}: not written by Saccade: it has no "format" and "saccade" (the versions)')
    if record["format"] != FORMAT:
        writer = record["saccade"]
        raise UserError(
            f"{path}: format {record['format']!r}, written by Saccade {writer}; this is Saccade {__version__}, "
            f"which reads format {FORMAT}: use that version, or train the model again"
        )
    return record


def _read_tensors(folder: Path, name: str, expected: object) -> dict[str, Tensor]:
    content, path = files.read(folder, name), folder / name
    if files.sha256(content) != expected:
        raise _damaged(path, f"its checksum differs from the recorded one ({len(content):,} bytes)")
    try:
        return safetensors.torch.load(content)
    except (SafetensorError, ValueError, KeyError) as error:
        raise _damaged(path, str(error)) from error


def _file_version(folder: Path, name: str) -> tuple[int, int] | None:
    """Changes whenever another file takes that name, but not when a file moves from the journal to its place."""
    try:
        status = files.locate(folder, name).stat()
    except (OSError, UserError):
        return None
    return status.st_ino, status.st_mtime_ns


def _damaged(path: Path, reason: str) -> UserError:
    return UserError(f"{path}: damaged or half copied: {reason}; copy the whole folder again, or train it again")


def _digest(tree: Any) -> str:
    return files.sha256(json.dumps(tree).encode())


def split_tensors(state: Any) -> tuple[Any, dict[str, Tensor]]:
    """Separate the JSON form of `state` from its tensors, by path; a tensor in two places is stored once."""
    tensors: dict[str, Tensor] = {}
    names: dict[object, str] = {}
    storages: set[int] = set()

    def store(tensor: Tensor, path: str) -> str:
        while path in tensors:  # the keys 1 and "1" of one dict have the same path
            path += "~"
        name = names.setdefault(_identity(tensor), path)
        if name not in tensors:
            alone = tensor.detach().cpu().contiguous()
            storage = alone.untyped_storage()
            # safetensors requires that each tensor own its memory: slices are copied.
            if storage.nbytes() != alone.numel() * alone.element_size() or storage.data_ptr() in storages:
                alone = alone.clone()
            storages.add(alone.untyped_storage().data_ptr())
            tensors[name] = alone
        return name

    def encode(value: Any, path: tuple[str, ...]) -> Any:
        if isinstance(value, Tensor):
            return {"tensor": store(value, "/".join(path))}
        if value is None or type(value) in (bool, int, str):
            return value
        if type(value) is float:
            return value if math.isfinite(value) else {"float": repr(value)}
        if type(value) in (list, tuple):
            items = [encode(item, (*path, str(i))) for i, item in enumerate(value)]
            return items if type(value) is list else {"tuple": items}
        if isinstance(value, dict):
            pairs = [(key, encode(item, (*path, str(key)))) for key, item in value.items()]
            if all(type(key) is str for key in value):
                return {"dict": dict(pairs)}
            return {"items": [[encode(key, path), item] for key, item in pairs]}
        raise TypeError(
            f"{'/'.join(path)}: a {type(value).__name__} cannot be saved; convert it to plain values or tensors"
        )

    return encode(state, ()), tensors


def join_tensors(tree: Any, tensors: dict[str, Tensor]) -> Any:
    """Undo `split_tensors`."""
    match tree:
        case {"tensor": name}:
            return tensors[name]
        case {"tuple": items}:
            return tuple(join_tensors(item, tensors) for item in items)
        case {"dict": items}:
            return {key: join_tensors(item, tensors) for key, item in items.items()}
        case {"items": pairs}:
            return {join_tensors(key, tensors): join_tensors(item, tensors) for key, item in pairs}
        case {"float": text}:
            return float(text)
        case list():
            return [join_tensors(item, tensors) for item in tree]
    return tree


def _identity(tensor: Tensor) -> object:
    """Equal for two tensors only if they are the same view of the same memory."""
    if tensor.numel() == 0:
        return id(tensor)  # no memory to share
    return (tensor.device, tensor.data_ptr(), tensor.dtype, tensor.shape, tensor.stride())
