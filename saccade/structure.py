"""Any nest of plain values and tensors as JSON beside a flat table of tensors, and back, exactly.

JSON knows neither tuples nor keys that are no strings, nor inf and nan. So an object of the JSON form is always a mark
with one key: {"tuple": [...]}, {"dict": {...}}, {"items": [[key, value], ...]}, {"float": "nan"}, {"tensor": name}.
"""

import math
from typing import Any

from torch import Tensor


def split(state: Any) -> tuple[Any, dict[str, Tensor]]:
    """The JSON form of `state`, and its tensors by their path in it; a tensor in two places is stored once."""
    tensors: dict[str, Tensor] = {}
    names: dict[object, str] = {}
    storages: set[int] = set()

    def store(tensor: Tensor, path: str) -> str:
        name = names.setdefault(_identity(tensor), _unused(path, tensors))
        if name not in tensors:
            alone = tensor.detach().cpu().contiguous()
            storage = alone.untyped_storage()
            # safetensors demands that each tensor be alone in its memory: a slice is copied out of what it is cut from.
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
            f"{'/'.join(path)}: a {type(value).__name__} cannot be saved; make plain values or tensors of it"
        )

    return encode(state, ()), tensors


def join(tree: Any, tensors: dict[str, Tensor]) -> Any:
    """What `split` was given."""
    match tree:
        case {"tensor": name}:
            return tensors[name]
        case {"tuple": items}:
            return tuple(join(item, tensors) for item in items)
        case {"dict": items}:
            return {key: join(item, tensors) for key, item in items.items()}
        case {"items": pairs}:
            return {join(key, tensors): join(item, tensors) for key, item in pairs}
        case {"float": text}:
            return float(text)
        case list():
            return [join(item, tensors) for item in tree]
    return tree


def _identity(tensor: Tensor) -> object:
    """Equal for two tensors only if they are one: the same view of the same memory."""
    if tensor.numel() == 0:
        return id(tensor)  # no memory to share
    return (tensor.device, tensor.data_ptr(), tensor.dtype, tensor.shape, tensor.stride())


def _unused(name: str, taken: dict[str, Tensor]) -> str:
    """The keys 1 and "1" of one dict have the same path."""
    while name in taken:
        name += "~"
    return name
