"""Language models side by side: the loss of each on a validation text after the same number of tokens.

    python benchmarks/language_models.py --data DATA --only 'shakespeare-cpu-*' [--device cpu] [--updates 200 --lr 0.01]

language_models.toml lists the texts and the runs. A network of words is also mixed with the longest n-grams of the same
text, half and half, as Bengio and others (2003) did. The results are added to --out, with the machine, the versions and
the commit; `--updates` and `--lr` try other values, and write nothing.
"""

import argparse
import json
import math
import tempfile
import time
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saccade import lm
from saccade.data.text_files import read_lines
from saccade.data.texts import LINE_END
from saccade.ngrams.ngram_model import NgramModel
from saccade.provenance import provenance
from saccade.text.words import splitter

ROOT = Path(__file__).parent.parent
LISTED = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
NETWORKS = ("bengio2003", "elman1990", "cheng2016", "radford2018")
RARE = "unk"  # stands for every word that is not among the most frequent


@dataclass(frozen=True)
class LanguageRun:
    name: str  # text-machine-model
    device: str
    updates: int | None = None
    lr: float | None = None

    @property
    def text(self) -> Mapping[str, Any]:
        found: Mapping[str, Any] = LISTED["text"][self.name.split("-")[0]]
        return found

    @property
    def shared(self) -> Mapping[str, Any]:
        found: Mapping[str, Any] = LISTED["shared"]["-".join(self.name.split("-")[:2])]
        return found

    @property
    def options(self) -> Mapping[str, Any]:
        found: Mapping[str, Any] = LISTED["runs"][self.name]
        return found

    @property
    def model(self) -> str:
        return str(self.options.get("model") or self.name.split("-")[2])

    def train(self, text: Path, valid: Path, out: Path) -> lm.TextModel:
        if self.model not in NETWORKS:
            options: dict[str, Any] = {"unit": self.text["unit"], "order": self.options["order"]}
            return lm.train(text, out=out, tokenised=self.text["unit"] == "word", **options)
        values = {"lr": self.lr or self.options["lr"], "device": self.device, **self.shared["train"]}
        settings = [f"train.{key}={_toml(value)}" for key, value in values.items()]
        settings += [f"model.{key}={_toml(value)}" for key, value in self.options["settings"].items()]
        budget = self.shared["budget"] if self.updates is None else str(self.updates)
        return lm.train(
            text,
            out=out,
            model=self.model,
            unit=self.text["unit"],
            block=self.shared.get("block"),
            valid=str(valid),
            budget=budget,
            settings=tuple(settings),
            resume=out.exists(),
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="the folder of the texts")
    parser.add_argument("--only", nargs="+", required=True, metavar="NAME", help="names of runs, or patterns")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--updates", type=int)
    parser.add_argument("--lr", type=float)
    parser.add_argument("--models", type=Path, help="keep the models in this folder, and continue interrupted ones")
    parser.add_argument("--out", type=Path, default=ROOT / "benchmarks/results/language-models.json")
    given = parser.parse_args()
    names = [name for name in LISTED["runs"] if any(fnmatchcase(name, pattern) for pattern in given.only)]
    if not names:
        parser.error(f"--only: no run is called {' or '.join(given.only)}")
    is_trial = given.updates is not None or given.lr is not None
    ngrams: dict[str, Probabilities] = {}
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.models or Path(temporary)
        for name in names:
            run = LanguageRun(name, given.device, given.updates, given.lr)
            record, probabilities = measure(run, given.data, folder)
            mixed_with = name.rsplit(run.model, 1)[0]
            if run.model not in NETWORKS:
                ngrams[mixed_with] = probabilities
            elif run.text["unit"] == "word" and mixed_with in ngrams:
                record["mixed_perplexity"] = ngrams[mixed_with].mixed_with(probabilities)
            print(name, json.dumps({key: value for key, value in record.items() if key != "provenance"}), flush=True)
            if not is_trial:
                found = json.loads(given.out.read_text(encoding="utf-8")) if given.out.exists() else {}
                given.out.write_text(json.dumps(found | {name: record}, indent=1) + "\n", encoding="utf-8")


@dataclass(frozen=True)
class Probabilities:
    """Of each token of the validation text"""

    logs: NDArray[np.float64]

    def mixed_with(self, other: "Probabilities") -> float:
        """The perplexity of the mean of both probabilities"""
        return math.exp(-float((np.logaddexp(self.logs, other.logs) - math.log(2)).mean()))


def measure(run: LanguageRun, data: Path, folder: Path) -> tuple[dict[str, Any], Probabilities]:
    command = f"python benchmarks/language_models.py --data DATA --only '{run.name}' --device {run.device}"
    made = provenance(1, command)
    text, valid = prepare(run, data, folder)
    start = time.perf_counter()
    model = run.train(text, valid, folder / run.name)
    seconds = time.perf_counter() - start
    lines = [*read_lines(valid)]
    scores = [*model.score_tokens(lines)]
    logs = np.concatenate([score.log_probs for score in scores])
    unknown = int(sum(score.is_unknown.sum() for score in scores))
    if isinstance(model, NgramModel):
        size, best = model.ngrams.size, None
    else:
        size, best = sum(p.numel() for p in model.translator.model.parameters()), _best(folder / run.name)
    loss = -float(logs.mean())
    record = {"parameters": size, "tokens": len(logs), "unknown": unknown, "loss": loss, "perplexity": math.exp(loss)}
    if (block := run.shared.get("block")) is not None and run.model in NETWORKS:
        record["loss_by_position"] = _by_position(model, lines, block - 1)  # a block's first token is the start symbol
    return record | {"seconds": round(seconds, 1), "best": best, "provenance": made}, Probabilities(logs)


def _by_position(model: lm.TextModel, lines: Sequence[str], length: int) -> list[float]:
    """The mean loss of the first, the second … token of all whole blocks, when the lines are one text"""
    (scores,) = model.score_tokens([LINE_END.join(lines)])
    losses = -scores.log_probs
    whole = losses[: len(losses) // length * length].reshape(-1, length)
    return [round(float(loss), 4) for loss in whole.mean(0)]


def prepare(run: LanguageRun, data: Path, folder: Path) -> tuple[Path, Path]:
    """The training text and the validation text of a run"""
    place = folder / "-".join(run.name.split("-")[:2])
    files = place / "train.txt", place / "valid.txt"
    if not place.exists():
        place.mkdir(parents=True)
        for path, lines in zip(files, _split(run, data), strict=True):
            path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return files


def _split(run: LanguageRun, data: Path) -> tuple[Iterable[str], Iterable[str]]:
    lines = [*islice(read_lines(data / run.text["file"]), run.shared.get("lines"))]
    if (share := run.text.get("share")) is not None:
        whole = "\n".join(lines)
        cut = whole.index("\n", round((1 - share) * len(whole)))
        return whole[:cut].split("\n"), whole[cut + 1 :].split("\n")
    words = splitter(lower=True, tokenised=False)
    train, valid = ([words(line) for line in each] for each in (lines, read_lines(data / run.text["valid"])))
    counts = Counter(word for sentence in train for word in sentence)
    known = {word for word, _ in counts.most_common(run.shared["words"])}
    return _known(train, known), _known(valid, known)


def _known(sentences: Sequence[Sequence[str]], known: set[str]) -> Iterator[str]:
    return (" ".join(word if word in known else RARE for word in sentence) for sentence in sentences)


def _best(folder: Path) -> dict[str, Any]:
    """The step and the epoch of the best validation"""
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    best: dict[str, Any] = config["extra"]["best"] if "extra" in config else config["best"]
    return best


def _toml(value: Any) -> str:
    return json.dumps(value)


if __name__ == "__main__":
    main()
