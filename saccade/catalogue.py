"""What is built in, as rows of plain values: attentions, models and tasks."""

from typing import Any

from saccade.errors import UserError

VOCABULARY = 8000  # size of each vocabulary for which parameters are counted


def list_attentions() -> list[dict[str, Any]]:
    """Return the named attentions, each with its name, origin, formula and parts."""
    from saccade.attention import ATTENTIONS, describe

    return [describe(name) for name in ATTENTIONS]


def list_models() -> list[dict[str, Any]]:
    """Return the models, each with its paper, year, the way it reads the source, and the size of every preset."""
    from saccade.models import MODELS

    return [
        {
            "name": name,
            "paper": f"{kind.paper.authors}: {kind.paper.title}",
            "year": kind.paper.year,
            "reads": kind.paper.reads,
            "parameters": {preset: _count_parameters(kind, preset) for preset in kind.PRESETS},
        }
        for name, kind in MODELS.items()
    ]


def list_tasks() -> list[dict[str, Any]]:
    """Return the built-in tasks, each with an example, or with the reason why its data is missing."""
    from saccade.tasks import TASKS

    rows: list[dict[str, Any]] = []
    for name, task in TASKS.items():
        known = ("summary", "origin", "pieces", "words", "unit", "finite", "packages")
        row = {"name": name, **{key: getattr(task, key) for key in known}}
        try:
            example = next(task.pairs(1, seed=1))
            row |= {"source": example.source, "target": example.target, "missing": None}
        except UserError as missing:
            row |= {"source": None, "target": None, "missing": str(missing)}
        rows.append(row)
    return rows


def _count_parameters(kind: Any, preset: str) -> int:
    import torch

    with torch.device("meta"):  # shapes alone: nothing is allocated
        model = kind(kind.PRESETS[preset], VOCABULARY, VOCABULARY)
    return sum(parameter.numel() for parameter in model.parameters())
