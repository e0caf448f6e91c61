"""What every part of an attention says of itself, so that the composition and the tests can read it there."""

from collections.abc import Mapping

from torch import nn


class Part(nn.Module):
    """A score, window, normaliser or bias."""

    name: str
    formula: str
    # Laws of tests/attention/test_laws.py that this part cannot keep, each with its reason.
    exempt: Mapping[str, str] = {}
