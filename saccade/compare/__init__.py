"""Systems compared fairly: equal data and budget, several seeds, the same sentences; one table and one report."""

from saccade.compare.comparison import Comparison, Effort, Pairs, compare
from saccade.compare.costs import Cost
from saccade.compare.judging import Apart, Judged, Run, Versus, holm
from saccade.compare.planning import Asked, Plan, System, plan
from saccade.compare.report import write_report

__all__ = [
    "Apart",
    "Asked",
    "Comparison",
    "Cost",
    "Effort",
    "Judged",
    "Pairs",
    "Plan",
    "Run",
    "System",
    "Versus",
    "compare",
    "holm",
    "plan",
    "write_report",
]
