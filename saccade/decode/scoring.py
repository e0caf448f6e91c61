"""The probability of given translations under a model: one teacher-forced pass, without a search.

A pair that is blank on both sides has log-probability 0, like the blank translation of a blank text. A pair that is
blank on one side is scored by the model: a blank target is the end symbol alone, and so is a blank source.
"""

import json
import math
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice, repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import cross_entropy

from saccade.align import to_words
from saccade.align.attention import SegmentedText
from saccade.data import PairFiles
from saccade.data.batching import Batch
from saccade.data.text_files import line_error
from saccade.decode.batch_sizes import CHUNK
from saccade.decode.options import ScoreOptions
from saccade.decode.translator import IdPair, Translator
from saccade.errors import Progress
from saccade.files import write_json
from saccade.journal import open_output, refuse_folder

BATCH_TOKENS = 4096  # target tokens per batch, each with one probability per vocabulary entry in memory

_BLANK = SegmentedText(ids=(), tokens=(), spans=(), words=())
TextPair = tuple[str, str]
Array = NDArray[np.float32]


@dataclass(frozen=True, kw_only=True)
class PairScore:
    """The score of a target in the tokens of its text. A search may have written the same text in other tokens."""

    source: str
    target: str
    segments: SegmentedText  # the target's tokens, in the order in which the model writes them, and words
    token_log_probs: tuple[float, ...]  # of each token and of the end symbol; empty if both sides are blank

    @property
    def log_prob(self) -> float:
        return math.fsum(self.token_log_probs)

    @property
    def mean(self) -> float:
        """Log-probability per token, including the end symbol."""
        return self.log_prob / max(1, len(self.token_log_probs))

    @property
    def perplexity(self) -> float:
        return _perplexity(self.log_prob, len(self.token_log_probs))

    @cached_property
    def word_log_probs(self) -> tuple[float, ...]:
        """The sum of each word's tokens; a token of several words is divided equally. The end symbol and a lone space
        belong to no word."""
        spans, count = self.segments.spans, len(self.segments.words)
        if not spans:
            return ()
        return tuple(to_words([self.token_log_probs[: len(spans)]], spans, [0], source_words=count)[0].tolist())

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "source": self.source,
            "target": self.target,
            "log_prob": self.log_prob,
            "mean": self.mean,
            "perplexity": self.perplexity,
            "tokens": list(self.segments.tokens),
            "token_log_probs": list(self.token_log_probs),
            "words": list(self.segments.words),
            "word_log_probs": list(self.word_log_probs),
        }


@dataclass
class ScoreTotals:
    """Totals of a corpus, added up pair by pair."""

    pairs: int = 0
    pieces: int = 0  # tokens, including end symbols
    words: int = 0
    log_prob: float = 0.0

    def add(self, score: PairScore) -> None:
        self.pairs += 1
        self.pieces += len(score.token_log_probs)
        self.words += len(score.segments.words)
        self.log_prob += score.log_prob

    @property
    def perplexity(self) -> float:
        """Per token: comparable only between models with the same vocabulary."""
        return _perplexity(self.log_prob, self.pieces)

    @property
    def word_perplexity(self) -> float:
        """Per word: comparable between any models on the same text."""
        return _perplexity(self.log_prob, self.words)

    def as_dict(self) -> dict[str, float]:
        return {**vars(self), "perplexity": self.perplexity, "word_perplexity": self.word_perplexity}


def score_pairs(
    translator: Translator, pairs: Iterable[TextPair], *, batch_tokens: int = BATCH_TOKENS, chunk: int = CHUNK
) -> Iterator[PairScore]:
    """Score pairs in order, from a stream of any length: `chunk` of them are in memory at a time."""
    rest, sides = iter(pairs), translator.vocabularies
    while batch := list(islice(rest, chunk)):
        masked = [sides.mask_pair(*pair) for pair in batch]
        segments = [SegmentedText.from_text(target.text, sides.target, target.shown) for _, target in masked]
        written = [place for place, pair in enumerate(batch) if any(text.strip() for text in pair)]
        ids = [(sides.source.encode(masked[place][0].text), segments[place].ids) for place in written]
        rows = force_targets(translator, ids, log_probs, batch_tokens=batch_tokens)
        scored = dict(zip(written, rows, strict=True))
        for place, (source, target) in enumerate(batch):
            yield PairScore(
                source=source,
                target=target,
                segments=segments[place] if place in scored else _BLANK,
                token_log_probs=tuple(scored[place].tolist()) if place in scored else (),
            )


def score_file(
    translator: Translator,
    pairs: Iterable[TextPair],
    name: str,
    options: ScoreOptions,
    *,
    command: Mapping[str, Any],
    write: Callable[[str], None] = print,
    progress: Progress | None = None,
) -> ScoreTotals:
    """Score each pair of `pairs`, which are read twice and called `name` in messages; return the totals."""
    refuse_folder("out", options.out)
    add_tag = translator.tagger(options.tag)
    total = _check(translator, pairs, name, options)
    with open_output(options.out, command, write=write, restart=options.restart) as output:
        totals = ScoreTotals(**output.state)
        remaining = output.skip_finished(_with_fields(pairs), json.dumps)
        waiting = deque[tuple[TextPair, Mapping[str, Any]]]()

        def texts() -> Iterator[TextPair]:
            for pair, fields in remaining:
                waiting.append((pair, fields))
                yield add_tag(pair[0]), pair[1]

        results = score_pairs(translator, texts(), batch_tokens=options.batch_tokens, chunk=options.chunk)
        for number, score in enumerate(results, output.lines + 1):
            line = f"{getattr(score, options.value.replace('-', '_')):.6f}"
            if options.jsonl:
                line = json.dumps({"line": number, **score.as_dict(), **waiting[0][1]}, ensure_ascii=False)
            output.write("out", line)
            output.note(json.dumps(waiting.popleft()))
            totals.add(score)
            if progress is not None:
                progress(number, total)
            if not waiting:  # the whole chunk is written
                output.commit(number, vars(totals))
    if options.summary is not None:
        model = command.get("model") and str(command["model"])
        write_json(options.summary, {"model": model, "corpus": name, **totals.as_dict()})
    return totals


def _with_fields(pairs: Iterable[TextPair]) -> Iterator[tuple[TextPair, Mapping[str, Any]]]:
    """Each pair, with the other fields of its line."""
    return zip(pairs, pairs.records() if isinstance(pairs, PairFiles) else repeat({}), strict=False)


def _check(translator: Translator, pairs: Iterable[TextPair], name: str, options: ScoreOptions) -> int:
    """The number of pairs. A mistake in the last line is reported before hours of work, not after."""
    (blank,), number = score_pairs(translator, [("", "")]), 0
    new = {"line", *blank.as_dict()} - {"source", "target"} if options.jsonl else set()
    for number, (_, fields) in enumerate(_with_fields(pairs), 1):
        if common := sorted(new & fields.keys()):
            raise line_error(name, number, f"has a field {common[0]!r}, which the output has, too; rename it")
    return number


def force_targets(
    translator: Translator,
    pairs: Sequence[IdPair],
    read: Callable[[Tensor, Tensor], Tensor],  # logits (B, T, V), targets (B, T) → (B, T, …)
    *,
    batch_tokens: int = BATCH_TOKENS,
) -> list[Array]:
    """The values of `read`, (T + 1, …) per pair, at each token of the target and its end, when the model is forced to
    write the target."""

    def read_batch(batch: Batch) -> list[Array]:
        logits = translator.model(batch.source, batch.source_readable, batch.target_in)
        rows = read(logits.float(), batch.target_out).cpu().numpy()
        # A view would keep the whole batch in memory.
        return [row[:length].copy() for row, length in zip(rows, batch.target_readable.sum(1).tolist(), strict=True)]

    return translator.force(pairs, read_batch, batch_tokens)


def log_probs(logits: Tensor, targets: Tensor) -> Tensor:
    """The log-probability of each target token; a reader of `force_targets`."""
    return -cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="none").view_as(targets)


def _perplexity(log_prob: float, count: int) -> float:
    return math.exp(min(700.0, -log_prob / max(1, count)))  # exp(710) overflows
