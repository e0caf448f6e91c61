"""What every part of an attention says of itself, so that the composition and the tests can read it there."""

from collections.abc import Mapping

from torch import nn


class Part(nn.Module):
    """A score, window, normaliser or bias."""

    name: str
    formula: str
    # What it was made for, where that matters: Attention refuses a part made for another width or number of heads.
    width: int | None = None  # of one head's queries and keys
    heads: int | None = None  # 1 serves all alike
    # Laws of tests/attention/test_laws.py that this part cannot keep, each with its reason.
    exempt: Mapping[str, str] = {}
