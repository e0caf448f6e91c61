"""The vocabularies of the two sides, by default one for both, and the placeholders.

Placeholders are spans that a translation must not change (URLs, markup, numbers); to the model they are symbols. In
training, a span that occurs in the source and in the target becomes the same symbol on both sides. In translation
every span of the source becomes a symbol, and each symbol that the model writes is replaced by its span; a symbol that
is not in the source is dropped. A symbol is one character of a private-use area, so that a text with symbols is still a
text. Where a text contains such a character itself, that is a span like any other.
"""

import hashlib
import json
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import NamedTuple, Protocol, Self

from saccade import files
from saccade.errors import UserError, plural
from saccade.names import nearest
from saccade.text.regex import Expression
from saccade.text.tokeniser import MOST_LINES, SYMBOLS, Policy, Tokeniser, symbol_replacements

_PLACEHOLDERS = "placeholders.json"


class HasTexts(Protocol):
    @property
    def source(self) -> str: ...
    @property
    def target(self) -> str: ...


KINDS = {
    "markup": r"</?[A-Za-z][^<>]*>",
    "url": r"(?:https?://|www\.)[^\s<>\"]*[\w/]",
    "email": r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+",
    "number": r"\d+(?:[.,:]\d+)*",
}


class Masked(NamedTuple):
    """A text with symbols, and the span of each symbol; None: the vocabulary has no placeholders."""

    text: str
    shown: Mapping[str, str] | None = None

    def restore(self, written: str) -> str:
        """Replace every symbol in a translation of it."""
        return written if self.shown is None else written.translate(symbol_replacements(self.shown))

    def notes(self, written: str) -> tuple[str, ...]:
        """Report symbols that are missing in a translation, or not in the source."""
        if self.shown is None:
            return ()
        lost = [f"{span!r} is not in the translation" for symbol, span in self.shown.items() if symbol not in written]
        unknown = sum(written.count(symbol) for symbol in SYMBOLS if symbol not in self.shown)
        dropped = [f"dropped {plural(unknown, 'placeholder')} that the source does not have"] if unknown else []
        return (*lost, *dropped)


@dataclass(frozen=True)
class Placeholders:
    """`kinds` are names from KINDS, or regular expressions; the first that matches at a place decides."""

    kinds: tuple[str, ...]

    def __post_init__(self) -> None:
        for kind in self.kinds:
            if kind.isalpha() and kind not in KINDS:
                raise UserError(f"there are no placeholders {kind!r}; {nearest(kind, KINDS)}; or a regular expression")
            if Expression(KINDS.get(kind, kind)).matches_nothing():
                raise UserError(f"placeholders {kind!r}: matches the empty text; expected at least one character")

    @cached_property
    def _expression(self) -> Expression:
        symbols = f"[{SYMBOLS[0]}-{SYMBOLS[-1]}]"
        return Expression("|".join([symbols, *(f"(?:{KINDS.get(kind, kind)})" for kind in self.kinds)]))

    def mask(self, source: str, matched: Counter[str] | None = None) -> Masked:
        """Replace every span by a symbol, as for translation, or only as many of each span as are `matched`."""
        # The first symbol depends on the source, so that training sees all symbols equally often.
        first = zlib.crc32(source.encode("utf-8", "surrogatepass"))
        shown: dict[str, str] = {}

        def replaced(span: str) -> str:
            if len(shown) == len(SYMBOLS) or (matched is not None and matched[span] == 0):
                return span
            if matched is not None:
                matched[span] -= 1
            symbol = SYMBOLS[(first + len(shown)) % len(SYMBOLS)]
            shown[symbol] = span
            return symbol

        return Masked(self._replace(source, replaced), shown)

    def mask_pair(self, source: str, target: str) -> tuple[Masked, Masked]:
        """Replace the spans that occur on both sides, as for training. Repeated spans are matched in order."""
        masked = self.mask(source, Counter(target[start:end] for start, end in self._expression.spans(target)))
        symbols = defaultdict(list)
        for symbol, span in (masked.shown or {}).items():
            symbols[span].append(symbol)
        text = self._replace(target, lambda span: symbols[span].pop(0) if symbols[span] else span)
        return masked, Masked(text, masked.shown)

    def _replace(self, text: str, replaced: Callable[[str], str]) -> str:
        written, place = [], 0
        for start, end in self._expression.spans(text):
            written += [text[place:start], replaced(text[start:end])]
            place = end
        return "".join([*written, text[place:]])


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

    @classmethod
    def train_on_texts(
        cls, texts: Iterable[str], policy: Policy | None = None, *, most_lines: int = MOST_LINES
    ) -> Self:
        """Train a vocabulary for a model of texts, which are no pairs."""
        shared = Tokeniser.train(texts, most_lines=most_lines, **asdict(policy or Policy()))
        return cls(shared, shared)

    def mask(self, source: str) -> Masked:
        """Replace the placeholders of a source to translate. Its tag is never part of one."""
        if self.placeholders is None:
            return Masked(source)
        _, text = self.source.split_tag(source)
        masked = self.placeholders.mask(text)
        return masked._replace(text=source.removesuffix(text) + masked.text)

    def mask_pair(self, source: str, target: str) -> tuple[Masked, Masked]:
        """Replace the placeholders of a pair to train on."""
        if self.placeholders is None:
            return Masked(source), Masked(target)
        _, text = self.source.split_tag(source)
        left, right = self.placeholders.mask_pair(text, target)
        return left._replace(text=source.removesuffix(text) + left.text), right

    def encode(self, pair: HasTexts) -> tuple[list[int], list[int]]:
        source, target = self.mask_pair(pair.source, pair.target)
        return self.source.encode(source.text), self.target.encode(target.text)

    @property
    def joint(self) -> bool:
        return self.source.model is self.target.model

    def towards(self, *, right_to_left: bool) -> Self:
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
        names = [f"{side}.{ending}" for side in sides for ending in ("json", "model")]
        names += [_PLACEHOLDERS] if files.exists(folder, _PLACEHOLDERS) else []
        return cls.from_files({name: files.read(folder, name) for name in names}, folder)

    @classmethod
    def from_files(cls, contents: Mapping[str, bytes], folder: Path) -> Self:
        placeholders = None
        if _PLACEHOLDERS in contents:
            try:
                placeholders = Placeholders(tuple(files.parse_json(contents[_PLACEHOLDERS])["kinds"]))
            except (ValueError, KeyError, TypeError, AttributeError):
                place = folder / _PLACEHOLDERS
                raise UserError(f"{place}: damaged; expected the placeholders of a vocabulary: copy it again") from None
        if "source.json" in contents:
            source, target = (Tokeniser.from_files(contents, folder, side) for side in ("source", "target"))
            return cls(source, target, placeholders)
        target = Tokeniser.from_files(contents, folder)
        return cls(target.reversed() if target.right_to_left else target, target, placeholders)
