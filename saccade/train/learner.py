"""What a learner supplies to the training loop. Everything else is written once, in the loop, for all learners.

A learner has a model, batches with a saved position, a loss, a judge, a validation and a way to save the model. From
the loop it gets budgets, learning rates, an average of the weights, exact resume, precisions, batches that fit in
memory, several workers, a log and a model card. `train/translation.py` is the first learner.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, NamedTuple, Protocol, Self, TypeVar

import torch
from torch import Tensor, nn

from saccade.errors import UserError
from saccade.fast_paths import FastPath
from saccade.provenance import provenance
from saccade.train.distributed import Workers

Shape = tuple[int, ...]  # lengths of one row of a batch, such as (source, target)


class LearnerBatch(Protocol):
    """Rows that are learnt together. Workers divide them, and a batch that does not fit in memory is split."""

    def __len__(self) -> int: ...
    def rows(self, rows: slice, /) -> Self: ...
    def to(self, device: torch.device, /) -> Self: ...
    @property
    def tokens(self) -> int:
        """The number of items that the loss is summed over; the loss per token is minimised."""

    @property
    def size(self) -> int:
        """Rows × longest length, including padding: the cost of the batch."""


B = TypeVar("B", bound=LearnerBatch)
B_co = TypeVar("B_co", bound=LearnerBatch, covariant=True)


class BatchStream(Protocol[B_co]):
    """Batches whose order is determined by the seed and the position. Each iteration yields the rest of an epoch."""

    @property
    def epoch(self) -> int:
        """From 1."""

    @property
    def epochs(self) -> float:
        """Finished epochs, including the finished part of the current one."""

    def __iter__(self) -> Iterator[B_co]: ...
    def state(self) -> Mapping[str, Any]: ...
    def restore(self, state: Any, /) -> None: ...


@dataclass(frozen=True)
class Judge:
    """The metric by which the best model is chosen."""

    metric: str  # its name among the scores of a validation
    label: str  # its name for people
    higher_is_better: bool = True

    def prefers(self, scores: Mapping[str, Any], best: Mapping[str, Any] | None) -> bool:
        """Whether `scores` are better than `best`; with equal scores, the lower loss wins."""
        if not math.isfinite(scores["loss"]):  # the model has broken down, whatever its other scores
            return False
        return best is None or self._rank(scores) > self._rank(best)

    def _rank(self, scores: Mapping[str, Any]) -> tuple[float, float]:
        return (1 if self.higher_is_better else -1) * scores[self.metric], -scores["loss"]

    def show(self, value: float) -> str:
        return f"{self.label} {value:.3f}" if self.metric == "loss" else f"{self.label} {value:.1f}"


@dataclass(frozen=True, kw_only=True)
class Validation:
    scores: dict[str, float]  # "loss" (per token) and the judge's metric are always among them
    sample: str | None = None  # the model's output for one example, for the log


class DataDigest(NamedTuple):
    name: str  # of the file
    digest: str


@dataclass(kw_only=True)
class TrainingState:
    """The progress of a run. With weights, optimiser and random state it is all that resuming needs."""

    step: int = 0  # updates so far
    seconds: float = 0.0  # of updates and validations, over all sessions
    loss: float = 0.0  # summed over tokens since the last log entry …
    tokens: int = 0  # … and their number
    skipped: int = 0  # updates that were not finite …
    bad: int = 0  # … and how many of them in a row, now
    best: dict[str, Any] | None = None  # the scores of the best validation
    checked: int = -1  # the step of the last validation
    stale: int = 0  # validations since the best one
    lowest: float = math.inf  # the lowest validation loss …
    flat: int = 0  # … and validations since then, or since a plateau lowered the learning rate
    falls: int = 0  # how often a plateau lowered it
    room: int | None = None  # tokens that a worker reads at once; larger batches are read in parts
    splits: int = 0  # recent batches that turned out not to fit in memory
    averaged: int = -1  # the step at which the mean of the last validations' weights was tried
    snapshots: list[dict[str, Tensor]] = field(default_factory=list)  # those weights
    numbers: dict[str, float] = field(default_factory=dict)  # a learner's own


class Learner(ABC, Generic[B]):
    name: str  # of the model, for the log and the card
    model: nn.Module
    batches: BatchStream[B]
    judge: Judge
    unit = "row"  # what a row of a batch is called in messages
    title = ""  # of the card, if it is not the name
    about = ""  # a paragraph for the card
    usage = ""  # Python code for the card
    notes: Sequence[str] = ()  # facts about the data, for the log and the card
    data: Mapping[str, DataDigest] = {}  # kind → its file; a run is resumed on the same data only
    epoch_tokens = 0  # tokens per epoch, for choosing `train.tokens = "auto"`
    is_likelihood = True  # whether the loss is −log p of a token, which has a perplexity
    needs_each_loss = False  # whether an update depends on the loss of the one before

    @abstractmethod
    def loss(self, model: nn.Module, batch: B, state: TrainingState) -> tuple[Tensor, Tensor]:
        """The loss to minimise and the plain loss to report, both summed over the batch's tokens."""

    @abstractmethod
    def validate(self, model: nn.Module, workers: Workers) -> Validation:
        """Measure the model; the workers may share the work, and all return the same."""

    @abstractmethod
    def save(self, folder: Path, model: nn.Module, *, best: Mapping[str, Any], card: str) -> None:
        """Write the model and its card into `folder`."""

    def predictor(self, model: nn.Module) -> Any:
        """What an observer of the run gets after each validation."""
        return model

    def why_not_captured(self) -> str | None:
        """Why a CUDA graph cannot stand for `loss`, or None. A graph is captured once per shape of a batch: it reads
        the tensors of the batch, but no other values that change, and must not wait for the device."""
        return f"{self.name} does not declare that its loss reads nothing but the tensors of a batch"

    def fast_paths(self) -> list[FastPath]:
        """The fast paths of the model and the batches."""
        return []

    def after_update(self, state: TrainingState, loss: float) -> None:
        """Called with the plain loss per token of each finite update."""

    def finish(self, folder: Path) -> list[str]:
        """Complete the best model in `folder` at the end of a run, and return lines for the log."""
        return []

    def prefetch(self, workers: Workers) -> AbstractContextManager[None]:
        """A context in which batches may be prepared in advance."""
        return nullcontext()

    def set_batch_tokens(self, tokens: int) -> None:
        """Make batches of at most this many tokens, for `train.tokens = "auto"`."""
        raise UserError(f"{self.name} does not support train.tokens = 'auto'; give a number of tokens")

    def describe_batches(self) -> str | None:
        """The number of batches, their shapes and their padding, for the log."""
        return None

    def shapes(self) -> list[Shape]:
        """Shapes of the rows that need the most memory, longest first; without any, no batch is tried in advance."""
        return []

    def trial_batch(self, shape: Shape, rows: int) -> B:
        """A batch of `rows` equal rows of one of the `shapes`; needed only if there are any."""
        raise NotImplementedError(f"{type(self).__name__} lists shapes, so it must define trial_batch(shape, rows)")


def model_card(learner: Learner[Any], model: nn.Module, best: Mapping[str, Any], seed: int, seconds: float) -> str:
    """The model, its data, its scores and how it was trained, as Markdown."""
    origin = provenance(seed=seed)
    language = "python" if origin["command"].startswith("saccade.") else "bash"  # a call of the API, or a command
    numbers = {name: f"{value:.4g}" if isinstance(value, float) else value for name, value in best.items()}
    scores = "\n".join(f"| {name} | {value} |" for name, value in numbers.items() if value is not None)
    versions = ", ".join(f"{name} {version}" for name, version in origin["versions"].items())
    notes = "\n".join(f"- {note}" for note in learner.notes)
    about = f"{learner.about} {sum(p.numel() for p in model.parameters()):,} parameters.".strip()
    return f"""# {learner.title or learner.name}

{about}

| on the validation set | |
|---|---|
{scores}

## Data

{notes}

## Training

```{language}
{origin["command"]}
```

Seed {seed}, {seconds / 60:.1f} minutes, {origin["date"]}, commit {origin["commit"]}; {versions}.
`recipe.toml` beside this file has every setting.

## Use

```python
{learner.usage}
```
"""


@dataclass(frozen=True)
class TensorBatch:
    """A batch of tensors that share their first axis."""

    tensors: tuple[Tensor, ...]

    def __len__(self) -> int:
        return len(self.tensors[0])

    def rows(self, rows: slice) -> Self:
        return type(self)(tuple(tensor[rows] for tensor in self.tensors))

    def to(self, device: torch.device) -> Self:
        return type(self)(tuple(tensor.to(device) for tensor in self.tensors))

    @property
    def tokens(self) -> int:
        return self.tensors[0].numel()

    size = tokens


class TensorBatches:
    """Batches of `rows` rows of tensors, in an order determined by the seed and the epoch."""

    def __init__(self, *tensors: Tensor, rows: int, seed: int = 1) -> None:
        self.tensors, self.rows, self.seed = tensors, rows, seed
        self.epoch, self.index = 1, 0

    def __iter__(self) -> Iterator[TensorBatch]:
        generator = torch.Generator().manual_seed(self.seed * 1_000_003 + self.epoch)
        order = torch.randperm(len(self.tensors[0]), generator=generator)
        while (start := self.index * self.rows) < len(order):
            self.index += 1  # the position after a batch that was handed out
            yield TensorBatch(tuple(tensor[order[start : start + self.rows]] for tensor in self.tensors))
        self.epoch, self.index = self.epoch + 1, 0

    @property
    def epochs(self) -> float:
        return self.epoch - 1 + self.index * self.rows / len(self.tensors[0])

    def state(self) -> dict[str, int]:
        return {"epoch": self.epoch, "index": self.index}

    def restore(self, state: Mapping[str, int]) -> None:
        self.epoch, self.index = state["epoch"], state["index"]
