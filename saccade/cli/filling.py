"""Unknown words filled in, as options of a command."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from saccade.errors import UserError

if TYPE_CHECKING:
    from saccade.decode import Translation, Translator

UNKNOWN = "Unknown words"


class Filling(NamedTuple):
    wanted: bool
    dictionary: Path | None

    def of(self, translator: "Translator", model: Path) -> "Callable[[Translation], Translation] | None":
        """None: they stay as they are."""
        if not self.wanted:
            return None
        from saccade.align.attention import NO_ATTENTION
        from saccade.decode.unknown_words import read_dictionary, replace_unknown

        if not translator.attends:
            raise UserError(f"{model}: --replace-unknown: {NO_ATTENTION}")
        known = {} if self.dictionary is None else read_dictionary(self.dictionary)
        return partial(replace_unknown, vocabularies=translator.vocabularies, dictionary=known)


def filling_options(
    replace_unknown: Annotated[
        bool,
        typer.Option(
            "--replace-unknown",
            help="Fill in what the vocabulary has no word for: by the source word that was looked at.",
            rich_help_panel=UNKNOWN,
        ),
    ] = False,
    dictionary: Annotated[
        Path | None,
        typer.Option(help="Look that word up here first: word TAB translation.", rich_help_panel=UNKNOWN),
    ] = None,
) -> Filling:
    return Filling(replace_unknown or dictionary is not None, dictionary)
