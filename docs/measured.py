"""Tables generated from benchmarks/results/*.json, for docs/tables.py."""

import io
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from rich.console import Console

from saccade.language import Language
from saccade.tour.report import show

RESULTS = Path(__file__).resolve().parents[1] / "benchmarks" / "results"
FIXED, ATTENTION = "fixed context", "attention"
MODELS = ("vaswani2017", "bahdanau2014", "cho2014")
Run = Mapping[str, Any]


def table(head: Iterable[str], rows: Iterable[Iterable[str]], *, right: bool = False) -> str:
    """A Markdown table; `right` aligns every column but the first to the right, for numbers."""
    names = list(head)
    rule = ["---", *["---:" if right else "---"] * (len(names) - 1)]
    lines = [names, rule, *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", r"\|") for cell in line) + " |" for line in lines)


def _tries() -> list[Run]:
    runs: list[Run] = json.loads((RESULTS / "try.json").read_text(encoding="utf-8"))["runs"]
    return runs


def _mean(values: Sequence[float], digits: int) -> str:
    """The mean and, for several seeds, the range."""
    mean = f"{fmean(values):.{digits}f}"
    return mean if len(values) == 1 else f"{mean} ({min(values):.{digits}f}–{max(values):.{digits}f})"


def try_output(record: str = "try-shown.json", command: str = "make try") -> str:
    """The most telling parts of what one run printed: a pair of translations, everyday sentences if they were learnt,
    BLEU by length, and the targets."""
    (run,) = json.loads((RESULTS / record).read_text(encoding="utf-8"))["runs"]
    run["effort"]["judged"] = 1  # the record has one sentence per range of lengths
    console = Console(width=80, record=True, file=io.StringIO())
    show(run, console)
    lines = [line.rstrip() for line in console.export_text().strip().splitlines()]
    title = next(number for number, line in enumerate(lines) if "BLEU on unseen" in line)
    everyday = next((number for number, line in enumerate(lines) if line.startswith("Everyday")), None)
    excerpts = [
        lines[: lines.index("")],
        *([] if everyday is None else [lines[everyday : lines.index("", everyday)]]),
        lines[title : lines.index(next(line for line in lines[title:] if line.startswith("└"))) + 1],
        [line for line in lines if line.startswith(("✓", "✗"))],
    ]
    return f"```console\n$ {command}\n…\n" + "\n…\n".join("\n".join(excerpt) for excerpt in excerpts) + "\n```"


def try_languages() -> str:
    """One run of `saccade try` in each language: BLEU, alignment error and the everyday sentences known by heart."""
    rows = []
    for name, record in (("French", "try-shown"), ("German", "try-de"), ("Chinese", "try-zh")):
        (run,) = json.loads((RESULTS / f"{record}.json").read_text(encoding="utf-8"))["runs"]
        fixed, attention = (run["systems"][system] for system in (FIXED, ATTENTION))
        gap = next(target["reached"] for target in run["targets"] if "31–40" in target["claim"])
        sentences = run.get("everyday", [])
        known = [
            str(sum(text == pair["target"] for text, pair in zip(system["everyday"], sentences, strict=True)))
            for system in ((fixed, attention) if sentences else ())
        ]
        errors = [attention["alignment"]["aer"], run["aligners"]["diagonal"]]
        scores = [system["up_to_20_words"]["bleu"] for system in (fixed, attention)]
        cells = [f"{scores[0]:.1f}", f"{scores[1]:.1f}", f"{gap:.1f}", *(f"{error:.3f}" for error in errors)]
        rows.append([name, *cells, f"{' and '.join(known)} of {len(sentences)}" if known else "not learnt"])
    head = ["to", f"{FIXED}, BLEU", f"{ATTENTION}, BLEU", "gap at 31–40 words", "AER", "diagonal, AER", "everyday"]
    return table(head, rows, right=True)


def try_lengths() -> str:
    """BLEU of both models by source length."""
    runs = _tries()
    rows = []
    for place, row in enumerate(runs[0]["systems"][ATTENTION]["by_length"]):
        cells = [
            _mean([run["systems"][name]["by_length"][place]["scores"]["bleu"] for run in runs], 1)
            for name in (FIXED, ATTENTION)
        ]
        rows.append([row["label"], "longer than training" if row["beyond"] else "as in training", *cells])
    return table(["source words", "", FIXED, ATTENTION], rows, right=True)


def try_targets() -> str:
    """The targets of `saccade try`, and what each seed reached."""
    runs = _tries()
    rows = []
    for place, target in enumerate(runs[0]["targets"]):
        reached = [run["targets"][place] for run in runs]
        cells = [f"{one['reached']:.3g} {'✓' if one['met'] else '✗ not met'}" for one in reached]
        rows.append([target["claim"], *cells])
    return table(["target", *(f"seed {run['effort']['seed']}" for run in runs)], rows, right=True)


def try_aligners() -> str:
    """AER of the attention beside two aligners that do not read the words."""
    runs = _tries()
    aligners = {
        "attention": [run["systems"][ATTENTION]["alignment"]["aer"] for run in runs],
        "diagonal (knows only the lengths)": [run["aligners"]["diagonal"] for run in runs],
        "uniform (knows nothing)": [run["aligners"]["uniform"] for run in runs],
    }
    return table(["aligner", "AER"], [[name, _mean(values, 3)] for name, values in aligners.items()], right=True)


def try_senses() -> str:
    """Percentage of ambiguous words translated in the right sense, by the distance of the cue."""
    runs = _tries()
    columns = ((FIXED, "accuracy"), (FIXED, "control"), (ATTENTION, "accuracy"), (ATTENTION, "control"))
    rows = []
    for place, row in enumerate(runs[0]["systems"][ATTENTION]["ambiguity"]):
        cells = [
            _mean([100 * run["systems"][name]["ambiguity"][place][key] for run in runs], 0) for name, key in columns
        ]
        sentences = sum(run["systems"][ATTENTION]["ambiguity"][place]["items"] for run in runs)
        rows.append([row["bucket"], str(sentences), *cells])
    return table(["words to the cue", "sentences", FIXED, "cue removed", ATTENTION, "cue removed"], rows, right=True)


def try_provenance() -> str:
    """How the results of `saccade try` were obtained."""
    runs = _tries()
    seeds = ", ".join(str(run["effort"]["seed"]) for run in runs)
    updates = {name: _between([run["systems"][name]["steps"] for run in runs]) for name in (FIXED, ATTENTION)}
    seconds = ", ".join(f"{run['seconds']:.0f}" for run in runs)
    provenance = runs[0]["provenance"]
    machine = provenance["machine"]
    return (
        f"Seeds {seeds}; {updates[FIXED]} updates without attention and {updates[ATTENTION]} with it, in {seconds} "
        f"seconds from start to end. {machine['cpu']}, {machine['cores']} cores, torch "
        f"{provenance['versions']['torch']}, {provenance['date'][:10]}. A cell shows the mean over the seeds and, in "
        "brackets, the lowest and the highest value."
    )


def _between(numbers: Sequence[int]) -> str:
    """The smallest and the largest number, or the one number that all are equal to."""
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
    head = ["model", "recipe", "parameters", "updates", "minutes", "validation BLEU", "% right at the end"]
    return table(head, rows)


def ambiguity_distances() -> str:
    """Accuracy at the last validation of each run and, in brackets, the control."""
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
    """Accuracy over all distances at each validation."""
    runs = _ambiguity()
    found = {
        name: {check["step"]: f"{100 * check['accuracy']:.1f}" for check in run["checks"]} for name, run in runs.items()
    }
    steps = sorted({step for of in found.values() for step in of})
    rows = [[f"{step:,}", *(of.get(step, "") for of in found.values())] for step in steps]
    return table(["update", *(f"`{name}`" for name in runs)], rows, right=True)


def learnt_models() -> list[str]:
    """The models in the record of benchmarks/learning.py."""
    rows = json.loads((RESULTS / "learning.json").read_text(encoding="utf-8"))["rows"]
    return list(dict.fromkeys(row["model"] for row in rows))


def learnt(model: str | None = None) -> str:
    """How fast one model, or every model, learnt the small tasks, and on which machine."""
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
        place += f"; {result['side_by_side']} processes, two of them at the same time"
    if result.get("note"):
        place += f". {result['note']}"
    return table(head if model else ["model", *head], rows) + f"\n\n{place}. {made['date'][:10]}."


def ngrams() -> str:
    """The perplexity of n-grams by their order."""
    found = json.loads((RESULTS / "ngrams.json").read_text(encoding="utf-8"))
    rows = [
        [order, f"{run['ngrams']:,}", f"{run['perplexity']:.1f}", f"{run['known_perplexity']:.1f}"]
        for order, run in found["orders"].items()
    ]
    return table(["order", "n-grams", "perplexity", "without unknown words"], rows, right=True)


def character_models(machine: str = "cpu") -> str:
    """Language models of characters: the loss of each."""
    runs = _language_models(f"shakespeare-{machine}")
    rows = [
        [name, f"{run['parameters']:,}", f"{run['loss']:.3f}", f"{run['loss'] / math.log(2):.2f}"] for name, run in runs
    ]
    head = ["", "parameters, or n-grams", "loss per character", "bits per character"]
    return f"{table(head, rows, right=True)}\n\n{_measured_on(runs[-1][1])}"


def word_models(language: Language = "en") -> str:
    """Language models of words: the perplexity of each, alone and mixed with the longest n-grams."""
    runs = _language_models("europarl-cpu")
    rows = []
    for name, run in runs:
        mixed = f"{run['mixed_perplexity']:.1f}" if "mixed_perplexity" in run else "–"
        rows.append([name, f"{run['parameters']:,}", f"{run['perplexity']:.1f}", mixed])
    if language == "zh":
        rows = [[name.replace("-grams", " 元语法"), *numbers] for name, *numbers in rows]
        head = ["", "参数或 n 元组个数", "困惑度", "与 5 元语法混合"]
        return f"{table(head, rows, right=True)}"
    head = ["", "parameters, or n-grams", "perplexity", "mixed with 5-grams"]
    return f"{table(head, rows, right=True)}\n\n{_measured_on(runs[-1][1])}"


def _language_models(group: str) -> list[tuple[str, Run]]:
    """The runs of one text on one machine, each with the name of its row"""
    found = json.loads((RESULTS / "language-models.json").read_text(encoding="utf-8"))
    runs = []
    for name, run in found.items():
        if name.startswith(f"{group}-"):
            model, *kind = name.removeprefix(f"{group}-").split("-")
            runs.append((f"{kind[0]}-grams" if model == "chen1998" else ", ".join([f"`{model}`", *kind]), run))
    return runs


def _measured_on(run: Run) -> str:
    made = run["provenance"]
    place = made["machine"]["gpu"] or f"one thread of {made['machine']['cpu']}"
    return f"{place}, torch {made['versions']['torch']}, seed {made['seed']}. {made['date'][:10]}."


def pretraining() -> str:
    """BLEU and chrF of systems with and without pre-training, and their updates."""
    found = json.loads((RESULTS / "pretraining.json").read_text(encoding="utf-8"))
    rows = []
    for name, one in found["systems"].items():
        *texts, pairs = (f"{step['updates']:,}" for step in one["steps"])
        scores = [f"{one[part][metric]:.1f}" for part in ("test", "valid") for metric in ("bleu", "chrf")]
        rows.append([name, texts[0] if texts else "0", pairs, f"{one['parameters']:,}", *scores])
    counts, made = found["data"], found["provenance"]
    head = ["", "updates on texts", "on pairs", "parameters", "BLEU", "chrF", "BLEU, validation", "chrF, validation"]
    return table(head, rows, right=True) + (
        f"\n\n{counts['pairs']:,} pairs, {counts['texts']:,} texts; scored on {counts['test']:,} pairs that no system "
        f"saw, and on the {counts['valid']} pairs of validation. Batches of {found['options']['tokens']:,} tokens, "
        f"one run each with seed {made['seed']}; {made['machine']['cpu']}, one thread, torch "
        f"{made['versions']['torch']}, {made['date'][:10]}."
    )


def hops() -> str:
    """The accuracy of classifiers, and the overlap of their hops: means of the seeds, with the lowest and highest."""
    found = json.loads((RESULTS / "hops.json").read_text(encoding="utf-8"))
    rows = []
    for system, runs in found["systems"].items():
        overlaps = [run["overlap"] for run in runs if "overlap" in run]
        accuracies = (_range([run[part] for run in runs], 1) for part in ("valid", "accuracy"))
        rows.append([system, *accuracies, _range(overlaps, 2) if overlaps else "–"])
    made, seeds = found["provenance"], len(next(iter(found["systems"].values())))
    place = f"{found['updates']:,} updates, {seeds} seeds, {made['machine']['cpu']}, torch {made['versions']['torch']}"
    return table(["", "validation", "test", "overlap"], rows, right=True) + f"\n\n{place}. {made['date'][:10]}."


def _range(values: Sequence[float], digits: int) -> str:
    return f"{fmean(values):.{digits}f} ({min(values):.{digits}f}–{max(values):.{digits}f})"


def word_vectors() -> str:
    """Word vectors beside gensim's: the median speed, and the mean correlations with their intervals."""
    found = json.loads((RESULTS / "word-vectors.json").read_text(encoding="utf-8"))
    tests = list(next(iter(found.values()))["summary"]["saccade"]["correlation"])
    rows = []
    for method, record in found.items():
        for system, one in record["summary"].items():
            scores = (one["correlation"][test] for test in tests)
            cells = [f"{score['mean']:.3f} ({score['low']:.3f}–{score['high']:.3f})" for score in scores]
            rows.append([f"{method}, {system}", f"{one['words_per_second']:,.0f}", *cells])
    return table(["", "words/s", *(Path(test).stem for test in tests)], rows, right=True)


def reranking() -> str:
    """chrF and BLEU with each choice of judges, and the range of chrF with weights tuned with other priors."""
    rows: list[Run] = json.loads((RESULTS / "reranking.json").read_text(encoding="utf-8"))["rows"]
    cells = []
    for row in rows:
        if row["tuned_with"] is not None:
            continue
        judges = {name: row.get(name) for name in ("channel", "prior")}
        others = [o["chrf"] for o in rows if o["tuned_with"] and {name: o.get(name) for name in judges} == judges]
        names = [name if name == "channel" else f"prior ({judge})" for name, judge in judges.items() if judge]
        spread = f"{min(others):.1f}–{max(others):.1f}" if others else ""
        cells.append([" + ".join(names) or "the search alone", f"{row['chrf']:.1f}", f"{row['bleu']:.1f}", spread])
    return table(["ranked by the model and", "chrF", "BLEU", "chrF, weights of other priors"], cells, right=True)
