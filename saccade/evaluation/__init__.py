"""How good a system's outputs are: scores, breakdowns, behaviour and significance.

Names are resolved when first used, so that the options load no numpy.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from saccade.evaluation.behaviour import Behaviour, measure_behaviour, repeated_words, unread_words
    from saccade.evaluation.breakdowns import (
        Bucket,
        FrequencyScores,
        LengthScores,
        by_frequency,
        by_length,
        word_counts,
    )
    from saccade.evaluation.evaluation import Evaluation, choose_metrics, evaluate
    from saccade.evaluation.phrases import (
        AmbiguousWord,
        ConstraintScores,
        DistanceScores,
        by_constraint,
        by_distance,
        judge_sense,
    )
    from saccade.evaluation.significance import (
        Difference,
        MeanScore,
        mean_over_seeds,
        significance,
        significance_over_seeds,
    )
    from saccade.evaluation.systems import SystemsEvaluation, evaluate_systems
    from saccade.metrics import METRICS, Measured, Scores, Tokenisation, edit_distance, score

__all__ = [
    "METRICS",
    "AmbiguousWord",
    "Behaviour",
    "Bucket",
    "ConstraintScores",
    "Difference",
    "DistanceScores",
    "Evaluation",
    "FrequencyScores",
    "LengthScores",
    "MeanScore",
    "Measured",
    "Scores",
    "SystemsEvaluation",
    "Tokenisation",
    "measure_behaviour",
    "by_constraint",
    "by_distance",
    "by_frequency",
    "by_length",
    "choose_metrics",
    "edit_distance",
    "evaluate",
    "evaluate_systems",
    "judge_sense",
    "mean_over_seeds",
    "repeated_words",
    "score",
    "significance",
    "significance_over_seeds",
    "unread_words",
    "word_counts",
]
_MODULES = (
    "saccade.evaluation.behaviour",
    "saccade.evaluation.breakdowns",
    "saccade.evaluation.evaluation",
    "saccade.evaluation.phrases",
    "saccade.evaluation.significance",
    "saccade.metrics",
    "saccade.evaluation.systems",
)

if not TYPE_CHECKING:  # a type checker would accept any name

    def __getattr__(name: str) -> Any:
        if name in __all__:
            modules = (import_module(module) for module in _MODULES)
            return next(getattr(module, name) for module in modules if hasattr(module, name))
        raise AttributeError(f"module 'saccade.evaluation' has no attribute {name!r}; it has {', '.join(__all__)}")
