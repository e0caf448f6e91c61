"""Count the lines that a search in half precision translates differently from one in float32.

python benchmarks/precision.py MODEL TEXT [--beam 5] [--device cuda] [--out benchmarks/results/precision.json]

Each precision translates all lines. `--targets` gives references, for BLEU. `saccade translate` uses half precision on
a GPU by default only where at most 1% of the lines differ.
"""

import argparse
import json
import time
from pathlib import Path
from typing import Any

import torch

from saccade.decode.loading import load
from saccade.decode.options import DEFAULT_SEARCH
from saccade.evaluation import score
from saccade.provenance import provenance

PRECISIONS = ("fp32", "fp16", "bf16")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("text", type=Path, help="one source per line")
    parser.add_argument("--targets", type=Path, help="one reference per line")
    parser.add_argument("--beam", type=int, default=5)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    sources = options.text.read_text(encoding="utf-8").splitlines()
    references = options.targets and options.targets.read_text(encoding="utf-8").splitlines()
    translator = load(options.model, device=torch.device(options.device))
    result: dict[str, Any] = {"provenance": provenance(seed=1), "lines": len(sources), "beam": options.beam}
    expected: list[str] = []
    for name in PRECISIONS:
        search = DEFAULT_SEARCH.with_options(beam=options.beam, precision=name)
        translator.translate(sources, search)  # warms up
        began = time.perf_counter()
        texts = [translation.text for translation in translator.translate(sources, search)]
        seconds = time.perf_counter() - began
        expected = expected or texts
        share = sum(text != wanted for text, wanted in zip(texts, expected, strict=True)) / len(texts)
        speed, bleu = len(texts) / seconds, None if references is None else score(texts, references)["bleu"]
        result[name] = {"differing_share": share, "lines_per_second": speed, "bleu": bleu}
        print(f"{name}: {share:.2%} of the lines differ, {speed:,.0f} lines/s, BLEU {bleu}")
    if options.out is not None:
        options.out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
