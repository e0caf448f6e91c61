"""What each model makes of the test sentences, kept on disk: a comparison that is killed does not translate again."""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path

from saccade import files
from saccade.decode import Search, load
from saccade.files import parse_json

Progress = Callable[[int], None]


def translated(
    folder: Path,
    sources: Sequence[str],
    how: Search,
    kept: Path,
    *,
    device: str = "auto",
    batch_tokens: int = 8192,
    progress: Progress | None = None,
) -> list[str]:
    """By the model of that folder; from the file `kept`, where that is of this model, these sources and this search."""
    weights = files.sha256(files.read(folder, "config.json"))  # which holds the checksum of the weights
    key = files.sha256(json.dumps([weights, list(sources), asdict(how)]).encode())
    if kept.exists():
        found = parse_json(kept.read_bytes())
        if found["key"] == key:
            if progress is not None:
                progress(len(sources))
            return list(found["texts"])
    translator = load(folder, device=device)
    texts = [one.text for one in translator.translate(sources, how, batch_tokens=batch_tokens, progress=progress)]
    kept.parent.mkdir(parents=True, exist_ok=True)
    files.remove_leftovers(kept)
    files.write_atomically(kept, json.dumps({"key": key, "texts": texts}, ensure_ascii=False, indent=1) + "\n")
    return texts
