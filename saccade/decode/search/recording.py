"""A search as a tree, for looking at: what was written, what was thought of, and what became of it."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from torch import Tensor

from saccade.text.tokeniser import BOS, EOS

if TYPE_CHECKING:
    from saccade.decode.search.expansion import Chosen
    from saccade.decode.search.loop import Hypothesis

VERSION = 1
Fate = Literal["kept", "pruned", "ended", "cut"]


@dataclass
class Node:
    """One token after another. Samples that begin alike share their nodes."""

    id: int
    parent: int | None  # None: the start symbol
    token: int
    log_prob: float  # of the token, by the model
    total: float  # of all tokens up to it
    step: int
    piece: str | None = None  # the token, to look at
    # It was gone on with; or not; or a result ends here, by the end symbol or because it was cut off.
    fate: Fate = "pruned"
    score: float | None = None  # of the result that ends here


@dataclass
class SearchTree:
    """Of one sentence. `nodes[i].id` is i, the first is the start symbol, and a parent comes before its children."""

    nodes: list[Node] = field(default_factory=list)
    version: int = VERSION

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {"version": self.version, "nodes": [asdict(node) for node in self.nodes]}


class Recorder:
    """Give one to `search`; it holds the trees afterwards, by the number of the sentence. `pieces` are the
    vocabulary's, by id."""

    def __init__(self, pieces: Sequence[str] | None = None) -> None:
        self._pieces = pieces
        self.trees: dict[int, SearchTree] = {}
        self._places: dict[int, dict[tuple[int | None, int], int]] = {}  # (parent, token) → node
        self._rows: dict[int, list[int]] = {}  # the node of each hypothesis

    def begin(self, sentences: Sequence[int], rows: int) -> None:
        for sentence in sentences:
            self.trees[sentence], self._places[sentence] = SearchTree(), {}
            self._node(sentence, None, BOS, 0.0, 0.0)
            self._rows[sentence] = [0] * rows

    def step(self, sentences: Sequence[int], chosen: "Chosen", totals: Tensor, log_probs: Tensor) -> None:
        """What was chosen, and as much again of what was next best, with totals (B, N) of what went before."""
        count, vocabulary = chosen.rows.shape[1], log_probs.shape[-1]
        scores, places = chosen.ranking.flatten(1).topk(min(2 * count, vocabulary * count))
        for b, sentence in enumerate(sentences):
            rows, sums, known = self._rows[sentence], totals[b].tolist(), log_probs[b]

            def node(row: int, token: int) -> int:
                parent, gained = rows[row], known[row, token].item()  # noqa: B023
                return self._node(sentence, parent, token, gained, sums[row] + gained)  # noqa: B023

            for score, place in zip(scores[b].tolist(), places[b].tolist(), strict=True):
                if score > float("-inf"):
                    node(place // vocabulary, place % vocabulary)
            after, kept = [0] * count, chosen.alive[b].tolist()
            for n, (row, token) in enumerate(zip(chosen.rows[b].tolist(), chosen.tokens[b].tolist(), strict=True)):
                if kept[n]:
                    after[n] = node(row, token)
                    self.trees[sentence].nodes[rows[row]].fate = "kept"
            self._rows[sentence] = after

    def finish(self, sentences: Sequence[int], found: Sequence[Sequence["Hypothesis"]]) -> None:
        for sentence, hypotheses in zip(sentences, found, strict=True):
            nodes, places = self.trees[sentence].nodes, self._places[sentence]
            for hypothesis in hypotheses:
                at = 0
                for token in (*hypothesis.tokens, *([EOS] if hypothesis.ended else [])):
                    at = places[at, token]
                nodes[at].fate = "ended" if hypothesis.ended else "cut"
                nodes[at].score = hypothesis.score

    def _node(self, sentence: int, parent: int | None, token: int, log_prob: float, total: float) -> int:
        nodes, places = self.trees[sentence].nodes, self._places[sentence]
        if (parent, token) not in places:
            places[parent, token] = len(nodes)
            step = 0 if parent is None else nodes[parent].step + 1
            piece = None if self._pieces is None else self._pieces[token]
            nodes.append(Node(len(nodes), parent, token, log_prob, total, step, piece))
        return places[parent, token]
