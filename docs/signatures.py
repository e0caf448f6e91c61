"""The reference of the public API, from its signatures and docstrings, for docs/api.md."""

import dataclasses
import inspect
from collections.abc import Callable, Iterator
from typing import Any

from measured import table

import saccade
from saccade.align.options import AlignOptions
from saccade.comparison.options import CompareOptions
from saccade.decode.cluster.options import ClusterOptions
from saccade.decode.engines.options import EngineOptions, ExportOptions
from saccade.decode.options import (
    DEFAULT_SEARCH,
    FileOptions,
    RerankingModels,
    RerankingOptions,
    ScoreOptions,
)
from saccade.decode.shortlist.options import ShortlistOptions
from saccade.evaluation.options import EvaluateOptions
from saccade.public_data.options import GetOptions
from saccade.ranges import Help, describe_option, field_hints, find_metadata
from saccade.tour import TourOptions
from saccade.train.pretraining import PretrainingRequest
from saccade.train.request import TrainingRequest

OPTIONS = {
    "saccade train": TrainingRequest,
    "saccade pretrain": PretrainingRequest,
    "saccade translate": FileOptions,
    "saccade translate (reranking)": RerankingOptions,
    "saccade translate (engine)": EngineOptions,
    "saccade shortlist": ShortlistOptions,
    "saccade export": ExportOptions,
    "saccade translate --ray": ClusterOptions,
    "saccade score": ScoreOptions,
    "saccade rerank": RerankingModels,
    "saccade align": AlignOptions,
    "saccade evaluate": EvaluateOptions,
    "saccade compare": CompareOptions,
    "saccade try": TourOptions,
    "saccade get": GetOptions,
}


def functions() -> str:
    """Every public function, with its parameters and its docstring."""
    first = ("fit", "load", "evaluate", "compare", "sweep")  # the others follow by name
    calls = [
        call for name in saccade.__all__ if inspect.isfunction(call := getattr(saccade, name)) and name != "combine"
    ]
    calls.sort(key=lambda call: first.index(call.__name__) if call.__name__ in first else len(first))
    return "\n\n".join(_entry(f"saccade.{call.__name__}", call) for call in calls)


def methods() -> str:
    """Every public method of a model."""
    named = [(name, call) for name, call in vars(saccade.Model).items() if inspect.isfunction(call) and name[0] != "_"]
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
        if parameter.kind is kinds.VAR_POSITIONAL:
            starred = True
            yield f"*{name}"
        elif parameter.kind is kinds.VAR_KEYWORD:
            yield f"**{name}"
        elif parameter.default is kinds.empty:
            yield name
        else:
            default = getattr(parameter.default, "__name__", None) or _shown(parameter.default)
            yield f"{name}={default}".replace("'", '"')


def _shown(default: Any) -> str:
    if not isinstance(default, saccade.Search):
        return repr(default)
    return "DEFAULT_SEARCH" if default == DEFAULT_SEARCH else f"DEFAULT_SEARCH.with_options(beam={default.beam})"


def _table(cls: type[Any]) -> str:
    rows = []
    hints = field_hints(cls)
    for field in dataclasses.fields(cls):
        if find_metadata(hints[field.name], Help) is None:
            continue
        text = describe_option(hints[field.name])
        default = "" if field.default is dataclasses.MISSING else f"`{field.default!r}`".replace("'", '"')
        rows.append([f"`{field.name}`", default, text])
    return table(["option", "default", "meaning"], rows)
