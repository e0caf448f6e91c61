"""Replace unknown words of a translation by the source words that the model read when it wrote them.

An unknown word becomes the source word with the most attention (Luong, Sutskever and others, 2015), or that word's
translation in a dictionary: names and numbers are copied. The model's alignment shift says which step's attention
belongs to a word, as for alignments.
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

_NO_ENTRIES: Mapping[str, str] = MappingProxyType({})


class _Replacement(NamedTuple):
    """Characters [start, end) of a text, and the text that replaces them."""

    start: int
    end: int
    source_word: int
    text: str


def read_dictionary(path: Path) -> dict[str, str]:
    """Pairs of words, in any format that pairs of texts have; the first translation of a word counts."""
    dictionary: dict[str, str] = {}
    for source, target in PairFiles(path):
        if source.strip() and target.strip():
            dictionary.setdefault(source.strip(), target.strip())
    return dictionary


def replace_unknown(
    result: Translation, vocabularies: Vocabularies, dictionary: Mapping[str, str] = _NO_ENTRIES
) -> Translation:
    """Replace the unknown words of a result, its alternatives and its parts, except words without any attention."""
    fill = partial(replace_unknown, vocabularies=vocabularies, dictionary=dictionary)
    result = replace(result, alternatives=tuple(map(fill, result.alternatives)), parts=tuple(map(fill, result.parts)))
    (unknown,) = vocabularies.target.tokens([UNK])
    if unknown not in result.tokens:
        return result
    if (attention := result.attention) is None:
        raise UserError(NO_ATTENTION)
    replacements = _find_replacements(result, attention, vocabularies, dictionary)
    text, segments, replaced = _replace(result.text, attention.target, replacements)
    known = replace(attention, target=segments)
    return replace(result, text=text, replaced=replaced, attend=lambda: known, segment=lambda: segments)


def _find_replacements(
    result: Translation, attention: PairAttention, vocabularies: Vocabularies, dictionary: Mapping[str, str]
) -> list[_Replacement]:
    text, weights = result.text, attention.words()
    is_word_vocabulary = vocabularies.target.policy.kind == "word"
    source = vocabularies.source.split_tag(result.source)[1]
    replacements: list[_Replacement] = []
    for (start, end), rows in _find_unknown(text, attention.target, is_word_vocabulary).items():
        read = weights[rows].sum(0)
        if not read.size or read.max() <= 0:
            continue
        source_word = int(read.argmax())
        word = _look_up(attention.source.words[source_word], dictionary)
        before = replacements[-1].text if replacements and replacements[-1].end == start else text[:start]
        # An unknown token of a word vocabulary has lost its space.
        lacks_space = is_word_vocabulary and before and not before[-1].isspace()
        if lacks_space and (_has_space_before(source, source_word) or _would_merge(before, word)):
            word = f" {word}"
        replacements.append(_Replacement(start, end, source_word, word))
    return replacements


def _find_unknown(text: str, target: SegmentedText, is_word_vocabulary: bool) -> dict[tuple[int, int], list[int]]:
    """The characters [start, end) of each unknown word, and the rows of the attention that belong to it."""
    spans = word_spans(text)
    by_token = zip(target.ids, target.spans, strict=True)
    unknown = sorted({row for token, span in by_token if token == UNK for row in range(*span)})
    if is_word_vocabulary:
        return {spans[row]: [row] for row in unknown}
    # The unknown token may be one character of a word: then the whole word is unknown.
    words = {}
    for start, end in word_spans(text.replace("⁇", "x")):
        if rows := [row for row in unknown if spans[row][0] < end and spans[row][1] > start]:
            words[start, end] = rows
    return words


def _has_space_before(text: str, word: int) -> bool:
    spans = word_spans(text)
    start = spans[word][0] if word < len(spans) else 0
    return start > 0 and text[start - 1].isspace()


def _would_merge(before: str, word: str) -> bool:
    """Whether the two would be one word without a space between them."""
    last = before.split()[-1]
    return any(start < len(last) < end for start, end in word_spans(last + word))


def _look_up(word: str, dictionary: Mapping[str, str]) -> str:
    if word in dictionary or word.lower() not in dictionary:
        return dictionary.get(word, word)
    entry = dictionary[word.lower()]
    return entry[:1].upper() + entry[1:] if word[:1].isupper() else entry


def _replace(
    text: str, old: SegmentedText, replacements: Sequence[_Replacement]
) -> tuple[str, SegmentedText, tuple[ReplacedWord, ...]]:
    """The new text, and the tokens with the words of the new text that they belong to."""
    written, moved, place = "", [], 0  # moved: the new characters of each replacement
    for replacement in replacements:
        written += text[place : replacement.start]
        moved.append((len(written), len(written) + len(replacement.text)))
        written += replacement.text
        place = replacement.end
    written += text[place:]
    spans = word_spans(written)
    starts, ends = [start for start, _ in spans], [end for _, end in spans]

    def new_words(start: int, end: int) -> tuple[int, int]:
        """The words of the new text that old characters belong to."""
        before = bisect_right([replacement.start for replacement in replacements], start)
        if before and start < replacements[before - 1].end:
            start, end = moved[before - 1]
        else:
            changes = zip(replacements[:before], moved, strict=False)
            shift = sum(new[1] - new[0] - (replaced.end - replaced.start) for replaced, new in changes)
            start, end = start + shift, end + shift
        return bisect_right(ends, start), bisect_left(starts, end)

    ranges = [new_words(*span) for span in word_spans(text)]
    after = [*(first for first, _ in ranges), len(spans)]
    tokens = [(ranges[a][0], ranges[b - 1][1]) if a < b else (after[a], after[a]) for a, b in old.spans]
    segments = replace(old, spans=tuple(tokens), words=tuple(written[start:end] for start, end in spans))
    replaced = tuple(
        ReplacedWord(words=new_words(each.start, each.end), source_word=each.source_word, text=each.text.strip())
        for each in replacements
    )
    return written, segments, replaced
