"""Measure padding and the number of batch shapes: pairs sorted by length, and the planned shapes of `Batches`.

python benchmarks/padding.py NAME=SOURCES,TARGETS [NAME=SOURCES,TARGETS …] [--tokens 1500 4096 …] [--out FILE]

The vocabulary is the default one. Padding is the share of all positions of sources and targets, including the rows that
partial batches lack. "auto" is what `train.tokens = "auto"` chooses on a GPU with enough memory.
"""

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from saccade.data import Corpus
from saccade.data.batching import Batches, find_batch_starts
from saccade.provenance import provenance
from saccade.train.data_options import Data
from saccade.train.dataset import load_dataset
from saccade.train.resources import usual_tokens


def load_corpus(sources: str, targets: str) -> Corpus:
    with tempfile.TemporaryDirectory() as folder:
        corpus = load_dataset(Data(pairs=sources, targets=targets, streaming=False), Path(folder), seed=1).corpus
    assert isinstance(corpus, Corpus)
    return corpus


def measure_sorted(corpus: Corpus, tokens: int) -> dict[str, Any]:
    """Batches as large as fit, from pairs sorted by the longer side and then by the shorter."""
    lengths = np.stack([corpus.source.lengths + 1, corpus.target.lengths + 1])
    order = np.lexsort(np.sort(lengths, axis=0))
    starts = find_batch_starts(np.sort(lengths, axis=0)[1][order], tokens)
    batches = [lengths[:, members] for members in np.split(order, starts[1:-1])]
    shapes = [(batch.shape[1], *batch.max(1).tolist()) for batch in batches]
    positions = sum(rows * (source + target) for rows, source, target in shapes)
    return {
        "batches": len(batches),
        "shapes": len(set(shapes)),
        "padding": round(1 - int(lengths.sum()) / positions, 4),
    }


def measure_planned(corpus: Corpus, tokens: int) -> dict[str, Any]:
    start = time.process_time()
    batches = Batches(corpus, tokens=tokens)
    measured = batches.measure()
    planned = time.process_time() - start
    list(batches)
    return {
        "batches": measured.batches,
        "shapes": measured.shapes,
        "padding": round(measured.padding, 4),
        "planning_seconds": round(planned, 2),
        "seconds_per_batch": round((time.process_time() - start - planned) / measured.batches, 5),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpora", nargs="+", metavar="NAME=SOURCES,TARGETS")
    parser.add_argument("--tokens", type=int, nargs="*", default=[1500, 4096, 8192])
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/padding.json"))
    arguments = parser.parse_args()
    results = []
    for entry in arguments.corpora:
        name, _, files = entry.partition("=")
        corpus = load_corpus(*files.split(","))
        automatic = usual_tokens(corpus.tokens, max(corpus.longest_sides) + 1, "cuda")
        for tokens in sorted({*arguments.tokens, automatic}):
            before, after = measure_sorted(corpus, tokens), measure_planned(corpus, tokens)
            about = {"corpus": name, "pairs": len(corpus), "tokens": tokens, "auto": tokens == automatic}
            results.append({**about, "sorted": before, "planned": after})
            print(f"{name}, {tokens:,} tokens: sorted {before}, planned {after}")
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    content = {"results": results, "provenance": provenance(command=sys.argv[0])}
    arguments.out.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
