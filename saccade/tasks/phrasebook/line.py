"""A line of words that know what they express; its text; the links between two such lines."""

from collections.abc import Sequence

Token = tuple[str, tuple[int, ...]]  # a word, and the numbers of what it expresses


def spell(tokens: Sequence[Token], language: str) -> str:
    """The usual spelling: no spaces in Chinese; elsewhere none before a stop or comma, none after an apostrophe."""
    if language == "zh":
        return "".join([word for word, _ in tokens])
    out = " ".join([word for word, _ in tokens])
    return out.replace(" ,", ",").replace(" .", ".").replace("' ", "'")


def align(source: Sequence[Token], target: Sequence[Token]) -> tuple[tuple[int, int], ...]:
    """Links (i, j) between words that express the same thing, sorted."""
    where: dict[int, list[int]] = {}
    for j, (_, ids) in enumerate(target):
        for number in ids:
            where.setdefault(number, []).append(j)
    return tuple(sorted({(i, j) for i, (_, ids) in enumerate(source) for number in ids for j in where.get(number, ())}))


def positions(tokens: Sequence[Token], number: int) -> tuple[int, ...]:
    return tuple(i for i, (_, ids) in enumerate(tokens) if number in ids)
