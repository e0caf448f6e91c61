"""Pairs from a data set of Hugging Face's `datasets`, an extra: `hf:PATH_OR_NAME[:CONFIG][@SPLIT]`.

PATH is a folder that `save_to_disk` wrote, a folder of data files, or a file. A name is looked up on the hub; nothing
else reads from the network. A data set from the hub is downloaded once and cached by `datasets`; local files are
streamed, so that they are not copied. Neither is ever in memory as a whole.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

from saccade.data.sources import DEFAULT_FIELDS, Fields, Mark, MarkedPairs, PairSource, get_pair
from saccade.errors import UserError

_SPLIT = "train"
_LOADERS = {".jsonl": "json", ".ndjson": "json", ".tsv": "csv", ".txt": "text"}


@dataclass(frozen=True)
class HubPairs(PairSource):
    """`location` is what follows `hf:`. Rows are counted from 1, as lines are elsewhere."""

    location: str
    fields: Fields | None = None

    def __str__(self) -> str:
        return f"hf:{self.location}"

    def marked(self, mark: Mark | None = None) -> MarkedPairs:
        first = mark[0] if mark else 1
        row = first - 1
        for row, record in enumerate(self._rows.skip(first - 1), first):
            yield (row,), get_pair(record, self.fields or DEFAULT_FIELDS, f"{self}:{row}")
        if row == 0:
            raise UserError(f"{self}: the data set is empty; expected one pair of texts per row")

    def size(self) -> int:
        return int(getattr(self._rows, "dataset_size", None) or 0)

    @cached_property
    def _rows(self) -> Any:
        try:
            datasets = import_module("datasets")
        except ImportError:
            raise UserError(f"{self} needs the package datasets: pip install datasets") from None
        location, _, split = self.location.partition("@")
        path, _, config = location.partition(":")
        try:
            splits = _load(datasets, path, config or None)
        except (OSError, ValueError, ImportError) as error:  # every error of datasets is one of these
            reason = str(error).partition("\n")[0]
            raise UserError(f"{self}: cannot be read: {reason}") from None
        if not isinstance(splits, Mapping):
            return splits
        split = split or (_SPLIT if _SPLIT in splits or len(splits) != 1 else next(iter(splits)))
        if split not in splits:
            raise UserError(f"{self}: there is no split {split!r}; add @ and one of {', '.join(splits)}")
        return splits[split]


def _load(datasets: Any, path: str, config: str | None) -> Any:
    place = Path(path)
    if (place / "dataset_info.json").exists() or (place / "dataset_dict.json").exists():
        return datasets.load_from_disk(path)
    if place.is_file():
        kind = place.suffix.lower()
        loader = _LOADERS.get(kind, kind.removeprefix("."))
        return datasets.load_dataset(loader, data_files=path, streaming=True, trust_remote_code=False)
    return datasets.load_dataset(path, config, streaming=place.is_dir(), trust_remote_code=False)
