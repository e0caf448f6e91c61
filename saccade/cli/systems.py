"""The systems that `saccade evaluate` judges: models, which it lets translate, and files of what others wrote."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from saccade import files
from saccade.cli.material import Material
from saccade.cli.searching import read_constraints
from saccade.cli.translate import bar
from saccade.errors import UserError

if TYPE_CHECKING:
    from saccade.align import AlignmentScores, GoldLinks, PairAttention
    from saccade.decode import Search, Translator
    from saccade.evaluate import Evaluation

EXAMPLES, DRAWN = 8, 3  # in a report: sentences, and heatmaps of them


@dataclass(frozen=True, kw_only=True)
class Judging:
    metrics: list[str]
    resamples: int
    train: Path | None
    constraints: Path | None
    gold: "list[GoldLinks] | None"
    tokenised: bool
    layer: int | None
    search: "Search"
    device: str
    batch_tokens: int
    drawn: bool  # a report is to show where the models looked


@dataclass(frozen=True, kw_only=True)
class Output:
    """What one system wrote, and what a model alone can say of it."""

    name: str
    texts: list[str]
    unread: list[tuple[int, int]] | None = None
    alignment: "AlignmentScores | None" = None  # of a model with attention, against gold
    longest_trained: int | None = None
    drawn: "Sequence[PairAttention]" = ()


@dataclass(frozen=True, kw_only=True)
class Run:
    output: Output
    evaluation: "Evaluation"

    @property
    def name(self) -> str:
        return self.output.name


@dataclass(frozen=True, kw_only=True)
class System:
    name: str
    runs: list[Run]  # with other seeds


def judged(given: Sequence[str], material: Material, how: Judging) -> list[System]:
    """Each is a folder or a file; or several, with commas between them."""
    from saccade.evaluate import evaluate, word_counts

    phrases = _phrases(how.constraints, material)
    counts = None if how.train is None else word_counts(_lines(how.train))
    paths = [_paths(one) for one in given]
    names = _names([path for some in paths for path in some])
    outputs = [[_output(path, names[path], material, how) for path in some] for some in paths]
    trained = [output.longest_trained for some in outputs for output in some if output.longest_trained]

    def run(output: Output) -> Run:
        evaluation = evaluate(
            output.texts,
            material.references,
            sources=material.sources,
            metrics=how.metrics,
            resamples=how.resamples,
            longest_trained=min(trained, default=None),  # one for all, or their ranges would not compare
            counts=counts,
            include=None if phrases is None else [include for include, _ in phrases],
            exclude=None if phrases is None else [exclude for _, exclude in phrases],
            unread=output.unread,
        )
        return Run(output=output, evaluation=evaluation)

    return [System(name=",".join(o.name for o in some), runs=list(map(run, some))) for some in outputs]


def examples_of(material: Material) -> list[int]:
    """A few places, from short to long."""
    texts = material.sources or [some[0] for some in material.references]
    order = sorted(range(len(texts)), key=lambda place: len(texts[place]))
    return order[:: max(1, len(order) // EXAMPLES)][:EXAMPLES]


def _paths(given: str) -> list[Path]:
    paths = files.split_paths(given)
    if not paths:
        raise UserError("SYSTEM is empty; expected a model's folder or a file of outputs")
    return paths


def _names(paths: Sequence[Path]) -> dict[Path, str]:
    """The last part of each path, or all of it where that would name two."""
    last = [path.resolve().name for path in dict.fromkeys(paths)]
    return {path: path.resolve().name if last.count(path.resolve().name) == 1 else str(path) for path in paths}


def _output(path: Path, name: str, material: Material, how: Judging) -> Output:
    if path.is_file():
        return Output(name=name, texts=material.lines_of(path))
    from saccade import model_folder
    from saccade.decode import load
    from saccade.device import limit_threads

    translator = load(path, device=how.device)
    limit_threads(translator.model)
    if material.sources is None:
        raise UserError(f"{path}: a model needs sources to translate; give PAIRS")
    texts, unread = _translated(translator, material.sources, how, name)
    drawn: Sequence[PairAttention] = ()
    if how.drawn and translator.attends:
        places = [place for place in examples_of(material) if texts[place].strip()][:DRAWN]
        drawn = translator.attend([material.sources[place] for place in places], [texts[place] for place in places])
    return Output(
        name=name,
        texts=texts,
        unread=unread,
        alignment=_aligned(translator, material, how),
        longest_trained=model_folder.load_config(path).extra.get("longest_trained"),
        drawn=drawn,
    )


def _translated(
    translator: "Translator", sources: list[str], how: Judging, name: str
) -> tuple[list[str], list[tuple[int, int]] | None]:
    """The texts, and how many source words of each were hardly read; weights are looked at and let go."""
    from saccade.evaluate import unread_words

    texts, unread = [], []
    found = translator.translate_stream(sources, how.search, batch_tokens=how.batch_tokens, weights=translator.attends)
    with bar(f"translating by {name}", len(sources)) as advance:
        for one in found:
            texts.append(one.text)
            if one.attention is not None:
                unread.append(unread_words(one.attention.words()))
            advance(1)
    return texts, unread if translator.attends else None


def _aligned(translator: "Translator", material: Material, how: Judging) -> "AlignmentScores | None":
    """Of the references, which the gold is about, forced through the model."""
    from saccade.align import score_alignments
    from saccade.align.aligner import Aligner
    from saccade.align.attention import AlignmentHead

    if how.gold is None or not translator.attends:
        return None
    reader = AlignmentHead(layer=how.layer)
    aligner = Aligner(translator, reader, tokenised=how.tokenised, by="word", batch_tokens=how.batch_tokens)
    return score_alignments([one.links for one in aligner.align(material.pairs)], how.gold)


def _phrases(path: Path | None, material: Material) -> list[tuple[tuple[str, ...], tuple[str, ...]]] | None:
    """What each output must hold, and what it must not; a model is not told."""
    if path is None:
        return None
    given = [one and (one.include, one.exclude) for one in read_constraints(path)]
    return [one or ((), ()) for one in material.of_lines(given, path)]


def _lines(path: Path) -> list[str]:
    from saccade.data import read_lines

    return list(read_lines(path))
