"""Measure how much faster a beam search is with a shortlist, on one CPU thread.

python benchmarks/shortlist.py [--rounds 5] [--vocabularies 8000,32000] [--frequent 500] [--own 5] [--out FILE.json]

The models and the batch are those of `speed.py cpu-decoding`: random weights, 64 random sources of 24 tokens, and 25
tokens in every output. Each source token has `--own` translations that are not among the `--frequent` ones; tokens of
Multi30k have 5 of 50. Both searches take turns, and the figures are medians of CPU seconds.
"""

import argparse
import json
import random
import time
from itertools import product
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import ours
import torch
from speed_rows import Options, cpu_decoding
from work import Work

from saccade.data.batching import pad_sources
from saccade.decode.options import DEFAULT_SEARCH
from saccade.decode.search.loop import run_search
from saccade.decode.shortlist.tables import Shortlist, with_special_tokens
from saccade.provenance import provenance

ROWS = ("base", "rnn")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--vocabularies", type=lambda text: [int(size) for size in text.split(",")], default=[8000])
    parser.add_argument("--frequent", type=int, default=500)
    parser.add_argument("--own", type=int, default=5)
    parser.add_argument("--tiny", action="store_true", help="tiny sizes, to see that everything runs")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    torch.set_num_threads(1)
    rows, result = cpu_decoding(Options(tiny=options.tiny)), {"provenance": provenance(seed=1), "rows": []}
    for name, vocabulary in product(ROWS, options.vocabularies):
        work = rows[name]().work
        work = work if options.tiny else work.resized(vocabulary=vocabulary)
        measured = measure(work, options.rounds, options.frequent, options.own)
        result["rows"].append({"name": name, **measured})
        without, narrow = (f"{measured[key]:.2f}" for key in ("whole_seconds", "shortlist_seconds"))
        counted = f"{measured['candidates']:,.0f} of {measured['vocabulary']:,} tokens"
        print(
            f"{name}: {without} s with all tokens, {narrow} s with {counted}: {measured['speedup']:.2f} times as fast"
        )
    if options.out is not None:
        options.out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


def measure(work: Work, rounds: int, frequent: int, own: int) -> dict[str, Any]:
    model, sources = ours.build(work).eval(), work.pairs()[0]
    source, readable = pad_sources(sources)
    shortlist = draw_shortlist(work, frequent, own)
    whole = DEFAULT_SEARCH.with_options(beam=work.beam, shortest=work.target - 1, longest=work.target)
    narrow = whole.with_options(shortlist=True, beam=work.beam)
    candidates = shortlist.choose(sources)
    seconds: dict[str, list[float]] = {"whole": [], "shortlist": []}
    for _ in range(rounds + 1):
        began = time.process_time()
        run_search(model, source, readable, whole)
        between = time.process_time()
        run_search(model, source, readable, narrow, candidates=shortlist.choose(sources))
        seconds["whole"].append(between - began)
        seconds["shortlist"].append(time.process_time() - between)
    medians = {name: median(values[1:]) for name, values in seconds.items()}  # the first round warms up
    return {
        "vocabulary": work.vocabulary,
        "candidates": candidates.allowed.sum(1).float().mean().item(),
        **{f"{name}_seconds": value for name, value in medians.items()},
        "speedup": medians["whole"] / medians["shortlist"],
    }


def draw_shortlist(work: Work, frequent: int, own: int) -> Shortlist:
    """The last tokens of the vocabulary are the frequent ones, and the translations are drawn from the others."""
    drawn, first = random.Random(1), max(4 + own, work.vocabulary - frequent)
    best = [token for _ in range(work.vocabulary) for token in drawn.sample(range(4, first), own)]
    starts = np.arange(work.vocabulary + 1, dtype=np.int32) * own
    always = with_special_tokens(np.arange(first, work.vocabulary))
    return Shortlist(starts.astype(np.int32), np.array(best, np.int32), always, work.vocabulary)


if __name__ == "__main__":
    main()
