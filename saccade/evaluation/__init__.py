"""How good a system's outputs are: scores, breakdowns, behaviour and significance.

Names are resolved when first used, so that the options load no numpy.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from saccade.evaluation.behaviour import measure_behaviour as measure_behaviour
    from saccade.evaluation.breakdowns import by_frequency as by_frequency
    from saccade.evaluation.breakdowns import by_length as by_length
    from saccade.evaluation.evaluation import Evaluation as Evaluation
    from saccade.evaluation.evaluation import choose_metrics as choose_metrics
    from saccade.evaluation.evaluation import evaluate as evaluate
    from saccade.evaluation.phrases import AmbiguousWord as AmbiguousWord
    from saccade.evaluation.phrases import DistanceScores as DistanceScores
    from saccade.evaluation.phrases import by_constraint as by_constraint
    from saccade.evaluation.phrases import by_distance as by_distance
    from saccade.evaluation.significance_tests import Difference as Difference
    from saccade.evaluation.significance_tests import MeanScore as MeanScore
    from saccade.evaluation.significance_tests import mean_over_seeds as mean_over_seeds
    from saccade.evaluation.significance_tests import significance as significance
    from saccade.evaluation.significance_tests import significance_over_seeds as significance_over_seeds
    from saccade.evaluation.systems import evaluate_systems as evaluate_systems
    from saccade.metrics import score as score

_MODULES = {
    "evaluation.behaviour": "measure_behaviour",
    "evaluation.breakdowns": "by_frequency by_length",
    "evaluation.evaluation": "Evaluation choose_metrics evaluate",
    "evaluation.phrases": "AmbiguousWord DistanceScores by_constraint by_distance",
    "evaluation.significance_tests": "Difference MeanScore mean_over_seeds significance significance_over_seeds",
    "evaluation.systems": "evaluate_systems",
    "metrics": "score",
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names.split()}

__all__ = sorted(_MODULE_OF)

if not TYPE_CHECKING:  # a type checker would accept any name

    def __getattr__(name: str) -> Any:
        if name in _MODULE_OF:
            return getattr(import_module(f"saccade.{_MODULE_OF[name]}"), name)
        raise AttributeError(f"module 'saccade.evaluation' has no attribute {name!r}; it has {', '.join(__all__)}")
