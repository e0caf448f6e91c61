"""Encoder-decoders from the literature, one file per paper, with one contract."""

from saccade.models.contract import PaperInfo as PaperInfo
from saccade.models.contract import Seq2Seq as Seq2Seq
from saccade.models.language_model import LanguageModel as LanguageModel
from saccade.models.table import ALL_MODELS as ALL_MODELS
from saccade.models.table import LANGUAGE_MODELS as LANGUAGE_MODELS
from saccade.models.table import MODELS as MODELS
from saccade.models.table import build_model as build_model
