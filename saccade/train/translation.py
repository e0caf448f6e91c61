"""Training a translation model."""

from saccade.train.loop import Observer, Outcome, train

__all__ = ["Observer", "Outcome", "train"]
