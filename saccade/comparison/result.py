"""The result of a comparison."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from saccade.align import PairAttention
from saccade.comparison.costs import Cost
from saccade.comparison.judging import DifferingSentence, JudgedSystem, PairTest
from saccade.comparison.options import CompareOptions
from saccade.comparison.planning import Plan
from saccade.decode import Search
from saccade.evaluation.evaluation_set import EvaluationSet


@dataclass(frozen=True, kw_only=True)
class Comparison:
    plan: Plan
    pairs: EvaluationSet
    options: CompareOptions
    search: Search
    metrics: tuple[str, ...]  # the first is the main one
    systems: tuple[JudgedSystem, ...]
    pairwise: tuple[PairTest, ...]
    costs: Mapping[str, Cost]
    differing: tuple[DifferingSentence, ...]
    attention: Mapping[str, Sequence[PairAttention] | str]  # on these sentences; without attention, how the model reads
    settings: Mapping[str, Mapping[str, Any]]  # system → table → key → value
    threads: int
    provenance: Mapping[str, Any]

    def tables(self) -> "list[tuple[list[str], list[list[Any]]]]":
        """The tables that the command prints, each as columns and rows."""
        from saccade.comparison.tables import terminal_tables

        return terminal_tables(self)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON, without attention weights and without the outputs that the report does not show."""
        effort = {key: getattr(self.options, key) for key in ("resamples", "rounds", "shown", "device", "batch_tokens")}
        return {
            "pairs": {"name": self.pairs.name, "sentences": len(self.pairs.references)},
            "unequal": list(self.plan.unequal),
            "effort": {"search": asdict(self.search), **effort},
            "systems": [self._system(system) for system in self.systems],
            "pairwise": [pair.to_dict() for pair in self.pairwise],
            "apart": [asdict(sentence) for sentence in self.differing],
            "threads": self.threads,
            "provenance": dict(self.provenance),
        }

    def _system(self, system: JudgedSystem) -> dict[str, Any]:
        cost = self.costs.get(system.name)
        return {
            "name": system.name,
            "scores": {name: score.to_dict() for name, score in system.scores.items()},
            "cost": cost and asdict(cost),
            "settings": self.settings[system.name],
            "runs": [run.to_dict() for run in system.runs],
        }
