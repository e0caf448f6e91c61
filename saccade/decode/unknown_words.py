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
    result: Translation, vocabularies: Vocabularies, dictionary: Mapping[str, str] = MappingProxyType({})
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
    has_space = [source[start - 1 : start].isspace() for start, _ in word_spans(source)]  # before each source word
    replacements: list[_Replacement] = []
    for (start, end), rows in _find_unknown(text, attention.target, is_word_vocabulary).items():
        read = weights[rows].sum(0)
        if not read.size or read.max() <= 0:
            continue
        source_word = int(read.argmax())
        word = _look_up(attention.source.words[source_word], dictionary)
        before = replacements[-1].text if replacements and replacements[-1].end == start else text[:start]
        if is_word_vocabulary and before and not before[-1].isspace():  # the unknown token has lost its space
            last = before.split()[-1]
            would_merge = any(start < len(last) < end for start, end in word_spans(last + word))
            if would_merge or any(has_space[source_word : source_word + 1]):
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


def _look_up(word: str, dictionary: Mapping[str, str]) -> str:
    if word in dictionary or word.lower() not in dictionary:
        return dictionary.get(word, word)
    entry = dictionary[word.lower()]
    return entry[:1].upper() + entry[1:] if word[:1].isupper() else entry


def _replace(
    text: str, old: SegmentedText, replacements: Sequence[_Replacement]
) -> tuple[str, SegmentedText, tuple[ReplacedWord, ...]]:
    """The new text, and the tokens with the words of the new text that they belong to."""
    written, place = "", 0
    moved: list[tuple[int, int]] = []  # the new characters [start, end) that stand for each old character
    for start, end, _, new in (*replacements, _Replacement(len(text), len(text), 0, "")):
        moved += [(i, i + 1) for i in range(len(written), len(written) + start - place)]
        written += text[place:start]
        moved += [(len(written), len(written) + len(new))] * (end - start)
        written += new
        place = end
    spans = word_spans(written)
    starts, ends = [start for start, _ in spans], [end for _, end in spans]

    def new_words(start: int, end: int) -> tuple[int, int]:
        """The words of the new text that old characters belong to."""
        return bisect_right(ends, moved[start][0]), bisect_left(starts, moved[end - 1][1])

    ranges = [new_words(*span) for span in word_spans(text)]
    after = [*(first for first, _ in ranges), len(spans)]
    tokens = [(ranges[a][0], ranges[b - 1][1]) if a < b else (after[a], after[a]) for a, b in old.spans]
    segments = replace(old, spans=tuple(tokens), words=tuple(written[start:end] for start, end in spans))
    replaced = tuple(
        ReplacedWord(words=new_words(each.start, each.end), source_word=each.source_word, text=each.text.strip())
        for each in replacements
    )
    return written, segments, replaced
