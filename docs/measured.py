"""Tables made from benchmarks/results/*.json, for docs/tables.py."""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

RESULTS = Path(__file__).resolve().parents[1] / "benchmarks" / "results"
FIXED, ATTENTION = "fixed context", "attention"
MODELS = ("vaswani2017", "bahdanau2014", "cho2014")
Run = Mapping[str, Any]


def table(head: Iterable[str], rows: Iterable[Iterable[str]], *, right: bool = False) -> str:
    """Markdown; `right` sets every column but the first flush right, as numbers want."""
    names = list(head)
    rule = ["---", *["---:" if right else "---"] * (len(names) - 1)]
    lines = [names, rule, *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", r"\|") for cell in line) + " |" for line in lines)


def _tries() -> list[Run]:
    runs: list[Run] = json.loads((RESULTS / "try.json").read_text(encoding="utf-8"))["runs"]
    return runs


def _mean(values: Sequence[float], digits: int) -> str:
    """The mean, and the range where there are several: seeds differ, and a reader should see by how much."""
    mean = f"{fmean(values):.{digits}f}"
    return mean if len(values) == 1 else f"{mean} ({min(values):.{digits}f}–{max(values):.{digits}f})"


def try_lengths(head: Sequence[str], seen: str, beyond: str) -> str:
    """BLEU of both models by source length."""
    runs = _tries()
    rows = []
    for place, row in enumerate(runs[0]["systems"][ATTENTION]["by_length"]):
        cells = [
            _mean([run["systems"][name]["by_length"][place]["scores"]["bleu"] for run in runs], 1)
            for name in (FIXED, ATTENTION)
        ]
        rows.append([row["label"], beyond if row["beyond"] else seen, *cells])
    return table(head, rows, right=True)


def try_targets(first: str, seed: str, met: str, missed: str, claims: Sequence[str] = ()) -> str:
    """What the tour promises and what each seed reached; `claims` says the promises in another language."""
    runs = _tries()
    rows = []
    for place, target in enumerate(runs[0]["targets"]):
        reached = [run["targets"][place] for run in runs]
        cells = [f"{one['reached']:.3g} {met if one['met'] else missed}" for one in reached]
        rows.append([claims[place] if claims else target["claim"], *cells])
    return table([first, *(f"{seed} {run['effort']['seed']}" for run in runs)], rows, right=True)


def try_aligners(head: Sequence[str], names: Sequence[str]) -> str:
    """AER of the attention beside two aligners that do not read the words."""
    runs = _tries()
    values = [
        [run["systems"][ATTENTION]["alignment"]["aer"] for run in runs],
        [run["aligners"]["diagonal"] for run in runs],
        [run["aligners"]["uniform"] for run in runs],
    ]
    return table(head, [[name, _mean(of, 3)] for name, of in zip(names, values, strict=True)], right=True)


def try_senses(head: Sequence[str]) -> str:
    """Percent of the ambiguous words read right, by the distance of the cue."""
    runs = _tries()
    rows = []
    for place, row in enumerate(runs[0]["systems"][ATTENTION]["ambiguity"]):
        wanted = ((FIXED, "accuracy"), (FIXED, "control"), (ATTENTION, "accuracy"), (ATTENTION, "control"))
        cells = [
            _mean([100 * run["systems"][name]["ambiguity"][place][what] for run in runs], 0) for name, what in wanted
        ]
        items = sum(run["systems"][ATTENTION]["ambiguity"][place]["items"] for run in runs)
        rows.append([row["bucket"], str(items), *cells])
    return table(head, rows, right=True)


def try_made(text: str) -> str:
    """Where the figures come from; `text` has places for what is known."""
    runs = _tries()
    made = runs[0]["provenance"]
    return text.format(
        seeds=", ".join(str(run["effort"]["seed"]) for run in runs),
        fixed=_between([run["systems"][FIXED]["steps"] for run in runs]),
        attention=_between([run["systems"][ATTENTION]["steps"] for run in runs]),
        seconds=", ".join(f"{run['seconds']:.0f}" for run in runs),
        cpu=made["machine"]["cpu"],
        cores=made["machine"]["cores"],
        torch=made["versions"]["torch"],
        date=made["date"][:10],
    )


def _between(numbers: Sequence[int]) -> str:
    """The least and the most, or the one number that they all are."""
    return "–".join(f"{number:,}" for number in sorted({min(numbers), max(numbers)}))


def _ambiguity() -> dict[str, Run]:
    """The one run of each model."""
    read = {name: json.loads((RESULTS / f"ambiguity-{name}.json").read_text(encoding="utf-8")) for name in MODELS}
    return {name: one["runs"][0] | {"provenance": one["provenance"]} for name, one in read.items()}


def ambiguity_runs() -> str:
    rows = []
    for name, run in _ambiguity().items():
        best = run["best"]
        rows.append(
            [
                f"`{name}`",
                f"[{run['recipe']}](../recipes/{run['recipe']})",
                f"{run['parameters']:,}",
                f"{run['steps']:,}",
                f"{run['seconds'] / 60:.1f}",
                f"{best['bleu']:.1f}",
                f"{100 * run['checks'][-1]['accuracy']:.1f}",
            ]
        )
    head = ["model", "recipe", "parameters", "steps", "minutes", "BLEU on validation", "% right at the end"]
    return table(head, rows)


def ambiguity_distances() -> str:
    """At the last check of each: right, and in brackets the control."""
    runs = _ambiguity()
    last = {name: run["checks"][-1]["distance"] for name, run in runs.items()}
    rows = [
        [
            bucket,
            str(cell["items"]),
            *(f"{100 * of[bucket]['accuracy']:.1f} ({100 * of[bucket]['control']:.1f})" for of in last.values()),
        ]
        for bucket, cell in last[MODELS[0]].items()
    ]
    return table(["words to the cue", "sentences", *(f"`{name}`" for name in runs)], rows, right=True)


def ambiguity_steps() -> str:
    """Percent right, over all distances, at each check; a run's last check may fall between two."""
    runs = _ambiguity()
    found = {
        name: {check["step"]: f"{100 * check['accuracy']:.1f}" for check in run["checks"]} for name, run in runs.items()
    }
    steps = sorted({step for of in found.values() for step in of})
    rows = [[f"{step:,}", *(of.get(step, "") for of in found.values())] for step in steps]
    return table(["step", *(f"`{name}`" for name in runs)], rows, right=True)


def learnt(model: str | None = None) -> str:
    """How soon one model, or each, learnt the small tasks, on which machine."""
    result = json.loads((RESULTS / "learning.json").read_text(encoding="utf-8"))
    rows = [
        [
            *([f"`{row['model']}`"] if model is None else []),
            f"`{row['task']}`",
            f"{row['parameters']:,}",
            f"{row['steps']:,}",
            f"{row['seconds']:.0f}",
            f"{100 * row['exact']:.1f} %",
            f"{100 * row['untrained']:.1f} %",
        ]
        for row in result["rows"]
        if model in (None, row["model"])
    ]
    head = ["task", "parameters", "updates", "seconds", "exact on unseen items", "untrained"]
    made = result["provenance"]
    place = f"One thread of {made['machine']['cpu']}, torch {made['versions']['torch']}, seed {made['seed']}"
    if result.get("side_by_side"):
        place += f"; {result['side_by_side']} processes, two at a time"
    if result.get("note"):
        place += f". {result['note']}"
    return table(head if model else ["model", *head], rows) + f"\n\n{place}; {made['date'][:10]}."


def automatic() -> str:
    """What the automatic recipe reached on real data."""
    runs: dict[str, Run] = json.loads((RESULTS / "automatic.json").read_text(encoding="utf-8"))
    rows = []
    for name, run in sorted(runs.items()):
        machine, model = run["provenance"]["machine"], run["recipe"]["model"]["name"]
        place = machine["gpu"] or f"{machine['cores']} CPU core{'s' * (machine['cores'] > 1)}"
        single_words = run["recipe"]["data"]["vocabulary"]["kind"] == "char"
        score = f"{run['wrong']:.1f} % wrong" if single_words else f"{run['bleu']:.1f} BLEU"
        score += " (lower-cased)" if run["lower"] else ""
        numbers = (f"{run['parameters']:,}", f"{run['updates']:,}", f"{run['seconds'] / 60:.1f}")
        rows.append([f"`{name}`", f"`{model}`", *numbers, place, score])
    return table(["data", "model", "parameters", "updates", "minutes", "on", "test"], rows)
