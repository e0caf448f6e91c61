"""Two models, the same data, one core each: the effect of attention.

The model with a fixed context and the model with attention have the same width and the same settings. The budget is a
number of updates, so that a slow or busy machine takes longer and gets the same result; the fixed context makes twice
as many updates, since each takes half the time. Both are then evaluated on the same unseen sentences.
"""

import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, wait
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

import torch
from rich.console import Console

from saccade import files
from saccade.align import GoldLinks, score_alignments
from saccade.align.scores import score_baselines
from saccade.decode.loading import load
from saccade.decode.options import Search
from saccade.decode.translator import Translator
from saccade.errors import UserError
from saccade.evaluation import AmbiguousWord, DistanceScores, by_distance
from saccade.evaluation.breakdowns import by_length
from saccade.language import preferred_language
from saccade.locking import entries, locked
from saccade.metrics import Counts
from saccade.models import MODELS
from saccade.processes import single_threaded_processes
from saccade.provenance import provenance
from saccade.tasks import Pair, Phrasebook
from saccade.tasks.drawing import LANGUAGES
from saccade.text import Policy, words
from saccade.tour import TourOptions
from saccade.tour.progress import Pace, TourProgress, clock, read_progress
from saccade.tour.report import show, targets, translate_example, write_report
from saccade.train.data_options import Data
from saccade.train.log import Log
from saccade.train.recipe import Recipe
from saccade.train.training_options import Training
from saccade.train.translation import train

SYSTEMS: Mapping[str, str] = {"fixed context": "cho2014", "attention": "bahdanau2014"}
SHARES: Mapping[str, int] = {"fixed context": 2, "attention": 1}  # updates that take the same time
TRAINED = (3, 20)  # source words
EDGES = (5, 10, 15, 20, 30, 40, 60, 80)
DRAWN_EVERYDAY = 2  # "what is your name?" and "I love you."
SHORT = "the girl sees the big black dog in the garden."
EXAMPLES: Mapping[str, str] = {  # whose heatmap is shown
    "fr": "the small girl does not see the big black dog that I follow in the garden.",
    "de": SHORT,
    "zh": SHORT,
}


def run_in_terminal(out: Path, options: TourOptions, *, quiet: bool = False) -> dict[str, Any]:
    """Train and evaluate both models, and write them, figures.json and report.html into the folder `out`.

    Prints the progress and the results; with `quiet`, only the progress, on standard error. Returns the content of
    figures.json.
    """
    console, began = Console(stderr=quiet), time.monotonic()
    print_line = partial(console.print, highlight=False)
    warnings: list[str] = []
    with console.status("starting") as status, locked(out, folder=True):

        def print_progress(progress: TourProgress) -> None:
            if progress.warning is not None and not warnings:
                warnings.append(progress.warning)
                print_line(progress.warning)
            states = "   ".join(f"{name}: {state}" for name, state in progress.states.items())
            status.update(f"{clock(progress.seconds_left)} left   {states}")

        _clear(out)
        print_line(
            f"Training without and with attention, side by side, on English–{LANGUAGES[options.to]} pairs of the "
            "built-in phrasebook …"
        )
        results = train_both(options, out, print_progress)
        results["provenance"] = provenance(seed=options.seed)
        results["heatmap"] = translate_example(out / SYSTEMS["attention"], EXAMPLES[options.to])
        results["everyday_heatmaps"] = [
            translate_example(out / SYSTEMS["attention"], pair["source"])
            for pair in results["everyday"][:DRAWN_EVERYDAY]
        ]
        results["targets"] = [vars(target) for target in targets(results)]
        results["seconds"] = round(time.monotonic() - began, 1)
        files.write_json(out / "figures.json", results)
        write_report(results, out / "report.html", options.lang or preferred_language())
    if not quiet:
        show(results, console)
        print_line(f"\nFinished in {clock(time.monotonic() - began)}. Report: {out / 'report.html'}   Continue with:")
        print_line(f"  saccade translate {out / SYSTEMS['attention']} - --heatmap")
    return results


def _clear(out: Path) -> None:
    """Remove the files of an earlier tour, and nothing else."""
    present = entries(out)
    if present and not (out / "figures.json").exists() and not (out / "cho2014.log").exists():
        raise UserError(f"{out}: the folder is not empty, and not of an earlier `saccade try`; give another --out")
    for path in present:
        shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()


def phrasebook(options: TourOptions) -> Phrasebook:
    return Phrasebook(source="en", target=options.to)


def train_both(options: TourOptions, folder: Path, progress: Callable[[TourProgress], None]) -> dict[str, Any]:
    """Train and evaluate both systems side by side; `progress` is called every second."""
    folder.mkdir(parents=True, exist_ok=True)
    folders = {system: folder / model for system, model in SYSTEMS.items()}
    paces = {name: Pace(model=SYSTEMS[name], updates=SHARES[name] * options.updates) for name in SYSTEMS}
    with single_threaded_processes(len(SYSTEMS)) as pool:
        running = {system: pool.submit(train_and_evaluate, system, options, folders[system]) for system in SYSTEMS}
        while not all(future.done() for future in running.values()):
            wait(running.values(), timeout=1.0, return_when=FIRST_COMPLETED)
            progress(read_progress(folders, paces, {system for system, future in running.items() if future.done()}))
            if any(future.done() and future.exception() for future in running.values()):
                break
        results = {system: future.result() for system, future in running.items()}
    return {
        "effort": asdict(options),
        "systems": results,
        "aligners": baseline_errors(options),
        "test": [asdict(replace(pair, sense=None)) for pair in unseen_pairs(options)],
        "everyday": [{"source": pair.source, "target": pair.target} for pair in _everyday_pairs(options)],
    }


def train_and_evaluate(system: str, options: TourOptions, folder: Path) -> dict[str, Any]:
    """Train and evaluate one system, in its own process."""
    torch.set_num_threads(1)
    with (folder.parent / f"{folder.name}.log").open("w", encoding="utf-8") as stream:
        outcome = train(build_recipe(system, options), folder, log=Log(folder, Console(file=stream, width=160)))
    if not outcome.finished:
        raise KeyboardInterrupt
    translator = load(folder, device="cpu")
    pairs = unseen_pairs(options)
    sources = [pair.source for pair in pairs]
    texts = [translation.text for translation in translator.translate(sources, Search())]
    counts = Counts(texts, [pair.target for pair in pairs])
    inside = [place for place, source in enumerate(sources) if len(words(source)) <= TRAINED[1]]
    lengths = [
        {"label": row.bucket.label, "beyond": row.beyond, "count": row.sentences, "scores": scores.to_dict()}
        for row in by_length(sources, counts, edges=EDGES, longest_trained=TRAINED[1])
        if (scores := row.scores)
    ]
    everyday = [pair.source for pair in _everyday_pairs(options)]
    senses = AmbiguitySet(phrasebook(options), options.ambiguous).judge(translator, edges=(3, 6, 10, 20))
    aligned = None
    if translator.attends:
        gold = _aligned_pairs(options)
        attended = translator.attend([pair.source for pair in gold], [pair.target for pair in gold])
        aligned = asdict(score_alignments([pair.alignment(by="word") for pair in attended], _gold_links(gold)))
    return {
        "system": system,
        "model": SYSTEMS[system],
        "parameters": sum(p.numel() for p in translator.model.parameters()),
        "steps": outcome.step,
        "seconds": outcome.seconds,
        "up_to_20_words": counts.scores(inside).to_dict(),
        "by_length": lengths,
        "alignment": aligned,
        "ambiguity": [row.to_dict() for row in senses],
        "translations": texts,
        "everyday": [translation.text for translation in translator.translate(everyday, Search())] if everyday else [],
    }


def build_recipe(system: str, options: TourOptions) -> Recipe:
    """The same for both systems, except for the model and the number of updates."""
    name, updates, vocabulary = SYSTEMS[system], SHARES[system] * options.updates, Policy(kind="word", size=4000)
    source, count = f"task:{'everyday' if options.learns_everyday else 'phrasebook'}-en-{options.to}", options.pairs
    data = Data(pairs=source, count=count, words=TRAINED, joint=False, vocabulary=vocabulary, valid_most=200)
    train = Training(
        lr=4e-3,
        schedule="cosine",
        warmup=100,
        tokens=600,
        smoothing=0.0,
        weight_decay=0.0,
        max_steps=updates,
        check_every=updates,  # a single validation, at the end
        judge_on=50,
        device="cpu",
        threads=1,
        seed=options.seed,
    )
    return Recipe(data=data, model=name, settings=MODELS[name].PRESETS["small"], train=train)


def unseen_pairs(options: TourOptions) -> list[Pair]:
    """Test sentences, the same number in each range of lengths."""
    ranges = zip((3, *(edge + 1 for edge in EDGES[:-1])), EDGES, strict=True)
    book = phrasebook(options)
    return [pair for span in ranges for pair in book.pairs(options.judged, seed=11, split="test", words=span)]


def _everyday_pairs(options: TourOptions) -> list[Pair]:
    """The everyday sentences, if they are learnt."""
    return phrasebook(options).everyday_pairs() if options.learns_everyday else []


def _aligned_pairs(options: TourOptions) -> list[Pair]:
    return list(phrasebook(options).pairs(options.aligned, seed=12, split="test", words=TRAINED))


def _gold_links(pairs: list[Pair]) -> list[GoldLinks]:
    return [GoldLinks.all_sure(pair.alignment or ()) for pair in pairs]


def baseline_errors(options: TourOptions) -> dict[str, float]:
    """AER of an aligner that knows only the lengths, and of one that knows nothing."""
    pairs = _aligned_pairs(options)
    lengths = [(len(words(pair.source)), len(words(pair.target))) for pair in pairs]
    return {name: scores.aer for name, scores in score_baselines(_gold_links(pairs), lengths).items()}


class AmbiguitySet:
    """Test sentences with an ambiguous word and its cue, and control sentences with a neutral word in its place."""

    def __init__(self, book: Phrasebook, count: int, *, distance: tuple[int, int] = (1, 20), seed: int = 7) -> None:
        self.pairs = list(book.ambiguous(count, seed, distance=distance))
        self.control = list(book.ambiguous(count, seed, distance=distance, cue="removed"))

    def judge(self, translator: Translator, *, edges: Sequence[int] = (5, 10, 15, 20)) -> list[DistanceScores]:
        """Scores by the distance of the cue."""

        def judge(pairs: Sequence[Pair]) -> Sequence[DistanceScores]:
            items = []
            for sense in (pair.sense for pair in pairs if pair.sense):
                wrong = [form for name, forms in sense.forms.items() if name != sense.name for form in forms]
                items.append(AmbiguousWord(right=sense.forms[sense.name], wrong=wrong, distance=sense.distance))
            translations = translator.translate([pair.source for pair in pairs], Search())
            return by_distance([translation.text for translation in translations], items, edges=edges)

        control = {row.bucket: row.accuracy for row in judge(self.control)}
        return [replace(row, control=control.get(row.bucket)) for row in judge(self.pairs)]
