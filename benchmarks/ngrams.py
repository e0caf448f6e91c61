"""The perplexity of n-grams of each order, trained on one text and scored on another.

    python benchmarks/ngrams.py TRAIN TEST [--orders 1 2 3 4 5]

If kenlm is installed (pip install kenlm), it scores the same text by the ARPA file of the longest order, and must find
the same perplexity. The result is written to --out, with the machine, the versions and the commit.
"""

import argparse
import json
import math
import tempfile
import time
from pathlib import Path
from typing import Any

from saccade import lm
from saccade.data.text_files import read_lines
from saccade.provenance import provenance

ROOT = Path(__file__).parent.parent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("train", type=Path)
    parser.add_argument("test", type=Path)
    parser.add_argument("--orders", type=int, nargs="+", default=[1, 2, 3, 4, 5])
    parser.add_argument("--out", type=Path, default=ROOT / "benchmarks/results/ngrams.json")
    given = parser.parse_args()
    command = f"python benchmarks/ngrams.py {given.train.name} {given.test.name}"  # without this machine's paths
    made, texts = provenance(None, command), [*read_lines(given.test)]
    runs: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        for order in given.orders:
            start = time.perf_counter()
            model = lm.train(given.train, out=Path(folder) / str(order), order=order, lower=True)
            seconds = time.perf_counter() - start
            runs[str(order)] = {
                "ngrams": model.ngrams.size,
                "seconds": round(seconds, 1),
                **model.score(texts).to_dict(),
            }
            print(order, runs[str(order)], flush=True)
        theirs = kenlm_perplexity(model, texts, Path(folder) / "model.arpa")
    names = {"train": given.train.name, "test": given.test.name, "words": len(model.words)}
    record = names | {"orders": runs, "kenlm_perplexity": theirs, "provenance": made}
    given.out.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def kenlm_perplexity(model: lm.NgramModel, texts: list[str], arpa: Path) -> float | None:
    """That of the same n-grams, read by KenLM"""
    try:
        import kenlm
    except ImportError:
        return None
    model.save_arpa(arpa)
    reader = kenlm.Model(str(arpa))
    logs = [log for text in texts for log, _, _ in reader.full_scores(" ".join(model.split(text)))]
    return math.exp(-math.log(10) * sum(logs) / len(logs))


if __name__ == "__main__":
    main()
