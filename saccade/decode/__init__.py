"""From a model to text: the search, translations, constraints, ensembles, confidence and reranking.

Names are resolved when first used, so that the options of a search load no torch.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from saccade.decode.calibrating import calibrate as calibrate
    from saccade.decode.confidence import Calibration as Calibration
    from saccade.decode.ensemble import Ensemble as Ensemble
    from saccade.decode.ensemble import combine as combine
    from saccade.decode.loading import load as load
    from saccade.decode.loading import load_vocabularies as load_vocabularies
    from saccade.decode.loading import save as save
    from saccade.decode.mbr import minimise_risk as minimise_risk
    from saccade.decode.reranking import Reranker as Reranker
    from saccade.decode.reranking import RerankingWeights as RerankingWeights
    from saccade.decode.scoring import PairScore as PairScore
    from saccade.decode.scoring import score_pairs as score_pairs
    from saccade.decode.search.hypotheses import Hypothesis as Hypothesis
    from saccade.decode.search.loop import run_search as run_search
    from saccade.decode.search.options import DEFAULT_SEARCH as DEFAULT_SEARCH
    from saccade.decode.search.options import Constraints as Constraints
    from saccade.decode.search.options import Search as Search
    from saccade.decode.search.recording import Recorder as Recorder
    from saccade.decode.search.recording import SearchTree as SearchTree
    from saccade.decode.translation import Translation as Translation
    from saccade.decode.translator import Translator as Translator
    from saccade.decode.unknown_words import replace_unknown as replace_unknown

_MODULES = {
    "calibrating": ("calibrate",),
    "confidence": ("Calibration",),
    "ensemble": ("Ensemble", "combine"),
    "loading": ("load", "load_vocabularies", "save"),
    "mbr": ("minimise_risk",),
    "reranking": ("Reranker", "RerankingWeights"),
    "scoring": ("PairScore", "score_pairs"),
    "search.hypotheses": ("Hypothesis",),
    "search.loop": ("run_search",),
    "search.options": ("DEFAULT_SEARCH", "Constraints", "Search"),
    "search.recording": ("Recorder", "SearchTree"),
    "translation": ("Translation",),
    "translator": ("Translator",),
    "unknown_words": ("replace_unknown",),
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}

__all__ = sorted(_MODULE_OF)

if not TYPE_CHECKING:  # a type checker would take any name for one of the package

    def __getattr__(name: str) -> Any:
        if name in _MODULE_OF:
            return getattr(import_module(f"saccade.decode.{_MODULE_OF[name]}"), name)
        raise AttributeError(f"module 'saccade.decode' has no attribute {name!r}; it has {', '.join(__all__)}")
