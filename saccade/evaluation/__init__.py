"""How good a system's outputs are: scores, breakdowns, behaviour and significance.

Names are resolved when first used, so that the options load no numpy.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from saccade.evaluation.behaviour import Behaviour as Behaviour
    from saccade.evaluation.behaviour import measure_behaviour as measure_behaviour
    from saccade.evaluation.behaviour import repeated_words as repeated_words
    from saccade.evaluation.behaviour import unread_words as unread_words
    from saccade.evaluation.breakdowns import Bucket as Bucket
    from saccade.evaluation.breakdowns import FrequencyScores as FrequencyScores
    from saccade.evaluation.breakdowns import LengthScores as LengthScores
    from saccade.evaluation.breakdowns import by_frequency as by_frequency
    from saccade.evaluation.breakdowns import by_length as by_length
    from saccade.evaluation.breakdowns import word_counts as word_counts
    from saccade.evaluation.evaluation import Evaluation as Evaluation
    from saccade.evaluation.evaluation import choose_metrics as choose_metrics
    from saccade.evaluation.evaluation import evaluate as evaluate
    from saccade.evaluation.phrases import AmbiguousWord as AmbiguousWord
    from saccade.evaluation.phrases import ConstraintScores as ConstraintScores
    from saccade.evaluation.phrases import DistanceScores as DistanceScores
    from saccade.evaluation.phrases import by_constraint as by_constraint
    from saccade.evaluation.phrases import by_distance as by_distance
    from saccade.evaluation.significance_tests import Difference as Difference
    from saccade.evaluation.significance_tests import MeanScore as MeanScore
    from saccade.evaluation.significance_tests import mean_over_seeds as mean_over_seeds
    from saccade.evaluation.significance_tests import significance as significance
    from saccade.evaluation.significance_tests import significance_over_seeds as significance_over_seeds
    from saccade.evaluation.systems import SystemsEvaluation as SystemsEvaluation
    from saccade.evaluation.systems import evaluate_systems as evaluate_systems
    from saccade.metrics import METRICS as METRICS
    from saccade.metrics import Scores as Scores
    from saccade.metrics import score as score

_MODULES = {
    "evaluation.behaviour": ("Behaviour", "measure_behaviour", "repeated_words", "unread_words"),
    "evaluation.breakdowns": ("Bucket", "FrequencyScores", "LengthScores", "by_frequency", "by_length", "word_counts"),
    "evaluation.evaluation": ("Evaluation", "choose_metrics", "evaluate"),
    "evaluation.phrases": ("AmbiguousWord", "ConstraintScores", "DistanceScores", "by_constraint", "by_distance"),
    "evaluation.significance_tests": (
        "Difference",
        "MeanScore",
        "mean_over_seeds",
        "significance",
        "significance_over_seeds",
    ),
    "evaluation.systems": ("SystemsEvaluation", "evaluate_systems"),
    "metrics": ("METRICS", "Scores", "score"),
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}

__all__ = sorted(_MODULE_OF)

if not TYPE_CHECKING:  # a type checker would accept any name

    def __getattr__(name: str) -> Any:
        if name in _MODULE_OF:
            return getattr(import_module(f"saccade.{_MODULE_OF[name]}"), name)
        raise AttributeError(f"module 'saccade.evaluation' has no attribute {name!r}; it has {', '.join(__all__)}")
