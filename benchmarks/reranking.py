"""chrF and BLEU of held-out phrasebook pairs: of the search alone, and reranked with a channel and with priors.

    python benchmarks/reranking.py [--updates 300] [--sentences 300] [--read 20000]

The translators learn 100,000 pairs for a few updates. The priors read other French sentences: 3-grams of words, 8-grams
of characters, and elman1990, for 20 s. Weights are tuned for chrF on validation pairs, and used on test pairs. Each
prior is also used with the weights that were tuned with another one, since its score per word has a common scale.
"""

import argparse
import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import saccade
from saccade import lm
from saccade.evaluation import score
from saccade.provenance import provenance
from saccade.tasks import task

ROOT = Path(__file__).parent.parent
BEAM = 10


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--updates", type=int, default=300)
    parser.add_argument("--sentences", type=int, default=300)
    parser.add_argument("--read", type=int, default=20_000)
    parser.add_argument("--out", type=Path, default=ROOT / "benchmarks/results/reranking.json")
    given = parser.parse_args()
    made = provenance(None, "python benchmarks/reranking.py")
    with tempfile.TemporaryDirectory() as folder:
        rows = measure(Path(folder), given.updates, given.sentences, given.read)
    sizes = {"updates": given.updates, "sentences": given.sentences, "read": given.read, "beam": BEAM}
    given.out.write_text(json.dumps({**sizes, "rows": rows, "provenance": made}, indent=1) + "\n", encoding="utf-8")


def measure(folder: Path, updates: int, sentences: int, read: int) -> list[dict[str, Any]]:
    for direction in ("en-fr", "fr-en"):
        settings = ["train.device=cpu", "train.seed=1"]
        saccade.fit(f"task:phrasebook-{direction}", out=folder / direction, budget=str(updates), settings=settings)
    french = "".join(f"{target}\n" for _, target in draw(read, 7, "train"))
    (folder / "fr.txt").write_text(french, encoding="utf-8")
    lm.train(folder / "fr.txt", out=folder / "3-grams", order=3)
    lm.train(folder / "fr.txt", out=folder / "letters", order=8, unit="char")
    lm.train(folder / "fr.txt", out=folder / "elman1990", model="elman1990", budget="20s")
    model, priors = saccade.load(folder / "en-fr", device="cpu"), ("3-grams", "letters", "elman1990")
    valid, (sources, references) = draw(sentences, 3, "valid"), zip(*draw(sentences, 4, "test"), strict=True)

    def judge(tuned: str | None, **judges: str) -> dict[str, Any]:
        """The scores with these judges and, of the same ones, or of those with the prior `tuned`, the weights."""
        models: dict[str, Any] = {name: folder / place for name, place in judges.items()}
        weights = folder / "-".join(["weights", *judges, tuned or judges.get("prior", "")])
        if judges and not weights.exists():
            model.tune_reranking(valid, out=weights, search=saccade.Search(beam=BEAM), **models)
        options: dict[str, Any] = {**models, "rerank_weights": weights} if judges else {}
        found = model.translate(sources, saccade.Search(beam=BEAM), **options)
        row = {**judges, "tuned_with": tuned, **score_texts([each.text for each in found], references)}
        row["weights"] = json.loads(weights.read_text(encoding="utf-8"))["weights"] if judges else {}
        print(row, flush=True)
        return row

    rows = [judge(None), judge(None, channel="fr-en")]
    rows += [judge(None, prior=prior) for prior in priors]
    rows += [judge(None, channel="fr-en", prior=prior) for prior in priors]
    rows += [judge(other, channel="fr-en", prior=prior) for prior in priors for other in priors if other != prior]
    return rows


def draw(count: int, seed: int, split: str) -> list[tuple[str, str]]:
    return [(pair.source, pair.target) for pair in task("phrasebook-en-fr").pairs(count, seed, split)]


def score_texts(texts: Sequence[str], references: Sequence[str]) -> dict[str, float]:
    measured = score(texts, references)
    return {name: round(measured[name], 2) for name in ("chrf", "bleu")}


if __name__ == "__main__":
    main()
