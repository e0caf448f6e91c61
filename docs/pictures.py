"""Draw the picture at the head of the READMEs: `python docs/pictures.py` writes docs/images/saccade.png.

Left, the heatmap of the run in benchmarks/results/try-shown.json; right, BLEU by source length over the seeds of
benchmarks/results/try.json, the mean as a line and the range as a band.
"""

import json
from pathlib import Path
from typing import Any

import matplotlib

from saccade.inspect import plot_heatmap

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results"
PICTURE = ROOT / "docs" / "images" / "saccade.png"
STYLES = {"attention": ("#c24e00", "s"), "fixed context": ("#0072b2", "o")}


def runs(name: str) -> list[dict[str, Any]]:
    read: list[dict[str, Any]] = json.loads((RESULTS / name).read_text(encoding="utf-8"))["runs"]
    return read


def draw(path: Path = PICTURE) -> None:
    matplotlib.use("Agg")
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
    places = range(len(rows))
    first_longer = next(place for place, row in enumerate(rows) if row["beyond"])
    axes.axvspan(first_longer - 0.5, len(rows) - 0.5, color="#eef0f4")
    axes.text(len(rows) - 0.6, 97, "longer than in training", ha="right", va="top", color="#555")
    for system, (colour, marker) in STYLES.items():
        by_seed = [[row["scores"]["bleu"] for row in run["systems"][system]["by_length"]] for run in seeds]
        by_length = list(zip(*by_seed, strict=True))
        axes.fill_between(places, [*map(min, by_length)], [*map(max, by_length)], color=colour, alpha=0.2, linewidth=0)
        means = [sum(scores) / len(scores) for scores in by_length]
        axes.plot(places, means, color=colour, marker=marker, label=system)
    axes.set_xticks(places, [row["label"] for row in rows])
    axes.set(xlim=(-0.5, len(rows) - 0.5), ylim=(0, 100), xlabel="words in the source sentence", ylabel="BLEU")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, loc="lower left")


if __name__ == "__main__":
    draw()
