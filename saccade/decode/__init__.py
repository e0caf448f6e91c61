"""From a model to text: one search for every model, translations, and the model as a folder."""

from saccade.decode.aligner import Aligned, Aligner
from saccade.decode.attended import Attended, Reader, Segments
from saccade.decode.calibrating import calibrate
from saccade.decode.confidence import Calibration
from saccade.decode.constraints import Constraints
from saccade.decode.device import find_device
from saccade.decode.ensemble import Ensemble, combine
from saccade.decode.folder import load, load_vocabularies, save
from saccade.decode.recording import Recorder, SearchTree
from saccade.decode.reranking import Reranker, Weights
from saccade.decode.risk import least_risk
from saccade.decode.scoring import Scored, score_pairs
from saccade.decode.search import Hypothesis, Search, search
from saccade.decode.translation import Translation
from saccade.decode.translator import Translator
from saccade.decode.unknown import replace_unknown

__all__ = [
    "Aligned",
    "Aligner",
    "Attended",
    "Calibration",
    "Constraints",
    "Ensemble",
    "Hypothesis",
    "Reader",
    "Recorder",
    "Reranker",
    "Scored",
    "Search",
    "SearchTree",
    "Segments",
    "Translation",
    "Translator",
    "Weights",
    "calibrate",
    "combine",
    "find_device",
    "least_risk",
    "load",
    "load_vocabularies",
    "replace_unknown",
    "save",
    "score_pairs",
    "search",
]
