"""Two models, the same data, one core each: what attention is for.

The fixed-context model and the attentive one have the same width and the same settings. The budget is a number of
updates, so that a slow or busy machine needs longer and finds the same; the fixed-context model makes twice as many,
since each takes half the time. Both are then judged on the same unseen sentences.
"""

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

from saccade.align import GoldLinks, diagonal_links, score_alignments, score_uniform
from saccade.evaluate import by_length, score
from saccade.files import parse_json
from saccade.models import MODELS
from saccade.tasks import Pair, Phrasebook
from saccade.text import Policy, words
from saccade.tour.ambiguity import AmbiguitySet
from saccade.tour.timing import Pace, seconds_left, slow_machine
from saccade.train.recipe import Data, Recipe, Training

BOOK = Phrasebook(source="en", target="fr")
SYSTEMS: Mapping[str, str] = {"fixed context": "cho2014", "attention": "bahdanau2014"}
SHARES: Mapping[str, int] = {"fixed context": 2, "attention": 1}  # updates that take the same time
TRAINED = (3, 20)  # source words
EDGES = (5, 10, 15, 20, 30, 40, 60, 80)


@dataclass(frozen=True, kw_only=True)
class ContestOptions:
    """What a contest costs."""

    updates: int = 1600  # of the attentive model: three minutes less a little, at 9 a second
    pairs: int = 60_000
    judged: int = 60  # test sentences of each range of length
    aligned: int = 200  # pairs whose gold alignment is compared
    ambiguous: int = 160  # sentences with an ambiguous word, and as many without what decides it
    seed: int = 1

    def updates_of(self, system: str) -> int:
        return SHARES[system] * self.updates


def recipe(system: str, effort: ContestOptions) -> Recipe:
    """The same for both, but for the model and the number of its updates."""
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
        max_steps=effort.updates_of(system),
        check_every=effort.updates_of(system),  # the time is for training: the end is judged
        judge_on=50,
        device="cpu",
        threads=1,
        seed=effort.seed,
    )
    return Recipe(data=data, model=name, settings=MODELS[name].PRESETS["small"], train=train)


def unseen_pairs(effort: ContestOptions) -> list[Pair]:
    """Unseen sentences, as many of each range of length."""
    ranges = zip((3, *(edge + 1 for edge in EDGES[:-1])), EDGES, strict=True)
    return [pair for span in ranges for pair in BOOK.pairs(effort.judged, seed=11, split="test", words=span)]


def compete(system: str, effort: ContestOptions, folder: Path) -> dict[str, Any]:
    """Train and judge one system, in a process of its own."""
    import torch

    from saccade.decode.loading import load
    from saccade.decode.search.options import Search
    from saccade.train.log import Log
    from saccade.train.translation import train

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


def _aligned(effort: ContestOptions) -> list[Pair]:
    return list(BOOK.pairs(effort.aligned, seed=12, split="test", words=TRAINED))


def _gold(pairs: list[Pair]) -> list[GoldLinks]:
    return [GoldLinks.all_sure(frozenset(pair.alignment or ())) for pair in pairs]


def aligner_baselines(effort: ContestOptions) -> dict[str, float]:
    """AER of an aligner that knows only the lengths, and of one that knows nothing."""
    pairs = _aligned(effort)
    sizes = [(len(words(pair.source)), len(words(pair.target))) for pair in pairs]
    return {
        "diagonal": score_alignments([diagonal_links(*size) for size in sizes], _gold(pairs)).aer,
        "uniform": score_uniform(_gold(pairs), sizes).aer,
    }


@dataclass(frozen=True, kw_only=True)
class ContestProgress:
    where: Mapping[str, str]  # each system is
    seconds_left: float
    slow: str | None  # one line about it, on a machine that is slower than expected


def contest(effort: ContestOptions, folder: Path, tell: Callable[[ContestProgress], None]) -> dict[str, Any]:
    """Both systems side by side. `tell` is called every second."""
    folder.mkdir(parents=True, exist_ok=True)
    spawn = multiprocessing.get_context("spawn")
    places = {system: folder / SYSTEMS[system] for system in SYSTEMS}
    paces = {name: Pace(model=SYSTEMS[name], updates=effort.updates_of(name)) for name in SYSTEMS}
    with ProcessPoolExecutor(len(SYSTEMS), mp_context=spawn, initializer=_one_thread) as pool, _ending_together():
        with _deaf():
            running = {system: pool.submit(compete, system, effort, places[system]) for system in SYSTEMS}
        while any(not future.done() for future in running.values()):
            wait(running.values(), timeout=1.0, return_when=FIRST_COMPLETED)
            done = {system for system, future in running.items() if future.done()}
            tell(_progress(places, paces, done))
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


def _progress(places: Mapping[str, Path], paces: Mapping[str, Pace], done: set[str]) -> ContestProgress:
    now = time.monotonic()
    where = {system: "judged" if system in done else _where(places[system], paces[system], now) for system in places}
    return ContestProgress(
        where=where,
        seconds_left=seconds_left([pace for system, pace in paces.items() if system not in done], now),
        slow=slow_machine(list(paces.values())),
    )


def _where(folder: Path, pace: Pace, now: float) -> str:
    """By the last line that a run noted, which `pace` takes in."""
    try:
        noted = (folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
        last = parse_json(noted[-1]) if noted else {"step": 0}
    except (OSError, ValueError):
        return "reading the phrasebook"
    pace.see(last["step"], now)
    if "valid_loss" in last:
        return "being judged"
    return f"update {last['step']:,} of {pace.updates:,}" + (f", loss {last['loss']:.2f}" if "loss" in last else "")


def clock(seconds: float) -> str:
    return f"{round(seconds) // 60}:{round(seconds) % 60:02d}"
