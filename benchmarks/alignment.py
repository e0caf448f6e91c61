"""Alignment error rates of IBM model 1, IBM model 2, the HMM and, where it is installed, eflomal.

    python benchmarks/alignment.py --data DATA                       # the phrasebook, and 200,000 pairs of Europarl
    python benchmarks/alignment.py --data DATA --pairs 20000 --out small.json
    python benchmarks/alignment.py --tiny --out tiny.json            # a few pairs of the phrasebook
    python benchmarks/alignment.py --install                         # eflomal, in an environment of its own

All aligners learn from the aligned pairs and from others, in both directions. DATA has europarl/train.{en,fr}.xz, whose
words are split as in the gold sentences, and align/hansards-en-fr.{src,tgt,talp}.
"""

import argparse
import json
import lzma
import re
import resource
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from peers import Peer, create, interpreter

from saccade.align import GoldLinks, Links, learn_aligner, parse_gold, score_alignments, symmetrise
from saccade.align.options import StatisticalModel, Symmetrisation
from saccade.align.scores import score_baselines
from saccade.data import TextPair
from saccade.provenance import provenance
from saccade.tasks import task
from saccade.text import words
from saccade.tour.run import TRAINED

VERSION = "2.0.0"  # of eflomal
EFLOMAL = Peer("eflomal", "eflomal", "", "eflomal", ("numpy", f"eflomal=={VERSION}"))
MODELS: tuple[StatisticalModel, ...] = ("ibm1", "ibm2", "hmm")
METHODS: tuple[Symmetrisation, ...] = ("none", "intersection", "grow-diag", "grow-diag-final-and", "grow-diag-final")
PHRASEBOOK = "phrasebook-en-fr"
LEARNT, SEED = 60_000, 12  # of the phrasebook, as `saccade try` trains and aligns

# The French of the gold sentences has no elisions and no contractions: "l'eau du lac" is "le eau de le lac".
_ELISION = re.compile(r"\b([cdjlmnst]|qu|lorsqu|puisqu|jusqu)['’](?=\w)", re.IGNORECASE)
_CONTRACTED = {"du": "de le", "des": "de les", "au": "à le", "aux": "à les"}
_CONTRACTION = re.compile(rf"\b({'|'.join(_CONTRACTED)})\b", re.IGNORECASE)


@dataclass(frozen=True)
class Corpus:
    """Pairs of tokenised text: the first ones have gold links."""

    name: str
    pairs: list[TextPair]
    gold: list[GoldLinks]

    @property
    def aligned(self) -> list[TextPair]:
        return self.pairs[: len(self.gold)]


def phrasebook(aligned: int, learnt: int) -> Corpus:
    """The pairs that `saccade try` aligns, and as many as it trains on."""
    gold = list(task(PHRASEBOOK).pairs(aligned, SEED, split="test", words=TRAINED))
    more = list(task(PHRASEBOOK).pairs(learnt, 1, split="train", words=TRAINED))
    pairs = [TextPair(" ".join(words(pair.source)), " ".join(words(pair.target))) for pair in [*gold, *more]]
    return Corpus("phrasebook", pairs, [GoldLinks.all_sure(pair.alignment or ()) for pair in gold])


def hansards(data: Path, learnt: int) -> Corpus:
    """The gold sentences of the Hansards, and pairs of Europarl."""
    source, target, links = (
        (data / "align" / f"hansards-en-fr.{kind}").read_text(encoding="utf-8").splitlines()
        for kind in ("src", "tgt", "talp")
    )
    pairs = [*map(TextPair, source, target), *islice(europarl(data / "europarl"), learnt)]
    return Corpus("hansards", pairs, [parse_gold(line, place="gold") for line in links])


def europarl(folder: Path) -> Iterator[TextPair]:
    with (
        lzma.open(folder / "train.en.xz", "rt", encoding="utf-8") as english,
        lzma.open(folder / "train.fr.xz", "rt", encoding="utf-8") as french,
    ):
        for source, target in zip(english, french, strict=True):
            yield TextPair(split_english(source), split_french(target))


def split_english(text: str) -> str:
    text = re.sub(r"['’]s\b", " 's", text.replace("-", " - "))
    return " ".join(piece for token in text.split() for piece in ([token] if token == "'s" else words(token)))


def split_french(text: str) -> str:
    text = _ELISION.sub(r"\1e ", text.replace("-", " - "))
    return " ".join(words(_CONTRACTION.sub(lambda match: _CONTRACTED[match[1].lower()], text)))


Aligned = dict[Symmetrisation, list[Links]]


def learnt(corpus: Corpus, model: StatisticalModel) -> Aligned:
    aligner = learn_aligner(corpus.pairs, model, tokenised=True)
    aligners = {method: replace(aligner, symmetrisation=method) for method in METHODS}
    return {method: [pair.links for pair in each.align(corpus.aligned)] for method, each in aligners.items()}


def eflomal(corpus: Corpus, python: Path) -> Aligned:
    """With its default settings, from lower-cased text."""
    with tempfile.TemporaryDirectory() as name:
        paths = [Path(name) / file for file in ("source", "target", "forward", "backward")]
        for path, side in zip(paths, zip(*corpus.pairs, strict=True), strict=False):
            path.write_text("".join(f"{text.casefold()}\n" for text in side), encoding="utf-8")
        arguments = zip(("-s", "-t", "-f", "-r"), map(str, paths), strict=True)
        program = [str(python), str(python.with_name("eflomal-align"))]
        subprocess.run([*program, *(part for pair in arguments for part in pair)], check=True, capture_output=True)
        forward, backward = (list(_read_links(path, len(corpus.gold))) for path in paths[2:])
    pairs = list(zip(forward, backward, strict=True))
    return {method: [symmetrise(*pair, method) for pair in pairs] for method in METHODS}


def _read_links(path: Path, count: int) -> Iterator[Links]:
    for line in path.read_text(encoding="utf-8").splitlines()[:count]:
        yield parse_gold(line, place=str(path)).sure


def measure(corpus: Corpus, align: Callable[[], Aligned]) -> dict[str, Any]:
    began, used = time.monotonic(), _cpu_seconds()
    aligned = align()
    return {
        "seconds": round(time.monotonic() - began, 1),
        "cpu_seconds": round(_cpu_seconds() - used, 1),
        "scores": {method: asdict(score_alignments(links, corpus.gold)) for method, links in aligned.items()},
    }


_PROCESSES = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)


def _cpu_seconds() -> float:
    used = [resource.getrusage(who) for who in _PROCESSES]
    return sum(each.ru_utime + each.ru_stime for each in used)


def measure_all(corpus: Corpus, say: Callable[[str], None] = print) -> dict[str, Any]:
    lengths = [(len(pair.source.split()), len(pair.target.split())) for pair in corpus.aligned]
    baselines = {name: scores.aer for name, scores in score_baselines(corpus.gold, lengths).items()}
    aligners: dict[str, Callable[[], Aligned]] = {model: partial(learnt, corpus, model) for model in MODELS}
    if (python := interpreter(EFLOMAL)) is not None:
        aligners["eflomal"] = partial(eflomal, corpus, python)
    rows = []
    for name, align in aligners.items():
        rows.append({"aligner": name, **measure(corpus, align)})
        say(f"{corpus.name}, {name}: AER {rows[-1]['scores']['grow-diag-final']['aer']:.3f}, {rows[-1]['seconds']} s")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return {
        "name": corpus.name,
        "peak_gib": round(peak, 2),  # of this process, with the texts of the corpus
        "pairs": len(corpus.pairs),
        "aligned": len(corpus.gold),
        "baselines": baselines,
        "rows": rows,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="the folder with europarl/ and align/ (default: the phrasebook only)")
    parser.add_argument("--pairs", type=int, default=200_000, help="pairs of Europarl to learn from")
    parser.add_argument(
        "--tiny", action="store_true", help="a few pairs of the phrasebook, to see that everything runs"
    )
    parser.add_argument("--install", action="store_true", help="create the environment of eflomal")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "alignment.json")
    options = parser.parse_args()
    if options.install:
        create(EFLOMAL)
        return
    corpora = [phrasebook(20, 200) if options.tiny else phrasebook(200, LEARNT)]
    if options.data is not None:
        corpora.append(hansards(options.data, options.pairs))
    command = f"python benchmarks/alignment.py --data DATA --pairs {options.pairs}"  # DATA is a path of this machine
    made = provenance(SEED, command)
    if interpreter(EFLOMAL) is not None:
        made["versions"]["eflomal"] = VERSION
    result = {"provenance": made, "corpora": [measure_all(corpus) for corpus in corpora]}
    options.out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
