"""The reference of the public API, from its signatures and docstrings, for docs/api.md."""

import dataclasses
import inspect
from collections.abc import Callable, Iterator
from typing import Any

from measured import table

import saccade
from saccade import api
from saccade.ranges import field_hints, help_of, range_of

OPTIONS = {
    "saccade train": api.TrainingRequest,
    "saccade translate": api.FileOptions,
    "saccade score": api.ScoreOptions,
    "saccade rerank": api.RerankingModels,
    "saccade align": api.AlignOptions,
    "saccade evaluate": api.EvaluateOptions,
    "saccade compare": api.CompareOptions,
    "saccade try": api.TourOptions,
}


def functions() -> str:
    """Every public function, with its parameters and its docstring."""
    calls = [vars(api)[name] for name in api.__all__ if name in saccade.__all__ and inspect.isfunction(vars(api)[name])]
    first = ("fit", "load", "evaluate", "compare", "sweep")  # the others follow by name
    calls.sort(key=lambda call: first.index(call.__name__) if call.__name__ in first else len(first))
    return "\n\n".join(_entry(f"saccade.{call.__name__}", call) for call in calls)


def methods() -> str:
    """Every public method of a model."""
    named = [(name, call) for name, call in vars(api.Model).items() if inspect.isfunction(call) and name[0] != "_"]
    return "\n\n".join(_entry(f"model.{name}", call) for name, call in named)


def options() -> str:
    """One table per command: its options by the names that they have in Python."""
    return "\n\n".join(f"### {title}\n\n{_table(cls)}" for title, cls in OPTIONS.items())


def _entry(name: str, call: Callable[..., Any]) -> str:
    text = inspect.cleandoc(call.__doc__ or "")
    return f"### `{name}({', '.join(_parameters(call))})`\n\n{text}"


def _parameters(call: Callable[..., Any]) -> Iterator[str]:
    kinds = inspect.Parameter
    starred = False
    for name, parameter in inspect.signature(call).parameters.items():
        if name == "self":
            continue
        if parameter.kind is kinds.KEYWORD_ONLY and not starred:
            starred = True
            yield "*"
        if parameter.kind is kinds.VAR_KEYWORD:
            yield f"**{name}"
        elif parameter.default is kinds.empty:
            yield name
        else:
            default = getattr(parameter.default, "__name__", None) or repr(parameter.default)
            yield f"{name}={default}".replace("'", '"')


def _table(cls: type[Any]) -> str:
    rows = []
    hints = field_hints(cls)
    for field in dataclasses.fields(cls):
        if (help_ := help_of(hints[field.name])) is None:
            continue
        within = range_of(hints[field.name])
        text = help_.text + (f" {str(within)[0].upper()}{str(within)[1:]}." if within is not None else "")
        default = "" if field.default is dataclasses.MISSING else f"`{field.default!r}`".replace("'", '"')
        rows.append([f"`{field.name}`", default, text.replace("|", "\\|")])
    return table(["option", "default", "meaning"], rows)
