"""Files of gold alignments, in two formats that are told apart automatically.

Pharaoh, one line per pair:  0-0 1-2 2?2   i-j is sure, i?j or ipj is possible only; words are counted from 0
NAACL, one line per link:    0001 1 1 S    pair, source word, target word, S (sure) or P (possible), and optionally a
                                           confidence; all counted from 1, and word 0 means no word

`base` is for a file that counts words from another number.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from saccade.align.links import GoldLinks, Links, sort_links
from saccade.data import TextPair
from saccade.data.inputs import NamedPairs
from saccade.errors import UserError

# The digits are bounded: no text has a billion words, and Python refuses to read numbers of some thousand digits.
_PHARAOH = re.compile(r"([0-9]{1,9})([-?p])([0-9]{1,9})")
_NAACL = re.compile(r"\s*([0-9]{1,7})\s+([0-9]{1,9})\s+([0-9]{1,9})(?:\s+([SP]))?(?:\s+[0-9.]+)?\s*")
_SHOWN = 40  # characters of an invalid link in a message


def format_links(links: Links) -> str:
    """Write one Pharaoh line: one `i-j` per link, sorted by target word."""
    return " ".join(f"{i}-{j}" for i, j in sort_links(links))


def format_gold(links: Links, pair: int) -> list[str]:
    """Write the NAACL lines of a pair, counted from 1; all links are sure."""
    return [f"{pair:04} {i + 1} {j + 1} S" for i, j in sort_links(links)]


def parse_gold(line: str, *, place: str, lengths: tuple[int, int] | None = None, base: int = 0) -> GoldLinks:
    """Read one Pharaoh line; with `lengths` (S, T), its links must be in range."""
    links = []
    for token in line.split():
        match = _PHARAOH.fullmatch(token)
        if not match:
            wanted = f"i-j (sure), i?j or ipj (possible), counted from {base}"
            raise UserError(f"{place}: '{_shorten(token)}' is not a link; expected {wanted}")
        link = _in_range(token, int(match[1]) - base, int(match[3]) - base, place, lengths, base)
        links.append((link, match[2] == "-"))
    return GoldLinks.from_marked(links)


def read_gold(
    path: str | Path, *, lengths: Sequence[tuple[int, int]] | None = None, base: int | None = None
) -> tuple[GoldLinks, ...]:
    """Read the gold links of each pair; `lengths` are (S, T) in words; `base` defaults to 0 in Pharaoh, 1 in NAACL."""
    if base not in (None, 0, 1):
        raise UserError(f"{path}: words are counted from 0 or from 1, not from {base}")
    try:
        # A byte that is not UTF-8 becomes a character that is not a link, and is reported with its line.
        lines = Path(path).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError as error:
        raise UserError(f"{path}: cannot read the alignments: {error.strerror}") from None
    first = next((line.split() for line in lines if line.strip()), [""])
    if first[0].isdecimal():
        return _naacl(path, lines, lengths, 1 if base is None else base)
    if lengths is not None and len(lines) != len(lengths):
        counts = f"{len(lines)} lines of alignments for {len(lengths)} pairs"
        raise UserError(f"{path}: {counts}; expected one line per pair")
    sizes: Sequence[tuple[int, int] | None] = [None] * len(lines) if lengths is None else lengths
    return tuple(
        parse_gold(line, place=f"{path}:{number}", lengths=size, base=base or 0)
        for number, (line, size) in enumerate(zip(lines, sizes, strict=True), start=1)
    )


def find_gold(
    pairs: NamedPairs, path: Path | None, count: Callable[[Iterable[TextPair]], list[tuple[int, int]]], base: int | None
) -> Sequence[GoldLinks] | None:
    """The gold links of pairs, from a file or from their task; `count` gives the lengths that a file must keep to."""
    if path is None:
        return None if pairs.alignments is None else [GoldLinks.all_sure(links) for links in pairs.alignments]
    if pairs.alignments is not None:
        raise UserError(f"{pairs.name}: the task brings its own gold alignments; leave out {path}")
    return read_gold(path, lengths=count(pairs.pairs), base=base)


def _naacl(
    path: str | Path, lines: Sequence[str], lengths: Sequence[tuple[int, int]] | None, base: int
) -> tuple[GoldLinks, ...]:
    marked: dict[int, list[tuple[tuple[int, int], bool]]] = {}
    for number, line in enumerate(lines, 1):
        place = f"{path}:{number}"
        if not line.strip():
            continue
        match = _NAACL.fullmatch(line)
        if not match:
            wanted = "pair, source word, target word, S or P"
            raise UserError(f"{place}: '{_shorten(line.strip())}' is not a link; expected {wanted}")
        pair, source, target = int(match[1]), int(match[2]), int(match[3])
        if pair < 1 or (lengths is not None and pair > len(lengths)):
            known = "" if lengths is None else f" to {len(lengths)}"
            raise UserError(f"{place}: there is no pair {pair}; expected 1{known}")
        if base == 1 and 0 in (source, target):  # a word without a link
            continue
        size = None if lengths is None else lengths[pair - 1]
        link = _in_range(f"{source} {target}", source - base, target - base, place, size, base)
        marked.setdefault(pair, []).append((link, match[4] != "P"))
    count = max(marked, default=0) if lengths is None else len(lengths)
    linked = {pair: GoldLinks.from_marked(links) for pair, links in marked.items()}
    nothing = GoldLinks.all_sure([])  # shared: a file may name the pair 9,999,999 alone
    return tuple(linked.get(pair, nothing) for pair in range(1, count + 1))


def _in_range(
    token: str, source: int, target: int, place: str, lengths: tuple[int, int] | None, base: int
) -> tuple[int, int]:
    beyond = lengths is not None and (source >= lengths[0] or target >= lengths[1])
    if min(source, target) < 0 or beyond:
        size = "" if lengths is None else f"the pair has {lengths[0]} source and {lengths[1]} target words, "
        raise UserError(
            f"{place}: link {token} is out of range; {size}counted from {base} (if the file counts from {1 - base}, "
            f"use --gold-base {1 - base}; if its words are separated by white space, use --tokenised)"
        )
    return source, target


def _shorten(text: str) -> str:
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
