"""What people read while a command runs: mistakes, messages and progress. Foreign text is made safe to show."""

import re
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext

Say = Callable[[str], None]  # takes a message, without its line end
Progress = Callable[[int, int | None], None]  # (finished, total), or None for an unknown total
Bar = Callable[[str, int], AbstractContextManager[Callable[[int], None]]]  # (title, total) → a function that advances


# C0 and C1 controls with ESC and DEL; line and paragraph separators; characters that reorder what stands around them
# (bidirectional embeddings, overrides and isolates); halves of surrogate pairs, which cannot be encoded at all. Letters
# of right-to-left scripts need none of these.
_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


class UserError(Exception):
    """A mistake of the user: the command line prints this one line and exits, without a traceback.

    The line says what was given, what was expected and what to type, and names the place (file, line, key).
    """

    code = 2  # the exit status of the command

    def __init__(self, message: str, *, elsewhere: bool = False) -> None:
        super().__init__(message)
        self.elsewhere = elsewhere  # True: another worker of the same run reports it


def printable(text: str, *, keep: str = "") -> str:
    """Write out every character that would control a terminal, such as \\x1b, except those in `keep`.

    Text from corpora, file names and model folders passes through here wherever people see it: in messages, tables,
    logs and heatmaps. A file or a pipe gets the text unchanged.
    """
    return _UNSAFE.sub(
        lambda match: match[0] if match[0] in keep else match[0].encode("unicode_escape").decode("ascii"), text
    )


def check_same_length(**columns: Sequence[object] | None) -> None:
    """Refuse columns that are not lists, are empty, or differ in length; None is left out."""
    for name, column in columns.items():
        if isinstance(column, str | bytes):
            raise UserError(f"{name} is one string; expected a list with one entry per sentence")
    counts = {name: len(column) for name, column in columns.items() if column is not None}
    if len(set(counts.values())) > 1:
        raise UserError("need one line each, got " + " and ".join(f"{n} {name}" for name, n in counts.items()))
    if not all(counts.values()):
        raise UserError(f"nothing to score: {' and '.join(counts)} are empty")


def plural(number: int, noun: str) -> str:
    """ "1 pair", "2,000 pairs"."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def say(text: str) -> None:
    """Print one line for people on standard error: standard output may hold data."""
    sys.stderr.write(printable(text) + "\n")
    sys.stderr.flush()


def count_up(progress: Progress | None, total: int | None) -> Callable[[int], None]:
    """A function that is called with the number of texts finished since its last call, and reports their sum."""
    finished = 0

    def advance(more: int) -> None:
        nonlocal finished
        finished += more
        if progress is not None:
            progress(finished, total)

    return advance


def as_bar(progress: Progress | None) -> Bar:
    return lambda title, total: nullcontext(count_up(progress, total))
