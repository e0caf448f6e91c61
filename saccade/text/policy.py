"""How a vocabulary is trained, and how a text is prepared for sentencepiece: normalised, marked, split into chunks."""

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
    """How a vocabulary is trained."""

    kind: Kind = "unigram"  # of tokens: subwords (unigram or bpe), characters or words
    size: VocabularySize = 8000  # maximum number of tokens, including 4 special ones and 256 bytes
    normalise: Normalisation = "identity"  # Unicode normalisation of every text
    lower: bool = False  # convert every text to lower case
    byte_fallback: bool = True  # spell unknown characters in bytes


def normalise_text(text: str, policy: Policy) -> str:
    if policy.normalise == "nfc":
        text = unicodedata.normalize("NFC", text)
    elif policy.normalise == "nfkc":
        text = unicodedata.normalize("NFKC", text)
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
    return [inward[start:end] for start, end in pairwise([0, *(start for start in starts if start), len(text)])]
