"""Choose again among the translations of a search: by several models, or by their similarity to each other.

Reranking uses a weighted sum of the scores of several models:

    score = Σ_f w_f · f(x, y)

    model           log p(y|x) per token of y, by the model that wrote it
    right_to_left   the same, by a model that writes from the other end (Liu 2016)
    channel         log p(x|y) per token of x, by a model of the other direction: does y say all that x says? (Yee 2019)
    prior           log p(y) per word of y, by a language model of the targets: is y a sentence that people write?
    length          words of y per word of x

All are means, so that one set of weights fits short and long texts. With `channel` and `prior`, this is decoding by a
noisy channel (Yee 2019), p(y|x) ∝ p(x|y) p(y), together with the direct model. The prior's mean is per word, not per
token of the prior: n-grams of words, of characters and networks of any subwords have a common scale, so that a tuned
weight keeps its meaning; and a rare word counts as one, in however many pieces the prior reads it. The end of y counts
as a word.

Deviations from Yee (2019): each model has a weight of its own, log p(x|y) and log p(y) are not divided by the same
length, and only whole hypotheses are ranked, not their beginnings during the search.

Minimum Bayes risk chooses not the most probable translation, but the one most similar to all others (Kumar 2004):

    ŷ = argmax_y Σ_r w_r · u(y, r)      u: sentence chrF or BLEU, from 0 to 100; r: every candidate, including y

A sample's weight is how often it was drawn (Eikema 2020); a beam hypothesis' weight is its share of the probability.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property, partial
from itertools import islice
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from saccade import config, files
from saccade.decode.batch_sizes import CHUNK
from saccade.decode.language_models import TextNetwork, load_language_model
from saccade.decode.loading import load_translator
from saccade.decode.options import Metric, RerankingModels, RerankingOptions, Search
from saccade.decode.scoring import BATCH_TOKENS, TextPair, score_pairs
from saccade.decode.translation import Translation
from saccade.decode.translator import Translator
from saccade.errors import UserError, check_same_length
from saccade.metrics import Counts, score_pairwise
from saccade.ngrams.scores import TextModel, TextScore
from saccade.text import Tokeniser, words
from saccade.text.tokeniser import ENOUGH_TOKENS

Weighing = Literal["count", "probability"]
Rank = Callable[[Iterator[Translation]], Iterator[Translation]]
Features = NDArray[np.float64]  # (candidates, features)

_MOST_UNKNOWN = 0.5  # share of tokens
_SURE = -1.0  # log p per token of a translation that is no mere guess
_MOST_CAPITALS = 0.05  # share of a vocabulary; names in a lower-case corpus are fewer
_GRID = {
    "length": (-1.0, -0.5, -0.2, -0.1, 0.0, 0.1, 0.2, 0.5, 1.0),
    "": (0.0, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0),
}


@dataclass(frozen=True, kw_only=True)
class RerankingWeights:
    """Tuned weights, and the metric before and after."""

    weights: dict[str, float]
    metric: str
    before: float  # of the search's own best translations
    after: float
    sentences: int
    candidates: int

    def save(self, path: Path) -> None:
        files.write_json(path, asdict(self))

    @classmethod
    def load(cls, path: Path) -> "RerankingWeights":
        try:
            return config.from_dict(cls, files.parse_json(path.read_bytes()), where=str(path))
        except (OSError, ValueError) as error:
            reason = f"cannot be read: {error.strerror}" if isinstance(error, OSError) else f"not JSON ({error})"
            raise UserError(f"{path}: {reason}; expected weights that `saccade rerank` wrote") from None


@dataclass(frozen=True, kw_only=True)
class Reranker:
    """Ranks the translations of `translator` again. By default every model has weight 1, and the length 0."""

    translator: Translator
    right_to_left: Translator | None = None
    channel: Translator | None = None
    prior: TextModel | None = None
    weights: Mapping[str, float] = field(default_factory=dict)
    batch_tokens: int = BATCH_TOKENS

    def __post_init__(self) -> None:
        from_right = self.translator.vocabularies.target.right_to_left
        if self.right_to_left and self.right_to_left.vocabularies.target.right_to_left == from_right:
            side, needed = ("right", "false") if from_right else ("left", "true")
            raise UserError(
                f"right_to_left: both models begin at the {side}; train one with data.right_to_left={needed}"
            )
        if self.prior is not None:
            _check_prior(self.prior, self.translator.vocabularies.target)
        if self.weights and set(self.weights) != set(self.names):
            raise UserError(
                f"weights for {', '.join(self.weights)}, but the scores are {', '.join(self.names)}; expected one "
                "number for each, and the models that the weights were tuned with"
            )

    @cached_property
    def names(self) -> tuple[str, ...]:
        return ("model", "length", *(name for name in ("right_to_left", "channel", "prior") if getattr(self, name)))

    def rerank(self, results: Sequence[Translation]) -> list[Translation]:
        """The results with their alternatives in the new order; each score is the weighted sum."""
        weights = np.array([self.weights.get(name, float(name != "length")) for name in self.names])
        features = self.features(results)
        return [result.rescore((rows @ weights).tolist()) for result, rows in zip(results, features, strict=True)]

    def rerank_stream(self, results: Iterable[Translation], *, chunk: int = CHUNK) -> Iterator[Translation]:
        rest = iter(results)
        while batch := list(islice(rest, chunk)):
            yield from self.rerank(batch)

    def features(self, results: Sequence[Translation]) -> list[Features]:
        """For each result, one row per translation of its n best and one column per name."""
        candidates = [candidate for result in results for candidate in result.n_best]
        sources = [self.translator.vocabularies.source.split_tag(candidate.source)[1] for candidate in candidates]
        columns = [
            [float(np.mean(c.token_log_probs or 0.0)) for c in candidates],
            [len(words(c.text)) / max(1, len(words(x))) for c, x in zip(candidates, sources, strict=True)],
        ]
        if self.right_to_left is not None:
            _check_known("right_to_left", self.right_to_left.vocabularies.source, sources)
            columns.append(self._means(self.right_to_left, [(c.source, c.text) for c in candidates]))
        if self.channel is not None:
            _check_known("channel", self.channel.vocabularies.target, sources)
            columns.append(self._means(self.channel, [(c.text, x) for c, x in zip(candidates, sources, strict=True)]))
        if self.prior is not None:
            scores = list(self.prior.score_texts(c.text for c in candidates))
            _check_language([score for score, mean in zip(scores, columns[0], strict=True) if mean >= _SURE])
            columns.append([score.log_probability / score.words for score in scores])
        rows = np.array(columns).T
        ends = np.cumsum([1 + len(result.alternatives) for result in results])
        return np.split(rows, ends[:-1]) if results else []

    def tune(
        self, results: Sequence[Translation], references: Sequence[str], metric: Metric = "chrf"
    ) -> RerankingWeights:
        """The weights whose choices score best on these references. One weight after another is set to the best of a
        few values, as long as that helps; the weight of `model` stays 1. If the order of the search itself is better,
        all weights are 0, which keeps it."""
        check_same_length(results=results, references=references)
        if metric not in get_args(Metric):
            raise UserError(f"weights are tuned for {' or '.join(get_args(Metric))}, got {metric!r}")
        pairs = [(c.text, reference) for r, reference in zip(results, references, strict=True) for c in r.n_best]
        counts = Counts([text for text, _ in pairs], [reference for _, reference in pairs], metrics=[metric])
        features = self.features(results)
        starts = np.cumsum([0, *map(len, features)])[:-1].tolist()

        def score(weights: Mapping[str, float]) -> float:
            vector = np.array([weights[name] for name in self.names])
            chosen = [result.rank((rows @ vector).tolist())[0] for result, rows in zip(results, features, strict=True)]
            return counts.scores([start + place for start, place in zip(starts, chosen, strict=True)])[metric]

        best = {name: float(name == "model") for name in self.names}
        reached, before = score(best), -np.inf
        while reached > before:
            before = reached
            for name in self.names[1:]:
                trials = [best | {name: value} for value in _GRID.get(name, _GRID[""])]
                scores = [score(trial) for trial in trials]
                if max(scores) > reached + 1e-9:
                    reached, best = max(scores), trials[int(np.argmax(scores))]
        original, sizes = counts.scores(starts)[metric], {"sentences": len(results), "candidates": len(pairs)}
        if reached < original:
            best, reached = dict.fromkeys(self.names, 0.0), original
        return RerankingWeights(weights=best, metric=metric, before=original, after=reached, **sizes)

    def _means(self, model: Translator, pairs: Sequence[TextPair]) -> list[float]:
        scores = score_pairs(model, pairs, batch_tokens=self.batch_tokens, chunk=len(pairs) or 1)
        return [score.mean for score in scores]


def _check_language(scores: Sequence[TextScore]) -> None:
    """Check the translations of which the translator is sure: the output of a bad model may be in no language."""
    tokens, unknown = sum(each.tokens for each in scores), sum(each.unknown for each in scores)
    if tokens >= ENOUGH_TOKENS and unknown > _MOST_UNKNOWN * tokens:
        raise UserError(
            f"prior: {unknown / tokens:.0%} of the tokens of the translations are unknown to the language model; "
            "expected one that was trained on this language, with the same capitals and spaces: saccade lm train TEXT"
        )


def _check_prior(prior: TextModel, written: Tokeniser) -> None:
    if isinstance(prior, TextNetwork) and prior.block is not None:
        raise UserError(
            f"prior: a language model of blocks of {prior.block} tokens, in which lines continue one another; expected "
            "one that reads each line by itself: train it without --block"
        )
    if prior.lower and written.capital_share() > _MOST_CAPITALS:
        raise UserError(
            "prior: a language model of texts in lower case (--lower), and the model that translates writes capitals; "
            "train the prior without --lower"
        )


def _check_known(name: str, tokeniser: Tokeniser, sources: Iterable[str]) -> None:
    """Check the sources alone: the output of a bad model may be in no language."""
    unknown = tokeniser.unknown_share({*sources})
    if unknown is not None and unknown > _MOST_UNKNOWN:
        raise UserError(
            f"{name}: {unknown:.0%} of the source tokens are unknown to the model; was it trained on these two "
            "languages, in the right direction?"
        )


def minimise_risk(result: Translation, utility: Metric = "chrf", *, weigh: Weighing = "count") -> Translation:
    """The same candidates, each text once, best first. The score of each is its expected utility."""
    if utility not in get_args(Metric) or weigh not in get_args(Weighing):
        raise UserError(
            f"minimum Bayes risk: expected a utility of {' or '.join(get_args(Metric))} and weights by "
            f"{' or '.join(get_args(Weighing))}, got {utility!r} and {weigh!r}"
        )
    highest = max(candidate.log_prob for candidate in result.n_best)
    first: dict[str, Translation] = {}
    weights: dict[str, float] = {}
    for candidate in result.n_best:
        weight = 1.0 if weigh == "count" else float(np.exp(candidate.log_prob - highest))
        first.setdefault(candidate.text, candidate)
        weights[candidate.text] = weights.get(candidate.text, 0.0) + weight
    shares = np.array([*weights.values()]) / sum(weights.values())
    expected = np.round(score_pairwise(list(first), utility) @ shares, 9)  # differences by rounding are ties
    best, *others = first.values()
    return replace(best, alternatives=tuple(others)).rescore(expected.tolist())


def load_reranker(translator: Translator, models: RerankingModels, weights: dict[str, float] | None = None) -> Reranker:
    device, others = translator.device, dict[str, Any]()
    for name in ("right_to_left", "channel"):
        if (folder := getattr(models, name)) is not None:
            others[name] = load_translator(folder, device=device)
    if models.prior is not None:
        others["prior"] = load_language_model(models.prior, TextNetwork, device=device)
    return Reranker(translator=translator, weights=weights or {}, **others)


def rerank_by(options: RerankingOptions, translator: Translator, search: Search, *, chunk: int = CHUNK) -> Rank:
    """A function that ranks all hypotheses of the search again and keeps the n best."""
    if options.mbr is not None:
        weigh: Weighing = "count" if search.sample else "probability"
        rank: Rank = partial(map, partial(minimise_risk, utility=options.mbr, weigh=weigh))
    else:
        weights = None if options.rerank_weights is None else read_weights(options.rerank_weights)
        rank = partial(load_reranker(translator, options, weights).rerank_stream, chunk=chunk)
    others = search.n_best - 1
    return lambda results: (replace(best, alternatives=best.alternatives[:others]) for best in rank(results))


def read_weights(file: Path | str) -> dict[str, float]:
    """From a file of `saccade rerank`, or from "model=1,length=0"."""
    text = str(file)
    if Path(text).is_file() or "=" not in text:
        return RerankingWeights.load(Path(text)).weights
    try:
        pairs = (pair.split("=") for pair in text.split(","))
        return {name.strip().replace("-", "_"): float(value) for name, value in pairs}
    except ValueError:
        raise UserError(f"--rerank-weights {text}: expected a file, or such as model=1,length=0,channel=0.5") from None
