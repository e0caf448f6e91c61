"""Constraint files that were spoilt, one JSON object for each line to translate."""

import json
from pathlib import Path
from random import Random
from typing import Any

from .child import Ended
from .corpora import SEARCH
from .mutating import as_json, spoil_bytes, spoil_value
from .oracle import Case
from .samples import CONSTRAINTS, TEXTS, Samples, add_model, texts

_TYPES = {"prefix": str, "outline": str, "include": list, "exclude": list}


def build(random: Random, folder: Path, samples: Samples) -> Case:
    requested: list[Any] = list(CONSTRAINTS)
    if random.random() < 0.6:
        place = random.randrange(len(requested))
        requested[place], _ = spoil_value(random, requested[place] or {"include": ["le"], "exclude": []})
    content = b"".join((b"" if one is None else as_json(one)) + b"\n" for one in requested)
    if random.random() < 0.6:
        content = spoil_bytes(random, content)
    (folder / "constraints.jsonl").write_bytes(content)
    (folder / "in.txt").write_bytes(texts())
    add_model(random, folder, samples)
    arguments = ["translate", "model", "in.txt", "--constraints", "constraints.jsonl", "--jsonl", *SEARCH]
    return Case(arguments=arguments, accepted=_met, about="constraints")


def _met(ended: Ended, folder: Path) -> str | None:
    """As many answers as texts; and each keeps to what was requested, or says what it does not meet."""
    content = (folder / "constraints.jsonl").read_bytes()
    try:
        lines = content.decode("utf-8-sig").removesuffix("\n").split("\n")
        requested = [json.loads(line) if line.strip() else {} for line in lines]
    except (ValueError, RecursionError):
        return "a file that is not JSON"
    if len(requested) != len(TEXTS) or not all(map(_is_valid, requested)):
        return "constraints that are none"
    answers = [json.loads(line, parse_constant=_refuse) for line in ended.out.removesuffix("\n").split("\n")]
    if len(answers) != len(TEXTS):
        return f"lines were lost: {len(TEXTS)} given, {len(answers)} written"
    for number, (one, answer) in enumerate(zip(requested, answers, strict=True), 1):
        if answer["unmet"] or not TEXTS[number - 1].strip():
            continue
        text = answer["text"]
        missing = [phrase for phrase in one.get("include", ()) if phrase.strip() not in text]
        if missing or not text.startswith(one.get("prefix", "")):
            return f"what was asked for is neither met nor reported: line {number}"
    return None


def _is_valid(one: Any) -> bool:
    return isinstance(one, dict) and all(
        isinstance(value, _TYPES.get(name, ()))
        and (isinstance(value, str) or all(isinstance(phrase, str) and phrase.strip() for phrase in value))
        for name, value in one.items()
    )


def _refuse(constant: str) -> float:
    raise ValueError(f"{constant} in the output")
