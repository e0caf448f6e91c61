"""Word vectors beside gensim's: words per second, and how well they rank pairs of words as people do.

    python benchmarks/word_vectors.py TEXT --similarity wordsim353.tsv simlex999.tsv [--seeds 1 2 3 4 5]

Both read the same tokens with the same settings (skip-gram, 100 numbers, window 5, 5 negatives, subsampling 1e-3, 5
epochs) on all cores, one after the other, in changing order. Needs gensim: pip install gensim. The words per second are
those of the text, including the ones that subsampling skips, over the time of the training alone; Saccade's includes a
validation per epoch. The result is added to --out, with the machine, the versions and the commit.
"""

import argparse
import json
import os
import tempfile
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from saccade import words
from saccade.data.text_files import read_lines
from saccade.errors import UserError
from saccade.provenance import provenance
from saccade.text.words import splitter
from saccade.words.options import Method, WordTraining

ROOT = Path(__file__).parent.parent
EPOCHS = 5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("text", type=Path)
    parser.add_argument("--similarity", type=Path, nargs="+", required=True)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3, 4, 5])
    parser.add_argument("--method", choices=["skip-gram", "cbow"], default="skip-gram")
    parser.add_argument("--out", type=Path, default=ROOT / "benchmarks/results/word-vectors.json")
    given = parser.parse_args()
    command = f"python benchmarks/word_vectors.py {given.text.name} --similarity "
    command += " ".join(path.name for path in given.similarity)  # without this machine's paths
    made = provenance(None, f"{command} --method {given.method}")
    made["versions"]["gensim"] = version("gensim")
    try:
        sentences = [*map(splitter(lower=True, tokenised=False), read_lines(given.text))]
    except UserError as error:
        parser.error(str(error))
    count = sum(map(len, sentences))
    runs: dict[str, list[dict[str, Any]]] = {"saccade": [], "gensim": []}
    with tempfile.TemporaryDirectory() as folder:
        text = Path(folder) / "tokens.txt"
        text.write_text("".join(" ".join(sentence) + "\n" for sentence in sentences), encoding="utf-8")
        for turn, seed in enumerate(given.seeds):
            for system in list(runs)[:: 1 if turn % 2 else -1]:
                if system == "saccade":
                    vectors, seconds = train_here(text, Path(folder) / f"run-{seed}", given.method, seed)
                else:
                    vectors, seconds = train_gensim(sentences, given.method, seed)
                scores = {path.name: words.score_similarity(vectors, path).correlation for path in given.similarity}
                record = {"seed": seed, "words_per_second": round(EPOCHS * count / seconds), "correlation": scores}
                runs[system].append(record)
                print(system, record, flush=True)
    found = json.loads(given.out.read_text(encoding="utf-8")) if given.out.exists() else {}
    summary = {system: summarise(records) for system, records in runs.items()}
    found[given.method] = {
        "text": given.text.name,
        "words": count,
        "summary": summary,
        "runs": runs,
        "provenance": made,
    }
    given.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def train_here(text: Path, out: Path, method: Method, seed: int) -> tuple[words.WordVectors, float]:
    options = WordTraining(text=str(text), out=out, method=method, tokenised=True, epochs=EPOCHS, seed=seed)
    outcome = words.train_vectors(options)
    return words.load(outcome.folder), outcome.seconds


def train_gensim(sentences: list[list[str]], method: Method, seed: int) -> tuple[words.WordVectors, float]:
    from gensim.models import Word2Vec

    sizes = {"vector_size": 100, "window": 5, "negative": 5, "min_count": 5, "sample": 1e-3}
    model = Word2Vec(**sizes, sg=method == "skip-gram", workers=os.cpu_count(), epochs=EPOCHS, seed=seed)
    model.build_vocab(sentences)
    start = time.perf_counter()
    model.train(sentences, total_examples=model.corpus_count, epochs=EPOCHS)
    return words.WordVectors(model.wv.index_to_key, model.wv.vectors, name="gensim"), time.perf_counter() - start


def summarise(records: list[dict[str, Any]]) -> dict[str, Any]:
    """The median speed, and the mean of each correlation with its 95 % interval over the seeds."""
    speed = float(np.median([record["words_per_second"] for record in records]))
    tests = records[0]["correlation"]
    return {
        "words_per_second": speed,
        "correlation": {name: interval([record["correlation"][name] for record in records]) for name in tests},
    }


def interval(values: list[float]) -> dict[str, float]:
    """Student's interval for few values"""
    t = {2: 12.71, 3: 4.30, 4: 3.18, 5: 2.78, 6: 2.57, 7: 2.45, 8: 2.36, 9: 2.31, 10: 2.26}.get(len(values), 2.0)
    half = t * float(np.std(values, ddof=1)) / len(values) ** 0.5 if len(values) > 1 else 0.0
    mean = float(np.mean(values))
    return {"mean": round(mean, 4), "low": round(mean - half, 4), "high": round(mean + half, 4)}


if __name__ == "__main__":
    main()
