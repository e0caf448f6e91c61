"""The two sides' vocabularies: one for both, unless asked for two."""

import hashlib
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Protocol, Self

from saccade.text.tokeniser import Policy, Tokeniser


class HasTexts(Protocol):
    @property
    def source(self) -> str: ...
    @property
    def target(self) -> str: ...


@dataclass(frozen=True)
class Vocabularies:
    source: Tokeniser
    target: Tokeniser

    @classmethod
    def train(cls, pairs: Iterable[HasTexts], policy: Policy | None = None, *, joint: bool = True) -> Self:
        """`pairs` is gone through twice, a side at a time, when not joint."""
        options = asdict(policy or Policy())
        if joint:
            both = Tokeniser.train((text for pair in pairs for text in (pair.source, pair.target)), **options)
            return cls(both, both)
        return cls(
            Tokeniser.train((pair.source for pair in pairs), **options),
            Tokeniser.train((pair.target for pair in pairs), **options),
        )

    @property
    def joint(self) -> bool:
        return self.source is self.target

    @property
    def hash(self) -> str:
        return hashlib.sha256(f"{self.source.hash} {self.target.hash}".encode()).hexdigest()

    def save(self, folder: Path | str) -> None:
        if self.joint:
            self.source.save(folder)
        else:
            self.source.save(folder, "source")
            self.target.save(folder, "target")

    @classmethod
    def load(cls, folder: Path | str) -> Self:
        if (Path(folder) / "source.json").exists():
            return cls(Tokeniser.load(folder, "source"), Tokeniser.load(folder, "target"))
        both = Tokeniser.load(folder)
        return cls(both, both)
