"""How good a system's outputs are: scores, breakdowns, behaviour and significance.

Names are resolved when first used, so that the options load no numpy.
"""

from typing import TYPE_CHECKING

from saccade.lazy import import_on_first_use

if TYPE_CHECKING:
    from saccade.evaluation.breakdowns import AmbiguousWord as AmbiguousWord
    from saccade.evaluation.breakdowns import DistanceScores as DistanceScores
    from saccade.evaluation.breakdowns import by_constraint as by_constraint
    from saccade.evaluation.breakdowns import by_distance as by_distance
    from saccade.evaluation.breakdowns import by_frequency as by_frequency
    from saccade.evaluation.breakdowns import by_length as by_length
    from saccade.evaluation.evaluation import Evaluation as Evaluation
    from saccade.evaluation.evaluation import choose_metrics as choose_metrics
    from saccade.evaluation.evaluation import evaluate as evaluate
    from saccade.evaluation.evaluation import measure_behaviour as measure_behaviour
    from saccade.evaluation.significance_tests import Difference as Difference
    from saccade.evaluation.significance_tests import MeanScore as MeanScore
    from saccade.evaluation.significance_tests import mean_over_seeds as mean_over_seeds
    from saccade.evaluation.significance_tests import significance as significance
    from saccade.evaluation.significance_tests import significance_over_seeds as significance_over_seeds
    from saccade.evaluation.systems import evaluate_systems as evaluate_systems
    from saccade.metrics import score as score

import_on_first_use(__name__)
