"""Words, tokens and vocabularies: what a model reads and writes."""

from saccade.text.subwords import BOS as BOS
from saccade.text.subwords import EOS as EOS
from saccade.text.subwords import PAD as PAD
from saccade.text.subwords import UNK as UNK
from saccade.text.subwords import Policy as Policy
from saccade.text.tokeniser import Tokeniser as Tokeniser
from saccade.text.tokeniser import WordRange as WordRange
from saccade.text.vocabularies import HasTexts as HasTexts
from saccade.text.vocabularies import Masked as Masked
from saccade.text.vocabularies import Placeholders as Placeholders
from saccade.text.vocabularies import Vocabularies as Vocabularies
from saccade.text.words import letters_by_script as letters_by_script
from saccade.text.words import word_spans as word_spans
from saccade.text.words import words as words
