"""Configuration: frozen keyword-only dataclasses in Python, TOML in recipes, JSON in model folders.

TOML has no null: `"none"` stands for None wherever None is allowed, also in `--set train.clip=none`.
"""

import dataclasses
import datetime
import inspect
import math
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, cast, get_args, get_origin

from saccade.errors import UserError
from saccade.files import parse_toml
from saccade.names import nearest
from saccade.ranges import Help, OptionError, Range, field_hints, find_metadata, is_union, members

Config = TypeVar("Config")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Key:
    """One setting, as documentation shows it."""

    key: str  # dotted: train.lr
    type: str
    default: str  # as TOML writes it; empty where the key is required
    help: str = ""


def from_dict(cls: type[Config], mapping: Mapping[str, Any], where: str = "recipe.toml", at: str = "") -> Config:
    """Build the dataclass `cls` from plain values. Errors name `where` (a file) and `at` (a table in it)."""
    try:
        return cast(Config, _read_table(cls, mapping, at))
    except OptionError as error:
        raise UserError(": ".join(part for part in (where, error.field, error.message) if part)) from error


def to_dict(config: Any) -> dict[str, Any]:
    """Convert to plain values for TOML or JSON; `from_dict` undoes it."""
    return {field.name: _plain(getattr(config, field.name)) for field in _settable(config)}


def describe(cls: type[Any], at: str = "") -> list[Key]:
    """List the keys of `cls` in order, nested ones by dotted name (`data.corpora[].pairs` in a list of tables)."""
    hints = field_hints(cls)
    keys = []
    for field in _settable(cls):
        name = _join(at, field.name)
        nested = [
            (inner, name if inner is hint else f"{name}[]")
            for hint in members(hints[field.name])
            for inner in (hint, *get_args(hint))
            if isinstance(inner, type) and dataclasses.is_dataclass(inner)
        ]
        for inner, at_inner in nested:
            keys += describe(inner, at_inner)
        if not nested:
            hint = hints[field.name]
            text = help_.text if (help_ := find_metadata(hint, Help)) else ""
            keys.append(Key(key=name, type=_expected(hint), default=_default(field), help=text))
    return keys


def load_toml(path: Path) -> dict[str, Any]:
    try:
        text = path.read_bytes().decode("utf-8-sig")  # some editors write a byte order mark
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise UserError(f"{path}:{line}: not UTF-8; save the recipe as UTF-8") from error
    try:
        return parse_toml(text)
    except ValueError as error:  # not TOML, or a number of more digits than Python reads
        place = re.search(r"line (\d+)", str(error))
        raise UserError(f"{path}{':' + place[1] if place else ''}: not valid TOML: {error}") from error


def dump_toml(mapping: Mapping[str, Any]) -> str:
    """Write `mapping` as TOML, with None as "none": plain values first, then one section per table."""
    import tomlkit

    text = tomlkit.dumps(_plain(mapping, none="none")).strip() + "\n"
    return re.sub(r"(?<=[^\n])\n(?=\[)", "\n\n", text)  # an array is on one line, so [ begins a section


def override(mapping: Mapping[str, Any], assignments: Iterable[str]) -> dict[str, Any]:
    """Copy `mapping` and apply assignments such as `train.lr=3e-4`; a value that is not TOML is a string."""
    result = _plain(mapping)
    for assignment in assignments:
        key, equals, text = assignment.partition("=")
        path = [part.strip() for part in key.split(".")]
        if not equals or not all(path):
            raise UserError(f"--set {assignment}: expected KEY=VALUE, such as --set train.lr=3e-4")
        table = result
        for depth, part in enumerate(path[:-1], 1):
            table = table.setdefault(part, {})
            if not isinstance(table, dict):
                raise UserError(f"--set {assignment}: {'.'.join(path[:depth])} is {_shown(table)}, not a table of keys")
        table[path[-1]] = _parse(text.strip())
    return cast(dict[str, Any], result)


def _read_table(cls: type[Any], mapping: Any, at: str) -> Any:
    """Build `cls` from plain values. An OptionError names the dotted key."""
    if not isinstance(mapping, Mapping):
        raise _wrong(mapping, cls, at)
    known = {field.name: field for field in _settable(cls)}
    hints = field_hints(cls)
    for name in mapping:
        if name not in known:
            deeper = [key.key for key in describe(cls, at) if key.key.endswith(f".{name}")]
            hint = f"did you mean {deeper[0]!r}?" if deeper else nearest(name, known)
            raise OptionError(_join(at, name), f"unknown key; {hint}")
    required = (dataclasses.MISSING, dataclasses.MISSING)
    for name, field in known.items():
        if name not in mapping and (field.default, field.default_factory) == required:
            raise OptionError(_join(at, name), f"missing; expected {_expected(hints[name])}")
    values = {name: _read(hints[name], value, _join(at, name)) for name, value in mapping.items()}
    try:
        return cls(**values)
    except OptionError as error:
        raise OptionError(_join(at, error.field), error.message) from error
    except ValueError as error:  # a rule about several fields
        raise OptionError(at, str(error)) from error


def _read(hint: Any, value: Any, key: str) -> Any:
    """A plain value as the type `hint` has it."""
    if hint is Any:
        return value
    if dataclasses.is_dataclass(hint):
        return _read_table(cast(type[Any], hint), value, key)
    origin, args = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _read_annotated(hint, value, key)
    if is_union(hint):
        return _read_union(hint, value, key)
    if origin is Literal:
        if any(value == choice and type(value) is type(choice) for choice in args):
            return value
        raise _wrong(value, hint, key)
    if origin in (tuple, list) and isinstance(value, list | tuple):
        if origin is list or args[-1] is ...:
            args = (args[0],) * len(value)
        if len(args) != len(value):
            raise _wrong(value, hint, key)
        return origin(_read(arg, item, f"{key}[{i}]") for i, (arg, item) in enumerate(zip(args, value, strict=True)))
    if origin is dict and isinstance(value, Mapping):
        return {name: _read(args[1], item, _join(key, str(name))) for name, item in value.items()}
    if hint is float and type(value) is int and abs(value) <= 2**53:  # exact as a float
        return float(value)
    if hint in (str, Path) and isinstance(value, str) and "\0" in value:  # most strings are file names
        raise OptionError(key, f"{_shown(value)} given, expected {_expected(hint)} without NUL characters")
    if hint is Path and isinstance(value, str):
        return Path(value)
    if hint is float and type(value) is float and not math.isfinite(value):
        raise OptionError(key, f"{_shown(value)} given, expected a finite number")
    if isinstance(hint, type) and type(value) is hint:  # not isinstance: a bool is not an int here
        return value
    raise _wrong(value, hint, key)


def _read_annotated(hint: Any, value: Any, key: str) -> Any:
    inner, *metadata = get_args(hint)
    within = next((item for item in metadata if isinstance(item, Range)), None)
    if within is None:
        return _read(inner, value, key)
    try:
        number = _read(inner, value, key)
    except OptionError:
        raise _wrong(value, hint, key) from None  # this error includes the range
    if number not in within:
        raise _wrong(value, hint, key)
    return number


def _read_union(hint: Any, value: Any, key: str) -> Any:
    choices = [choice for member in members(hint) for choice in get_args(member) if get_origin(member) is Literal]
    if type(None) in members(hint) and (value is None or (value == "none" and "none" not in choices)):
        return None
    others = [member for member in members(hint) if member is not type(None)]
    if len(others) == 1:  # its error says more than an error about the union
        return _read(others[0], value, key)
    for member in others:
        with suppress(OptionError):
            return _read(member, value, key)
    raise _wrong(value, hint, key)


def _wrong(value: Any, hint: Any, key: str) -> OptionError:
    return OptionError(key, f"{_shown(value)} given, expected {_expected(hint)}")


def _settable(cls: Any) -> "list[dataclasses.Field[Any]]":
    """The fields that can be set: those of the class itself, then inherited ones."""
    first = inspect.get_annotations(cls if isinstance(cls, type) else type(cls))
    return sorted((field for field in dataclasses.fields(cls) if field.init), key=lambda field: field.name not in first)


def _join(at: str, name: str) -> str:
    return f"{at}.{name}" if at else name


def _expected(hint: Any) -> str:
    """Describe a type to the author of a recipe."""
    origin, args = get_origin(hint), get_args(hint)
    if origin is Annotated:
        within = None if is_union(args[0]) else find_metadata(hint, Range)  # the members of a union name theirs
        return f"{_expected(args[0])} {within or ''}".rstrip()
    if is_union(hint):
        return " or ".join(_expected(member) for member in args)
    if origin is Literal:
        return " or ".join(_toml_value(choice) for choice in args)
    if origin is list or (origin is tuple and args[-1] is ...):
        items = "tables" if dataclasses.is_dataclass(args[0]) else "strings" if args[0] is str else _expected(args[0])
        return f"a list of {items}"
    if origin is tuple:
        return f"[{', '.join(map(_expected, args))}]"
    if origin is dict or dataclasses.is_dataclass(hint):
        return "a table of keys"
    words = {type(None): "none", str: "a string", bool: "true or false", int: "a whole number", float: "a number"}
    return words.get(hint, "a path" if hint is Path else "any value")


def _shown(value: Any) -> str:
    text = "a table of keys" if isinstance(value, Mapping) else _toml_value(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _default(field: "dataclasses.Field[Any]") -> str:
    if field.default_factory is not dataclasses.MISSING:
        return _toml_value(field.default_factory())
    return "" if field.default is dataclasses.MISSING else _toml_value(field.default)


def _plain(value: Any, *, none: str | None = None) -> Any:
    """Convert nested dataclasses, tuples and paths to what JSON has; `none` stands for None, which TOML has not."""
    if dataclasses.is_dataclass(value):
        value = to_dict(value)
    if isinstance(value, Mapping):
        return {key: _plain(item, none=none) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item, none=none) for item in value]
    return none if value is None else str(value) if isinstance(value, Path) else value


def _parse(text: str) -> Any:
    try:
        parsed = parse_toml(f"value = {text}")
    except ValueError:
        return text
    value = parsed["value"]
    dated = isinstance(value, datetime.date | datetime.time)  # no setting is a date, but a name may look like one
    return text if dated or len(parsed) > 1 else value


def _toml_value(value: Any) -> str:
    import tomlkit

    return str(tomlkit.item(_plain(value, none="none")).as_string())
