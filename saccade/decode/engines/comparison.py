"""How many translations of an exported model are identical to those of PyTorch. The result lies beside the export."""

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from saccade import __version__, config, files, model_folder
from saccade.data import read_lines
from saccade.errors import UserError
from saccade.ranges import CountOrZero, Probability
from saccade.tasks import task

FOLDER = "ctranslate2"  # inside a model folder
RECORD = "saccade.json"
LEAST_IDENTICAL = 0.99  # for an engine that is used without being asked for
_MOST_BYTES = 1 << 16
_FROM_TASK = 200  # sentences to compare, if the model was trained on a task
_SEED = 1
_RECIPE = "recipe.toml"


@dataclass(frozen=True, kw_only=True)
class ExportRecord:
    """What was exported, and how it compares."""

    model_sha256: str  # of the weights, as in config.json: after further training, the export is stale
    saccade: str = __version__
    ctranslate2: str = ""
    int8: bool = False
    sentences: CountOrZero = 0  # that were compared
    identical: Probability | None = None  # share of identical translations; None: nothing was compared

    def write(self, folder: Path) -> None:
        (folder / RECORD).write_text(json.dumps(asdict(self), indent=2) + "\n", encoding="utf-8")


def share_identical(ours: Sequence[str], theirs: Sequence[str]) -> float | None:
    if not ours:
        return None
    return sum(a == b for a, b in zip(ours, theirs, strict=True)) / len(ours)


def read_comparison(folder: Path) -> ExportRecord | None:
    """The record of the export inside a model folder; None if there is none, or none of the weights that are there now.

    The folder may come from somebody else: nothing but this text is read from the export, and the worst that it can
    say is that PyTorch translates.
    """
    name = f"{FOLDER}/{RECORD}"
    try:
        if not files.exists(folder, name):
            return None
        values = files.parse_json(files.read(folder, name, most=_MOST_BYTES))
        if not isinstance(values, dict):
            return None
        record = config.from_dict(ExportRecord, values, where=str(folder / name))
    except (UserError, ValueError):
        return None
    is_current = not record.int8 and record.model_sha256 == model_folder.stored_digest(folder)
    return record if is_current else None


def sources_to_compare(file: Path | None, folders: Sequence[Path]) -> list[str]:
    """The lines of a file, or else sentences of the task that the model was trained on."""
    if file is not None:
        lines = [line for line in read_lines(file) if line.strip()]
        if not lines:
            raise UserError(f"--compare {file}: has no text; expected one source per line")
        return lines
    name = _task_of(folders[0]) if len(folders) == 1 else None
    if name is None:
        return []
    with suppress(UserError):  # the data of a task may be missing here
        return [pair.source for pair in task(name).pairs(_FROM_TASK, seed=_SEED, split="valid")]
    return []


def _task_of(folder: Path) -> str | None:
    """The task in the recipe beside the model. Files that a recipe names are not read: it may be somebody else's."""
    if not files.exists(folder, _RECIPE):
        return None
    try:
        pairs = files.parse_toml(files.read(folder, _RECIPE).decode()).get("data", {}).get("pairs")
    except (ValueError, AttributeError):
        return None
    return pairs.removeprefix("task:") if isinstance(pairs, str) and pairs.startswith("task:") else None
