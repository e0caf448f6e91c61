"""The tables of a shortlist: which target tokens could translate each source token, and which are always allowed. They
are one file of a model folder, which config.json lists with its checksum."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
import safetensors.numpy
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError
from torch import Tensor

from saccade import files
from saccade.decode.search.hypotheses import Hypothesis
from saccade.decode.shortlist.options import MOST_BEST, MOST_FREQUENT
from saccade.errors import UserError
from saccade.ranges import Count, CountOrZero, Probability
from saccade.text import EOS

NAME = "shortlist.safetensors"
_HEADER = 1 << 12  # bytes, more than that of any such file
_MOST_COPIES = 16  # of the output layer, that the rows for single sentences may take
_SPECIAL = np.arange(EOS + 1, dtype=np.int32)  # PAD, UNK, BOS and EOS

Tokens = NDArray[np.int32]


@dataclass(frozen=True, kw_only=True)
class ShortlistRecord:
    """What config.json says about a shortlist."""

    sha256: str  # of the file
    pairs: Count  # from which it was learnt
    sentences: CountOrZero = 0  # that were translated with and without it
    identical: Probability | None = None  # share of identical translations; None: nothing was compared
    scored: Probability | None = None  # mean share of the vocabulary that the list of a sentence has


class Candidates(NamedTuple):
    """The tokens that the sentences of a batch may write: `shared` ones, and some of each sentence, U in all. In a
    search, a token is its place among those of its sentence. The special tokens are the first, so that their ids
    stay."""

    shared: Tensor  # (F,) ids, ascending
    own: Tensor  # (B, L) ids, and padding
    allowed: Tensor  # (B, U = F + L)

    @property
    def ids(self) -> Tensor:
        """(B, U) the id at each place."""
        return torch.cat([self.shared.expand(len(self.own), -1), self.own], 1)

    def to(self, device: torch.device) -> "Candidates":
        return Candidates(*(part.to(device) for part in self))

    def restore(self, results: Sequence[Sequence[Hypothesis]]) -> list[list[Hypothesis]]:
        """The results of a search, with ids in place of places."""
        return [
            [replace(h, tokens=tuple(ids[place] for place in h.tokens)) for h in found]
            for ids, found in zip(self.ids.tolist(), results, strict=True)
        ]


@dataclass(frozen=True)
class Shortlist:
    starts: Tokens  # (source tokens + 1,) the translations of source token s are best[starts[s] : starts[s + 1]]
    best: Tokens  # target tokens, the most probable first
    always: Tokens  # the special tokens and the most frequent ones, in ascending order
    target_size: int

    def choose(
        self, sources: Sequence[Sequence[int]], *, unlimited: Sequence[int] = (), keeps_ids: bool = False
    ) -> Candidates:
        """The candidates of a batch; those of a sentence do not depend on the others. The `unlimited` sentences may
        write any token. With `keeps_ids`, if a sentence is unlimited, or if the rows of all sentences would take too
        much memory, every token is at the place of its id, and those outside of a list are not allowed."""
        own = [np.setdiff1d(np.concatenate(self._translations(source)), self.always) for source in sources]
        sizes = np.array([[len(tokens)] for tokens in own])
        if keeps_ids or unlimited or sizes.size * sizes.max() > _MOST_COPIES * self.target_size:
            allowed = np.zeros((len(sources), self.target_size), bool)
            allowed[:, self.always] = True
            for row, tokens in zip(allowed, own, strict=True):
                row[tokens] = True
            allowed[list(unlimited)] = True
            return _candidates(np.arange(self.target_size), np.zeros((len(sources), 0)), allowed)
        exists = np.arange(sizes.max()) < sizes
        table = np.zeros(exists.shape, np.int64)
        table[exists] = np.concatenate(own)
        return _candidates(self.always, table, np.pad(exists, ((0, 0), (len(self.always), 0)), constant_values=True))

    def _translations(self, source: Sequence[int]) -> list[Tokens]:
        return [self.best[:0], *(self.best[self.starts[token] : self.starts[token + 1]] for token in set(source))]

    def to_bytes(self) -> bytes:
        return safetensors.numpy.save({"starts": self.starts, "best": self.best, "always": self.always})

    @classmethod
    def from_bytes(cls, content: bytes, where: Path, source_size: int, target_size: int) -> Self:
        """The content may be anybody's: a search would read wherever its numbers point."""
        try:
            tables = safetensors.numpy.load(content)
        except (SafetensorError, ValueError, KeyError, TypeError) as error:
            raise _damaged(where, str(error)) from error
        if tables.keys() != {"starts", "best", "always"}:
            raise _damaged(where, "it has other tables")
        if any(table.dtype != np.int32 or table.ndim != 1 for table in tables.values()):
            raise _damaged(where, "its tables are not lists of 32-bit numbers")
        starts, best, always = (tables[name] for name in ("starts", "best", "always"))
        if len(starts) != source_size + 1 or starts[0] != 0 or starts[-1] != len(best) or (np.diff(starts) < 0).any():
            raise _damaged(where, f"it is not for {source_size:,} source tokens")
        tokens = np.concatenate([best, always])
        if (tokens < 0).any() or (tokens >= target_size).any():
            raise _damaged(where, f"it has tokens beyond the {target_size:,} of the target")
        if not np.array_equal(always[: len(_SPECIAL)], _SPECIAL) or (np.diff(always) <= 0).any():
            raise _damaged(where, "its frequent tokens are not sorted")
        return cls(starts, best, always, target_size)


def _candidates(shared: NDArray[Any], own: NDArray[Any], allowed: NDArray[np.bool]) -> Candidates:
    shared, own = shared.astype(np.int64), own.astype(np.int64)
    return Candidates(torch.from_numpy(shared), torch.from_numpy(own), torch.from_numpy(allowed))


def with_special_tokens(frequent: NDArray[np.int64]) -> Tokens:
    """What every sentence may write."""
    return np.union1d(_SPECIAL, frequent).astype(np.int32)


def read_shortlist(folder: Path, record: ShortlistRecord, source_size: int, target_size: int) -> Shortlist:
    """The shortlist of a model folder. Its size is checked before it is read."""
    where = folder / NAME
    if not files.exists(folder, NAME):
        raise _damaged(where, "it is missing, although config.json lists it")
    numbers = (source_size + 1) * (MOST_BEST + 2) + MOST_FREQUENT + len(_SPECIAL)
    content = files.read(folder, NAME, most=4 * numbers + _HEADER)
    if files.sha256(content) != record.sha256:
        raise _damaged(where, "its checksum differs from config.json")
    return Shortlist.from_bytes(content, where, source_size, target_size)


def _damaged(where: Path, reason: str) -> UserError:
    advice = f"copy the whole folder again, or type: saccade shortlist {where.parent} PAIRS"
    return UserError(f"{where}: damaged or half copied: {reason}; {advice}")
