"""Splitting a text into sentences, for texts that are too long for a model, and joining them again.

A sentence ends after a full stop of any script, with the quotes and brackets that close there. Stops that are written
without a space after them (。！？ । ။ ።) always end a sentence, unless a word follows such a quote; the others
(. ! ? … ؟ ۔) only before white space and a letter that is not lower-case. A point does not end a sentence after a
number of one or two digits (German *am 3. Mai*), a single letter (*J. Bach*), a word with points inside (*z.B.*,
*U.S.*), a common abbreviation, or a short word before a number (*No. 5*): a long sentence does less harm than half a
sentence.
"""

import re
import unicodedata
from collections.abc import Sequence

from saccade.text.words import script, word_spans

_CLOSERS = "\"'”’»›)]}」』）》〉】］｝〕"
_END = re.compile(rf"((?:[。！？｡।॥။។៕።፧]+|(?P<spaced>[.!?…؟۔։‽]+))[.!?…。！？{re.escape(_CLOSERS)}]*)(\s*)")
# Where a text ends so, its last point does not end a sentence.
_SHORT = re.compile(
    r"(?:^|[^\w.])(?:\d{1,2}|\w|(?:\w{1,3}\.)+\w{1,3}"
    r"|mrs?|ms|dr|prof|st|jr|sr|gen|col|capt|sgt|rev|vs|etc|cf|ca|approx|dept|inc|ltd"
    r"|mme|mlle|mm|hr|fr|bzw|usw|vgl|ggf|evtl|inkl|sra|srta|dra|uds?|sig|dott|avv|ecc|dhr|mevr|itd|itp|tzn|гг|ул|стр|др)"
    r"\.$",
    re.IGNORECASE,
)
_NUMBERED = re.compile(r"(?:^|[^\w.])\w{1,4}\.$")  # before a number: No. 5, Fig. 3, Str. 7, Nov. 5
_NEAR = 24  # characters to examine before and after a stop


def split_sentences(text: str) -> list[str]:
    """Return the sentences, without the white space between them. Their words are the words of the text."""
    starts = {start for start, _ in word_spans(text)}
    parts, begin = [], 0
    for end in _END.finditer(text):
        after = end.end()
        if after == len(text):
            break
        if end["spaced"] is None:
            is_end = end[3] or end[1][-1] not in _CLOSERS or not text[after].isalnum()  # “好。”他说
        else:
            is_end = end[3] and not _goes_on(text, end, after)
        if is_end and after in starts:
            parts.append(text[begin:after].strip())
            begin = after
    return [sentence for sentence in (*parts, text[begin:].strip()) if sentence]


def join_sentences(texts: Sequence[str]) -> str:
    """Join with spaces, but without one after Chinese and Japanese."""
    joined = ""
    for text in filter(None, texts):
        joined += text if not joined or not _spaced(joined) else f" {text}"
    return joined


def _goes_on(text: str, end: re.Match[str], after: int) -> bool:
    first = next((character for character in text[after : after + _NEAR] if character.isalnum()), "")
    if first.islower() or end[1].rstrip(_CLOSERS) != ".":
        return first.islower()
    before = text[max(0, end.start() - _NEAR) : end.start() + 1]
    return bool(_SHORT.search(before) or (first.isdigit() and _NUMBERED.search(before)))


def _spaced(text: str) -> bool:
    last = next((c for c in reversed(text) if c not in _CLOSERS or unicodedata.east_asian_width(c) in "WF"), "")
    return not last or unicodedata.east_asian_width(last) not in "WF" or script(last) == "HANGUL"
