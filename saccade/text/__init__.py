"""Words, tokens and vocabularies: what a model reads and writes."""

from saccade.text.tokeniser import BOS, EOS, PAD, UNK, Policy, Tokeniser, WordRange
from saccade.text.vocabularies import HasTexts, Masked, Placeholders, Vocabularies
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
