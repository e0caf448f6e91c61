"""The answer of a study, and its file."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

from saccade.errors import UserError
from saccade.files import parse_json, write_json
from saccade.inspect.chart import Interval
from saccade.language import Bilingual
from saccade.study.catalogue import find_study
from saccade.study.study import MeasuredTrial, Runs, Study, Threshold, interval_of

RESULT = "result.json"
Answer = Literal["held", "held in part", "did not hold"]
ANSWERS: Mapping[Answer, Bilingual] = {
    "held": Bilingual(en="held", zh="成立"),
    "held in part": Bilingual(en="held in part", zh="部分成立"),
    "did not hold": Bilingual(en="did not hold", zh="不成立"),
}


class Decision(NamedTuple):
    """A threshold with what was measured."""

    threshold: Threshold
    interval: Interval
    answer: Answer


@dataclass(frozen=True, kw_only=True)
class StudyResult:
    study: Study
    quick: bool
    runs: Runs
    seconds: float
    provenance: Mapping[str, Any]

    @property
    def decisions(self) -> list[Decision]:
        return [_decide(threshold, self.runs) for threshold in self.study.thresholds]

    @property
    def answer(self) -> Answer:
        return combine([decision.answer for decision in self.decisions])

    def to_dict(self) -> dict[str, Any]:
        study = self.study
        return {
            "study": study.name,
            "version": study.version,
            "quick": self.quick,
            "claim": vars(study.claim),
            "answer": self.answer,
            "thresholds": [
                {
                    "text": vars(threshold.text),
                    "least": threshold.least,
                    "most": threshold.most,
                    "mean": interval.mean,
                    "interval": [interval.low, interval.high],
                    "values": list(interval.each),
                    "answer": answer,
                }
                for threshold, interval, answer in self.decisions
            ],
            "seconds": round(self.seconds, 1),
            "runs": [trial._asdict() for trial in self.runs],
            "provenance": self.provenance,
        }

    def save(self, path: Path) -> None:
        write_json(path, self.to_dict())


def _decide(threshold: Threshold, runs: Runs) -> Decision:
    values = [float(value) for value in threshold.value(runs)]
    return Decision(
        threshold, interval_of(values), combine(["held" if threshold.met(v) else "did not hold" for v in values])
    )


def combine(answers: Sequence[Answer]) -> Answer:
    """Of several parts or seeds: all, none, or some of them."""
    different = set(answers)
    return answers[0] if len(different) == 1 else "held in part"


def load(path: str | Path) -> StudyResult:
    """Read a result.json."""
    try:
        saved = parse_json(Path(path).read_bytes())
        runs = Runs([MeasuredTrial(run["settings"], run["seed"], run["measured"]) for run in saved["runs"]])
        study = find_study(saved["study"])
        return StudyResult(
            study=study, quick=saved["quick"], runs=runs, seconds=saved["seconds"], provenance=saved["provenance"]
        )
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from None
    except (KeyError, TypeError, ValueError):
        raise UserError(f"{path}: not a result of `saccade study`") from None
