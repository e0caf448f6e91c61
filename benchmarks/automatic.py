"""Measure the automatic recipe: run `saccade train` on pairs without further settings, then translate a test set.

    python benchmarks/automatic.py --name multi30k-en-de --train train.en train.de --valid val.en val.de \\
        --test test.en test.de --lower --out results.json
    python benchmarks/automatic.py --name cmn-eng-5min --train cmn-eng.tsv --test dev.tsv --set train.max_minutes=5
    python benchmarks/automatic.py --name icelandic --train ice.tsv --test ice_dev.tsv --model bahdanau2014

Files are plain, .gz or .xz, one TSV file or two parallel ones. The result is added to --out: BLEU and chrF (lower-cased
with --lower), the share of wrong sequences (the word error rate of pronunciation), the chosen recipe, the updates, and
the seconds of the whole command, until the model is saved. `--set` and `--model` are passed on.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import sacrebleu

import saccade
from saccade.data import PairFiles
from saccade.provenance import provenance
from saccade.train.recipe import load_recipe


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--name", required=True)
    parser.add_argument("--train", nargs="+", required=True, metavar="FILE")
    parser.add_argument("--valid", nargs="+", metavar="FILE")
    parser.add_argument("--test", nargs="+", required=True, metavar="FILE")
    parser.add_argument("--model")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--lower", action="store_true", help="convert to lower case before scoring")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--note", help="a remark to save with the result")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/automatic.json"))
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        result = measure(given, Path(folder) / given.name)
    print(json.dumps(result, indent=2, ensure_ascii=False))
    found = json.loads(given.out.read_text(encoding="utf-8")) if given.out.exists() else {}
    found[given.name] = result | {"provenance": provenance(given.seed)}
    given.out.write_text(json.dumps(found, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def measure(given: argparse.Namespace, folder: Path) -> dict[str, Any]:
    begun = time.monotonic()
    subprocess.run(command(given, folder), check=True)
    seconds = time.monotonic() - begun
    recipe = load_recipe(folder / "recipe.toml")
    translator = saccade.load(folder, device=given.device).translator
    pairs = list(PairFiles(*map(Path, given.test)))
    texts = [result.text for result in translator.translate([pair.source for pair in pairs])]
    targets = [pair.target for pair in pairs]
    steps = [json.loads(line)["step"] for line in (folder / "metrics.jsonl").read_text().splitlines()]
    return {
        "pairs": len(pairs),
        "bleu": sacrebleu.corpus_bleu(texts, [targets], lowercase=given.lower).score,
        "chrf": sacrebleu.corpus_chrf(texts, [targets]).score,
        "wrong": 100 * sum(a != b for a, b in zip(texts, targets, strict=True)) / len(pairs),
        "lower": given.lower,
        "seconds": round(seconds),
        "updates": max(steps),
        "parameters": sum(p.numel() for p in translator.model.parameters()),
        "recipe": recipe.to_dict(),
        "note": given.note,
    }


def command(given: argparse.Namespace, folder: Path) -> list[str]:
    found = [sys.executable, "-m", "saccade", "train", *given.train, "--out", str(folder)]
    settings = [f"train.seed={given.seed}", f"train.device={given.device}", *given.set]
    if given.valid:
        names = ("data.valid", "data.valid_targets")
        settings += [f"{name}={json.dumps(path)}" for name, path in zip(names, given.valid, strict=False)]
    if given.model:
        found += ["--model", given.model]
    return found + [part for setting in settings for part in ("--set", setting)]


if __name__ == "__main__":
    main()
