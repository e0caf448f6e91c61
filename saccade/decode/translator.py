"""A model with its vocabularies, from texts to translations and from pairs to what was read.

Texts are sorted by length and batched for speed; results are in the order given, and a text's result does not depend on
its company.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import islice
from typing import Any

import numpy as np
import torch

from saccade.data.batching import Batch, cut_places, pad_sources
from saccade.decode.attended import Attended, Segments, attended
from saccade.decode.device import find_device
from saccade.decode.search import Hypothesis, Search, search
from saccade.decode.translation import NO_ATTENTION, Translation
from saccade.errors import UserError
from saccade.evaluate.scores import same_count
from saccade.models.contract import Seq2Seq
from saccade.text import Vocabularies

BATCH_TOKENS = 8192  # source pieces × hypotheses: what a batch needs of memory
CHUNK = 512  # lines of a stream that are sorted together
FOR_PEOPLE = Search(beam=5, length_penalty=1.0)

Progress = Callable[[int], None]  # told how many more texts are done


class Translator:
    """The model is moved to the device, and is in evaluation mode only while it works here: one that is being trained
    may be shared.
    """

    def __init__(
        self, model: Seq2Seq[Any, Any], vocabularies: Vocabularies, device: str | torch.device = "auto"
    ) -> None:
        sizes = len(vocabularies.source), len(vocabularies.target)
        if sizes != (model.source_size, model.target_size):
            raise UserError(
                f"vocabularies of {sizes[0]} and {sizes[1]} pieces do not fit a model of "
                f"{model.source_size} and {model.target_size}; expected those that it was trained with"
            )
        self.device = find_device(device)
        self.model = model.to(self.device)
        self.vocabularies = vocabularies

    @property
    def attends(self) -> bool:
        """False: the model reads one fixed vector, and there are no weights to look at."""
        return bool(self.model.cross)

    def translate(
        self,
        texts: Sequence[str],
        how: Search | None = None,
        *,
        batch_tokens: int = BATCH_TOKENS,
        weights: bool = False,
        progress: Progress | None = None,
    ) -> list[Translation]:
        """A translation a text, by a beam of 5 unless told `how`; of a blank text, a blank one.

        `weights` finds all attention now, in batches, which is quicker than for each result when it is asked for.
        """
        if isinstance(texts, str):
            raise UserError(f"translate takes a list of texts, got one string; write translate([{texts[:20]!r}])[0]")
        return self._translate(texts, 0, how or FOR_PEOPLE, batch_tokens, weights, progress)

    def translate_stream(
        self,
        lines: Iterable[str],
        how: Search | None = None,
        *,
        batch_tokens: int = BATCH_TOKENS,
        weights: bool = False,
        chunk: int = CHUNK,
    ) -> Iterator[Translation]:
        """The same for lines without end, `chunk` of them in memory at a time."""
        rest, first = iter(lines), 0
        while some := list(islice(rest, chunk)):
            yield from self._translate(some, first, how or FOR_PEOPLE, batch_tokens, weights, None)
            first += len(some)

    def attend(
        self, sources: Sequence[str], targets: Sequence[str], *, batch_tokens: int = BATCH_TOKENS
    ) -> list[Attended]:
        """What the model reads of each source when it is made to write the target: one teacher-forced pass."""
        same_count(sources=sources, targets=targets)
        source, target = self.vocabularies.source, self.vocabularies.target
        pairs = [
            (Segments.of_text(left, source), Segments.of_text(right, target))
            for left, right in zip(sources, targets, strict=True)
        ]
        return self._attend(pairs, batch_tokens)

    def _translate(
        self,
        texts: Sequence[str],
        first: int,  # the place of texts[0] in the whole input, which decides its stream of samples
        how: Search,
        batch_tokens: int,
        weights: bool,
        progress: Progress | None,
    ) -> list[Translation]:
        written = [place for place, text in enumerate(texts) if text.strip()]
        if progress is not None:
            progress(len(texts) - len(written))
        found: list[Sequence[Hypothesis]] = [[_BLANK]] * len(texts)
        ids = [self.vocabularies.source.encode(texts[place]) for place in written]
        for chosen in _batches([len(row) + 1 for row in ids], batch_tokens // how.beam):
            source, readable = pad_sources([ids[i] for i in chosen])
            indices = [first + written[i] for i in chosen]
            with self._reading(batch_tokens):
                results = search(self.model, source.to(self.device), readable.to(self.device), how, indices=indices)
            for i, hypotheses in zip(chosen, results, strict=True):
                found[written[i]] = hypotheses[: how.n_best]
            if progress is not None:
                progress(len(chosen))
        looked: list[Attended | None] = [None] * len(texts)
        if weights and self.attends:
            pairs = [self._segments(text, best.tokens) for text, (best, *_) in zip(texts, found, strict=True)]
            looked = [*self._attend(pairs, batch_tokens)]
        return [self._translation(*result) for result in zip(texts, found, looked, strict=True)]

    def _translation(self, source: str, found: Sequence[Hypothesis], looked: Attended | None = None) -> Translation:
        best, *others = found
        attend: Callable[[], Attended] | None = None
        if looked is not None:
            attend = partial(_same, looked)
        elif self.attends:
            attend = partial(self._attend_one, source, best.tokens)
        return Translation(
            source=source,
            text=self.vocabularies.target.decode(best.tokens),
            tokens=tuple(self.vocabularies.target.pieces(best.tokens)),
            score=best.score,
            log_prob=best.log_prob,
            token_log_probs=best.token_log_probs,
            ended=best.ended,
            alternatives=tuple(self._translation(source, [other]) for other in others),
            attend=attend,
        )

    def _segments(self, source: str, target: Sequence[int]) -> tuple[Segments, Segments]:
        return (
            Segments.of_text(source, self.vocabularies.source),
            Segments.of_ids(target, self.vocabularies.target),
        )

    def _attend_one(self, source: str, target: Sequence[int]) -> Attended:
        (one,) = self._attend([self._segments(source, target)], BATCH_TOKENS)
        return one

    def _attend(self, pairs: Sequence[tuple[Segments, Segments]], batch_tokens: int) -> list[Attended]:
        if not self.attends:
            raise UserError(NO_ATTENTION)
        found: dict[int, Attended] = {}
        for chosen in _batches([max(len(s.ids), len(t.ids)) + 1 for s, t in pairs], batch_tokens):
            sources, targets = zip(*(pairs[i] for i in chosen), strict=True)
            batch = Batch.of([s.ids for s in sources], [t.ids for t in targets], chosen).to(self.device)
            with self._reading(batch_tokens), torch.inference_mode(), self.model.trace() as trace:
                self.model(batch.source, batch.source_readable, batch.target_in)
            sites = [trace[name].float().cpu().numpy() for name in self.model.cross]  # each (B, H, T + 1, S + 1)
            for row, i in enumerate(chosen):
                found[i] = attended(
                    *pairs[i],
                    [site[row] for site in sites],
                    shift=self.model.alignment_shift,
                    tokeniser=self.vocabularies.source,
                )
        return [found[i] for i in range(len(pairs))]

    @contextmanager
    def _reading(self, batch_tokens: int) -> Iterator[None]:
        training = self.model.training
        self.model.eval()
        try:
            yield
        except torch.OutOfMemoryError as error:
            raise UserError(
                f"{self.device} has not enough memory for batches of {batch_tokens} tokens; ask for fewer, "
                f"such as --batch-tokens {max(1, batch_tokens // 4)}"
            ) from error
        finally:
            self.model.train(training)


_BLANK = Hypothesis(tokens=(), token_log_probs=(), log_prob=0.0, score=0.0, ended=True)


def _same(looked: Attended) -> Attended:
    return looked


def _batches(lengths: Sequence[int], tokens: int) -> list[list[int]]:
    """Places of texts of like length, longest first: what does not fit into memory fails at once."""
    order = np.argsort(np.array(lengths, np.int64), kind="stable")
    cuts = cut_places(np.array(lengths, np.int64)[order], max(1, tokens))
    return [batch.tolist() for batch in np.split(order, cuts[1:-1])][::-1] if lengths else []
