"""A model with its vocabularies, from texts to translations and from pairs to what was read.

Texts are sorted by length and batched for speed; results are in the order given, and a text's result does not depend on
its company.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property, partial
from itertools import islice, repeat
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
import torch

from saccade.align.attention import NO_ATTENTION, AlignmentHead, PairAttention, SegmentedText
from saccade.data.batching import Batch, batch_by_length, pad_sources
from saccade.decode.confidence import Calibration
from saccade.decode.constraints.options import Constraints
from saccade.decode.constraints.rules import Rules
from saccade.decode.constraints.segmentations import TokenBytes
from saccade.decode.long_texts import LengthLimits, TooLong, join_parts, split_text
from saccade.decode.search.hypotheses import Hypothesis
from saccade.decode.search.loop import OnStep, run_search
from saccade.decode.search.options import DEFAULT_SEARCH, Search
from saccade.decode.search.recording import Recorder, SearchTree
from saccade.decode.translation import Translation
from saccade.device import find_device, is_out_of_memory, run_in_halves, split_in_half
from saccade.errors import UserError, check_same_length
from saccade.models.contract import Seq2Seq
from saccade.text import Masked, Vocabularies

BATCH_TOKENS = 8192  # source pieces × hypotheses: what a batch needs of memory
CHUNK = 512  # lines of a stream that are sorted together
_PARTS = 40  # bits: a part of a text draws by a number that no text has

Done = TypeVar("Done")
OnProgress = Callable[[int], None]  # told how many more texts are done


class Translator:
    """The model is moved to the device, and is in evaluation mode only while it works here: one that is being trained
    may be shared.
    """

    def __init__(
        self,
        model: Seq2Seq[Any, Any],
        vocabularies: Vocabularies,
        device: str | torch.device = "auto",
        *,
        longest_trained: int | None = None,  # words of a source
        calibration: Calibration | None = None,
        alignment_head: AlignmentHead | None = None,  # None: the default for such a model
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
        self.calibration = calibration
        self.alignment_head = alignment_head or AlignmentHead(shift=model.alignment_shift)
        self.limits = LengthLimits.of_model(model, words=longest_trained)

    @property
    def attends(self) -> bool:
        """False: the model reads one fixed vector, and there are no weights to look at."""
        return bool(self.model.cross)

    def translate(
        self,
        texts: Sequence[str],
        how: Search | None = None,
        *,
        constraints: Constraints | Sequence[Constraints | None] | None = None,
        record: bool = False,
        batch_tokens: int = BATCH_TOKENS,
        weights: bool = False,
        too_long: TooLong = "keep",
        progress: OnProgress | None = None,
        watch: OnStep | None = None,
    ) -> list[Translation]:
        """A translation a text, by a beam of 5 unless told `how`; of a blank text, a blank one.

        `constraints` are of all texts, or a list with those of each; `record` keeps the tree of each search. `weights`
        finds all attention now, in batches, which is quicker than for each result when it is asked for. `too_long` says
        what is done with a text over the model's limits: read whole, sentence by sentence, or not at all. `progress` is
        told of texts that are done, `watch` of the pieces of those at work: a long text takes minutes.
        """
        if isinstance(texts, str):
            raise UserError(f"translate takes a list of texts, got one string; write translate([{texts[:20]!r}])[0]")
        if isinstance(constraints, Sequence):
            check_same_length(texts=texts, constraints=constraints)
        options = _Options(how or DEFAULT_SEARCH, batch_tokens, record, weights, too_long, progress, watch)
        return self._translate(texts, list(islice(_each(constraints), len(texts))), 0, options)

    def translate_stream(
        self,
        lines: Iterable[str],
        how: Search | None = None,
        *,
        constraints: Constraints | Iterable[Constraints | None] | None = None,
        record: bool = False,
        batch_tokens: int = BATCH_TOKENS,
        weights: bool = False,
        too_long: TooLong = "keep",
        progress: OnProgress | None = None,
        watch: OnStep | None = None,
        chunk: int = CHUNK,
        first: int = 0,
    ) -> Iterator[Translation]:
        """The same for lines without end, `chunk` of them in memory at a time; `first` lines went before them, which
        decides what each draws."""
        options = _Options(how or DEFAULT_SEARCH, batch_tokens, record, weights, too_long, progress, watch)
        rest, every = iter(lines), _each(constraints)
        while some := list(islice(rest, chunk)):
            asked = list(islice(every, len(some)))
            if len(asked) < len(some):
                raise UserError(f"constraints of {first + len(asked)} lines, but there are more; expected one a line")
            yield from self._translate(some, asked, first, options)
            first += len(some)

    def attend(
        self, sources: Sequence[str], targets: Sequence[str], *, batch_tokens: int = BATCH_TOKENS
    ) -> list[PairAttention]:
        """What the model reads of each source when it is made to write the target: one teacher-forced pass."""
        check_same_length(sources=sources, targets=targets)
        pairs = [self.segments(*pair) for pair in zip(sources, targets, strict=True)]
        return self._attend(pairs, batch_tokens)

    def segments(self, source: str, target: str) -> tuple[SegmentedText, SegmentedText]:
        """A pair as the model has it, in pieces and words."""
        left, right = self.vocabularies.mask_pair(source, target)
        return (
            SegmentedText.from_text(left.text, self.vocabularies.source, left.shown),
            SegmentedText.from_text(right.text, self.vocabularies.target, right.shown),
        )

    def _translate(
        self, texts: Sequence[str], asked: Sequence[Constraints | None], first: int, options: "_Options"
    ) -> list[Translation]:
        """`first` is the place of texts[0] in the whole input: every text draws from a stream of its own."""
        cuts = [
            split_text(text, options.too_long, self.limits, self.vocabularies, constraints)
            for text, constraints in zip(texts, asked, strict=True)
        ]
        for number, one in enumerate(cuts, first + 1):
            if one.refused is not None:
                raise UserError(f"text {number}: {one.refused}; cut it, or give too_long='split'")
        places = [place for place, one in enumerate(cuts) for _ in one.parts]
        numbers = [first + place + (part << _PARTS) for place, one in enumerate(cuts) for part in range(len(one.parts))]
        left = [len(one.parts) for one in cuts]

        def done(some: list[int]) -> None:
            for i in some:
                left[places[i]] -= 1
            if options.progress is not None:
                options.progress(sum(left[place] == 0 for place in {places[i] for i in some}))

        whole = [part for one in cuts for part in one.parts]
        found = iter(self._translate_whole(whole, [asked[place] for place in places], numbers, options, done))
        results = []
        for text, one in zip(texts, cuts, strict=True):
            parts, notes = list(islice(found, len(one.parts))), () if one.note is None else (one.note,)
            if len(parts) > 1:
                results.append(join_parts(text, parts, options.how, notes))
            else:
                results.append(replace(parts[0], notes=(*notes, *parts[0].notes)) if notes else parts[0])
        return results

    def _translate_whole(
        self,
        texts: Sequence[str],
        asked: Sequence[Constraints | None],
        numbers: Sequence[int],  # each decides what its text draws
        options: "_Options",
        done: Callable[[list[int]], None],
    ) -> list[Translation]:
        how = options.how
        written = [place for place, text in enumerate(texts) if text.strip()]
        done([place for place, text in enumerate(texts) if not text.strip()])
        found: list[Sequence[Hypothesis]] = [[_blank(constraints)] for constraints in asked]
        trees: list[SearchTree | None] = [None] * len(texts)
        read = [self.vocabularies.mask(text) for text in texts]
        ids = [self.vocabularies.source.encode(read[place].text) for place in written]

        def found_of(chosen: list[int]) -> list[tuple[list[Hypothesis], SearchTree | None]]:
            source, readable = (rows.to(self.device) for rows in pad_sources([ids[i] for i in chosen]))
            indices = [numbers[written[i]] for i in chosen]
            rules = [self._rules(asked[written[i]], read[written[i]]) for i in chosen]
            pieces = self.vocabularies.target.tokens(range(self.model.target_size)) if options.record else None
            recorder = None if pieces is None else Recorder(pieces)
            results = run_search(
                self.model,
                source,
                readable,
                how,
                indices=indices,
                rules=rules,
                recorder=recorder,
                on_step=options.watch,
            )
            recorded = [recorder.trees[index] if recorder else None for index in indices]
            return list(zip(results, recorded, strict=True))

        lengths = [len(row) + 1 for row in ids]
        for chosen, results in self.in_batches(lengths, options.batch_tokens // how.beam, found_of):
            for i, (hypotheses, tree) in zip(chosen, results, strict=True):
                found[written[i]], trees[written[i]] = hypotheses[: how.n_best], tree
            done([written[i] for i in chosen])
        looked: list[PairAttention | None] = [None] * len(texts)
        if options.weights and self.attends:
            pairs = [self._segments(masked, best.tokens) for masked, (best, *_) in zip(read, found, strict=True)]
            looked = [*self._attend(pairs, options.batch_tokens)]
        return [self._translation(*result) for result in zip(texts, read, found, trees, looked, strict=True)]

    def _rules(self, constraints: Constraints | None, read: Masked) -> Rules | None:
        if constraints is None or constraints == Constraints():
            return None
        return Rules(constraints, self._lexicon.with_placeholders(read.shown))

    @cached_property
    def _lexicon(self) -> TokenBytes:
        return TokenBytes(self.vocabularies.target)

    def _translation(
        self,
        source: str,
        read: Masked,
        found: Sequence[Hypothesis],
        tree: SearchTree | None = None,
        looked: PairAttention | None = None,
    ) -> Translation:
        best, *others = found
        written = self.vocabularies.target.decode(best.tokens)
        attend: Callable[[], PairAttention] | None = None
        if looked is not None:
            attend = partial(_same, looked)
        elif self.attends:
            attend = partial(self._attend_one, read, best.tokens)
        return Translation(
            source=source,
            text=read.restore(written),
            tokens=tuple(self.vocabularies.target.tokens(best.tokens, read.shown)),
            score=best.score,
            log_prob=best.log_prob,
            token_log_probs=best.token_log_probs,
            ended=best.ended,
            alternatives=tuple(self._translation(source, read, [other]) for other in others),
            notes=read.notes(written),
            unmet=best.unmet,
            tree=tree,
            attend=attend,
            cut=partial(SegmentedText.from_ids, best.tokens, self.vocabularies.target, read.shown),
            calibration=self.calibration,
        )

    def _segments(self, source: Masked, target: Sequence[int]) -> tuple[SegmentedText, SegmentedText]:
        return (
            SegmentedText.from_text(source.text, self.vocabularies.source, source.shown),
            SegmentedText.from_ids(target, self.vocabularies.target, source.shown),
        )

    def _attend_one(self, source: Masked, target: Sequence[int]) -> PairAttention:
        (one,) = self._attend([self._segments(source, target)], BATCH_TOKENS)
        return one

    def _attend(self, pairs: Sequence[tuple[SegmentedText, SegmentedText]], batch_tokens: int) -> list[PairAttention]:
        if not self.attends:
            raise UserError(NO_ATTENTION)
        found: dict[int, PairAttention] = {}

        def read(chosen: list[int]) -> list[npt.NDArray[np.float32]]:
            sources, targets = zip(*(pairs[i] for i in chosen), strict=True)
            batch = Batch.of([s.ids for s in sources], [t.ids for t in targets], chosen).to(self.device)
            with torch.inference_mode(), self.model.trace() as trace:
                self.model(batch.source, batch.source_readable, batch.target_in)
            return [trace[name].float().cpu().numpy() for name in self.model.cross]  # each (B, H, T + 1, S + 1)

        for part, sites in self.in_batches([max(len(s.ids), len(t.ids)) + 1 for s, t in pairs], batch_tokens, read):
            for row, i in enumerate(part):
                found[i] = PairAttention.from_batch(
                    *pairs[i],
                    [site[row] for site in sites],
                    default_head=self.alignment_head,
                    tokeniser=self.vocabularies.source,
                )
        return [found[i] for i in range(len(pairs))]

    def in_batches(
        self, lengths: Sequence[int], tokens: int, work: Callable[[list[int]], Done]
    ) -> Iterator[tuple[list[int], Done]]:
        """The places of texts of like length, and what `work` makes of them; fewer at a time where memory ends."""
        for chosen in batch_by_length(lengths, tokens):
            with self._reading():
                parts = run_in_halves(chosen, work, split_in_half, self.device)
            yield from parts

    @contextmanager
    def _reading(self) -> Iterator[None]:
        training = self.model.training
        self.model.eval()
        try:
            yield
        except RuntimeError as error:
            if not is_out_of_memory(error):
                raise
            raise UserError(
                f"{self.device} has not enough memory for a single text of this length; cut it into sentences, "
                "search with a smaller --beam, or use --device cpu"
            ) from error
        finally:
            self.model.train(training)


class _Options(NamedTuple):
    how: Search
    batch_tokens: int
    record: bool
    weights: bool
    too_long: TooLong
    progress: OnProgress | None
    watch: OnStep | None


_BLANK = Hypothesis(tokens=(), token_log_probs=(), log_prob=0.0, score=0.0, ended=True)


def _blank(constraints: Constraints | None) -> Hypothesis:
    asked = () if constraints is None else constraints.required
    return replace(_BLANK, unmet=tuple(f"{phrase!r}: the source is blank" for phrase in asked))


def _each(constraints: Constraints | Iterable[Constraints | None] | None) -> Iterator[Constraints | None]:
    return repeat(constraints) if constraints is None or isinstance(constraints, Constraints) else iter(constraints)


def _same(looked: PairAttention) -> PairAttention:
    return looked
