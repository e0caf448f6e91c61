"""The list of words beside a model that knows whole words, as JSON."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from saccade.errors import UserError
from saccade.files import parse_json

NAME = "words.json"


def format_words(words: list[str], **more: Any) -> bytes:
    return json.dumps({"words": words} | more, ensure_ascii=False).encode()


def parse_words(contents: Mapping[str, bytes], folder: Path) -> dict[str, Any]:
    """The values of the list, among the files of a model folder: `words`, each once, and what was stored with them."""
    path = folder / NAME
    try:
        listed: dict[str, Any] = parse_json(contents[NAME])
        words = listed["words"]
        if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
            raise ValueError("expected a list of words")
        if len(set(words)) != len(words):
            raise ValueError("a word is listed twice")
    except (KeyError, TypeError, ValueError) as error:
        raise UserError(f"{path}: damaged: {error}; copy the whole folder again, or train it again") from error
    return listed
