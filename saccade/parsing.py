"""JSON and TOML that somebody else wrote: whatever is wrong with a text, reading it raises a ValueError.

Python's own readers also raise RecursionError, and let through what fails later: values nested so deeply that nothing
can print them, and halves of surrogate pairs, which no file can hold.
"""

import json
import re
import tomllib
from typing import Any

DEEPEST = 100  # tables and lists inside each other; files of Saccade's own have a dozen
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


def parse_json(text: str | bytes) -> Any:
    try:
        if isinstance(text, bytes):
            text = text.decode("utf-8-sig")
        value = json.loads(text)
    except RecursionError:
        raise _too_deep() from None
    if text.count("[") + text.count("{") > DEEPEST:
        _refuse_depth(value)
    if _SURROGATE.search(text):
        try:
            json.dumps(value, ensure_ascii=False).encode("utf-8")
        except UnicodeEncodeError as error:
            half = ord(error.object[error.start])
            raise ValueError(f"\\u{half:04x} is half of a surrogate pair, not a character") from None
    return value


def parse_toml(text: str) -> dict[str, Any]:
    try:
        value = tomllib.loads(text)
    except RecursionError:
        raise _too_deep() from None
    _refuse_depth(value)
    return value


def _refuse_depth(value: Any) -> None:
    layer = [value]
    for _ in range(DEEPEST + 1):
        layer = [
            item
            for outer in layer
            if isinstance(outer, dict | list)
            for item in (outer.values() if isinstance(outer, dict) else outer)
        ]
        if not layer:
            return
    raise _too_deep()


def _too_deep() -> ValueError:
    return ValueError(f"more than {DEEPEST} lists or tables inside each other")
