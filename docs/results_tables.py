"""Tables of scores on real data, generated from benchmarks/rows.toml and benchmarks/results, for docs/tables.py."""

import json
import re
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

from measured import RESULTS, table

from saccade.errors import plural
from saccade.train.facts import Facts
from saccade.train.plans import list_plans

ROWS = Path(__file__).resolve().parents[1] / "benchmarks" / "rows.toml"
Record = Mapping[str, Any]


def load(name: str) -> dict[str, Any]:
    records: dict[str, Any] = json.loads((RESULTS / name).read_text(encoding="utf-8"))
    return records


def results() -> str:
    """Every run of rows.toml, with the mean of its seeds and its goal; those without a record are listed, too."""
    runs = tomllib.loads(ROWS.read_text(encoding="utf-8"))["runs"]
    records = load("scores.json")
    means = {run["name"]: _mean(_by_seed(run, records)) for run in runs}
    rows = []
    for run in runs:
        scores = _by_seed(run, records)
        seeds = ", ".join(f"{score:.1f}" for score in scores.values()) or "not measured yet"
        mean = means[run["name"]]
        shown = "–" if mean is None else f"**{mean:.1f}**{' % wrong' if _is_wrong(run) else ''}"
        goal, reached = _goal(run, mean, means)
        if 0 < len(scores) < run.get("seeds", 3) and reached not in ("–", "open"):
            reached += f", with {plural(len(scores), 'seed')}"
        rows.append([run["title"], _metric(run), seeds, shown, goal, reached])
    return table(["run", "metric", "seeds", "mean", "goal", "reached"], rows)


def tokenised() -> str:
    """Both metrics of Multi30k: sacrebleu, lower-cased, and the BLEU of tokenised text in papers."""
    records = {name: record for name, record in load("scores.json").items() if not name.endswith("/alone")}
    rows = []
    for name in dict.fromkeys(key.rpartition("/")[0] for key in records):
        tests = [_scores(record) for key, record in records.items() if key.rpartition("/")[0] == name]
        if all("tokenised" in test for test in tests):
            both = (f"{fmean(test[key] for test in tests):.2f}" for key in ("bleu", "tokenised"))
            rows.append([f"`{name}`", *both])
    return table(["run", "sacrebleu, lower-cased", "Moses tokens, lower-cased"], rows)


def lengths() -> str:
    """The BLEU of Multi30k's test set by the length of the source, in words, as means of the seeds."""
    records = load("scores.json")
    rows, ranges = [], {}
    for run in tomllib.loads(ROWS.read_text(encoding="utf-8"))["runs"]:
        tests = [_scores(record) for name, record in records.items() if re.fullmatch(rf"{run['name']}/\d+", name)]
        tests = [test["by_length"] for test in tests if "by_length" in test]
        if run.get("data") == "multi30k" and tests:
            ranges = {label: pairs for label, (pairs, _) in tests[0].items()}
            means = (fmean(test[label][1] for test in tests) for label in ranges)
            rows.append([run["title"], *(f"{mean:.1f}" for mean in means)])
    return table(["run", *(f"{label} ({pairs})" for label, pairs in ranges.items())], rows)


def tried() -> str:
    """Settings that were compared on the validation set of Multi30k."""
    records = load("tried-multi30k.json")
    rows = [
        [f"`{name}`", f"{run['parameters'] / 1e6:.1f} M", f"{run['updates']:,}", run["about"], f"{run['bleu']:.1f}"]
        for name, run in sorted(records.items(), key=lambda item: -item[1]["bleu"])
    ]
    return table(["run", "parameters", "updates", "settings", "BLEU on val, lower-cased"], rows)


def pronunciation() -> str:
    """Settings that were compared on the dev sets of ten languages of SIGMORPHON 2021."""
    records = load("tried-g2p.json")
    rows = []
    for name, run in sorted(records.items(), key=lambda item: fmean(item[1]["wrong"].values())):
        wrong = run["wrong"]
        languages = ", ".join(f"{language} {share:.0f}" for language, share in wrong.items())
        rows.append([f"`{name}`", run["about"], f"{fmean(wrong.values()):.1f}", languages])
    return table(["run", "settings", "mean % wrong", "by language"], rows)


def english() -> str:
    """Settings that were compared on the pronunciation of English words."""
    rows = [
        [f"`{name}`", f"{run['parameters'] / 1e6:.1f} M", f"{run['updates']:,}", run["about"], f"{run['wrong']:.1f}"]
        for name, run in sorted(load("tried-eng_us.json").items(), key=lambda item: item[1]["wrong"])
    ]
    return table(["run", "parameters", "updates", "settings", "% wrong"], rows)


def grid() -> str:
    """What the automatic recipe chose for each kind of data and budget, beside other choices for the same minutes."""
    points: dict[tuple[str, ...], dict[str, list[Record]]] = {}
    for name, record in load("grid.json").items():
        run, _, seed = name.rpartition("/")
        *point, choice = run.split("-")
        if seed != "alone" and "excluded" not in record:
            points.setdefault(tuple(point), {}).setdefault(choice, []).append(record)
    rows = []
    for (kind, pairs, device, budget), choices in sorted(points.items(), key=lambda point: _grid_order(*point[0])):
        metric = "wrong" if kind == "words" else "bleu"
        scores = {choice: fmean(_scores(seed)[metric] for seed in seeds) for choice, seeds in choices.items()}
        best = (min if metric == "wrong" else max)(scores.values())
        chosen = scores.pop("automatic", None)
        machine = "2 CPU cores" if device == "cpu" else "GPU"
        shown = "not measured yet"
        if chosen is not None:
            shown = f"`{choices['automatic'][0]['recipe']['model']['name']}` **{chosen:.1f}**"
        others = ", ".join(f"{_shown_choice(choice)} {score:.1f}" for choice, score in scores.items())
        unit = "% wrong" if metric == "wrong" else "BLEU"
        cells = [kind, pairs, f"{budget} on {'a ' * (device == 'gpu')}{machine}", unit, shown, others]
        rows.append([*cells, "–" if chosen is None or not scores else f"{abs(chosen - best):.1f}"])
    return table(["kind", "pairs", "budget", "metric", "automatic", "others", "behind the best"], rows)


def _grid_order(kind: str, pairs: str, device: str, budget: str) -> tuple[str, int, str, int]:
    return device, int(budget.removesuffix("m")), kind, -int(pairs.replace("k", "000"))


def _shown_choice(choice: str) -> str:
    """A model, or what was set instead, such as vocabulary_4000."""
    name, _, value = choice.partition("_")
    if name == "rdrop":
        return f"R-Drop {value}" if float(value) else "without R-Drop"
    if name == "norm":
        return f"{value}-norm"
    if name == "lr":
        return f"learning rate {value}"
    return f"{name} of {float(value):,g}" if value else f"`{name}`"


def ablations(device: str) -> str:
    """Each run of ablations.toml for this device: the mean of its seeds, and its distance from those of the first."""
    runs = tomllib.loads((ROWS.parent / "ablations.toml").read_text(encoding="utf-8"))["runs"]
    runs, records = [run for run in runs if run["name"].startswith(device)], load("ablations.json")
    scores = {run["name"]: _by_seed(run, records, "valid") for run in runs}
    base = scores[runs[0]["name"]]
    rows = []
    for run in runs:
        own = scores[run["name"]]
        mean, differences = _mean(own), {seed: own[seed] - base[seed] for seed in own if seed in base}
        if mean is None:
            rows.append([run["title"], "not measured yet", "–", "–"])
            continue
        shown = "–" if run is runs[0] or not differences else f"{fmean(differences.values()):+.1f}"
        rows.append([run["title"], ", ".join(f"{score:.1f}" for score in own.values()), f"**{mean:.1f}**", shown])
    return table(["change", "seeds", "mean BLEU on val, lower-cased", "difference, same seeds"], rows)


def _by_seed(run: Record, records: Record, part: str = "test") -> dict[str, float]:
    """The score of each seed; for several languages, their mean, if all of them are there."""
    word, values = next(iter(run.get("each", {"": [""]}).items()))
    names = [run["name"].replace(f"{{{word}}}", value) for value in values]
    by_seed: dict[str, list[float]] = {}
    for name, record in records.items():
        run_name, _, seed = name.rpartition("/")
        if run_name in names and seed.isdigit():
            by_seed.setdefault(seed, []).append(_scores(record, part)["wrong" if _is_wrong(run) else "bleu"])
    return {seed: fmean(scores) for seed, scores in sorted(by_seed.items()) if len(scores) == len(names)}


def _scores(record: Record, part: str = "test") -> Record:
    """A control has its scores at the top."""
    scores: Record = record.get("scores", {}).get(part, record)
    return scores


def _mean(scores: Mapping[str, float]) -> float | None:
    return fmean(scores.values()) if scores else None


def _is_wrong(run: Record) -> bool:
    return "wrong" in run.get("goal", {})


def _metric(run: Record) -> str:
    return "word error rate" if _is_wrong(run) else "BLEU, lower-cased" if run.get("data") == "multi30k" else "BLEU"


def _goal(run: Record, mean: float | None, means: Mapping[str, float | None]) -> tuple[str, str]:
    """The goal, and whether it is reached"""
    goal = run.get("goal", {})
    if not goal:
        return "–", "–"
    if "above" in goal:
        shown = f"best of {' and '.join(f'`{name}`' for name in goal['above'])} + {goal['by']:g}"
        controls = [score for name in goal["above"] if (score := means[name]) is not None]
        least = max(controls) + goal["by"] if len(controls) == len(goal["above"]) else None
    else:
        least = goal.get("bleu", goal.get("wrong"))
        shown = f"{'at most' if _is_wrong(run) else 'at least'} {least:g}"
    if mean is None or least is None:
        return shown, "open"
    return shown, "yes" if (mean <= least if _is_wrong(run) else mean >= least) else "**no**"


def plans() -> str:
    """What the automatic recipe chooses from, best first: for sentences, and for words and their phones."""
    rows = []
    sentences = ((200_000, "vaswani2017"), (29_000, "vaswani2017"), (5_000, "vaswani2017"), (5_000, "bahdanau2014"))
    kinds = (*sentences, (33_000, "wu2019"), (800, "wu2019"))
    for pairs, name in kinds:
        facts = Facts(pairs=pairs, mean_words=12.0, mean_characters=120.0, alphabet=80, cuda=True)
        on_cpu = {plan.size for plan in list_plans(name, None, replace(facts, cuda=False), "all")}
        for plan in list_plans(name, None, facts, "all"):
            schedule = plan.schedule
            least = [f"{schedule.least_epochs:g} epochs"] if schedule.least_epochs else []
            least += [f"{schedule.least_updates:,} updates"] if schedule.least_updates else []
            cells = [f"{pairs:,}", f"`{name}`", plan.size, f"{schedule.r_drop:g}" if schedule.r_drop else "–"]
            needed = f"at least {' and '.join(least)}" if least else "–"
            rows.append([*cells, f"{schedule.epochs:g}", needed, schedule.on_cpu if plan.size in on_cpu else "no"])
    head = ["pairs", "model", "size", "R-Drop", "epochs, if there is time", "chosen if the time allows", "on a CPU"]
    return table(head, rows)
