"""How recipes and commands name their data: a file, `-` for standard input, `task:NAME` or `hf:NAME`."""

from pathlib import Path

STDIN = "-"
_TASK = "task:"
_HUB = "hf:"


def is_stdin(location: Path | str | None) -> bool:
    return str(location) == STDIN


def task_name(location: str) -> str | None:
    """Return NAME for `task:NAME`, a built-in task, and None for anything else."""
    return location.removeprefix(_TASK) if location.startswith(_TASK) else None


def hub_name(location: str) -> str | None:
    """Return NAME for `hf:NAME`, a Hugging Face data set, and None for anything else."""
    return location.removeprefix(_HUB) if location.startswith(_HUB) else None
