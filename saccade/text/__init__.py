"""Words, tokens and vocabularies: what a model reads and writes."""

from saccade.text.tokeniser import BOS as BOS
from saccade.text.tokeniser import EOS as EOS
from saccade.text.tokeniser import PAD as PAD
from saccade.text.tokeniser import UNK as UNK
from saccade.text.tokeniser import Kind as Kind
from saccade.text.tokeniser import Policy as Policy
from saccade.text.tokeniser import Tokeniser as Tokeniser
from saccade.text.tokeniser import WordRange as WordRange
from saccade.text.vocabularies import HasTexts as HasTexts
from saccade.text.vocabularies import Masked as Masked
from saccade.text.vocabularies import Placeholders as Placeholders
from saccade.text.vocabularies import Vocabularies as Vocabularies
from saccade.text.words import letters_by_script as letters_by_script
from saccade.text.words import word_spans as word_spans
from saccade.text.words import words as words
