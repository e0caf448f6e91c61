"""Encoder-decoders from the literature, one file per paper, with one contract."""

from saccade.models.contract import PaperInfo as PaperInfo
from saccade.models.contract import Seq2Seq as Seq2Seq
from saccade.models.table import MODELS as MODELS
from saccade.models.table import build_model as build_model
