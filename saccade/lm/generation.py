"""Texts that a language model writes, whatever it is made of."""

import dataclasses
from collections.abc import Iterator
from typing import Any

from saccade.decode.options import Constraints, Search
from saccade.lm.network_model import NetworkModel
from saccade.lm.options import DRAWING, GenerateOptions
from saccade.ngrams.ngram_model import NgramModel
from saccade.ranges import OptionError

_OF_NGRAMS = ("count", "start", "temperature", "longest", "seed")


def generate_texts(
    model: NgramModel | NetworkModel, options: GenerateOptions, search: Search, constraints: Constraints
) -> Iterator[str]:
    """n-grams are drawn; a network has every option of the search."""
    groups = ((options, GenerateOptions()), (search, DRAWING), (constraints, Constraints()))
    changed = {name: value for group, default in groups for name, value in _changes(group, default).items()}
    if isinstance(model, NetworkModel):
        return model.generate(**changed)
    if others := [name for name in changed if name not in _OF_NGRAMS]:
        raise OptionError(others[0], f"is for networks; n-grams are drawn with {', '.join(_OF_NGRAMS)}")
    return model.generate(**changed)


def _changes(options: Any, default: Any) -> dict[str, Any]:
    values = {field.name: getattr(options, field.name) for field in dataclasses.fields(options)}
    return {name: value for name, value in values.items() if value != getattr(default, name)}
