"""All studies, in the order of the story."""

from collections.abc import Mapping
from functools import cache
from importlib import import_module

from saccade.errors import UserError
from saccade.names import nearest
from saccade.study.study import Study

# name → the module of saccade.study.claims; its subclass of Study is found by its name.
STUDIES: Mapping[str, str] = {
    "polysemy": "polysemy",
    "word-by-word": "word_by_word",
    "vanishing-gradient": "vanishing_gradient",
    "convolution-order": "convolution_order",
    "length": "length",
    "fixed-vector": "fixed_vector",
    "reversal": "reversal",
    "alignment": "alignment",
    "exposure-bias": "exposure_bias",
    "scores-and-windows": "scores_and_windows",
    "scale": "scale",
    "kernel-regression": "kernel_regression",
    "word-order": "word_order",
    "complexity": "complexity",
    "parallel": "parallel",
    "transformer-ablation": "transformer_ablation",
    "heads": "heads",
    "change-the-attention": "change_the_attention",
    "data-growth": "data_growth",
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
