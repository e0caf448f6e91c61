"""Text to token ids and back, by sentencepiece, without loss.

For any line of text, `decode(encode(line)) == normalise(line)`, including double, leading and trailing spaces.
`normalise` is the identity unless the policy says otherwise (NFC or NFKC, lower case); a line break inside a text is
read as a space. Characters that are not in the vocabulary are spelled in UTF-8 bytes; with `byte_fallback=False`, which
saves 256 ids, they are lost and decode to ⁇.

Two things differ from plain sentencepiece. It writes a space as ▁ and so loses a real ▁: here a real ▁ is encoded as
the line break that no line contains. And its *word* kind splits at white space only: here the words are those of
`saccade.text.words`, each with the space before it.

A tag before a text (`<fr> The cat sleeps.`) is one token and not a word: it tells the model what to do with the text.
`reversed()` has the same tokens from right to left: its ids are in reverse order, its texts and words are not.
"""

import codecs
import hashlib
import json
import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import asdict, dataclass
from functools import cached_property, lru_cache
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Annotated, Any, Literal, Self, TypeVar

from saccade import files
from saccade.errors import UserError
from saccade.ranges import Checked, Help, VocabularySize
from saccade.text.words import word_spans

PAD, UNK, BOS, EOS = 0, 1, 2, 3
MOST_LINES = 1_000_000  # enough to train a vocabulary; of more lines, a random sample is used
TO_SENTENCEPIECE = str.maketrans({"\n": " ", "▁": "\n"})
FROM_SENTENCEPIECE = str.maketrans({"▁": " ", "\n": "▁"})
SYMBOLS = tuple(chr(0xF0000 + number) for number in range(16))  # further spans of a text stay text
_SYMBOL = SYMBOLS[0].encode()[:3]  # with which each of them begins in UTF-8
FORMAT = 1  # of the saved files

WordRange = tuple[int, int]
"""The words that a token overlaps, as (first, last + 1). White space, or a token without text (bos, eos), overlaps
none: (k, k), where word k is the next one."""

_T = TypeVar("_T")
Kind = Literal["unigram", "bpe", "char", "word"]
_AT_SPACES = re.compile(r" [^ ]*|[^ ]+")  # as sentencepiece splits: each word with the space before it
ENOUGH_TOKENS = 50  # to tell whether a vocabulary was trained on other texts


@dataclass(frozen=True, kw_only=True)
class Policy(Checked):
    kind: Annotated[Kind, Help("Kind of tokens: subwords (unigram or bpe), characters or words.")] = "unigram"
    size: Annotated[VocabularySize, Help("Maximum number of tokens, including 4 special ones and 256 bytes.")] = 8000
    normalise: Annotated[Literal["identity", "nfc", "nfkc"], Help("Unicode normalisation of all texts.")] = "identity"
    lower: Annotated[bool, Help("Convert every text to lower case.")] = False
    byte_fallback: Annotated[bool, Help("Spell unknown characters in bytes.")] = True


def normalise_text(text: str, policy: Policy) -> str:
    if policy.normalise != "identity":
        text = unicodedata.normalize("NFC" if policy.normalise == "nfc" else "NFKC", text)
    return (text.lower() if policy.lower else text).replace("\n", " ")


def text_prefix(policy: Policy) -> str:
    """A space before the text makes its first word the same token as elsewhere. Characters do not need it."""
    return "" if policy.kind == "char" else " "


def split_chunks(text: str, policy: Policy) -> list[str]:
    """Split a text into what sentencepiece encodes at once: the whole text or, for the word kind, each word with the
    space before it and any other white space after it."""
    text = normalise_text(text, policy)
    if not text:
        return []
    text = text_prefix(policy) + text
    inward = text.translate(TO_SENTENCEPIECE)
    if policy.kind != "word":
        return [inward]
    starts = [start - (text[start - 1] == " ") for start, _ in word_spans(text)]
    return [inward[start:end] for start, end in pairwise([0, *filter(None, starts), len(text)])]


def symbol_replacements(shown: Mapping[str, str]) -> dict[int, str]:
    """Return a table for str.translate, which removes symbols without a span."""
    return {ord(symbol): shown.get(symbol, "") for symbol in SYMBOLS}


class Tokeniser:
    def __init__(self, model: bytes, policy: Policy, *, right_to_left: bool = False) -> None:
        from sentencepiece import SentencePieceProcessor

        self.policy, self.right_to_left = policy, right_to_left
        self.model = model
        self._pieces = SentencePieceProcessor(model_proto=model)
        self._samplers: dict[float, Callable[[str, Random], list[int]]] = {}
        # Words are repeated, lines are not.
        self._ids = lru_cache(1 << 16)(self._pieces.encode) if policy.kind == "word" else self._pieces.encode

    @classmethod
    def train(
        cls,
        lines: Iterable[str],
        *,
        tags: Sequence[str] = (),
        symbols: Sequence[str] = (),
        most_lines: int = MOST_LINES,
        **policy: Any,
    ) -> Self:
        """Train on lines, with the fields of a `Policy` as options. The same lines and policy give the same bytes. A
        size that the text cannot fill is lowered: see `note`."""
        from saccade.text.subwords import train_subword_model  # which imports this module

        chosen = Policy(**policy)
        model = train_subword_model(lines, chosen, tags=tags, symbols=symbols, most_lines=most_lines)
        return cls(model, chosen)

    def reversed(self) -> Self:
        other = copy(self)
        other.right_to_left = not self.right_to_left
        return other

    def __len__(self) -> int:
        return int(self._pieces.get_piece_size())

    @property
    def note(self) -> str | None:
        """How the vocabulary differs from the policy."""
        if len(self) == self.policy.size:
            return None
        return f"vocabulary of {len(self):,} tokens; the text has fewer than the {self.policy.size:,} requested"

    @cached_property
    def tags(self) -> dict[str, int]:
        controls = filter(self._pieces.is_control, range(EOS + 1, len(self)))
        return {self._pieces.id_to_piece(token): token for token in controls}

    def split_tag(self, text: str) -> tuple[str, str]:
        """Return the tag, or "", and the text after it."""
        tag, _, rest = text.partition(" ") if self.tags else ("", "", text)
        return (tag, rest) if rest and tag in self.tags else ("", text)

    def normalise(self, text: str) -> str:
        _, rest = self.split_tag(text)
        return text.removesuffix(rest) + normalise_text(rest, self.policy)

    def encode(self, text: str) -> list[int]:
        tag, rest = self.split_tag(text)
        ids = [token for chunk in split_chunks(rest, self.policy) for token in self._ids(chunk)]
        return self._ordered([self.tags[tag], *ids] if tag else ids)

    def sample(self, text: str, random: Random, rate: float = 0.1) -> list[int]:
        """Draw another segmentation: `rate` is the smoothing α of unigram subwords, or the dropout of BPE."""
        if rate not in self._samplers:
            from saccade.text.subwords import SAMPLERS  # which imports this module

            if self.policy.kind not in SAMPLERS:
                raise UserError(f"a vocabulary of {self.policy.kind}s splits a text in one way only: nothing to sample")
            self._samplers[rate] = SAMPLERS[self.policy.kind](self._pieces, rate)
        tag, rest = self.split_tag(text)
        parts = [part for chunk in split_chunks(rest, self.policy) for part in _AT_SPACES.findall(chunk)]
        ids = [token for part in parts for token in self._samplers[rate](part, random)]
        return self._ordered([self.tags[tag], *ids] if tag else ids)

    def decode(self, ids: Iterable[int]) -> str:
        """Bytes that are not UTF-8, which a model may well write, become U+FFFD."""
        first, *rest = self._ordered([*ids]) or [PAD]
        tag = f"{self._pieces.id_to_piece(first)} " if rest and first in self.tags.values() else ""
        written = b"".join(self.surfaces[token] for token in (rest if tag else (first, *rest)))
        text = written.decode("utf-8", "replace").translate(FROM_SENTENCEPIECE)
        return tag + text.removeprefix(text_prefix(self.policy))

    def is_unknown(self, token: int) -> bool:
        """Tell whether it stands for a character that is not in the vocabulary, or for one of its bytes."""
        return token == UNK or bool(self._pieces.is_byte(token))

    def unknown_share(self, texts: Iterable[str]) -> float | None:
        """Return the share of unknown tokens; None if there are too few tokens to tell."""
        unknown = [self.is_unknown(token) for text in texts for token in self.encode(text)]
        return sum(unknown) / len(unknown) if len(unknown) >= ENOUGH_TOKENS else None

    def capital_share(self) -> float:
        """Return the share of the vocabulary that has a capital letter."""
        pieces = [piece for token, piece in enumerate(self.pieces) if token > EOS and not self.is_unknown(token)]
        return sum(piece != piece.lower() for piece in pieces) / max(1, len(pieces))

    def tokens(self, ids: Iterable[int], shown: Mapping[str, str] | None = None) -> list[str]:
        """Return the tokens in sentencepiece's notation: ▁ for a space, <0xE2> for a byte. `shown` has the texts that
        replace placeholders."""
        table = {0x0A: "▁", **({} if shown is None else symbol_replacements(shown))}
        return [self._pieces.id_to_piece(token).translate(table) for token in ids]

    def encode_with_spans(
        self, text: str, shown: Mapping[str, str] | None = None
    ) -> tuple[list[int], list[WordRange], str]:
        """Return the ids, the words that each overlaps, and the text of these words: `normalise(text)` without a tag,
        with placeholders replaced by what is `shown`."""
        ids = self._ordered(self.encode(text))
        surfaces = self._written(ids, shown)
        if UNK in ids:  # an unknown token is read from the text itself
            chunks = split_chunks(self.split_tag(text)[1], self.policy)
            texts = [token for chunk in chunks for token in self._pieces.encode(chunk, out_type=str)]
            texts = [""] * (len(ids) - len(texts)) + texts  # a tag has no text
            rows = zip(ids, texts, surfaces, strict=True)
            surfaces = [token.encode() if token_id == UNK else surface for token_id, token, surface in rows]
        written, ranges = self._ranges(surfaces)
        return self._ordered(ids), self._ordered(ranges), written

    def decode_with_spans(
        self, ids: Sequence[int], shown: Mapping[str, str] | None = None
    ) -> tuple[str, list[WordRange]]:
        """Return the text, without a tag and with placeholders replaced, and the words of it that each id overlaps."""
        text, ranges = self._ranges(self._written(self._ordered([*ids]), shown))
        return text, self._ordered(ranges)

    def _ordered(self, items: list[_T]) -> list[_T]:
        """Convert from the order of the text to that of the ids, or back."""
        return items[::-1] if self.right_to_left else items

    def _written(self, ids: Sequence[int], shown: Mapping[str, str] | None) -> list[bytes]:
        """Return the bytes that each id writes; none for a tag at the beginning."""
        surfaces = [self.surfaces[token] for token in ids]
        if ids and ids[0] in self.tags.values():
            surfaces[0] = b""
        if shown is not None:
            table = symbol_replacements({key: text.translate(TO_SENTENCEPIECE) for key, text in shown.items()})
            surfaces = [text.decode().translate(table).encode() if _SYMBOL in text else text for text in surfaces]
        return surfaces

    def _ranges(self, surfaces: Sequence[bytes]) -> tuple[str, list[WordRange]]:
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        written, spans = "", []
        for surface in surfaces:
            start = len(written)
            written += decoder.decode(surface)
            unfinished = bool(decoder.getstate()[0])  # a character that ends in a later token
            spans.append((start, len(written) + unfinished if surface else start))
        written = (written + decoder.decode(b"", final=True)).translate(FROM_SENTENCEPIECE)
        text = written.removeprefix(text_prefix(self.policy))
        skipped = len(written) - len(text)

        words = word_spans(text)
        starts, ends = [start for start, _ in words], [end for _, end in words]
        ranges = []
        for start, end in spans:
            first = bisect_right(ends, start - skipped)
            stop = bisect_left(starts, end - skipped)
            ranges.append((first, stop if start < end else first))
        return text, ranges

    @cached_property
    def pieces(self) -> list[str]:
        """All tokens by their ids, as sentencepiece names them: no two are alike."""
        return [self._pieces.id_to_piece(token) for token in range(len(self))]

    @cached_property
    def surfaces(self) -> list[bytes]:
        is_byte = self._pieces.is_byte
        written = [
            bytes([int(text[3:5], 16)]) if is_byte(token) else text.encode() for token, text in enumerate(self.pieces)
        ]
        written[PAD] = written[BOS] = written[EOS] = b""
        written[UNK] = "⁇".encode()
        return written

    @property
    def hash(self) -> str:
        """Two tokenisers with the same hash give the same ids for the same text."""
        about = json.dumps(asdict(self.policy), sort_keys=True) + " right to left" * self.right_to_left
        return hashlib.sha256(self.model + about.encode()).hexdigest()

    def save(self, folder: Path | str, name: str = "tokeniser") -> None:
        """Write NAME.model, which sentencepiece can read, and NAME.json."""
        folder = Path(folder)
        (folder / f"{name}.model").write_bytes(self.model)
        about = {"format": FORMAT, "hash": self.hash, "policy": asdict(self.policy)}
        about |= {"right_to_left": True} if self.right_to_left else {}
        (folder / f"{name}.json").write_text(json.dumps(about, indent=2) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, folder: Path | str, name: str = "tokeniser") -> Self:
        folder = Path(folder)
        contents = {file: files.read(folder, file) for file in (f"{name}.json", f"{name}.model")}
        return cls.from_files(contents, folder, name)

    @classmethod
    def from_files(cls, contents: Mapping[str, bytes], folder: Path, name: str = "tokeniser") -> Self:
        described, model = names = f"{name}.json", f"{name}.model"
        if missing := [file for file in names if file not in contents]:
            raise UserError(f"{folder}: has no {missing[0]}; expected a model folder with its tokeniser")
        try:
            about = files.parse_json(contents[described])
            if about["format"] != FORMAT:
                raise UserError(f"{folder / described}: format {about['format']}; this Saccade reads format {FORMAT}")
            right_to_left = about.get("right_to_left", False)
            tokeniser = cls(contents[model], Policy(**about["policy"]), right_to_left=right_to_left)
            if tokeniser.hash == about["hash"]:
                return tokeniser
        except (ValueError, KeyError, TypeError, RuntimeError):
            pass
        raise UserError(f"{folder / described}: it and {model} do not belong together, or are damaged; copy both again")
