"""Text to piece ids and back, by sentencepiece, without loss.

What is promised of any line of text: `decode(encode(line)) == normalise(line)`, double, leading and trailing spaces
included. `normalise` is the identity unless the policy says otherwise (NFC or NFKC, lower case); a line break inside a
text is read as a space. What the vocabulary does not know is spelled in UTF-8 bytes; with `byte_fallback=False`, which
saves 256 ids, it is lost and decodes to ⁇.

Two things differ from plain sentencepiece. It writes a space as ▁ and so loses a real ▁: here a real ▁ travels as the
line break that no line holds. And its *word* kind knows only white space: here the words are those of
`saccade.text.words`, each with the space before it.

A tag before a text (`<fr> The cat sleeps.`) is one id, and no word: it tells the model what to do with the text.
`reversed()` has the same pieces from right to left: its ids are the other way round, its texts and words are not.
"""

import codecs
import hashlib
import json
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import asdict
from functools import cached_property, lru_cache
from pathlib import Path
from random import Random
from typing import Self, TypeVar

from saccade import files
from saccade.errors import UserError
from saccade.files import parse_json
from saccade.text.placeholders import SYMBOLS, symbol_replacements
from saccade.text.policy import (
    FROM_SENTENCEPIECE,
    TO_SENTENCEPIECE,
    Kind,
    Normalisation,
    Policy,
    normalise_text,
    split_chunks,
    text_prefix,
)
from saccade.text.subword_model import BOS, EOS, MOST_LINES, PAD, UNK, train_subword_model
from saccade.text.subword_sampling import Sampler, bpe_sampler, split_at_spaces, unigram_sampler
from saccade.text.words import word_spans

__all__ = ["BOS", "EOS", "PAD", "UNK", "Kind", "Normalisation", "Policy", "Tokeniser", "WordRange"]

FORMAT = 1  # of the saved files

WordRange = tuple[int, int]
"""The words that a piece overlaps, as (first, last + 1). A piece of white space, or one that writes nothing (bos, eos),
overlaps none: (k, k), where word k is the next one."""

_T = TypeVar("_T")
_UNKNOWN = "⁇"
_SAMPLERS = {"unigram": unigram_sampler, "bpe": bpe_sampler}
_TELLING = 50  # pieces from which on it can be told that a vocabulary is of other texts


class Tokeniser:
    def __init__(self, model: bytes, policy: Policy, *, right_to_left: bool = False) -> None:
        from sentencepiece import SentencePieceProcessor

        self.policy, self.right_to_left = policy, right_to_left
        self._model = model
        self._pieces = SentencePieceProcessor(model_proto=model)
        self._samplers: dict[float, Sampler] = {}
        # Words come again, lines do not.
        self._ids = lru_cache(1 << 16)(self._pieces.encode) if policy.kind == "word" else self._pieces.encode

    @classmethod
    def train(
        cls,
        lines: Iterable[str],
        *,
        kind: Kind = Policy.kind,
        size: int = Policy.size,
        normalise: Normalisation = Policy.normalise,
        lower: bool = Policy.lower,
        byte_fallback: bool = Policy.byte_fallback,
        tags: Sequence[str] = (),
        symbols: Sequence[str] = (),
        most_lines: int = MOST_LINES,
    ) -> Self:
        """The same lines and policy give the same bytes. A size that the text cannot fill is lowered: see `note`."""
        policy = Policy(kind=kind, size=size, normalise=normalise, lower=lower, byte_fallback=byte_fallback)
        return cls(train_subword_model(lines, policy, tags=tags, symbols=symbols, most_lines=most_lines), policy)

    def reversed(self) -> Self:
        """The same pieces, not copied, in the other order."""
        turned = copy(self)
        turned.right_to_left = not self.right_to_left
        return turned

    def shares_model_with(self, other: "Tokeniser") -> bool:
        """Whether one is the other, or its reverse."""
        return self._pieces is other._pieces

    def __len__(self) -> int:
        return int(self._pieces.get_piece_size())

    @property
    def note(self) -> str | None:
        """What came out otherwise than was asked for."""
        if len(self) == self.policy.size:
            return None
        return f"vocabulary of {len(self):,} pieces: the text does not hold the {self.policy.size:,} asked for"

    @cached_property
    def tags(self) -> dict[str, int]:
        """The tags that may stand before a text, with their ids."""
        controls = filter(self._pieces.is_control, range(EOS + 1, len(self)))
        return {self._pieces.id_to_piece(piece): piece for piece in controls}

    def split_tag(self, text: str) -> tuple[str, str]:
        """A tag and the text after it; "" and the whole text where it has none."""
        tag, _, rest = text.partition(" ") if self.tags else ("", "", text)
        return (tag, rest) if rest and tag in self.tags else ("", text)

    def normalise(self, text: str) -> str:
        tag, rest = self.split_tag(text)
        return f"{tag} {normalise_text(rest, self.policy)}" if tag else normalise_text(rest, self.policy)

    def encode(self, text: str) -> list[int]:
        tag, rest = self.split_tag(text)
        ids = [piece for chunk in split_chunks(rest, self.policy) for piece in self._ids(chunk)]
        return self._ordered([self.tags[tag], *ids] if tag else ids)

    def sample(self, text: str, random: Random, rate: float = 0.1) -> list[int]:
        """Another segmentation, drawn: `rate` is the smoothing α of unigram pieces, or the dropout of BPE."""
        tag, rest = self.split_tag(text)
        sampler = self._sampler(rate)
        cut = [word for chunk in split_chunks(rest, self.policy) for word in split_at_spaces(chunk)]
        ids = [piece for word in cut for piece in sampler(word, random)]
        return self._ordered([self.tags[tag], *ids] if tag else ids)

    def _sampler(self, rate: float) -> Sampler:
        if self.policy.kind not in _SAMPLERS:
            raise UserError(f"a vocabulary of {self.policy.kind}s cuts a text in one way: no other can be sampled")
        if rate not in self._samplers:
            self._samplers[rate] = _SAMPLERS[self.policy.kind](self._pieces, rate)
        return self._samplers[rate]

    def decode(self, ids: Iterable[int]) -> str:
        """Bytes that are no UTF-8, which a model may well write, become U+FFFD."""
        first, *rest = self._ordered([*ids]) or [PAD]
        tag = f"{self._pieces.id_to_piece(first)} " if rest and first in self.tags.values() else ""
        written = b"".join(self.surfaces[piece] for piece in (rest if tag else (first, *rest)))
        return tag + written.decode("utf-8", "replace").translate(FROM_SENTENCEPIECE).removeprefix(
            text_prefix(self.policy)
        )

    def is_unknown(self, piece: int) -> bool:
        """Whether it is for a character that is in no piece: one of its bytes, or all of it."""
        return piece == UNK or bool(self._pieces.is_byte(piece))

    def unknown_share(self, texts: Iterable[str]) -> float | None:
        """Of the pieces that the texts are cut into, how many are for characters in no piece; None: too few to tell."""
        unknown = [self.is_unknown(piece) for text in texts for piece in self.encode(text)]
        return sum(unknown) / len(unknown) if len(unknown) >= _TELLING else None

    def tokens(self, ids: Iterable[int], shown: Mapping[str, str] | None = None) -> list[str]:
        """As sentencepiece writes them, to look at: ▁ for a space, <0xE2> for a byte; `shown` in place of symbols."""
        table = {0x0A: "▁", **({} if shown is None else symbol_replacements(shown))}
        return [self._pieces.id_to_piece(piece).translate(table) for piece in ids]

    def encode_with_spans(
        self, text: str, shown: Mapping[str, str] | None = None
    ) -> tuple[list[int], list[WordRange], str]:
        """The ids, for each the words that it overlaps, and the text whose words these are: `normalise(text)` without
        a tag, and with what is `shown` in place of symbols."""
        ids = self._ordered(self.encode(text))
        surfaces = self._written(ids, shown)
        if UNK in ids:  # only the text itself knows what an unknown piece stands for
            cut = split_chunks(self.split_tag(text)[1], self.policy)
            as_text = [piece for chunk in cut for piece in self._pieces.encode(chunk, out_type=str)]
            as_text = [""] * (len(ids) - len(as_text)) + as_text  # a tag has no text
            surfaces = [
                piece.encode() if piece_id == UNK else known
                for piece_id, piece, known in zip(ids, as_text, surfaces, strict=True)
            ]
        written, ranges = self._ranges(surfaces)
        return self._ordered(ids), self._ordered(ranges), written

    def decode_with_spans(
        self, ids: Sequence[int], shown: Mapping[str, str] | None = None
    ) -> tuple[str, list[WordRange]]:
        """The text, without a tag before it and with what is `shown` in place of symbols, and for each id the words of
        that text that it overlaps."""
        text, ranges = self._ranges(self._written(self._ordered([*ids]), shown))
        return text, self._ordered(ranges)

    def _ordered(self, of_pieces: list[_T]) -> list[_T]:
        """From the order of the text to that of the ids, or back."""
        return of_pieces[::-1] if self.right_to_left else of_pieces

    def _written(self, ids: Sequence[int], shown: Mapping[str, str] | None) -> list[bytes]:
        """What each id writes; nothing, if it is a tag before all others."""
        surfaces = [self.surfaces[piece] for piece in ids]
        if ids and ids[0] in self.tags.values():
            surfaces[0] = b""
        if shown is not None:
            table = {symbol: text.translate(TO_SENTENCEPIECE) for symbol, text in symbol_replacements(shown).items()}
            for place, piece in enumerate(ids):
                if piece in self._symbols:
                    surfaces[place] = surfaces[place].decode().translate(table).encode()
        return surfaces

    def _ranges(self, surfaces: Sequence[bytes]) -> tuple[str, list[WordRange]]:
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        written, spans = "", []
        for surface in surfaces:
            start = len(written)
            written += decoder.decode(surface)
            unfinished = bool(decoder.getstate()[0])  # a character whose last byte is a later piece
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
    def surfaces(self) -> list[bytes]:
        """What each id writes."""
        written = []
        for piece_id in range(len(self)):
            piece = self._pieces.id_to_piece(piece_id)
            if self._pieces.is_byte(piece_id):
                written.append(bytes([int(piece[3:5], 16)]))  # <0xE2>
            else:
                written.append(b"" if piece_id in (PAD, BOS, EOS) else piece.encode())
        written[UNK] = _UNKNOWN.encode()
        return written

    @cached_property
    def _symbols(self) -> frozenset[int]:
        """The ids of placeholders, if it has them: one for each, or (words) one more for each with a space before."""
        pieces = (self._pieces.piece_to_id(space + symbol) for symbol in SYMBOLS for space in ("", "▁"))
        return frozenset(pieces) - {UNK}

    @property
    def hash(self) -> str:
        """Two tokenisers of the same hash give the same ids for the same text."""
        about = json.dumps(asdict(self.policy), sort_keys=True) + " right to left" * self.right_to_left
        return hashlib.sha256(self._model + about.encode()).hexdigest()

    def save(self, folder: Path | str, name: str = "tokeniser") -> None:
        """Writes NAME.model, which sentencepiece reads too, and NAME.json."""
        folder = Path(folder)
        (folder / f"{name}.model").write_bytes(self._model)
        about = {"format": FORMAT, "hash": self.hash, "policy": asdict(self.policy)}
        about |= {"right_to_left": True} if self.right_to_left else {}
        (folder / f"{name}.json").write_text(json.dumps(about, indent=2) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, folder: Path | str, name: str = "tokeniser") -> Self:
        folder = Path(folder)
        return cls.from_files({file: files.read(folder, file) for file in cls.file_names(name)}, folder, name)

    @staticmethod
    def file_names(name: str = "tokeniser") -> tuple[str, str]:
        """The two files that `save` writes."""
        return f"{name}.json", f"{name}.model"

    @classmethod
    def from_files(cls, contents: Mapping[str, bytes], folder: Path, name: str = "tokeniser") -> Self:
        """From the contents of the two files of a folder, which is named in errors."""
        described, model = cls.file_names(name)
        if missing := [file for file in (described, model) if file not in contents]:
            raise UserError(f"{folder}: has no {missing[0]}; expected a model's folder with its tokeniser")
        try:
            about = parse_json(contents[described])
            if about["format"] != FORMAT:
                raise UserError(
                    f"{folder / described}: of format {about['format']}, this version of Saccade reads {FORMAT}"
                )
            policy, turned = Policy(**about["policy"]), about.get("right_to_left", False)
            tokeniser = cls(contents[model], policy, right_to_left=turned)
            whole = tokeniser.hash == about["hash"]
        except (ValueError, KeyError, TypeError, RuntimeError):
            whole = False
        if not whole:
            raise UserError(
                f"{folder / described}: it and {model} do not belong together, or are damaged; copy both again"
            )
        return tokeniser
