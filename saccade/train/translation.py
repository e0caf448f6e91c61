"""Training a translation model."""

from saccade.train.checks import Observer
from saccade.train.loop import Outcome, train

__all__ = ["Observer", "Outcome", "train"]
