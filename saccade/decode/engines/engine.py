"""CTranslate2 in place of our own search: the same beam, faster on a CPU.

Both extend K hypotheses by the best of their continuations until K have ended. Two things differ. Where a hypothesis
ends, CTranslate2 puts the next best one in its place, whereas our beam becomes narrower; so it may find another
translation, rarely (decisions/0028). And it has its own formula for scores: the hypotheses that it returns are scored
again by ours.

Some sources are left to our own search: those longer than the table of positions, and those with a hypothesis that our
search could not have written.
"""

import os
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir
from typing import Any, NamedTuple

from saccade.data.batching import batch_by_length
from saccade.decode.deferred import DeferredNumbers
from saccade.decode.engines.conversion import convert, positions_of
from saccade.decode.options import Search
from saccade.decode.search.hypotheses import Hypothesis
from saccade.errors import UserError
from saccade.models.vaswani2017 import Vaswani2017
from saccade.text import BOS, EOS, PAD, Vocabularies

Found = list[Hypothesis] | None  # None: our own search must find them
# CTranslate2 may find more than K hypotheses, and returns the K best by log p / |y|^exponent. A negative exponent
# prefers those that ended first, as our search does.
_EXPONENT = -5.0
_FORCED_TOGETHER = 64  # hypotheses in a batch of teacher forcing


class _Batch(NamedTuple):
    places: list[int]
    longest: int  # the maximum length that CTranslate2 gets, which has one for the whole batch
    pending: list[Any]  # asynchronous results


class CTranslate2Engine:
    """Reads the weights when it is made; for other weights, make another one."""

    def __init__(self, model: Vaswani2017, vocabularies: Vocabularies, *, int8: bool = False) -> None:
        import ctranslate2

        self._positions = positions_of(model)
        self._source = vocabularies.source.pieces
        self._target = vocabularies.target.pieces
        self._ids = {piece: token for token, piece in enumerate(self._target)}
        self._workers = _count_workers()
        with _private_folder() as folder:
            write_model(Path(folder), model, vocabularies)
            self._translator = ctranslate2.Translator(
                folder,
                device="cpu",
                compute_type="int8" if int8 else "float32",
                inter_threads=self._workers,  # several batches at once: more sentences per second than sharing one
                intra_threads=1,
            )

    def search(
        self, sources: Sequence[Sequence[int]], search: Search, tokens: int
    ) -> Iterator[tuple[list[int], list[Found]]]:
        """The hypotheses of each source, best first: places in `sources` and their results, batch by batch. A batch has
        at most so many source tokens."""
        longest = [search.length_limits(len(source) + 1)[1] for source in sources]
        usable = [i for i, source in enumerate(sources) if self._has_positions(len(source) + 1, longest[i]) and source]
        batches = batch_by_length([len(sources[i]) + 1 for i in usable], tokens)
        first = ([usable[place] for place in batch] for batch in batches)
        again: defaultdict[int, list[int]] = defaultdict(list)
        for batch in self._run(((places, max(longest[i] for i in places)) for places in first), sources, search):
            results = [each.result() for each in batch.pending]
            passed = [
                any(len(h) > longest[i] for h in result.hypotheses)
                for i, result in zip(batch.places, results, strict=True)
            ]
            for i, is_too_long in zip(batch.places, passed, strict=True):
                if is_too_long:
                    again[longest[i]].append(i)
            kept = [(i, result) for i, result, out in zip(batch.places, results, passed, strict=True) if not out]
            yield [i for i, _ in kept], self._read(kept, sources, search)
        # A search that passed the limit of its source is repeated among sources of the same limit.
        limited = (
            ([places[k] for k in batch], limit)
            for limit, places in again.items()
            for batch in batch_by_length([len(sources[i]) + 1 for i in places], tokens)
        )
        for batch in self._run(limited, sources, search):
            results = [each.result() for each in batch.pending]
            yield batch.places, self._read(list(zip(batch.places, results, strict=True)), sources, search)

    def _has_positions(self, source: int, target: int) -> bool:
        return self._positions is None or max(source, target) <= self._positions

    def _run(
        self, batches: Iterable[tuple[list[int], int]], sources: Sequence[Sequence[int]], search: Search
    ) -> Iterator[_Batch]:
        """Keep every worker busy, without starting more batches than that needs."""
        running = deque[_Batch]()
        for places, longest in batches:
            running.append(_Batch(places, longest, self._submit([sources[i] for i in places], longest, search)))
            if len(running) > 2 * self._workers:
                yield running.popleft()
        yield from running

    def _submit(self, sources: Sequence[Sequence[int]], longest: int, search: Search) -> list[Any]:
        pending: list[Any] = self._translator.translate_batch(
            [[self._source[token] for token in source] for source in sources],
            asynchronous=True,
            beam_size=search.beam,
            num_hypotheses=search.beam,
            length_penalty=_EXPONENT,
            return_scores=True,
            return_end_token=True,
            max_input_length=0,
            min_decoding_length=0,
            max_decoding_length=longest,
        )
        return pending

    def _read(
        self, results: Sequence[tuple[int, Any]], sources: Sequence[Sequence[int]], search: Search
    ) -> list[Found]:
        """Our hypotheses from CTranslate2's results for these sources."""
        ids = [[[self._ids[piece] for piece in tokens] for tokens in result.hypotheses] for _, result in results]
        rows = [(i, row) for (i, _), hypotheses in zip(results, ids, strict=True) for row in hypotheses]

        @cache
        def force() -> list[list[float]]:
            return self._force([(sources[i], row) for i, row in rows])

        def forced(row: int) -> list[float]:
            return force()[row]

        found, first = list[Found](), 0
        for (_, result), hypotheses in zip(results, ids, strict=True):
            if any(_is_impossible(row, search) for row in hypotheses):
                found.append(None)
            else:
                ranked = [
                    _hypothesis(row, log_prob, search, DeferredNumbers(len(row), partial(forced, first + k)))
                    for k, (row, log_prob) in enumerate(zip(hypotheses, _log_probs(result), strict=True))
                ]
                found.append(sorted(ranked, key=lambda h: (not h.ended, -h.score)))
            first += len(hypotheses)
        return found

    def _force(self, pairs: Sequence[tuple[Sequence[int], Sequence[int]]]) -> list[list[float]]:
        """The log-probability of each token when the model is forced to write each target."""
        scored = self._translator.score_batch(
            [[self._source[token] for token in source] for source, _ in pairs],
            [[self._target[token] for token in target if token != EOS] for _, target in pairs],
            max_batch_size=_FORCED_TOGETHER,
            max_input_length=0,
        )
        return [result.log_probs[: len(target)] for result, (_, target) in zip(scored, pairs, strict=True)]


@contextmanager
def _private_folder() -> Iterator[str]:
    """A folder that disappears. Nobody else can write there, and so put another model in place of ours."""
    try:
        with TemporaryDirectory(prefix="saccade-") as folder:
            yield folder
    except OSError as error:
        advice = "set TMPDIR to another folder, or give --engine torch"
        raise UserError(f"{gettempdir()}: cannot be written: {error.strerror}; {advice}") from error


def write_model(folder: Path, model: Vaswani2017, vocabularies: Vocabularies, *, int8: bool = False) -> None:
    """Write CTranslate2's files."""
    spec = convert(model, vocabularies)
    spec.validate()
    spec.optimize(quantization="int8" if int8 else None)
    spec.save(str(folder))


def _log_probs(result: Any) -> list[float]:
    """From the scores log p / |y|^exponent"""
    return [score * len(row) ** _EXPONENT for row, score in zip(result.hypotheses, result.scores, strict=True)]


def _hypothesis(ids: list[int], log_prob: float, search: Search, token_log_probs: DeferredNumbers) -> Hypothesis:
    ended = ids[-1:] == [EOS]
    return Hypothesis(
        tokens=tuple(ids[:-1] if ended else ids),
        token_log_probs=token_log_probs,
        log_prob=log_prob,
        score=search.score(log_prob, len(ids)),
        ended=ended,
    )


def _is_impossible(ids: Sequence[int], search: Search) -> bool:
    """Whether our search would never write these tokens: CTranslate2 forbids none."""
    return PAD in ids or BOS in ids or (search.repeats > 0 and has_loop(ids, search.repeats))


def has_loop(ids: Sequence[int], most: int) -> bool:
    """Whether a run of tokens, of any size, is repeated more than `most` times in a row."""
    for size in range(1, len(ids) // (most + 1) + 1):
        equal = 0
        for place in range(size, len(ids)):
            equal = equal + 1 if ids[place] == ids[place - size] else 0
            if equal >= most * size:
                return True
    return False


def _count_workers() -> int:
    """As many as OMP_NUM_THREADS allows, or one per core."""
    limit = os.environ.get("OMP_NUM_THREADS", "")
    if limit.isdigit() and int(limit) > 0:
        return int(limit)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
