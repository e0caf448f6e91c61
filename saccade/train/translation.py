"""Training a translation model."""

from saccade.train.loop import Outcome, train

__all__ = ["Outcome", "train"]
