"""Text to piece ids and back, by sentencepiece, without loss.

What is promised of any line of text: `decode(encode(line)) == normalise(line)`, double, leading and trailing spaces
included. `normalise` is the identity unless the policy says otherwise (NFC or NFKC, lower case); a line break inside a
text is read as a space. What the vocabulary does not know is spelled in UTF-8 bytes; with `byte_fallback=False`, which
saves 256 ids, it is lost and decodes to ⁇.

Two things differ from plain sentencepiece. It writes a space as ▁ and so loses a real ▁: here a real ▁ travels as the
line break that no line holds. And its *word* kind knows only white space: here the words are those of
`saccade.text.words`, each with the space before it.
"""

import codecs
import difflib
import hashlib
import io
import json
import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property, lru_cache, partial
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Literal, Self, get_args

from saccade.errors import UserError
from saccade.text.words import word_spans

PAD, UNK, BOS, EOS = 0, 1, 2, 3
FORMAT = 1  # of the saved files

Kind = Literal["unigram", "bpe", "char", "word"]
Normalisation = Literal["identity", "nfc", "nfkc"]
WordRange = tuple[int, int]
"""The words that a piece overlaps, as (first, last + 1). A piece of white space, or one that writes nothing (bos, eos),
overlaps none: (k, k), where word k is the next one."""

_INWARD = str.maketrans({"\n": " ", "▁": "\n"})
_OUTWARD = str.maketrans({"▁": " ", "\n": "▁"})
_UNKNOWN = "⁇"
_UNTRAINABLE = str.maketrans("▅\t", "  ")  # sentencepiece's own marks: it leaves out a line that holds the first
_MOST_LINES = 1_000_000  # enough to make a vocabulary from; more are drawn from
_LONGEST_LINE = 1 << 18  # bytes; the default of 4192 would leave long lines out unsaid


@dataclass(frozen=True, kw_only=True)
class Policy:
    """How a vocabulary is made. `size` is the most ids it may have, the 4 special and 256 byte ids among them."""

    kind: Kind = "unigram"
    size: int = 8000
    normalise: Normalisation = "identity"
    lower: bool = False
    byte_fallback: bool = True

    def __post_init__(self) -> None:
        for name, given, known in (
            ("kind", self.kind, get_args(Kind)),
            ("normalise", self.normalise, get_args(Normalisation)),
        ):
            if given not in known:
                nearest = difflib.get_close_matches(str(given), known, 1) or known
                raise UserError(f"unknown tokeniser {name} '{given}'; did you mean {nearest[0]}? ({', '.join(known)})")


class Tokeniser:
    def __init__(self, model: bytes, policy: Policy) -> None:
        from sentencepiece import SentencePieceProcessor

        self.policy = policy
        self._model = model
        self._pieces = SentencePieceProcessor(model_proto=model)
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
    ) -> Self:
        """The same lines and policy give the same bytes. A size that the text cannot fill is lowered: see `note`."""
        policy = Policy(kind=kind, size=size, normalise=normalise, lower=lower, byte_fallback=byte_fallback)
        return cls(_train(lines, policy), policy)

    def __len__(self) -> int:
        return int(self._pieces.get_piece_size())

    @property
    def note(self) -> str | None:
        """What came out otherwise than was asked for."""
        if len(self) == self.policy.size:
            return None
        return f"vocabulary of {len(self):,} pieces: the text does not hold the {self.policy.size:,} asked for"

    def normalise(self, text: str) -> str:
        return _normalise(text, self.policy)

    def encode(self, text: str, *, sample: bool = False, alpha: float = 0.1) -> list[int]:
        """`sample` draws another segmentation each time (subword regularisation; BPE dropout of rate `alpha`).

        The draws cannot be seeded anew: sentencepiece seeds its generator once a thread, at the first draw."""
        encode = partial(self._pieces.encode, enable_sampling=True, alpha=alpha, nbest_size=-1) if sample else self._ids
        return [piece for chunk in _chunks(text, self.policy) for piece in encode(chunk)]

    def decode(self, ids: Iterable[int]) -> str:
        """Bytes that are no UTF-8, which a model may well write, become U+FFFD."""
        written = b"".join(self._surfaces[piece] for piece in ids).decode("utf-8", "replace")
        return written.translate(_OUTWARD).removeprefix(_prefix(self.policy))

    def pieces(self, ids: Iterable[int]) -> list[str]:
        """As sentencepiece writes them, to look at: ▁ for a space, <0xE2> for a byte."""
        return [self._pieces.id_to_piece(piece).translate({0x0A: "▁"}) for piece in ids]

    def encode_with_spans(self, text: str) -> tuple[list[int], list[WordRange]]:
        """The ids, and for each the words of `normalise(text)` that it overlaps."""
        ids = self.encode(text)
        surfaces = [self._surfaces[piece] for piece in ids]
        if UNK in ids:  # only the text itself knows what an unknown piece stands for
            as_text = [p for chunk in _chunks(text, self.policy) for p in self._pieces.encode(chunk, out_type=str)]
            surfaces = [
                piece.encode() if piece_id == UNK else known
                for piece_id, piece, known in zip(ids, as_text, surfaces, strict=True)
            ]
        return ids, self._ranges(surfaces)[1]

    def decode_with_spans(self, ids: Sequence[int]) -> tuple[str, list[WordRange]]:
        """The text, and for each id the words of that text that it overlaps."""
        return self._ranges([self._surfaces[piece] for piece in ids])

    def _ranges(self, surfaces: Sequence[bytes]) -> tuple[str, list[WordRange]]:
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        written, spans = "", []
        for surface in surfaces:
            start = len(written)
            written += decoder.decode(surface)
            unfinished = bool(decoder.getstate()[0])  # a character whose last byte is a later piece
            spans.append((start, len(written) + unfinished if surface else start))
        written = (written + decoder.decode(b"", final=True)).translate(_OUTWARD)
        text = written.removeprefix(_prefix(self.policy))
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
    def _surfaces(self) -> list[bytes]:
        """What each id writes."""
        written = []
        for piece_id in range(len(self)):
            piece = self._pieces.id_to_piece(piece_id)
            if self._pieces.is_byte(piece_id):
                written.append(bytes([int(piece[3:5], 16)]))  # <0xE2>
            else:
                written.append(b"" if self._pieces.is_control(piece_id) else piece.encode())
        written[UNK] = _UNKNOWN.encode()
        return written

    @cached_property
    def hash(self) -> str:
        """Two tokenisers of the same hash give the same ids for the same text."""
        return hashlib.sha256(self._model + json.dumps(asdict(self.policy), sort_keys=True).encode()).hexdigest()

    def save(self, folder: Path | str, name: str = "tokeniser") -> None:
        """Writes NAME.model, which sentencepiece reads too, and NAME.json."""
        folder = Path(folder)
        (folder / f"{name}.model").write_bytes(self._model)
        about = {"format": FORMAT, "hash": self.hash, "policy": asdict(self.policy)}
        (folder / f"{name}.json").write_text(json.dumps(about, indent=2) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, folder: Path | str, name: str = "tokeniser") -> Self:
        place = Path(folder) / f"{name}.json"
        try:
            about = json.loads(place.read_text(encoding="utf-8"))
            if about["format"] != FORMAT:
                raise UserError(f"{place}: of format {about['format']}, this version of Saccade reads {FORMAT}")
            tokeniser = cls(place.with_suffix(".model").read_bytes(), Policy(**about["policy"]))
            whole = tokeniser.hash == about["hash"]
        except FileNotFoundError as error:
            raise UserError(f"{error.filename}: not found; expected a model's folder with its tokeniser") from None
        except (ValueError, KeyError, TypeError, RuntimeError):
            whole = False
        if not whole:
            raise UserError(f"{place}: it and {name}.model do not belong together, or are damaged; copy both again")
        return tokeniser


def _normalise(text: str, policy: Policy) -> str:
    if policy.normalise == "nfc":
        text = unicodedata.normalize("NFC", text)
    elif policy.normalise == "nfkc":
        text = unicodedata.normalize("NFKC", text)
    return (text.lower() if policy.lower else text).replace("\n", " ")


def _prefix(policy: Policy) -> str:
    """A space before the text makes its first word the same piece as elsewhere; characters need no such help."""
    return "" if policy.kind == "char" else " "


def _chunks(text: str, policy: Policy) -> list[str]:
    """What sentencepiece takes in one go: the whole text; of the word kind, a word with the space before it and any
    other white space after it."""
    text = _normalise(text, policy)
    if not text:
        return []
    text = _prefix(policy) + text
    inward = text.translate(_INWARD)
    if policy.kind != "word":
        return [inward]
    starts = [start - (text[start - 1] == " ") for start, _ in word_spans(text)]
    return [inward[start:end] for start, end in pairwise([0, *(start for start in starts if start), len(text)])]


def _draw(lines: Iterable[str], most: int) -> list[str]:
    """At most so many of the lines, each as likely as another, always the same ones (sentencepiece's own draw differs
    from process to process, seeded or not)."""
    random = Random(0)
    drawn: list[str] = []
    for count, line in enumerate(lines, 1):
        if count <= most:
            drawn.append(line)
        elif (place := random.randrange(count)) < most:
            drawn[place] = line
    return drawn


def _train(lines: Iterable[str], policy: Policy) -> bytes:
    from sentencepiece import SentencePieceTrainer

    drawn = _draw(lines, _MOST_LINES)  # here, so that a mistake in the files is raised as it is, not through C++

    def training_text() -> Iterator[str]:
        chunks = (chunk.translate(_UNTRAINABLE) for line in drawn if line.strip() for chunk in _chunks(line, policy))
        if policy.kind == "word":  # every word once, with its count
            yield from (f"{chunk}\t{count}" for chunk, count in Counter(chunks).items())
        else:
            yield from chunks

    written = io.BytesIO()
    try:
        SentencePieceTrainer.train(
            sentence_iterator=training_text(),
            input_format="tsv" if policy.kind == "word" else "text",
            model_writer=written,
            model_type=policy.kind,
            vocab_size=policy.size,
            hard_vocab_limit=False,
            byte_fallback=policy.byte_fallback,
            # Rare characters are left to the bytes where there are any.
            character_coverage=0.9995 if policy.byte_fallback and policy.kind != "char" else 1.0,
            pad_id=PAD,
            unk_id=UNK,
            bos_id=BOS,
            eos_id=EOS,
            normalization_rule_name="identity",
            remove_extra_whitespaces=False,
            add_dummy_prefix=False,
            max_sentence_length=_LONGEST_LINE,
            num_threads=16,  # sums are made in this order, whatever the machine: part of being deterministic
            minloglevel=2,
        )
    except RuntimeError as error:
        # sentencepiece's own words hold its source lines and options that are not ours.
        if "sentences_.empty()" in str(error):
            raise UserError("no text to make a vocabulary from: every line is empty") from None
        if needed := re.search(r"required_chars\. \d+ vs (\d+)", str(error)):
            least = int(needed[1])
        elif "vocab_size" in str(error):
            least = 4 + 256 * policy.byte_fallback + 1
        else:
            raise
        raise UserError(f"a vocabulary of {policy.size} is too small for this text; ask for {least} or more") from None
    return written.getvalue()
