"""Translate held-out pairs with a trained model, and write scores.json and the translations into a folder.

python benchmarks/score_model.py runs/my-model --on valid val.en val.de --on test test.en test.de --lower --out scores

Several models translate together.
"""

import argparse
import json
from pathlib import Path
from typing import Any

import sacrebleu

import saccade
from saccade.data import PairFiles
from saccade.evaluation.breakdowns import by_length
from saccade.metrics import Counts
from saccade.provenance import provenance
from saccade.train.recipe import load_recipe


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--out", type=Path, help="by default, the folder of the first model")
    parser.add_argument("--on", nargs="+", action="append", required=True, metavar=("NAME", "FILE"))
    parser.add_argument("--lower", action="store_true", help="ignore case")
    parser.add_argument("--moses", metavar="LANGUAGE", help="also score lower-cased text after the Moses tokeniser")
    given = parser.parse_args()
    first, *others = given.folders
    out = given.out or first
    out.mkdir(parents=True, exist_ok=True)
    recipe = load_recipe(first / "recipe.toml")
    model = saccade.load(first, device=recipe.train.device, ensemble=others)
    entries = [json.loads(line) for line in (first / "metrics.jsonl").read_text("utf-8").splitlines()]
    result = {
        "scores": {name: score(model, out / f"{name}.txt", [*map(Path, files)], given) for name, *files in given.on},
        "updates": max(entry["step"] for entry in entries),
        "best": next(entry for entry in reversed(entries) if entry.get("best")),
        "parameters": sum(p.numel() for p in model.translator.model.parameters()),
        "recipe": recipe.to_dict(),
        "provenance": provenance(recipe.train.seed),
    }
    (out / "scores.json").write_text(json.dumps(result, ensure_ascii=False, default=str), encoding="utf-8")


def score(model: saccade.Model, out: Path, files: list[Path], given: argparse.Namespace) -> dict[str, Any]:
    pairs = list(PairFiles(*files))
    texts = [translation.text for translation in model.translate([pair.source for pair in pairs])]
    targets = [pair.target for pair in pairs]
    out.write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
    scores = {
        "pairs": len(pairs),
        "bleu": sacrebleu.corpus_bleu(texts, [targets], lowercase=given.lower).score,
        "chrf": sacrebleu.corpus_chrf(texts, [targets]).score,
        "wrong": 100 * sum(a != b for a, b in zip(texts, targets, strict=True)) / len(pairs),
    }
    scores |= {"by_length": bleu_by_length([pair.source for pair in pairs], texts, targets, given)}
    return scores | ({"tokenised": tokenised_bleu(texts, targets, given.moses)} if given.moses else {})


def bleu_by_length(
    sources: list[str], texts: list[str], targets: list[str], given: argparse.Namespace
) -> dict[str, tuple[int, float]]:
    """The pairs in each range of source lengths, in words, and their BLEU"""
    if given.lower:
        texts, targets = [text.lower() for text in texts], [text.lower() for text in targets]
    rows = by_length(sources, Counts(texts, targets, metrics=["bleu"], tokenise="13a"))
    return {row.bucket.label: (row.sentences, row.scores["bleu"]) for row in rows if row.scores}


def tokenised_bleu(texts: list[str], targets: list[str], language: str) -> float:
    """The BLEU of papers that score tokenised, lower-cased text by multi-bleu.perl"""
    from sacremoses import MosesTokenizer

    tokenise = MosesTokenizer(language).tokenize
    sides = ([tokenise(text.lower(), escape=False, return_str=True) for text in side] for side in (texts, targets))
    hypotheses, references = sides
    return float(sacrebleu.corpus_bleu(hypotheses, [references], tokenize="none", force=True).score)


if __name__ == "__main__":
    main()
