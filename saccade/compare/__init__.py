"""Systems compared fairly: equal data and budget, several seeds, the same sentences; one table and one report."""

from saccade.compare.comparison import CompareOptions, Comparison, EvaluationSet, compare
from saccade.compare.costs import Cost
from saccade.compare.judging import DifferingSentence, JudgedRun, JudgedSystem, PairTest, correct_by_holm
from saccade.compare.planning import Plan, PlannedSystem, SharedSettings, make_plan
from saccade.compare.report import write_report

__all__ = [
    "DifferingSentence",
    "SharedSettings",
    "Comparison",
    "Cost",
    "CompareOptions",
    "JudgedSystem",
    "EvaluationSet",
    "Plan",
    "JudgedRun",
    "PlannedSystem",
    "PairTest",
    "compare",
    "correct_by_holm",
    "make_plan",
    "write_report",
]
