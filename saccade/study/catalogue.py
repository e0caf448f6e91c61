"""All studies, in the order of the story."""

from collections.abc import Mapping
from functools import cache
from importlib import import_module

from saccade.errors import UserError
from saccade.names import nearest
from saccade.study.study import Study

# name → the module of saccade.study.claims; its subclass of Study is found by its name.
STUDIES: Mapping[str, str] = {
    "kernel-regression": "kernel_regression",
    "word-order": "word_order",
    "transformer-ablation": "transformer_ablation",
    "change-the-attention": "change_the_attention",
    "heads": "heads",
}


@cache
def find_study(name: str) -> Study:
    if name not in STUDIES:
        raise UserError(f"there is no study {name!r}; {nearest(name, STUDIES)}")
    module = import_module(f"saccade.study.claims.{STUDIES[name]}")
    (found,) = [
        value
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, Study) and getattr(value, "name", None) == name
    ]
    study: Study = found()
    return study


def list_studies() -> list[Study]:
    return [find_study(name) for name in STUDIES]
