"""Encoder-decoders from the literature, one file per paper, with one contract."""

from saccade.models.contract import PaperInfo, Seq2Seq
from saccade.models.table import MODELS, build_model

__all__ = ["MODELS", "PaperInfo", "Seq2Seq", "build_model"]
