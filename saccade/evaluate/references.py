"""Hypotheses beside their references: one reference a sentence, or several, and never a line too many or too few."""

from collections.abc import Sequence
from itertools import zip_longest
from typing import Any, TypeAlias

from saccade.errors import UserError

References: TypeAlias = "Sequence[str] | Sequence[Sequence[str]]"  # a sentence's reference, or all that it has


def alternatives(references: References) -> list[tuple[str, ...]]:
    """All references of each sentence, at least one."""
    found = [(one,) if isinstance(one, str) else tuple(one) for one in references]
    if not all(found):
        raise UserError(f"sentence {found.index(())}, counted from 0, has no reference; expected at least one")
    return found


def streams(references: References) -> list[list[Any]]:
    """As sacrebleu takes them: all first references, all second ones …; None where a sentence has fewer."""
    return [list(stream) for stream in zip_longest(*alternatives(references))]


def same_count(**columns: Sequence[object]) -> None:
    """Refuse columns that are not lists, are empty, or differ in length."""
    for name, column in columns.items():
        if isinstance(column, str | bytes):
            raise UserError(f"{name} is one string; expected a list with one entry a sentence")
    counts = {name: len(column) for name, column in columns.items()}
    if len(set(counts.values())) > 1:
        raise UserError("need one line each, got " + " and ".join(f"{n} {name}" for name, n in counts.items()))
    if not all(counts.values()):
        raise UserError(f"nothing to score: {' and '.join(counts)} are empty")
