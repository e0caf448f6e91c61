"""Draw pictures from benchmarks/results: `python docs/pictures.py` writes them to docs/images.

saccade.png, at the head of the READMEs: left, the heatmap of the run in try-shown.json; right, BLEU by source length
over the seeds of try.json. multi30k-by-length.png, in docs/results.md: BLEU by source length over the seeds of
scores.json. Lines are means of the seeds, and bands their ranges. hops.png, in docs/labelling.md: two heatmaps in
hops.json. language-models.png, in docs/language-models.md: the loss by the characters read before, in
language-models.json.
"""

import json
from pathlib import Path
from statistics import fmean
from typing import Any

import matplotlib

from saccade.inspect import plot_heatmap

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results"
IMAGES = ROOT / "docs" / "images"
STYLES = {"attention": ("#c24e00", "s"), "fixed context": ("#0072b2", "o")}
ON_MULTI30K = {  # rows of benchmarks/rows.toml
    "multi30k-automatic": ("Transformer", "#009e73", "^"),
    "multi30k-bahdanau2014-automatic": ("bahdanau2014: attention", "#c24e00", "s"),
    "multi30k-cho2014": ("cho2014: one vector", "#0072b2", "o"),
    "multi30k-sutskever2014": ("sutskever2014: one vector", "#8066b0", "v"),
}
ON_SHAKESPEARE = {  # runs of benchmarks/language_models.toml
    "bengio2003": ("bengio2003: a window of 8 characters", "#8066b0", "v"),
    "elman1990-lstm": ("elman1990, LSTM", "#009e73", "^"),
    "radford2018": ("radford2018", "#c24e00", "s"),
}
READ_BEFORE = [(0, 1), (1, 2), (2, 3), (3, 5), (5, 9), (9, 17), (17, 33), (33, 63)]  # places in a block
FEWEST = 50  # sentences in a range that is drawn


def runs(name: str) -> list[dict[str, Any]]:
    read: list[dict[str, Any]] = json.loads((RESULTS / name).read_text(encoding="utf-8"))["runs"]
    return read


def draw_all(folder: Path = IMAGES) -> None:
    matplotlib.use("Agg")
    draw_try(folder / "saccade.png")
    draw_multi30k(folder / "multi30k-by-length.png")
    draw_hops(folder / "hops.png")
    draw_positions(folder / "language-models.png")


def draw_try(path: Path) -> None:
    from matplotlib import pyplot

    (shown,) = runs("try-shown.json")
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(11, 4.4), layout="constrained", width_ratios=(1.05, 1))
    plot_heatmap(shown["heatmap"]["weights"], shown["heatmap"]["source"], shown["heatmap"]["target"], left)
    left.set_xlabel("English, as read")
    left.set_ylabel("French, as written")
    draw_lengths(right, runs("try.json"))
    figure.savefig(path, dpi=100, metadata={"Software": None})
    pyplot.close(figure)


def draw_lengths(axes: Any, seeds: list[dict[str, Any]]) -> None:
    rows = seeds[0]["systems"]["attention"]["by_length"]
    first_longer = next(place for place, row in enumerate(rows) if row["beyond"])
    axes.axvspan(first_longer - 0.5, len(rows) - 0.5, color="#eef0f4")
    axes.text(len(rows) - 0.6, 97, "longer than in training", ha="right", va="top", color="#555")
    for system, (colour, marker) in STYLES.items():
        by_seed = [[row["scores"]["bleu"] for row in run["systems"][system]["by_length"]] for run in seeds]
        draw_seeds(axes, by_seed, system, colour, marker)
    label_lengths(axes, [row["label"] for row in rows], highest=100)


def draw_multi30k(path: Path) -> None:
    from matplotlib import pyplot

    records = json.loads((RESULTS / "scores.json").read_text(encoding="utf-8"))
    figure, axes = pyplot.subplots(figsize=(6.5, 4.2), layout="constrained")
    labels: list[str] = []
    for run, (title, colour, marker) in ON_MULTI30K.items():
        seeds = [
            records[f"{run}/{seed}"]["scores"]["test"]["by_length"] for seed in (1, 2, 3)
        ]  # label → [number of sentences, BLEU]
        labels = [label for label, (sentences, _) in seeds[0].items() if sentences >= FEWEST]
        draw_seeds(axes, [[seed[label][1] for label in labels] for seed in seeds], title, colour, marker)
    label_lengths(axes, labels, highest=50)
    figure.savefig(path, dpi=100, metadata={"Software": None})
    pyplot.close(figure)


def draw_hops(path: Path) -> None:
    from matplotlib import pyplot

    shown = json.loads((RESULTS / "hops.json").read_text(encoding="utf-8"))["shown"]
    titles = ("without the penalty", "with the penalty")
    figure, both = pyplot.subplots(1, 2, figsize=(11, 2.9), layout="constrained")
    for axes, title, (_, read) in zip(both, titles, sorted(shown.items(), reverse=True), strict=True):
        hops = [f"hop {number}" for number in range(1, len(read["weights"]) + 1)]
        plot_heatmap(read["weights"], read["words"], hops, axes)
        axes.set(xlabel=title, ylabel="")
    figure.savefig(path, dpi=100, metadata={"Software": None})
    pyplot.close(figure)


def draw_positions(path: Path) -> None:
    from matplotlib import pyplot

    found = json.loads((RESULTS / "language-models.json").read_text(encoding="utf-8"))
    figure, axes = pyplot.subplots(figsize=(6.5, 3.8), layout="constrained")
    for run, (title, colour, marker) in ON_SHAKESPEARE.items():
        by_position = found[f"shakespeare-cpu-{run}"]["loss_by_position"]
        means = [fmean(by_position[first:end]) for first, end in READ_BEFORE]
        axes.plot(range(len(means)), means, color=colour, marker=marker, label=title)
    labels = [f"{first}" if end == first + 1 else f"{first}–{end - 1}" for first, end in READ_BEFORE]
    axes.set_xticks(range(len(labels)), labels)
    axes.set(xlabel="characters read before", ylabel="loss per character")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    figure.savefig(path, dpi=100, metadata={"Software": None})
    pyplot.close(figure)


def draw_seeds(axes: Any, by_seed: list[list[float]], label: str, colour: str, marker: str) -> None:
    by_length = list(zip(*by_seed, strict=True))
    places = range(len(by_length))
    axes.fill_between(places, [*map(min, by_length)], [*map(max, by_length)], color=colour, alpha=0.2, linewidth=0)
    axes.plot(places, [*map(fmean, by_length)], color=colour, marker=marker, label=label)


def label_lengths(axes: Any, labels: list[str], *, highest: float) -> None:
    axes.set_xticks(range(len(labels)), labels)
    axes.set(xlim=(-0.5, len(labels) - 0.5), ylim=(0, highest), xlabel="words in the source sentence", ylabel="BLEU")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, loc="lower left")


if __name__ == "__main__":
    draw_all()
