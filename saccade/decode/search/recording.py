"""A search as a tree: which tokens were considered, which were continued, and which results they became."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from torch import Tensor

from saccade.decode.search.hypotheses import NEVER, Expansion, Hypothesis
from saccade.text import BOS, EOS

VERSION = 1
Fate = Literal["kept", "pruned", "ended", "cut"]


@dataclass
class Node:
    """One token of a search. Samples that begin alike share their nodes."""

    id: int
    parent: int | None  # None: the start symbol
    token: int
    log_prob: float  # of the token, by the model
    total: float  # of all tokens up to this one
    step: int
    piece: str | None = None  # the token's text
    # The search continued it (kept) or not (pruned), or a result ends here: by the end symbol, or cut off.
    fate: Fate = "pruned"
    score: float | None = None  # of the result that ends here


@dataclass
class SearchTree:
    """The tree of one sentence. `nodes[i].id` is i, the first is the start symbol, and parents precede children."""

    nodes: list[Node] = field(default_factory=list)
    version: int = VERSION

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {"version": self.version, "nodes": [asdict(node) for node in self.nodes]}


class Recorder:
    """Records the tree of each sentence in `trees`, by the sentence's number. `texts` are the tokens' texts, by id."""

    def __init__(self, texts: Sequence[str] | None = None) -> None:
        self._texts = texts
        self.trees: dict[int, SearchTree] = {}
        self._places: dict[int, dict[tuple[int | None, int], int]] = {}  # (parent, token) → node
        self._rows: dict[int, list[int]] = {}  # the node of each hypothesis

    def begin(self, sentences: Sequence[int], rows: int) -> None:
        for sentence in sentences:
            self.trees[sentence], self._places[sentence] = SearchTree(), {}
            self._node(sentence, None, BOS, 0.0, 0.0)
            self._rows[sentence] = [0] * rows

    def step(self, sentences: Sequence[int], expansion: Expansion, totals: Tensor, log_probs: Tensor) -> None:
        """Record the chosen tokens and as many of the next best; `totals` (B, N) are from before the step."""
        count, vocabulary = expansion.rows.shape[1], log_probs.shape[-1]
        scores, places = expansion.ranking.flatten(1).topk(min(2 * count, vocabulary * count))
        for b, sentence in enumerate(sentences):
            parents, sums, after = self._rows[sentence], totals[b].tolist(), [0] * count
            considered = [
                (place // vocabulary, place % vocabulary)
                for score, place in zip(scores[b].tolist(), places[b].tolist(), strict=True)
                if score > NEVER
            ]
            alive = expansion.alive[b].tolist()
            chosen = [*zip(expansion.rows[b].tolist(), expansion.tokens[b].tolist(), strict=True)]
            continued = {n: chosen[n] for n in range(count) if alive[n]}
            for row, token in (*considered, *continued.values()):
                log_prob = log_probs[b, row, token].item()
                self._node(sentence, parents[row], token, log_prob, sums[row] + log_prob)
            for n, (row, token) in continued.items():
                after[n] = self._places[sentence][parents[row], token]
                self.trees[sentence].nodes[parents[row]].fate = "kept"
            self._rows[sentence] = after

    def finish(self, sentences: Sequence[int], results: Sequence[Sequence[Hypothesis]]) -> None:
        for sentence, hypotheses in zip(sentences, results, strict=True):
            nodes, places = self.trees[sentence].nodes, self._places[sentence]
            for hypothesis in hypotheses:
                node = 0
                for token in (*hypothesis.tokens, *([EOS] if hypothesis.ended else [])):
                    node = places[node, token]
                nodes[node].fate = "ended" if hypothesis.ended else "cut"
                nodes[node].score = hypothesis.score

    def _node(self, sentence: int, parent: int | None, token: int, log_prob: float, total: float) -> None:
        nodes, places = self.trees[sentence].nodes, self._places[sentence]
        if (parent, token) not in places:
            places[parent, token] = len(nodes)
            step = 0 if parent is None else nodes[parent].step + 1
            text = None if self._texts is None else self._texts[token]
            nodes.append(Node(len(nodes), parent, token, log_prob, total, step, text))
