"""From a model to text: one search for every model, translations, and the model as a folder."""

from saccade.decode.aligner import Aligned, Aligner
from saccade.decode.attended import Attended, Segments
from saccade.decode.constraints import Constraints
from saccade.decode.device import find_device
from saccade.decode.ensemble import Ensemble, combine
from saccade.decode.folder import load, save
from saccade.decode.readers import Reader
from saccade.decode.recording import Recorder, SearchTree
from saccade.decode.search import Hypothesis, Search, search
from saccade.decode.translation import Translation
from saccade.decode.translator import Translator

__all__ = [
    "Aligned",
    "Aligner",
    "Attended",
    "Constraints",
    "Ensemble",
    "Hypothesis",
    "Reader",
    "Recorder",
    "Search",
    "SearchTree",
    "Segments",
    "Translation",
    "Translator",
    "combine",
    "find_device",
    "load",
    "save",
    "search",
]
