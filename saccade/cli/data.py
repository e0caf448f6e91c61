"""`saccade data`: what is in a corpus, what cleaning would leave out, and the clean corpus."""

import json
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from saccade.cli.console import interruptible, put, say, show
from saccade.cli.options import Json
from saccade.errors import UserError
from saccade.journal import write_file

if TYPE_CHECKING:
    from saccade.data import Cleaning, PairSource, Selection, TextPair
    from saccade.data.summary import SideSummary

_ALL: Mapping[str, Any] = {"control": True, "identical": True, "script": 0.5, "ratio": 3.0, "duplicates": True}
_DRAWN = 10_000  # of a task


def data_(
    pairs: Annotated[str, typer.Argument(help="A file (TSV, JSONL, CSV), one of two, -, task:NAME, or hf:NAME.")],
    targets: Annotated[str | None, typer.Argument(help="The target side of two parallel files.")] = None,
    fields: Annotated[str | None, typer.Option(metavar="A,B", help="Names of the texts, or column numbers.")] = None,
    clean: Annotated[
        list[str] | None, typer.Option(metavar="KEY[=VALUE]", help="As data.clean, or all; may come again.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Write what is kept here, as TSV, or *.jsonl.")] = None,
    vocab_from: Annotated[Path | None, typer.Option(help="A model folder: how its vocabulary cuts the texts.")] = None,
    as_json: Json = False,
) -> None:
    """Look at a corpus: lengths, scripts, words, and what cleaning leaves out. Nothing is trained.

    Example: [bold]saccade data pairs.tsv --clean duplicates --clean ratio=3 --out clean.tsv[/]
    """
    from saccade.data import Selection
    from saccade.data.summary import summarise
    from saccade.decode import load_vocabularies

    asked = clean is not None or out is not None
    cleaning = _cleaning(clean or [] if asked else ["all"])
    tokenisers = None
    if vocab_from is not None:
        vocabularies = load_vocabularies(vocab_from)
        tokenisers = vocabularies.source, vocabularies.target
    with interruptible(), _opened(pairs, targets, fields) as given:
        selection = Selection.of(given, cleaning)
        report = selection.report()
        sides = summarise((pair for _, pair in selection.selected()) if asked else given, tokenisers)
        spoilt = 0 if out is None else _write(selection, out)
    about = {"pairs": pairs, "count": len(selection), "source": asdict(sides[0]), "target": asdict(sides[1])}
    cleaned = {"cleaning": asdict(cleaning), "kept": report.kept, "left_out": [g._asdict() for g in report.left_out]}
    if as_json:
        put(json.dumps({**about, **cleaned}, ensure_ascii=False, indent=2))
    else:
        show(f"{pairs}: {len(selection):,} pairs")
        for name, side in zip(("source", "target"), sides, strict=True):
            show("\n".join(_said(name, side)))
        show(f"{'' if asked else '--clean all: '}{report}".replace("; left out", "\n  left out"))
    if spoilt:
        say(f"{out}: in {spoilt:,} pairs a tab or a line break became a space; *.jsonl keeps them")


def _cleaning(asked: list[str]) -> "Cleaning":
    from saccade import config
    from saccade.data import Cleaning

    assignments = []
    for one in asked:
        key, equals, _ = one.partition("=")
        if one == "all":
            assignments += [f"{name}={json.dumps(value)}" for name, value in _ALL.items()]
        else:
            assignments.append(one if equals else f"{key}={json.dumps(_ALL.get(key, True))}")
    return config.from_dict(Cleaning, config.override({}, assignments), "--clean")


@contextmanager
def _opened(pairs: str, targets: str | None, fields: str | None) -> "Iterator[PairSource]":
    """What can be read only once lies in a temporary folder meanwhile."""
    from saccade.data import ListedPairs, TextPair
    from saccade.train.data_recipe import Ingredient

    names = tuple(fields.split(",")) if fields is not None else None
    if names is not None and len(names) != 2:
        raise UserError(f"--fields {fields}: expected two, the source's and the target's, with a comma between them")
    given = Ingredient(pairs=pairs, targets=targets, fields=names)
    if given.task is not None:
        yield ListedPairs([TextPair(pair.source, pair.target) for pair in given.drawn("train", _DRAWN, None)])
        return
    with tempfile.TemporaryDirectory() as folder:
        yield given.copied_to(Path(folder)).open()


def _write(selection: "Selection", out: Path) -> int:
    """All pairs that are kept → how many could not be written as they are."""
    spoilt = 0
    with write_file(out) as write:
        for _, pair in selection.selected():
            line = _line(pair, as_json=out.suffix == ".jsonl")
            spoilt += out.suffix != ".jsonl" and line != "\t".join(pair)
            write(line)
    return spoilt


def _line(pair: "TextPair", *, as_json: bool) -> str:
    if as_json:
        return json.dumps(pair._asdict(), ensure_ascii=False)
    return "\t".join(text.replace("\t", " ").replace("\r", " ").replace("\n", " ") for text in pair)


def _said(name: str, side: "SideSummary") -> Iterator[str]:
    yield (
        f"{name}: {side.mean_words:.1f} words on average, {side.median_words} in the middle, "
        f"95 % up to {side.words_of_95_percent}, at most {side.most_words}; {side.mean_characters:.0f} characters"
    )
    scripts = [f"{script.capitalize()} {share:.1%}" for script, share in list(side.scripts.items())[:4]]
    yield f"  scripts: {', '.join(scripts) or 'no letters'}"
    covered = ", ".join(f"{few:,} are {share:.1%}" for few, share in side.covered.items() if few < side.different_words)
    most = f"; of all words, the commonest {covered}" if covered else ""
    yield f"  {side.different_words:,} different words{most}"
    if side.spelling is not None:
        unknown = f"{side.spelling.unknown_share:.2%} of the pieces for unknown characters"
        yield f"  {side.spelling.pieces_per_word:.2f} pieces a word, {unknown}"
