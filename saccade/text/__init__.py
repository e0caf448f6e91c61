"""Words, tokens and vocabularies: what a model reads and writes."""

from saccade.text.placeholders import Masked, Placeholders
from saccade.text.policy import Policy
from saccade.text.tokeniser import BOS, EOS, PAD, UNK, Tokeniser, WordRange
from saccade.text.vocabularies import HasTexts, Vocabularies
from saccade.text.words import letters_by_script, word_spans, words

__all__ = [
    "BOS",
    "EOS",
    "PAD",
    "UNK",
    "HasTexts",
    "Masked",
    "Placeholders",
    "Policy",
    "Tokeniser",
    "Vocabularies",
    "WordRange",
    "letters_by_script",
    "word_spans",
    "words",
]
