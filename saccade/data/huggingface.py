"""Pairs out of a data set of Hugging Face's `datasets`, an extra: `hf:PATH_OR_NAME[:CONFIG][@SPLIT]`.

PATH is a folder that `save_to_disk` wrote, or one of data files, or a file. A name is looked for on the hub: that alone
reads from the network. It is fetched once and kept by `datasets`, since training passes over its pairs many times;
local files are streamed, so that no second copy of them is made. Neither is ever in memory as a whole.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

from saccade.data.formats import DEFAULT_FIELDS, Fields, MarkedPairs, get_pair
from saccade.data.text_files import Mark, TextPair, hash_pairs
from saccade.errors import UserError

PREFIX = "hf:"
_SPLIT = "train"


@dataclass(frozen=True)
class HubPairs:
    """`where` is what stands after `hf:`. A row's number, from 1, is what a line's is elsewhere."""

    where: str
    fields: Fields | None = None

    def __iter__(self) -> Iterator[TextPair]:
        return (pair for _, pair in self.marked())

    def __str__(self) -> str:
        return f"{PREFIX}{self.where}"

    def marked(self, mark: Mark | None = None) -> MarkedPairs:
        """The pairs from a mark on, each with its own."""
        first = mark[0] if mark else 1
        row = first - 1
        for row, record in enumerate(self._rows.skip(first - 1), first):
            yield (row,), get_pair(record, self.fields or DEFAULT_FIELDS, f"{self}:{row}")
        if row == 0:
            raise UserError(f"{self}: the data set is empty; expected a pair of texts a row")

    def digest(self) -> str:
        return hash_pairs(self)

    def size(self) -> int:
        """Bytes, as far as they are known without reading."""
        return int(getattr(self._rows, "dataset_size", None) or 0)

    @cached_property
    def _rows(self) -> Any:
        try:
            datasets = import_module("datasets")
        except ImportError:
            raise UserError(f"{self} needs the package datasets: pip install 'saccade[datasets]'") from None
        where, _, split = self.where.partition("@")
        path, _, config = where.partition(":")
        try:
            found = _load(datasets, path, config or None)
        except (OSError, ValueError, ImportError) as error:  # of these are all that datasets raises of its own
            reason = str(error).partition("\n")[0]
            raise UserError(f"{self}: cannot be read: {reason}") from None
        if not isinstance(found, Mapping):
            return found
        chosen = split or (_SPLIT if _SPLIT in found or len(found) != 1 else next(iter(found)))
        if chosen not in found:
            raise UserError(f"{self}: there is no split {chosen!r}; choose by @ one of {', '.join(found)}")
        return found[chosen]


def _load(datasets: Any, path: str, config: str | None) -> Any:
    place = Path(path)
    if (place / "dataset_info.json").exists() or (place / "dataset_dict.json").exists():
        return datasets.load_from_disk(path)
    if place.is_file():
        loader = {".jsonl": "json", ".ndjson": "json", ".tsv": "csv", ".txt": "text"}
        kind = place.suffix.lower()
        name = loader.get(kind, kind.removeprefix("."))
        return datasets.load_dataset(name, data_files=path, streaming=True, trust_remote_code=False)
    return datasets.load_dataset(path, config, streaming=place.is_dir(), trust_remote_code=False)
