"""Two models, the same data, the same time, one core each: what attention is for.

The fixed-context model and the attentive one have the same width and the same settings; each is trained for so many
minutes of its own core and then judged on the same unseen sentences.
"""

import json
import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from rich.console import Console

from saccade.evaluate import GoldLinks, by_length, diagonal_links, score, score_alignments, score_uniform
from saccade.models import MODELS
from saccade.tasks import Pair, Phrasebook
from saccade.text import Policy, words
from saccade.tour.ambiguity import AmbiguitySet
from saccade.train.recipe import Data, Recipe, Training

BOOK = Phrasebook(source="en", target="fr")
SYSTEMS: Mapping[str, str] = {"fixed context": "cho2014", "attention": "bahdanau2014"}
TRAINED = (3, 20)  # source words
EDGES = (5, 10, 15, 20, 30, 40, 60, 80)


@dataclass(frozen=True, kw_only=True)
class Effort:
    """What a contest costs."""

    minutes: float = 3.0  # of training, for each model
    pairs: int = 60_000
    judged: int = 60  # test sentences of each range of length
    aligned: int = 200  # pairs whose gold alignment is compared
    ambiguous: int = 160  # sentences with an ambiguous word, and as many without what decides it
    seed: int = 1


def recipe(system: str, effort: Effort) -> Recipe:
    """The same for both, but for the model."""
    name = SYSTEMS[system]
    data = Data(
        pairs="task:phrasebook-en-fr",
        count=effort.pairs,
        words=TRAINED,
        joint=False,
        vocabulary=Policy(kind="word", size=4000),
        valid_most=200,
    )
    train = Training(
        lr=4e-3,
        schedule="cosine",
        warmup=100,
        tokens=600,
        smoothing=0.0,
        weight_decay=0.0,
        max_minutes=effort.minutes,
        check_every=10_000,  # the time is for training: the end is judged
        judge_on=50,
        device="cpu",
        threads=1,
        seed=effort.seed,
    )
    return Recipe(data=data, model=name, settings=MODELS[name].PRESETS["small"], train=train)


def unseen_pairs(effort: Effort) -> list[Pair]:
    """Unseen sentences, as many of each range of length."""
    ranges = zip((3, *(edge + 1 for edge in EDGES[:-1])), EDGES, strict=True)
    return [pair for span in ranges for pair in BOOK.pairs(effort.judged, seed=11, split="test", words=span)]


def compete(system: str, effort: Effort, folder: Path) -> dict[str, Any]:
    """Train and judge one system, in a process of its own."""
    import torch

    from saccade.decode.folder import load
    from saccade.decode.search import Search
    from saccade.train.log import Log
    from saccade.train.loop import train

    torch.set_num_threads(1)
    with (folder.parent / f"{folder.name}.log").open("w", encoding="utf-8") as stream:
        outcome = train(recipe(system, effort), folder, log=Log(folder, Console(file=stream, width=160)))
    if not outcome.finished:
        raise KeyboardInterrupt
    translator = load(folder, device="cpu")
    pairs = unseen_pairs(effort)
    found = translator.translate([pair.source for pair in pairs], Search())
    texts = [one.text for one in found]
    rows = by_length(
        [p.source for p in pairs], texts, [p.target for p in pairs], edges=EDGES, longest_trained=TRAINED[1]
    )
    inside = [i for i, pair in enumerate(pairs) if len(words(pair.source)) <= TRAINED[1]]
    within = score([texts[i] for i in inside], [pairs[i].target for i in inside])
    aligned = None
    if translator.attends:
        some = _aligned(effort)
        attended = translator.attend([p.source for p in some], [p.target for p in some])
        aligned = asdict(score_alignments([one.alignment(by="word") for one in attended], _gold(some)))
    senses = AmbiguitySet.of(BOOK, effort.ambiguous).judge(translator, edges=(3, 6, 10, 20))
    return {
        "system": system,
        "model": SYSTEMS[system],
        "parameters": sum(p.numel() for p in translator.model.parameters()),
        "steps": outcome.step,
        "seconds": outcome.seconds,
        "up_to_20_words": within.to_dict(),
        "by_length": [
            {
                "label": row.bucket.label,
                "beyond": row.beyond,
                "count": row.sentences,
                "scores": row.scores and row.scores.to_dict(),
            }
            for row in rows
        ],
        "alignment": aligned,
        "ambiguity": [row.to_dict() for row in senses],
        "translations": texts,
    }


def _aligned(effort: Effort) -> list[Pair]:
    return list(BOOK.pairs(effort.aligned, seed=12, split="test", words=TRAINED))


def _gold(pairs: list[Pair]) -> list[GoldLinks]:
    return [GoldLinks.all_sure(frozenset(pair.alignment or ())) for pair in pairs]


def aligner_baselines(effort: Effort) -> dict[str, float]:
    """AER of an aligner that knows only the lengths, and of one that knows nothing."""
    pairs = _aligned(effort)
    sizes = [(len(words(pair.source)), len(words(pair.target))) for pair in pairs]
    return {
        "diagonal": score_alignments([diagonal_links(*size) for size in sizes], _gold(pairs)).aer,
        "uniform": score_uniform(_gold(pairs), sizes).aer,
    }


def contest(effort: Effort, folder: Path, tell: Callable[[dict[str, str]], None]) -> dict[str, Any]:
    """Both systems side by side. `tell` is given, now and then, where each of them is."""
    folder.mkdir(parents=True, exist_ok=True)
    spawn = multiprocessing.get_context("spawn")
    places = {system: folder / SYSTEMS[system] for system in SYSTEMS}
    with ProcessPoolExecutor(len(SYSTEMS), mp_context=spawn, initializer=_one_thread) as pool, _ending_together():
        with _deaf():
            running = {system: pool.submit(compete, system, effort, places[system]) for system in SYSTEMS}
        while any(not future.done() for future in running.values()):
            wait(running.values(), timeout=1.0, return_when=FIRST_COMPLETED)
            tell({system: _where(places[system], future.done()) for system, future in running.items()})
            if any(future.done() and future.exception() for future in running.values()):
                break
        results = {system: future.result() for system, future in running.items()}
    return {
        "effort": asdict(effort),
        "systems": results,
        "aligners": aligner_baselines(effort),
        "test": [asdict(replace(pair, sense=None)) for pair in unseen_pairs(effort)],
    }


@contextmanager
def _deaf() -> Iterator[None]:
    """A terminal's Ctrl-C reaches every process. Those begun here do not hear it, not even while they still import:
    whoever began them ends them, and says so once."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def _ending_together() -> Iterator[None]:
    try:
        yield
    except BaseException:
        for process in multiprocessing.active_children():
            process.terminate()
        raise


def _one_thread() -> None:
    os.environ["OMP_NUM_THREADS"] = "1"


def _where(folder: Path, done: bool) -> str:
    """The last number that a run noted."""
    if done:
        return "judged"
    try:
        last = json.loads((folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()[-1])
    except (OSError, IndexError, ValueError):
        return "reading the phrasebook"
    if "valid_loss" in last:
        return "being judged"
    return f"step {last['step']:,}, loss {last['loss']:.2f}"


def elapsed(since: float) -> str:
    seconds = round(time.monotonic() - since)
    return f"{seconds // 60}:{seconds % 60:02d}"
