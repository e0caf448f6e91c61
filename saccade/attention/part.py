"""What every part of an attention declares, for the composition and the tests."""

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
    # Attention refuses a part that was made for another width or number of heads; None: any.
    width: int | None = None  # of one head's queries and keys
    heads: int | None = None  # 1: all heads share it
    # The laws that this part cannot keep, with the reasons.
    exempt: Mapping[Law, str] = {}
