"""`saccade words`: train word vectors, and look at what they know."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

import saccade.words
from saccade.cli.console import print_table, put, say, to_json
from saccade.cli.options import Command, Json, command_without_models
from saccade.cli.train import report
from saccade.errors import UserError
from saccade.words.options import MapOptions, WordTraining

app = typer.Typer(
    help="Train word vectors (word2vec), and look at what they know.\n\n"
    "Example: [bold]saccade words train europarl.en.gz --out en-vectors[/]",
    no_args_is_help=True,
    rich_markup_mode="rich",
)
Vectors = Annotated[
    Path, typer.Argument(metavar="VECTORS", help="A folder of `saccade words train`, or a word2vec file (.txt, .bin).")
]
HowMany = Annotated[int, typer.Option("--count", "-n", help="Number of words to list.", min=1)]


def train(*, options: WordTraining, as_json: Json = False) -> None:
    """Train word vectors on a text.

    Example: [bold]saccade words train europarl.en.gz --out en-vectors[/]
    """
    report(saccade.words.train_vectors(options), as_json)


def similar(
    vectors: Vectors,
    word: Annotated[str, typer.Argument(help="A word.")],
    count: HowMany = 10,
    as_json: Json = False,
) -> None:
    """List the words whose vectors are nearest to that of a word.

    Example: [bold]saccade words similar en-vectors commission[/]
    """
    _show(saccade.words.load(vectors).similar(word, count), as_json)


def analogy(
    vectors: Vectors,
    first: Annotated[str, typer.Argument(help="A word, such as france.")],
    second: Annotated[str, typer.Argument(help="What it is related to, such as paris.")],
    third: Annotated[str, typer.Argument(help="A word for which the same relation is asked, such as italy.")],
    count: HowMany = 10,
    as_json: Json = False,
) -> None:
    """Find the word that is to the third word as the second is to the first.

    Example: [bold]saccade words analogy en-vectors france paris italy[/]
    """
    _show(saccade.words.load(vectors).analogy(first, second, third, count), as_json)


def _show(neighbours: Sequence[tuple[str, float]], as_json: bool) -> None:
    if as_json:
        put(to_json([{"word": word, "similarity": cosine} for word, cosine in neighbours]))
    else:
        print_table(["word", "cosine"], [[word, f"{cosine:.3f}"] for word, cosine in neighbours])


def draw(
    vectors: Vectors,
    out: Annotated[Path, typer.Option(help="The figure to write: .png, .svg or .pdf.")] = Path("words.png"),
    *,
    options: MapOptions,
) -> None:
    """Draw a map of words by their vectors.

    Example: [bold]saccade words map en-vectors --words france --words council --neighbours 15 --out map.png[/]
    """
    saccade.words.draw_map(saccade.words.load(vectors), options, out=out, say=say)
    say(f"wrote {out}")


def evaluate(
    vectors: Vectors,
    similarity: Annotated[
        list[Path] | None, typer.Option(help="Pairs with human judgements: word, word, number, separated by tabs.")
    ] = None,
    analogies: Annotated[list[Path] | None, typer.Option(help="Analogies: four words per line.")] = None,
    as_json: Json = False,
) -> None:
    """Compare the vectors with human judgements of similarity, and let them solve analogies.

    Example: [bold]saccade words evaluate en-vectors --similarity wordsim353.tsv[/]
    """
    if not similarity and not analogies:
        raise UserError("give --similarity FILE, --analogies FILE, or both")
    loaded = saccade.words.load(vectors)
    ranked = {path.name: saccade.words.score_similarity(loaded, path) for path in similarity or ()}
    solved = {path.name: saccade.words.score_analogies(loaded, path) for path in analogies or ()}
    if as_json:
        scores = {name: asdict(score) for name, score in ranked.items()}
        put(to_json(scores | {name: asdict(score) for name, score in solved.items()}))
        return
    rows = [[name, f"ρ {score.correlation:.3f}", f"{score.scored} of {score.pairs}"] for name, score in ranked.items()]
    rows += [
        [name, f"{score.accuracy:.1f} %", f"{score.scored} of {score.questions}"] for name, score in solved.items()
    ]
    print_table(["test", "score", "known"], rows)


def export(
    vectors: Vectors,
    out: Annotated[Path, typer.Argument(help="The file to write: text, or binary if it ends in .bin.")],
) -> None:
    """Write the vectors as a word2vec file, which gensim and other programs read.

    Example: [bold]saccade words export en-vectors en.bin[/]
    """
    loaded = saccade.words.load(vectors)
    loaded.save(out)
    say(f"wrote {len(loaded):,} vectors to {out}")


_COMMANDS: dict[str, Command] = {
    "train": train,
    "similar": similar,
    "analogy": analogy,
    "map": draw,
    "evaluate": evaluate,
    "export": export,
}
for _name, _function in _COMMANDS.items():
    app.command(_name)(command_without_models(_function))
