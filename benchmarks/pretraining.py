"""BLEU of a translation model with and without pre-training on texts, after the same number of updates.

    python benchmarks/pretraining.py cmn-eng.train.tsv.gz cmn-eng.dev.tsv.gz --texts deu-eng.train.tsv.gz \
        fra-eng.train.tsv.gz

The texts are the targets of the files of --texts, and both sides of the pairs. About HELD_OUT pairs are held out: they
are translated at the end, and no system sees them. Their targets and those of the validation pairs are removed from the
texts. All systems have the same batches and seed; the automatic recipe chooses everything else: for so few updates, a
Transformer of width 128 with 2 + 2 layers. Numbers of updates are fixed, not minutes, so that other load on the machine
changes the seconds alone:

    pairs                         UPDATES on the pairs, with a vocabulary of the pairs
    pairs, shared vocabulary      the same with the vocabulary of the pre-trained models
    pairs, all updates            PRETRAINING + UPDATES on the pairs
    denoise, masked               PRETRAINING on the texts with this objective, then UPDATES on the pairs

The result is written to --out, with the machine, the versions and the commit. A finished system in --work is not
trained again.
"""

import argparse
import json
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import saccade
from saccade.data import PairFiles, TextPair
from saccade.evaluation import score
from saccade.provenance import provenance

ROOT = Path(__file__).parent.parent
OBJECTIVES = ("denoise", "masked")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pairs", type=Path)
    parser.add_argument("valid", type=Path)
    parser.add_argument("--texts", type=Path, nargs="+", required=True, help="files of pairs, whose targets are texts")
    parser.add_argument("--most-texts", type=int, default=100_000)
    parser.add_argument("--held-out", type=int, default=1_000)
    parser.add_argument("--pretraining", type=int, default=1_500, help="updates on the texts")
    parser.add_argument("--updates", type=int, default=1_000, help="updates on the pairs")
    parser.add_argument("--tokens", type=int, default=1_000, help="of a batch")
    parser.add_argument("--vocabulary", type=int, default=8_000, help="tokens of the pre-trained models")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--work", type=Path, default=Path("runs/pretraining"))
    parser.add_argument("--out", type=Path, default=ROOT / "benchmarks/results/pretraining.json")
    given = parser.parse_args()
    names = [path.name for path in (given.pairs, given.valid, *given.texts)]  # without this machine's folders
    command = f"python benchmarks/pretraining.py {names[0]} {names[1]} --texts {' '.join(names[2:])}"
    made = provenance(given.seed, command)
    counts = prepare(given)
    systems: dict[str, Any] = {}
    for name, steps in plan(given).items():
        systems[name] = {"steps": [measured(given, *step) for step in steps]}
        systems[name] |= scores(given, steps[-1][0])
        print(name, systems[name], flush=True)
    chosen = {key: getattr(given, key) for key in ("pretraining", "updates", "tokens", "vocabulary", "threads", "seed")}
    record = {"data": counts, "options": chosen, "systems": systems, "provenance": made}
    given.out.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def prepare(given: argparse.Namespace) -> dict[str, Any]:
    """Write the files of all systems, and count their lines."""
    given.work.mkdir(parents=True, exist_ok=True)
    pairs, valid = [*PairFiles(given.pairs)], [*PairFiles(given.valid)]
    every = max(2, len(pairs) // given.held_out)
    test = pairs[::every]
    seen = {pair.target.lower() for pair in (*test, *valid)}
    train = [pair for place, pair in enumerate(pairs) if place % every and pair.target.lower() not in seen]
    texts = dict.fromkeys(
        pair.target for path in given.texts for pair in PairFiles(path) if pair.target.lower() not in seen
    )
    chosen = [*texts][:: max(1, -(-len(texts) // given.most_texts))]
    files = {"train.tsv": _lines(train), "valid.tsv": _lines(valid), "test.tsv": _lines(test), "texts.txt": chosen}
    for name, lines in files.items():
        (given.work / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return {
        "pairs": len(train),
        "valid": len(valid),
        "test": len(test),
        "texts": len(chosen),
        "files": [path.name for path in (given.pairs, given.valid, *given.texts)],
    }


def _lines(pairs: Iterable[TextPair]) -> Iterator[str]:
    return (f"{pair.source}\t{pair.target}" for pair in pairs)


def plan(given: argparse.Namespace) -> dict[str, list[tuple[str, int, dict[str, Any]]]]:
    """The runs of each system: a folder, updates, and options."""
    before = {name: (f"{name}-texts", given.pretraining, {"objective": name}) for name in OBJECTIVES}
    after = {
        name: [before[name], (name, given.updates, {"init_from": given.work / f"{name}-texts"})] for name in OBJECTIVES
    }
    shared = {"vocab_from": given.work / f"{OBJECTIVES[0]}-texts"}
    return {
        **after,
        "pairs": [("pairs", given.updates, {})],
        "pairs, shared vocabulary": [("pairs-shared", given.updates, shared)],
        "pairs, all updates": [("pairs-long", given.pretraining + given.updates, {})],
    }


def measured(given: argparse.Namespace, name: str, updates: int, options: dict[str, Any]) -> dict[str, Any]:
    """Train a model, unless it is there."""
    settings = {"train.tokens": given.tokens, "train.threads": given.threads, "train.seed": given.seed}
    options = {"out": given.work / name, "budget": str(updates)} | options
    if "objective" in options:
        settings["data.vocabulary.size"] = given.vocabulary
    elif "init_from" not in options:
        options["model"] = "vaswani2017"
    if not (given.work / name / "seconds.json").exists():
        start = time.perf_counter()
        if "objective" in options:
            saccade.pretrain(given.work / "texts.txt", pairs=given.work / "train.tsv", settings=settings, **options)
        else:
            saccade.fit(given.work / "train.tsv", valid=given.work / "valid.tsv", settings=settings, **options)
        (given.work / name / "seconds.json").write_text(json.dumps(round(time.perf_counter() - start)))
    return {"updates": updates, "seconds": json.loads((given.work / name / "seconds.json").read_text())}


def scores(given: argparse.Namespace, name: str) -> dict[str, Any]:
    model, found = saccade.load(given.work / name), dict[str, Any]()
    found["parameters"] = sum(parameter.numel() for parameter in model.translator.model.parameters())
    for part in ("valid", "test"):
        pairs = [*PairFiles(given.work / f"{part}.tsv")]
        texts = [translation.text for translation in model.translate([pair.source for pair in pairs])]
        result = score(texts, [pair.target for pair in pairs])
        found[part] = {metric: round(float(result[metric]), 2) for metric in ("bleu", "chrf")}
    return found


if __name__ == "__main__":
    main()
