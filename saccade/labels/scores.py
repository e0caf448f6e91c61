"""How good labels are: accuracy and F1 by class, or precision, recall and F1 of entities.

F1 by class is scikit-learn's, and that of entities seqeval's, which counts as conlleval does: an entity is right if its
first word, its last word and its kind are.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from typing import Any

from saccade.errors import UserError

_ENTITY_TAG = re.compile(r"O|[BIES]-.+")
EXTRA = "pip install 'saccade[labels]'"


@dataclass(frozen=True)
class LabelScore:
    """The score of one label, or of one kind of entity, in percent."""

    precision: float
    recall: float
    f1: float
    count: int  # how often it is right


@dataclass(frozen=True, kw_only=True)
class LabelScores:
    accuracy: float  # share of the labels, or of the words' tags, that are right, in percent
    f1: float  # the mean over classes (macro), or of all entities (micro)
    precision: float
    recall: float
    labels: int  # that were compared
    by_label: dict[str, LabelScore]
    entities: bool = False

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def measure_accuracy(wanted: Sequence[str], predicted: Sequence[str]) -> float:
    return 100 * sum(a == b for a, b in zip(wanted, predicted, strict=True)) / max(1, len(wanted))


def are_entities(tags: Sequence[str]) -> bool:
    """Whether the tags are those of entities (B-PER, I-PER, O), and not, for example, parts of speech."""
    return any(tag != "O" for tag in tags) and all(map(_ENTITY_TAG.fullmatch, tags))


def why_no_f1() -> str | None:
    """Why F1 cannot be computed, or None if it can."""
    missing = [name for name, module in (("scikit-learn", "sklearn"), ("seqeval", "seqeval")) if not find_spec(module)]
    return f"F1 needs {' and '.join(missing)}: {EXTRA}" if missing else None


def score_classes(wanted: Sequence[str], predicted: Sequence[str]) -> LabelScores:
    """A label that occurs on neither side is not counted in the mean."""
    _require_libraries()
    from sklearn.metrics import precision_recall_fscore_support

    labels = sorted({*wanted, *predicted})
    columns = precision_recall_fscore_support(wanted, predicted, labels=labels, average=None, zero_division=0)
    by_label = {
        label: LabelScore(100 * float(precision), 100 * float(recall), 100 * float(f1), int(count))
        for label, precision, recall, f1, count in zip(labels, *columns, strict=True)
    }
    precision, recall, f1 = (
        sum(getattr(score, name) for score in by_label.values()) / max(1, len(by_label))
        for name in ("precision", "recall", "f1")
    )
    accuracy = measure_accuracy(wanted, predicted)
    return LabelScores(
        accuracy=accuracy, f1=f1, precision=precision, recall=recall, labels=len(wanted), by_label=by_label
    )


def score_entities(wanted: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]) -> LabelScores:
    """Tags of sentences, in any scheme of B, I, O, E and S"""
    _require_libraries()
    from seqeval.metrics import classification_report

    sides = [list(map(list, side)) for side in (wanted, predicted)]
    if not any(tag != "O" for side in sides for tags in side for tag in tags):  # seqeval needs an entity
        rows: dict[str, dict[str, float]] = {}
    else:
        rows = classification_report(*sides, output_dict=True, zero_division=0)
    scores = {kind: _score_of(row) for kind, row in rows.items()}
    total = scores.pop("micro avg", LabelScore(0.0, 0.0, 0.0, 0))
    by_label = {kind: score for kind, score in scores.items() if not kind.endswith(" avg")}
    flat = [[tag for tags in side for tag in tags] for side in sides]
    return LabelScores(
        accuracy=measure_accuracy(*flat),
        f1=total.f1,
        precision=total.precision,
        recall=total.recall,
        labels=len(flat[0]),
        by_label=by_label,
        entities=True,
    )


def _score_of(row: Mapping[str, float]) -> LabelScore:
    precision, recall, f1 = (100 * float(row[name]) for name in ("precision", "recall", "f1-score"))
    return LabelScore(precision, recall, f1, int(row["support"]))


def _require_libraries() -> None:
    if (reason := why_no_f1()) is not None:
        raise UserError(reason)
