"""Types and settings of tests that run commands."""

from collections.abc import Callable
from typing import NamedTuple

QUICK = [
    *("--model", "cho2014", "--set", "model.preset=tiny", "--set", "model.hidden=8", "--set", "model.embedding=8"),
    *("--set", "train.max_steps=1", "--set", "train.judge=loss", "--set", "train.threads=1"),
    *("--set", "train.device=cpu"),
]
SHORT = ("--set", "train.max_steps=1", "--set", "train.judge=loss", "--set", "train.device=cpu")


class Done(NamedTuple):
    code: int
    out: str
    err: str


Run = Callable[..., Done]
