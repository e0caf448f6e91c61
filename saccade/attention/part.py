"""What every part of an attention says of itself, so that the composition and the tests can read it there."""

from abc import ABC
from collections.abc import Mapping
from typing import Literal

from torch import nn

# The laws of tests/attention that a part may be exempt from; the others bind every part.
Law = Literal[
    "sums to one",
    "sums to at most one",
    "gradcheck",  # gradients are the derivatives of the numbers
    "continuous",  # a small change of the input changes the reading little, so that low precision stays near
    "compile",
    "large in float16",  # inputs whose scores exceed 65504 are read
]


class Part(nn.Module, ABC):
    """A score, window, normaliser or bias."""

    name: str
    formula: str
    # What it was made for, where that matters: Attention refuses a part made for another width or number of heads.
    width: int | None = None  # of one head's queries and keys
    heads: int | None = None  # 1 serves all alike
    # The laws that this part cannot keep, each with its reason.
    exempt: Mapping[Law, str] = {}
