"""A search as a tree: which tokens were considered, which were continued, and which results they became."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from itertools import compress
from typing import Any, Literal

from torch import Tensor

from saccade.decode.constraints.choice import NEVER
from saccade.decode.search.expansion import Expansion, TokenScores
from saccade.decode.search.hypotheses import Hypothesis
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

    version: int = VERSION
    nodes: list[Node] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return asdict(self)


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

    def step(
        self, sentences: Sequence[int], expansion: Expansion, ranking: TokenScores, totals: Tensor, log_probs: Tensor
    ) -> None:
        """Record the chosen tokens and as many of the next best; `totals` (B, N) are from before the step."""
        count, vocabulary = expansion.rows.shape[1], log_probs.shape[-1]
        ranked = ranking.tokens + ranking.totals[..., None]
        scores, places = ranked.flatten(1).topk(min(2 * count, vocabulary * count))
        for b, sentence in enumerate(sentences):
            parents, after = self._rows[sentence], [0] * count
            considered = [divmod(place, vocabulary) for place in places[b, scores[b] > NEVER].tolist()]
            chosen = zip(expansion.rows[b].tolist(), expansion.tokens[b].tolist(), strict=True)
            continued = dict(compress(enumerate(chosen), expansion.alive[b].tolist()))
            for row, token in (*considered, *continued.values()):
                log_prob = log_probs[b, row, token].item()
                self._node(sentence, parents[row], token, log_prob, totals[b, row].item() + log_prob)
            for n, (row, token) in continued.items():
                after[n] = self._places[sentence][parents[row], token]
                self.trees[sentence].nodes[parents[row]].fate = "kept"
            self._rows[sentence] = after

    def finish(self, sentences: Sequence[int], results: Sequence[Sequence[Hypothesis]]) -> None:
        for sentence, hypotheses in zip(sentences, results, strict=True):
            for hypothesis in hypotheses:
                node = 0
                for token in (*hypothesis.tokens, *([EOS] if hypothesis.ended else [])):
                    node = self._places[sentence][node, token]
                last = self.trees[sentence].nodes[node]
                last.fate, last.score = "ended" if hypothesis.ended else "cut", hypothesis.score

    def _node(self, sentence: int, parent: int | None, token: int, log_prob: float, total: float) -> None:
        nodes, places = self.trees[sentence].nodes, self._places[sentence]
        if (parent, token) not in places:
            places[parent, token] = len(nodes)
            step = 0 if parent is None else nodes[parent].step + 1
            text = None if self._texts is None else self._texts[token]
            nodes.append(Node(len(nodes), parent, token, log_prob, total, step, text))
