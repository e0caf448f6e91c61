"""Regular expressions from untrusted model folders, matched in linear time by RE2.

A backtracking engine takes exponential time for some short expressions. RE2 never does, but has neither look-around nor
back-references. Its \\d, \\s and \\w are ASCII only; here they are Unicode's, as in Python.
"""

import re
from collections.abc import Iterator
from typing import Any

from saccade.errors import UserError

_LONGEST = 10_000  # characters; RE2 itself limits the size of the compiled expression
_CLASSES = {"d": r"\p{Nd}", "s": r"\s\x0b\x1c-\x1f\x{85}\p{Z}", "w": r"\p{L}\p{N}_"}
_OUTSIDE_BRACKETS = re.compile(r"\\.|\[\^?\]?|.", re.DOTALL)  # a bracket directly after [ is a literal
_INSIDE_BRACKETS = re.compile(r"\\.|\[:\^?\w+:\]|.", re.DOTALL)
_SURROGATES = re.compile("[\ud800-\udfff]")  # not in UTF-8, and so not in RE2


class Expression:
    """One expression, or several separated by |: the first that matches at a place decides."""

    def __init__(self, text: str) -> None:
        try:
            import re2
        except ImportError:
            raise UserError("placeholders need the package google-re2: pip install google-re2") from None
        if len(text) > _LONGEST:
            raise UserError(f"an expression of {len(text):,} characters; expected at most {_LONGEST:,}")
        options = re2.Options()
        options.log_errors = False
        try:
            self._compiled: Any = re2.compile(_with_unicode_classes(text), options)
        except (re2.error, UnicodeEncodeError) as error:
            reason = error.args[0] if isinstance(error, re2.error) else error
            problem = reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)
            raise UserError(
                f"{_shown(text)}: not a regular expression for RE2: {_shown(problem)}; look-around and "
                "back-references are not supported"
            ) from None

    def spans(self, text: str) -> Iterator[tuple[int, int]]:
        """Find the matches from left to right, as (start, end) in characters."""
        for match in self._compiled.finditer(_SURROGATES.sub("\ufffd", text)):
            start, end = match.span()
            if start < end:
                yield start, end

    def matches_nothing(self) -> bool:
        return self._compiled.fullmatch("") is not None


def _shown(text: str) -> str:
    return repr(text) if len(text) <= 60 else repr(text[:57] + "...")


def _with_unicode_classes(expression: str) -> str:
    written, place, inside = [], 0, False
    while place < len(expression):
        match = (_INSIDE_BRACKETS if inside else _OUTSIDE_BRACKETS).match(expression, place)
        assert match is not None  # each of the two matches any character
        token, place = match[0], match.end()
        if not token.startswith("\\"):
            inside = token != "]" if inside else token.startswith("[")
        elif (unicode := _CLASSES.get(token[1:].lower())) is not None:
            is_negated = token[1:].isupper()
            if inside and is_negated:
                raise UserError(f"{token} inside brackets is not supported; write the expression without it")
            token = unicode if inside else f"[{'^' * is_negated}{unicode}]"
        written.append(token)
    return "".join(written)
