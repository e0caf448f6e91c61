"""What came of the tries: a table, alike failures together, and a record."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.table import Table

from .oracle import KINDS, Failure


@dataclass(frozen=True)
class Result:
    campaign: str
    kind: str
    number: int
    failures: list[Failure]
    seconds: float
    command: str
    code: int | None = 0  # the exit code, where there is a single one

    @property
    def name(self) -> str:
        return f"{self.campaign}:{self.number}"


def rows(results: Iterable[Result]) -> list[dict[str, Any]]:
    """A row for each kind of try: how many, and how many of them failed in each way."""
    tries, failed, accepted = Counter[tuple[str, str]](), defaultdict[tuple[str, str], Counter[str]](Counter), Counter()
    for result in results:
        key = (result.campaign, result.kind)
        tries[key] += 1
        accepted[key] += result.code == 0
        failed[key].update({failure.kind for failure in result.failures})
    return [
        {"campaign": key[0], "kind": key[1], "tries": count, "accepted": accepted[key]}
        | {kind: failed[key][kind] for kind in KINDS}
        for key, count in tries.items()
    ]


def show(results: list[Result], console: Console) -> None:
    table = Table("campaign", "kind", title="tries, and how many of them failed in each way")
    for name in ("tries", "accepted", *KINDS):
        table.add_column(name, justify="right")
    found = rows(results)
    for row in found:
        table.add_row(*map(str, row.values()))
    totals = [sum(row[name] for row in found) for name in ("tries", "accepted", *KINDS)]
    table.add_section()
    table.add_row("all", "", *map(str, totals))
    console.print(table)


def alike(results: Iterable[Result]) -> list[tuple[Failure, list[Result]]]:
    """One failure of each place, with all the tries that met it; the commonest first."""
    found: dict[tuple[str, str], tuple[Failure, list[Result]]] = {}
    for result in results:
        for failure in result.failures:
            found.setdefault((failure.kind, failure.where), (failure, []))[1].append(result)
    return sorted(found.values(), key=lambda one: -len(one[1]))
