"""Everyday sentences that the grammar cannot make: *what is your name?*, *I love you.*, and the senses of *bank*.

They are in `words/everyday.tsv`, one column per language. A word carries the parts of the meaning that it expresses,
one character each: `your/3`, `appelles-tu/23`. The last token is the full stop, question mark or exclamation mark.
"""

from collections.abc import Iterator, Sequence
from functools import cache

from saccade.tasks.phrasebook.lexicon import everyday_rows
from saccade.tasks.phrasebook.writer import Token


@cache
def everyday_sentences(language: str) -> Sequence[Sequence[Token]]:
    """The sentences in the order of the table; a sentence expresses the same meanings in every language."""
    return tuple(tuple(_read_tokens(row[language], number, language)) for number, row in enumerate(everyday_rows()))


def _read_tokens(field: str, sentence: int, language: str) -> Iterator[Token]:
    *marked, stop = field.split()
    for word, _, parts in (each.partition("/") for each in marked):
        meanings = tuple((sentence, part) for part in parts)
        yield from ((token, meanings) for token in (word if language == "zh" else [word]))
    yield stop, ((sentence, "stop"),)
