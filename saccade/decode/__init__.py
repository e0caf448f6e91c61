"""From a model to text: the search, translations, constraints, ensembles, confidence and reranking.

Names are resolved when first used, so that the options of a search load no torch.
"""

from typing import TYPE_CHECKING

from saccade.lazy import import_on_first_use

if TYPE_CHECKING:
    from saccade.decode.confidence import Calibration as Calibration
    from saccade.decode.confidence import calibrate as calibrate
    from saccade.decode.ensemble import Ensemble as Ensemble
    from saccade.decode.ensemble import combine as combine
    from saccade.decode.loading import load as load
    from saccade.decode.loading import load_vocabularies as load_vocabularies
    from saccade.decode.loading import save as save
    from saccade.decode.options import DEFAULT_SEARCH as DEFAULT_SEARCH
    from saccade.decode.options import Constraints as Constraints
    from saccade.decode.options import Search as Search
    from saccade.decode.reranking import Reranker as Reranker
    from saccade.decode.reranking import RerankingWeights as RerankingWeights
    from saccade.decode.reranking import minimise_risk as minimise_risk
    from saccade.decode.scoring import PairScore as PairScore
    from saccade.decode.scoring import score_pairs as score_pairs
    from saccade.decode.search.hypotheses import Hypothesis as Hypothesis
    from saccade.decode.search.loop import run_search as run_search
    from saccade.decode.search.recording import Recorder as Recorder
    from saccade.decode.search.recording import SearchTree as SearchTree
    from saccade.decode.translation import Translation as Translation
    from saccade.decode.translator import Translator as Translator
    from saccade.decode.unknown_words import replace_unknown as replace_unknown

import_on_first_use(__name__)
