"""Tables of docs/speed.md, generated from benchmarks/results/speed-*.json and others, for docs/tables.py.

What has not been measured is shown as such; nothing has to exist.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from measured import RESULTS, table

TABLES = ("gpu-training", "gpu-loop", "gpu-decoding", "cpu-training", "cpu-decoding")
NOT_MEASURED = "not measured"
HEAD = ["work", "before", "now", "best elsewhere, same run", "target", "reached", "of a matrix product"]
Entry = dict[str, Any]


@dataclass(frozen=True)
class Goal:
    """A row of the targets: figures before this work, and what was aimed at."""

    label: str
    table: str
    rows: str  # a row of the table, or the beginning of several, of which the fastest counts
    before: str
    target: float
    of: str = ""  # the peer whose figure the target is multiplied by; none: the target is absolute

    def wanted(self, row: Entry) -> float | None:
        if not self.of:
            return self.target
        peer = _contestant(row, self.of)
        return None if peer is None else self.target * peer["median"]

    @property
    def shown_target(self) -> str:
        return f"≥ {self.target:g} × {self.of}" if self.of else f"≥ {self.target:,.0f}"


GPU = (
    Goal("training, Transformer base, 256 pairs of 64", "gpu-training", "base", "448,000; compiled 649,000", 850_000),
    Goal("training, tiny Transformer, the real loop", "gpu-loop", "tiny-loop", "92,000", 1_000_000),
    Goal("training, `bahdanau2014` paper size, 128 × 30", "gpu-training", "bahdanau2014", "59,000", 300_000),
    Goal("training, `luong2015` base, 128 × 30", "gpu-training", "luong2015", "38,000", 152_000),
    Goal("training, `sutskever2014` base, 128 × 30", "gpu-training", "sutskever2014", "76,000", 304_000),
    Goal("training, `cho2014` base, 128 × 30", "gpu-training", "cho2014", "137,000", 548_000),
    Goal("beam 5, Transformer base, 30 tokens", "gpu-decoding", "base-", "227 at 64, 659 at 256", 8000),
    Goal("beam 5, `bahdanau2014` base", "gpu-decoding", "bahdanau2014-", "759 at 64, 1,648 at 256", 8000),
)
CPU = (
    Goal("training, bi-GRU 256, decoder 512", "cpu-training", "rnn", "990", 1.25, "naive PyTorch loop"),
    Goal("training, bi-GRU 512, decoder 2 × 512", "cpu-training", "rnn-conditional", "–", 1.25, "naive PyTorch loop"),
    Goal("training, Transformer 256, 3+3", "cpu-training", "transformer", "1,178", 1.3, "Hugging Face Marian"),
    Goal("beam 5, Transformer base, 25 tokens", "cpu-decoding", "base", "12.0", 1.4, "Hugging Face Marian"),
    Goal("the same by CTranslate2, from file to file", "cpu-decoding", "ctranslate2", "–", 0.95, "CTranslate2"),
    Goal("beam 5, bi-GRU 256, decoder 512", "cpu-decoding", "rnn", "37", 4, "OpenNMT-py"),
)


# The rows of the summary in the READMEs: table, row, and the labels in English and Chinese
SUMMARY = (
    ("gpu-training", "base", "training a Transformer base, tokens/s", "训练 Transformer base，词元/秒"),
    (
        "gpu-loop",
        "tiny-loop",
        "training a small Transformer on Multi30k, tokens/s",
        "在 Multi30k 上训练小型 Transformer，词元/秒",
    ),
    (
        "gpu-decoding",
        "base-float16-2048",
        "beam search, Transformer base, sentences/s",
        "束搜索，Transformer base，句/秒",
    ),
    ("cpu-training", "rnn", "training a GRU with attention, tokens per CPU-second", "训练带注意力的 GRU，词元/CPU 秒"),
    ("cpu-training", "transformer", "training a Transformer, tokens per CPU-second", "训练 Transformer，词元/CPU 秒"),
    (
        "cpu-decoding",
        "rnn",
        "beam search, GRU with attention, sentences per CPU-second",
        "束搜索，带注意力的 GRU，句/CPU 秒",
    ),
)
SUMMARY_HEADS = (["", "Saccade", "best peer", ""], ["", "Saccade", "最快的同类工具", ""])


def summary(language: int) -> str:
    """Some figures beside those of the best peer in the same run; `language` is 0 for English, 1 for Chinese"""
    rows = []
    for name, row_name, *labels in SUMMARY:
        measured = read(f"speed-{name}") or {"rows": []}
        for row in (row for row in measured["rows"] if row["row"] == row_name):
            ours = _contestant(row, "Saccade")
            peers = [entry for entry in row["contestants"] if entry["peer"] and "median" in entry]
            if ours is None or not peers:
                continue
            best = max(peers, key=lambda entry: entry["median"])
            place = ("H200", "CPU")[name.startswith("cpu")]
            figures = [_number(ours["median"]), f"{best['name']} {_number(best['median'])}"]
            rows.append([f"{place}: {labels[language]}", *figures, f"{ours['median'] / best['median']:.1f} ×"])
    return table(SUMMARY_HEADS[language], rows, right=True)


def read(name: str) -> Entry | None:
    path = RESULTS / f"{name}.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None


def targets(goals: tuple[Goal, ...], further: Callable[[], Iterator[list[str]]]) -> str:
    return table(HEAD, [*map(_goal_row, goals), *further()], right=True)


def gpu_targets() -> str:
    return targets(GPU, _startup_row)


def cpu_targets() -> str:
    return targets(CPU, _bleu_row)


def _goal_row(goal: Goal) -> list[str]:
    measured = read(f"speed-{goal.table}") or {"rows": []}
    names = [goal.rows] if not goal.rows.endswith("-") else []
    rows = [row for row in measured["rows"] if row["row"] in names or (not names and row["row"].startswith(goal.rows))]
    speeds = [(ours["median"], place) for place, row in enumerate(rows) if (ours := _contestant(row, "Saccade"))]
    if not speeds:
        return [goal.label, goal.before, NOT_MEASURED, "–", goal.shown_target, "–", "–"]
    row = rows[max(speeds)[1]]
    ours, wanted = _contestant(row, "Saccade"), goal.wanted(row)
    assert ours is not None
    now = _number(ours["median"]) + ("" if names else f" ({row['row'].removeprefix(goal.rows)})")
    reached = "–" if wanted is None else "yes" if ours["median"] >= wanted else "no"
    return [
        goal.label,
        goal.before,
        now,
        _best_peer(rows),
        goal.shown_target,
        reached,
        f"{ours['share_of_matmul']:.1%}",
    ]


def _best_peer(rows: list[Entry]) -> str:
    peers = [entry for row in rows for entry in row["contestants"] if entry["peer"] and "median" in entry]
    best = max(peers, key=lambda entry: entry["median"], default=None)
    return "–" if best is None else f"{best['name']} {_number(best['median'])}"


def _startup_row() -> Iterator[list[str]]:
    """Seconds from the command to the first update, beyond `import torch`"""
    measured = read("startup-cuda")
    seconds = None if measured is None else measured["first_update_beyond_import_torch"]
    now, reached = (NOT_MEASURED, "–") if seconds is None else (f"{seconds:.1f} s", "yes" if seconds <= 6 else "no")
    yield [
        "from the command to the first update, 800 pairs",
        "17 s",
        now,
        "–",
        "≤ 6 s beyond `import torch`",
        reached,
        "–",
    ]


def _bleu_row() -> Iterator[list[str]]:
    label, target = "minutes to 36 BLEU, tiny Transformer, Multi30k", "≤ 0.75 × Hugging Face Marian"
    measured = read("time-to-bleu")
    if measured is None:
        yield [label, "–", NOT_MEASURED, "–", target, "–", "–"]
        return
    ours, control = (measured["minutes"][name] for name in ("Saccade", "control"))
    tried = max((point["minutes"] for point in measured["curves"]["control"]), default=0.0)
    is_reached = ours is not None and ours <= 0.75 * (control or tried)
    yield [
        f"{label} (on {measured['provenance']['machine']['gpu'] or 'the CPU'})",
        "–",
        "not reached" if ours is None else f"{ours:.2f} min",
        f"Hugging Face Marian {f'over {tried:.1f}' if control is None else f'{control:.2f}'} min",
        target,
        "yes" if is_reached else "no",
        "–",
    ]


def contestants(name: str) -> str:
    """Every contestant of a table, and how it was measured"""
    measured = read(f"speed-{name}")
    if measured is None:
        return f"This table has not been measured yet: `python benchmarks/speed.py {name}`."
    rows = []
    for row in measured["rows"]:
        ours = _contestant(row, "Saccade")
        for entry in row["contestants"]:
            if "skipped" in entry:
                rows.append([row["row"], entry["name"], f"{NOT_MEASURED}: {entry['skipped']}", "", "", ""])
                continue
            copied = entry.get("share_of_copy")
            rows.append(
                [
                    row["row"],
                    entry["name"],
                    _number(entry["median"]),
                    "–" if ours is None else f"{entry['median'] / ours['median']:.2f}",
                    f"{entry['share_of_matmul']:.1%}",
                    "–" if copied is None else f"{copied:.1%}",
                ]
            )
    head = ["row", "contestant", measured["rows"][0]["unit"], "× Saccade", "of a matrix product", "of a copy"]
    return f"{table(head, rows, right=True)}\n\n{_place(measured)}"


def _place(measured: Entry) -> str:
    made, floors = measured["provenance"], measured["floors"]
    machine = made["machine"]
    limits = "; ".join(
        f"{dtype}: a matrix product {floor['matmul_flops'] / 1e12:,.3g} TFLOP/s, a copy "
        f"{floor['copy_bytes'] / 1e9:,.0f} GB/s"
        for dtype, floor in floors.items()
    )
    versions = {
        name: number
        for row in measured["rows"]
        for entry in row["contestants"]
        for name, number in entry["versions"].items()
        if name != "torch"
    }
    peers = "".join(f", {name} {number}" for name, number in sorted(versions.items()))
    return (
        f"{machine['gpu'] or machine['cpu']}, torch {made['versions']['torch']}{peers}; {limits}. "
        f"Median of {measured['options']['rounds']} rounds; commit {(made['commit'] or 'unknown')[:10]}, "
        f"{made['date'][:10]}: `{made['command']}`"
    )


def growth(device: str) -> str:
    """One row per model, phase and quantity"""
    measured = read(f"speed-growth-{device}")
    if measured is None:
        return f"This has not been measured yet: `python benchmarks/speed_growth.py --device {device}`."
    rows: dict[tuple[str, str, str], list[str]] = {}
    for cell in measured["cells"]:
        speed = _number(cell["median"]) if "median" in cell else NOT_MEASURED
        rows.setdefault((cell["model"], cell["unit"], cell["quantity"]), []).append(f"{cell['value']:,}: {speed}")
    lines = [[f"`{model}`", unit, quantity, " · ".join(cells)] for (model, unit, quantity), cells in rows.items()]
    return table(["model", "figure", "by", "value: figure"], lines)


def profiles() -> str:
    """What the time of profiled steps is spent on"""
    found = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(Path(RESULTS).glob("profile-*.json"))]
    if not found:
        return "No step has been profiled yet: `python benchmarks/profile_step.py`."
    rows = []
    for each in found:
        idle = "–" if each["idle_share"] is None else f"{each['idle_share']:.0%}"
        top = " · ".join(f"{entry['share']:.0%} `{entry['name'][:60]}`" for entry in each["top"][:4])
        paths = "plain" if each["plain"] else "fast"
        launches = f"{each['launches_per_step']:,.0f}" if each["launches_per_step"] else "–"  # a CPU launches nothing
        step = [f"{each['milliseconds_per_step']:.2f}", launches, idle]
        rows.append([f"{each['table']}: {each['row']}", paths, *step, top])
    return table(["row", "paths", "ms per step", "launches", "device idle", "share of the time"], rows)


def _contestant(row: Entry, name: str) -> Entry | None:
    """The contestant with this name, or the fastest whose name begins with it, if it was measured"""
    entries = [entry for entry in row["contestants"] if "median" in entry]
    exact = [entry for entry in entries if entry["name"] == name]
    begun = [entry for entry in entries if entry["name"].startswith(name)]
    return max(exact or begun, key=lambda entry: entry["median"], default=None)


def _number(value: float) -> str:
    """Three digits or more, without an exponent"""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
