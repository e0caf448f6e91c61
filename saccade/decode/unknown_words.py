"""Words that the vocabulary does not have, filled in by what the model looked at when it wrote them.

An unknown word becomes the source word that it read most (Luong, Sutskever and others, 2015), or what a dictionary has
for that: names and numbers come through. Which step's reading is a word's own is a property of the model
(`alignment_shift`), as for alignments.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from saccade.align.attention import NO_ATTENTION, PairAttention, SegmentedText
from saccade.data import PairFiles
from saccade.decode.translation import ReplacedWord, Translation
from saccade.errors import UserError
from saccade.text import UNK, Vocabularies
from saccade.text.words import word_spans

_NOTHING: Mapping[str, str] = MappingProxyType({})


class _Run(NamedTuple):
    """Characters [start, end) of a text, and what stands there instead."""

    start: int
    end: int
    source_word: int
    text: str


def read_dictionary(path: Path) -> dict[str, str]:
    """Pairs of words in any form that pairs of texts come in; of a word that comes again, the first is taken."""
    found: dict[str, str] = {}
    for source, target in PairFiles(path):
        if source.strip() and target.strip():
            found.setdefault(source.strip(), target.strip())
    return found


def replace_unknown(
    result: Translation, vocabularies: Vocabularies, dictionary: Mapping[str, str] = _NOTHING
) -> Translation:
    """The result, its alternatives and parts with no unknown word left, but one that read nothing."""
    fill = partial(replace_unknown, vocabularies=vocabularies, dictionary=dictionary)
    result = replace(result, alternatives=tuple(map(fill, result.alternatives)), parts=tuple(map(fill, result.parts)))
    (unknown,) = vocabularies.target.tokens([UNK])
    if unknown not in result.tokens:
        return result
    if (attention := result.attention) is None:
        raise UserError(NO_ATTENTION)
    runs = _runs(result, attention, vocabularies, dictionary)
    text, segments, replaced = _filled(result.text, attention.target, runs)
    known = replace(attention, target=segments)
    return replace(result, text=text, replaced=replaced, attend=lambda: known, segment=lambda: segments)


def _runs(
    result: Translation, attention: PairAttention, vocabularies: Vocabularies, dictionary: Mapping[str, str]
) -> list[_Run]:
    text, target = result.text, attention.target
    known, weights = word_spans(text), attention.words()
    unknown = sorted(
        {k for one, span in zip(target.ids, target.spans, strict=True) if one == UNK for k in range(*span)}
    )
    whole = vocabularies.target.policy.kind == "word"  # one unknown piece is one word, and has lost its space
    # Else it may be one character of a word: that word is the unknown one.
    shape = text if whole else "".join("x" if c == "⁇" else c for c in text)
    words = {known[k]: [k] for k in unknown} if whole else {}
    for start, end in () if whole else word_spans(shape):
        if inside := [k for k in unknown if known[k][0] < end and known[k][1] > start]:
            words[start, end] = inside
    source = vocabularies.source.split_tag(result.source)[1]
    runs: list[_Run] = []
    for (start, end), inside in words.items():
        read = weights[inside].sum(0)
        if not read.size or read.max() <= 0:
            continue
        most = int(read.argmax())
        word = _looked_up(attention.source.words[most], dictionary)
        before = runs[-1].text if runs and runs[-1].end == start else text[:start]
        if whole and before and not before[-1].isspace() and (_apart(source, most) or _separate(before, word)):
            word = f" {word}"
        runs.append(_Run(start, end, most, word))
    return runs


def _apart(text: str, word: int) -> bool:
    """Whether white space stands before a word."""
    spans = word_spans(text)
    start = spans[word][0] if word < len(spans) else 0
    return start > 0 and text[start - 1].isspace()


def _separate(before: str, word: str) -> bool:
    """Whether two words would be one without a space between them."""
    last = before.split()[-1]
    return any(start < len(last) < end for start, end in word_spans(last + word))


def _looked_up(word: str, dictionary: Mapping[str, str]) -> str:
    if word in dictionary or word.lower() not in dictionary:
        return dictionary.get(word, word)
    found = dictionary[word.lower()]
    return found[:1].upper() + found[1:] if word[:1].isupper() else found


def _filled(text: str, old: SegmentedText, runs: Sequence[_Run]) -> tuple[str, SegmentedText, tuple[ReplacedWord, ...]]:
    """The new text, and the old pieces with the words that they belong to now."""
    written, moved, at = "", [], 0  # moved: for each run, where it stands now
    for run in runs:
        written += text[at : run.start]
        moved.append((len(written), len(written) + len(run.text)))
        written += run.text
        at = run.end
    written += text[at:]
    spans = word_spans(written)
    starts, ends = [start for start, _ in spans], [end for _, end in spans]

    def now(start: int, end: int) -> tuple[int, int]:
        """The words of old characters."""
        before = bisect_right([run.start for run in runs], start)  # runs that begin at it or before
        if before and start < runs[before - 1].end:
            start, end = moved[before - 1]
        else:
            shift = sum(new[1] - new[0] - (run.end - run.start) for run, new in zip(runs[:before], moved, strict=False))
            start, end = start + shift, end + shift
        return bisect_right(ends, start), bisect_left(starts, end)

    ranges = [now(*span) for span in word_spans(text)]
    after = [*(first for first, _ in ranges), len(spans)]
    pieces = [(ranges[a][0], ranges[b - 1][1]) if a < b else (after[a], after[a]) for a, b in old.spans]
    segments = replace(old, spans=tuple(pieces), words=tuple(written[start:end] for start, end in spans))
    told = tuple(
        ReplacedWord(words=now(run.start, run.end), source_word=run.source_word, text=run.text.strip()) for run in runs
    )
    return written, segments, told
