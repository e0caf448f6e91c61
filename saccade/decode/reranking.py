"""Translations that a search found, in another order: by what other models think of them, weighed together.

    score = Σ_f w_f · f(x, y)

    model           log p(y|x) a piece of y, by the model that wrote it
    right_to_left   the same, by a model that writes from the other end (Liu 2016)
    channel         log p(x|y) a piece of x, by a model of the other direction: does y say all that x says? (Yee 2019)
    prior           log p(y) a piece of y, by a model that was trained to write targets of one fixed source
    length          words of y for each word of x

All are means, so that one set of weights serves long texts and short ones.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from saccade import config, files
from saccade.decode.scoring import BATCH_TOKENS, TextPair, score_pairs
from saccade.decode.translation import Translation
from saccade.decode.translator import CHUNK, Translator
from saccade.errors import UserError, check_same_length
from saccade.files import parse_json
from saccade.metrics import Counts
from saccade.text import Tokeniser, words

Metric = Literal["chrf", "bleu"]
Features = NDArray[np.float64]  # (candidates, features)

_GRID = {
    "length": (-1.0, -0.5, -0.2, -0.1, 0.0, 0.1, 0.2, 0.5, 1.0),
    "": (0.0, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0),
}


@dataclass(frozen=True, kw_only=True)
class RerankingWeights:
    """As tuned, with what they were tuned for and how much they gave."""

    weights: dict[str, float]
    metric: str
    before: float  # of what the search found best
    after: float
    sentences: int
    candidates: int

    def save(self, path: Path) -> None:
        files.write_json(path, asdict(self))

    @classmethod
    def load(cls, path: Path) -> "RerankingWeights":
        try:
            return config.from_dict(cls, parse_json(path.read_bytes()), where=str(path))
        except OSError as error:
            raise UserError(f"{path}: cannot be read: {error.strerror}; expected weights that were tuned") from None
        except ValueError as error:
            raise UserError(f"{path}: not JSON ({error}); expected weights that `saccade rerank` wrote") from None


@dataclass(frozen=True, kw_only=True)
class Reranker:
    """Of what `translator` found. Without `weights`, every model counts alike and the length does not."""

    translator: Translator
    right_to_left: Translator | None = None
    channel: Translator | None = None
    prior: Translator | None = None
    prior_source: str = ""  # the text that the prior was trained to continue
    weights: Mapping[str, float] = field(default_factory=dict)
    batch_tokens: int = BATCH_TOKENS

    def __post_init__(self) -> None:
        ends = [one.vocabularies.target.right_to_left for one in (self.translator, self.right_to_left) if one]
        if len(set(ends)) < len(ends):
            side = "right" if ends[0] else "left"
            raise UserError(
                f"right_to_left: the other model, too, begins at the {side}; train one with data.right_to_left="
                f"{str(not ends[0]).lower()}"
            )
        if self.weights and set(self.weights) != set(self.names):
            raise UserError(
                f"weights of {', '.join(self.weights)} for {', '.join(self.names)}; expected a number for each of "
                "these, and the models that the weights were tuned with"
            )

    @cached_property
    def names(self) -> tuple[str, ...]:
        return ("model", "length", *(name for name in ("right_to_left", "channel", "prior") if getattr(self, name)))

    @cached_property
    def _weights(self) -> Features:
        usual = {name: float(name != "length") for name in self.names}
        return np.array([(self.weights or usual)[name] for name in self.names])

    def rerank(self, results: Sequence[Translation]) -> list[Translation]:
        """Each with its alternatives in the new order; a score is the weighted sum."""
        return [
            one.rescored((found @ self._weights).tolist())
            for one, found in zip(results, self.features(results), strict=True)
        ]

    def rerank_stream(self, results: Iterable[Translation], *, chunk: int = CHUNK) -> Iterator[Translation]:
        rest = iter(results)
        while some := list(islice(rest, chunk)):
            yield from self.rerank(some)

    def features(self, results: Sequence[Translation]) -> list[Features]:
        """Of each result, a row for it and for each alternative, a column for each of `names`."""
        every = [one for result in results for one in (result, *result.alternatives)]
        sources = [self.translator.vocabularies.source.split_tag(one.source)[1] for one in every]
        columns = [
            [float(np.mean(one.token_log_probs or 0.0)) for one in every],
            [len(words(one.text)) / max(1, len(words(x))) for one, x in zip(every, sources, strict=True)],
        ]
        if self.right_to_left is not None:
            _check_known("right_to_left", self.right_to_left.vocabularies.source, sources)
            columns.append(self._forced(self.right_to_left, [(one.source, one.text) for one in every]))
        if self.channel is not None:
            _check_known("channel", self.channel.vocabularies.target, sources)
            turned = [(one.text, source) for one, source in zip(every, sources, strict=True)]
            columns.append(self._forced(self.channel, turned))
        if self.prior is not None:
            columns.append(self._forced(self.prior, [(self.prior_source, one.text) for one in every]))
        rows = np.array(columns).T
        ends = np.cumsum([1 + len(result.alternatives) for result in results])
        return np.split(rows, ends[:-1]) if results else []

    def tuned(
        self, results: Sequence[Translation], references: Sequence[str], metric: Metric = "chrf"
    ) -> RerankingWeights:
        """The weights whose choices score best on these references: one after the other is set to the best of a few
        values, as long as that helps. The model's own stays 1."""
        check_same_length(results=results, references=references)
        if metric not in get_args(Metric):
            raise UserError(f"weights are tuned for {' or '.join(get_args(Metric))}, got {metric!r}")
        every = [(one.text, reference) for r, reference in zip(results, references, strict=True) for one in r.n_best]
        counts = Counts([text for text, _ in every], [reference for _, reference in every], metrics=[metric])
        features = self.features(results)
        starts = np.cumsum([0, *(len(found) for found in features)])[:-1].tolist()

        def score(weights: Mapping[str, float] | None) -> float:
            if weights is None:
                return counts.scores(starts)[metric]
            vector = np.array([weights[name] for name in self.names])
            chosen = [one.ranked((found @ vector).tolist())[0] for one, found in zip(results, features, strict=True)]
            return counts.scores([start + place for start, place in zip(starts, chosen, strict=True)])[metric]

        best = {name: float(name == "model") for name in self.names}
        reached, before = score(best), -np.inf
        while reached > before:
            before = reached
            for name in self.names[1:]:
                tried = [best | {name: value} for value in _GRID.get(name, _GRID[""])]
                scores = [score(one) for one in tried]
                if max(scores) > reached + 1e-9:
                    reached, best = max(scores), tried[int(np.argmax(scores))]
        return RerankingWeights(
            weights=best,
            metric=metric,
            before=score(None),
            after=reached,
            sentences=len(results),
            candidates=len(every),
        )

    def _forced(self, model: Translator, pairs: Sequence[TextPair]) -> list[float]:
        return [one.mean for one in score_pairs(model, pairs, batch_tokens=self.batch_tokens, chunk=len(pairs) or 1)]


def _check_known(name: str, tokeniser: Tokeniser, sources: Iterable[str]) -> None:
    """Of sources alone: what a bad model wrote may be of no language."""
    unknown = tokeniser.unknown_share({*sources})
    if unknown is not None and unknown > 0.5:
        raise UserError(
            f"{name}: the model does not know {unknown:.0%} of the pieces of the sources; is it of "
            "these two languages, and of the right direction?"
        )
