"""Words, and pieces of words: what a model reads and writes."""

from saccade.text.tokeniser import BOS, EOS, PAD, UNK, Policy, Tokeniser, WordRange
from saccade.text.vocabularies import HasTexts, Vocabularies
from saccade.text.words import word_spans, words

__all__ = [
    "BOS",
    "EOS",
    "PAD",
    "UNK",
    "HasTexts",
    "Policy",
    "Tokeniser",
    "Vocabularies",
    "WordRange",
    "word_spans",
    "words",
]
