"""What a Translator works on: the options of a call, the parts of its texts, and the limits of their length."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from saccade.align.attention import PairAttention
from saccade.attention import Learned
from saccade.attention.scores import LocationOnly
from saccade.decode.options import Constraints, Search, TooLong
from saccade.decode.search.hypotheses import Hypothesis
from saccade.decode.search.loop import OnStep
from saccade.decode.search.recording import SearchTree
from saccade.models.contract import Seq2Seq
from saccade.text import Masked

OnProgress = Callable[[int], None]  # called with the number of texts that were finished since the last call


@dataclass(frozen=True, kw_only=True)
class LengthLimits:
    words: int | None = None  # of the longest source that the model was trained on
    tokens: int | None = None  # positions, including the end symbol's, of a model with learned positions

    @classmethod
    def from_model(cls, model: "Seq2Seq[object, object]", *, words: int | None = None) -> "LengthLimits":
        """A model with learned positions knows no other positions than those it learnt."""
        positions = [part.table.num_embeddings for part in model.modules() if isinstance(part, Learned)]
        positions += [part.weight.shape[-1] for part in model.modules() if isinstance(part, LocationOnly)]
        return cls(words=words, tokens=min(positions, default=None))


class Engine(Protocol):
    """A search that is faster than ours, and finds the same."""

    def search(
        self, sources: Sequence[Sequence[int]], search: Search, tokens: int
    ) -> Iterator[tuple[list[int], list[list[Hypothesis] | None]]]:
        """Places in `sources`, and their hypotheses, best first; None for a source that it cannot search. A batch has
        at most so many source tokens."""


class CallOptions(NamedTuple):
    """The options of one call of `Translator.translate`, which explains them."""

    search: Search
    record: bool
    batch_tokens: int | None
    weights: bool
    too_long: TooLong
    progress: OnProgress | None
    on_step: OnStep | None
    engine: Engine | None


@dataclass
class TextPart:
    """A text, or a part of a long text, and the results of its search."""

    place: int  # of its text among those that are translated together
    text: str
    masked: Masked
    constraints: Constraints | None
    index: int  # decides its samples
    hypotheses: Sequence[Hypothesis] = ()
    tree: SearchTree | None = None
    attention: PairAttention | None = None

    def is_blank(self) -> bool:
        return not self.text.strip()

    def is_constrained(self) -> bool:
        return self.constraints is not None and self.constraints != Constraints()


def blank_hypothesis(constraints: Constraints | None) -> Hypothesis:
    """The translation of a blank text."""
    required = () if constraints is None else constraints.required
    unmet = tuple(f"{phrase!r}: the source is blank" for phrase in required)
    return Hypothesis(tokens=(), token_log_probs=(), log_prob=0.0, score=0.0, ended=True, unmet=unmet)
