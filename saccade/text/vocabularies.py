"""The vocabularies of the two sides, by default one for both, and the placeholders."""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Protocol, Self

from saccade import files
from saccade.errors import UserError
from saccade.files import parse_json
from saccade.text.placeholders import SYMBOLS, Masked, Placeholders
from saccade.text.subword_model import MOST_LINES
from saccade.text.tokeniser import Policy, Tokeniser

_PLACEHOLDERS = "placeholders.json"


class HasTexts(Protocol):
    @property
    def source(self) -> str: ...
    @property
    def target(self) -> str: ...


@dataclass(frozen=True)
class Vocabularies:
    """The target may be written from right to left; then all its ids are in that order."""

    source: Tokeniser
    target: Tokeniser
    placeholders: Placeholders | None = None

    @classmethod
    def train(
        cls,
        pairs: Iterable[HasTexts],
        policy: Policy | None = None,
        target_policy: Policy | None = None,
        *,
        joint: bool = True,
        tags: Sequence[str] = (),
        placeholders: Placeholders | None = None,
        most_lines: int = MOST_LINES,
    ) -> Self:
        """Train one joint vocabulary, or one per side, if it is not `joint` or there is a `target_policy`. For two,
        `pairs` is iterated twice. Tags belong to sources."""
        policy = policy or Policy()

        def texts(*sides: int) -> Iterable[str]:
            for pair in pairs:
                pair_texts = [pair.source, pair.target]
                if placeholders is not None:
                    pair_texts = [masked.text for masked in placeholders.mask_pair(pair.source, pair.target)]
                yield from (pair_texts[side] for side in sides)

        train = partial(Tokeniser.train, symbols=SYMBOLS if placeholders else (), most_lines=most_lines)
        if joint and target_policy is None:
            shared = train(texts(0, 1), tags=tags, **asdict(policy))
            return cls(shared, shared, placeholders)
        target = train(texts(1), **asdict(target_policy or policy))
        return cls(train(texts(0), tags=tags, **asdict(policy)), target, placeholders)

    def mask(self, source: str) -> Masked:
        """Replace the placeholders of a source to translate. Its tag is never part of one."""
        if self.placeholders is None:
            return Masked(source)
        tag, text = self.source.split_tag(source)
        masked = self.placeholders.mask(text)
        return masked._replace(text=f"{tag} {masked.text}") if tag else masked

    def mask_pair(self, source: str, target: str) -> tuple[Masked, Masked]:
        """Replace the placeholders of a pair to train on."""
        if self.placeholders is None:
            return Masked(source), Masked(target)
        tag, text = self.source.split_tag(source)
        left, right = self.placeholders.mask_pair(text, target)
        return (left._replace(text=f"{tag} {left.text}") if tag else left), right

    def encode(self, pair: HasTexts) -> tuple[list[int], list[int]]:
        """Return the ids of a pair to train on."""
        source, target = self.mask_pair(pair.source, pair.target)
        return self.source.encode(source.text), self.target.encode(target.text)

    @property
    def joint(self) -> bool:
        return self.source.shares_model_with(self.target)

    def towards(self, *, right_to_left: bool) -> Self:
        """Return the same vocabularies, with the target in this order."""
        return self if self.target.right_to_left == right_to_left else replace(self, target=self.target.reversed())

    @property
    def hash(self) -> str:
        kinds = "".join(f" {kind!r}" for kind in self.placeholders.kinds) if self.placeholders else ""
        return hashlib.sha256(f"{self.source.hash} {self.target.hash}{kinds}".encode()).hexdigest()

    def save(self, folder: Path | str) -> None:
        if self.joint:
            self.target.save(folder)  # the source is always from left to right
        else:
            self.source.save(folder, "source")
            self.target.save(folder, "target")
        if self.placeholders:
            about = json.dumps({"kinds": self.placeholders.kinds}, ensure_ascii=False, indent=2)
            (Path(folder) / _PLACEHOLDERS).write_text(about + "\n", encoding="utf-8")

    @classmethod
    def load(cls, folder: Path | str) -> Self:
        """Load from a folder that `save` wrote. For a model folder, use `saccade.decode.load_vocabularies`."""
        folder = Path(folder)
        sides = ("source", "target") if files.exists(folder, "source.json") else ("tokeniser",)
        names = [name for side in sides for name in Tokeniser.file_names(side)]
        names += [_PLACEHOLDERS] if files.exists(folder, _PLACEHOLDERS) else []
        return cls.from_files({name: files.read(folder, name) for name in names}, folder)

    @classmethod
    def from_files(cls, contents: Mapping[str, bytes], folder: Path) -> Self:
        """Build from the contents of the files; errors name the folder."""
        about = contents.get(_PLACEHOLDERS)
        placeholders = None if about is None else _read_placeholders(about, folder / _PLACEHOLDERS)
        if "source.json" in contents:
            source, target = (Tokeniser.from_files(contents, folder, side) for side in ("source", "target"))
            return cls(source, target, placeholders)
        target = Tokeniser.from_files(contents, folder)
        return cls(target.reversed() if target.right_to_left else target, target, placeholders)


def _read_placeholders(content: bytes, path: Path) -> Placeholders:
    try:
        return Placeholders(tuple(parse_json(content)["kinds"]))
    except (ValueError, KeyError, TypeError, AttributeError):
        raise UserError(f"{path}: damaged; expected the placeholders of a vocabulary: copy it again") from None
