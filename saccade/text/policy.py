"""How a vocabulary is made, and how a text is put to sentencepiece: normalised, marked, cut where it must not join."""

import unicodedata
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from saccade.ranges import Checked, VocabularySize
from saccade.text.words import word_spans

Kind = Literal["unigram", "bpe", "char", "word"]
Normalisation = Literal["identity", "nfc", "nfkc"]

TO_SENTENCEPIECE = str.maketrans({"\n": " ", "▁": "\n"})
FROM_SENTENCEPIECE = str.maketrans({"▁": " ", "\n": "▁"})


@dataclass(frozen=True, kw_only=True)
class Policy(Checked):
    """How a vocabulary is made. `size` is the most ids it may have, the 4 special and 256 byte ids among them."""

    kind: Kind = "unigram"
    size: VocabularySize = 8000
    normalise: Normalisation = "identity"
    lower: bool = False
    byte_fallback: bool = True


def normalise_text(text: str, policy: Policy) -> str:
    if policy.normalise == "nfc":
        text = unicodedata.normalize("NFC", text)
    elif policy.normalise == "nfkc":
        text = unicodedata.normalize("NFKC", text)
    return (text.lower() if policy.lower else text).replace("\n", " ")


def text_prefix(policy: Policy) -> str:
    """A space before the text makes its first word the same piece as elsewhere; characters need no such help."""
    return "" if policy.kind == "char" else " "


def split_chunks(text: str, policy: Policy) -> list[str]:
    """What sentencepiece takes in one go: the whole text; of the word kind, a word with the space before it and any
    other white space after it."""
    text = normalise_text(text, policy)
    if not text:
        return []
    text = text_prefix(policy) + text
    inward = text.translate(TO_SENTENCEPIECE)
    if policy.kind != "word":
        return [inward]
    starts = [start - (text[start - 1] == " ") for start, _ in word_spans(text)]
    return [inward[start:end] for start, end in pairwise([0, *(start for start in starts if start), len(text)])]
