"""Where commands print: messages and tables for people, data for programs."""

import sys

from saccade.errors import printable

_LAYOUT = "\n\t"


def say(text: str) -> None:
    """A line for people, on standard error: standard output may hold data."""
    sys.stderr.write(printable(text) + "\n")
    sys.stderr.flush()


def show(text: str) -> None:
    """Lines for people, on standard output."""
    sys.stdout.write(printable(text, keep=_LAYOUT) + "\n")
    sys.stdout.flush()


def put(text: str) -> None:
    """Data, on standard output: exactly `text`, unless a terminal would obey what is in it."""
    sys.stdout.write((printable(text, keep=_LAYOUT) if sys.stdout.isatty() else text) + "\n")
    sys.stdout.flush()
