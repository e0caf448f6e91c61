"""Show the results of benchmarks/attention.py: progress and tables in the terminal (with rich, if it is installed), and
tables in Markdown.
"""

import json
import re
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Any

from saccade.study.cost import FITTED

RICH = find_spec("rich") is not None
Rows = list[list[str]]


class Progress:
    """A progress bar, or without rich, one line per direction and length."""

    def __init__(self, total: int) -> None:
        self._said = ""
        self._advance: Callable[[str], None] = self._plain
        self._close: Callable[[], None] = lambda: None
        if RICH:
            from rich import progress
            from rich.console import Console

            bar = progress.Progress(*progress.Progress.get_default_columns(), console=Console(stderr=True))
            task = bar.add_task("", total=total)
            bar.start()
            self._advance = lambda said: bar.update(task, advance=1, description=said)
            self._close = bar.stop

    def __enter__(self) -> "Progress":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._close()

    def advance(self, said: str) -> None:
        self._advance(said)

    def _plain(self, said: str) -> None:
        part = said.partition(":")[0]
        if part != self._said:
            self._said = part
            print(part, file=sys.stderr, flush=True)


def show(result: dict[str, Any]) -> None:
    """Four tables: time and memory, forward and with backward."""
    for direction in dict.fromkeys(cell["direction"] for cell in result["cells"]):
        for quantity, cell_text in (("time", _time), ("memory", _memory)):
            head, rows = _by_length(result, direction, quantity, cell_text)
            _print(f"{quantity}, {direction}", head, rows)
    for reason, labels in _reasons(result).items():
        print(f"— {', '.join(labels)}: {reason}")


def markdown(result: dict[str, Any]) -> str:
    """The exponents and the costs at the longest length, one row per contender."""
    longest = max(cell["length"] for cell in result["cells"])
    grown = {(fit["label"], fit["direction"]): fit for fit in result["growth"]}
    cells = {(c["label"], c["direction"]): c for c in result["cells"] if c["length"] == longest}
    head = ["attention"]
    for short in ("forward", "+ backward"):
        head += [f"{short}: time", "memory", f"ms at {longest}", "× SDPA", "MiB"]
    rows = []
    for label in dict.fromkeys(fit["label"] for fit in result["growth"]):
        row = [f"`{label}`"]
        for direction in ("forward", "forward+backward"):
            fit, cell = grown[label, direction], cells.get((label, direction), {"skipped": ""})
            row += [_exponent(fit["time"], result), _exponent(fit["memory"], result)]
            if "skipped" in cell:
                row += ["—"] * 3
            else:
                row += map(_three, (cell["seconds"] * 1000, cell["ratio_to_sdpa"], cell["peak_bytes"] / 2**20))
        rows.append(row)
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "\n".join([_where(result), "", *("| " + " | ".join(line) + " |" for line in lines)])


def _where(result: dict[str, Any]) -> str:
    made, options = result["provenance"], result["options"]
    if options["device"] == "cpu":
        machine = f"{made['machine']['cpu']}, threads: {options['threads']}, load when it began: {result['load']:.1f}"
    else:
        machine = made["machine"]["gpu"]
    sizes = f"batch {options['batch']}, width {options['width']}, {options['heads']} heads, {options['dtype']}"
    stopped = "" if result["complete"] else " (stopped before its end)"
    return f"{machine}, torch {made['versions']['torch']}; {sizes}; {made['date'][:10]}: `{made['command']}`{stopped}"


def refresh(page: str, results: Path) -> str:
    """The page with each table between `<!-- table: FILE -->` and `<!-- end of table -->` refreshed from that file."""

    def made(found: re.Match[str]) -> str:
        result = json.loads((results / found[2]).read_text(encoding="utf-8"))
        return f"{found[1]}{markdown(result)}\n{found[3]}"

    return re.sub(r"(<!-- table: (\S+\.json) -->\n).*?(<!-- end of table -->)", made, page, flags=re.DOTALL)


def _by_length(
    result: dict[str, Any], direction: str, quantity: str, cell_text: Callable[[dict[str, Any]], str]
) -> tuple[list[str], Rows]:
    lengths = result["options"]["lengths"]
    cells = {(c["label"], c["length"]): c for c in result["cells"] if c["direction"] == direction}
    rows = []
    for fit in result["growth"]:
        if fit["direction"] == direction:
            of = [cells.get((fit["label"], n)) for n in lengths]
            texts = ["—" if cell is None or "skipped" in cell else cell_text(cell) for cell in of]
            rows.append([fit["label"], *texts, _exponent(fit[quantity], result)])
    return ["attention", *map(str, lengths), "exponent"], rows


def _time(cell: dict[str, Any]) -> str:
    ratio = "" if cell["ratio_to_sdpa"] is None else f" ×{_three(cell['ratio_to_sdpa'])}"
    return f"{_three(cell['seconds'] * 1000)} ms{ratio}"


def _memory(cell: dict[str, Any]) -> str:
    return f"{_three(cell['peak_bytes'] / 2**20)} MiB"


def _three(value: float) -> str:
    """Three digits, without an exponent."""
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def _exponent(fit: dict[str, Any] | None, result: dict[str, Any]) -> str:
    """The exponent, with the lengths it was fitted to if they are not the longest of the run."""
    if fit is None:
        return "—"
    fitted = fit["lengths"]
    usual = fitted == result["options"]["lengths"][-FITTED:] and len(fitted) == FITTED
    return f"{fit['exponent']:.2f}" + ("" if usual else f" ({fitted[0]}–{fitted[-1]})")


def _reasons(result: dict[str, Any]) -> dict[str, list[str]]:
    """The cells that were not measured, by reason."""
    labels: dict[str, list[str]] = {}
    for cell in result["cells"]:
        if "skipped" in cell:
            named = labels.setdefault(cell["skipped"], [])
            label = f"{cell['label']} ({cell['direction']})"
            if label not in named:
                named.append(label)
    return labels


def _print(title: str, head: list[str], rows: Rows) -> None:
    if RICH:
        from rich.console import Console
        from rich.table import Table

        table = Table(title=title)
        for i, name in enumerate(head):
            table.add_column(name, justify="right" if i else "left", no_wrap=True)
        for row in rows:
            table.add_row(*row)
        Console(width=None if sys.stdout.isatty() else 200).print(table)
        return
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]
    print(f"\n{title}")
    for row in [head, *rows]:
        print("  ".join(text.rjust(widths[i]) if i else text.ljust(widths[i]) for i, text in enumerate(row)))
