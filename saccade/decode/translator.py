"""A model with its vocabularies: from texts to translations, and from pairs to their attention.

Texts are sorted by length and batched for speed. Results are in the order of the texts, and the result of a text does
not depend on the other texts.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property, partial
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar, get_args

import torch

from saccade.align.attention import NO_ATTENTION, AlignmentHead, PairAttention, SegmentedText
from saccade.data.batching import Batch, batch_by_length, pad_sources
from saccade.decode.batch_sizes import BATCH_TOKENS, choose_batch_tokens, choose_chunk
from saccade.decode.constraints.choice import Rules
from saccade.decode.constraints.outline import TokenBytes
from saccade.decode.long_texts import SplitText, join_parts, split_text
from saccade.decode.options import DEFAULT_SEARCH, Constraints, Search, TooLong
from saccade.decode.parts import CallOptions, Engine, LengthLimits, OnProgress, TextPart, blank_hypothesis
from saccade.decode.search.hypotheses import Hypothesis
from saccade.decode.search.loop import OnStep, run_search
from saccade.decode.search.recording import Recorder
from saccade.decode.shortlist.narrowed_model import require_shortlist, why_whole_vocabulary
from saccade.decode.shortlist.tables import Candidates, Shortlist
from saccade.decode.translation import Translation
from saccade.device import find_device, is_out_of_memory, run_in_halves, split_in_half
from saccade.errors import UserError, check_same_length
from saccade.models.contract import Seq2Seq
from saccade.text import Masked, Vocabularies, words

if TYPE_CHECKING:
    from saccade.decode.confidence import Calibration

_PART_BITS = 40  # the parts of a long text are sampled by numbers that no whole text has

Item = tuple[str, Constraints | None]
IdPair = tuple[Sequence[int], Sequence[int]]
Result = TypeVar("Result")


class Translator:
    """Moves the model to the device. The model is in evaluation mode only during a call, so that a model that is being
    trained can be shared."""

    def __init__(
        self,
        model: Seq2Seq[Any, Any],
        vocabularies: Vocabularies,
        device: str | torch.device = "auto",
        *,
        longest_trained: int | None = None,  # in source words
        calibration: "Calibration | None" = None,
        alignment_head: AlignmentHead | None = None,  # None: the default for such a model
        shortlist: Shortlist | None = None,
    ) -> None:
        sizes = len(vocabularies.source), len(vocabularies.target)
        if sizes != (model.source_size, model.target_size):
            raise UserError(
                f"vocabularies of {sizes[0]} and {sizes[1]} tokens do not fit a model of "
                f"{model.source_size} and {model.target_size}; expected those that it was trained with"
            )
        self.device, self.vocabularies, self.calibration = find_device(device), vocabularies, calibration
        self.model = model.to(self.device)
        self.alignment_head = alignment_head or AlignmentHead(shift=model.alignment_shift)
        self.limits = LengthLimits.from_model(model, words=longest_trained)
        self.shortlist = shortlist

    @property
    def attends(self) -> bool:
        """False for a model that reads the source as one fixed vector, without attention."""
        return bool(self.model.cross)

    def excess(self, text: str) -> str | None:
        """By how much a text is too long for the model, or None. The text's own size comes before the first comma."""
        masked, source, limits = self.vocabularies.mask(text).text, self.vocabularies.source, self.limits
        count = len(words(source.split_tag(masked)[1]))
        if limits.words is not None and count > limits.words:
            return f"{count} words, more than the {limits.words} of the longest text that the model was trained on"
        if limits.tokens is not None and (count := len(source.encode(masked)) + 1) > limits.tokens:
            return f"{count} tokens with the end symbol, more than the {limits.tokens} positions of the model"
        return None

    def split(self, text: str, too_long: TooLong, constraints: Constraints | None = None) -> SplitText:
        """The parts of a text to translate; a text within the limits has one."""
        if too_long not in get_args(TooLong):
            raise UserError(f"too_long must be {', '.join(get_args(TooLong))}; got {too_long!r}")
        excess = None if too_long == "keep" else self.excess(text)
        return SplitText([text]) if excess is None else split_text(text, excess, too_long, self, constraints)

    def tagger(self, tag: str | None) -> Callable[[str], str]:
        """A function that puts the tag before a text; a blank text stays blank."""
        if tag is not None and tag not in (tags := self.vocabularies.source.tags):
            raise UserError(f"--tag {tag}: the tags that the model was trained with are {', '.join(tags) or 'none'}")
        return lambda text: text if tag is None or not text.strip() else f"{tag} {text}"

    def translate(
        self,
        texts: Sequence[str],
        search: Search = DEFAULT_SEARCH,
        *,
        constraints: Constraints | Sequence[Constraints | None] | None = None,  # for all texts, or one item per text
        record: bool = False,  # keep the tree of each search, as `Translation.tree`
        batch_tokens: int | None = None,  # None: as many as suit the device
        weights: bool = False,  # compute all attention now, in batches, instead of one by one when it is first read
        too_long: TooLong = "keep",  # what to do with a text over the model's limits
        progress: OnProgress | None = None,  # called as texts are finished
        on_step: OnStep | None = None,  # called after each token, since a long text may take minutes
        engine: Engine | None = None,  # searches in place of PyTorch, where it can
    ) -> list[Translation]:
        """Translate each text. The translation of a blank text is blank."""
        if isinstance(texts, str):
            raise UserError(f"translate takes a list of texts, got one string; write translate([{texts[:20]!r}])[0]")
        if isinstance(constraints, Sequence):
            check_same_length(texts=texts, constraints=constraints)
            items = list(zip(texts, constraints, strict=True))
        else:
            items = [(text, constraints) for text in texts]
        options = CallOptions(search, record, batch_tokens, weights, too_long, progress, on_step, engine)
        return self._translate(items, 0, options)

    def translate_stream(
        self,
        items: Iterable[str | Item],
        search: Search = DEFAULT_SEARCH,
        *,
        record: bool = False,
        batch_tokens: int | None = None,  # None: as many as suit the device
        weights: bool = False,
        too_long: TooLong = "keep",
        progress: OnProgress | None = None,
        on_step: OnStep | None = None,
        engine: Engine | None = None,
        chunk: int | None = None,
        first: int = 0,
    ) -> Iterator[Translation]:
        """Translate a stream of any length, `chunk` texts at a time. An item is a text, or (text, constraints).

        `first` is the number of the first item, which decides its samples. The other options are as in `translate`.
        """
        options = CallOptions(search, record, batch_tokens, weights, too_long, progress, on_step, engine)
        rest, chunk = iter(items), chunk or choose_chunk(self.device)
        while batch := [(item, None) if isinstance(item, str) else item for item in islice(rest, chunk)]:
            yield from self._translate(batch, first, options)
            first += len(batch)

    def attend(
        self, sources: Sequence[str], targets: Sequence[str], *, batch_tokens: int = BATCH_TOKENS
    ) -> list[PairAttention]:
        """The attention of the model when it is forced to write each target."""
        check_same_length(sources=sources, targets=targets)
        return self._attend([self.segments(*pair) for pair in zip(sources, targets, strict=True)], batch_tokens)

    def segments(self, source: str, target: str) -> tuple[SegmentedText, SegmentedText]:
        """A pair in the model's tokens, and in words."""
        left, right = self.vocabularies.mask_pair(source, target)
        return (
            SegmentedText.from_text(left.text, self.vocabularies.source, left.shown),
            SegmentedText.from_text(right.text, self.vocabularies.target, right.shown),
        )

    def map_batches(
        self, lengths: Sequence[int], tokens: int, work: Callable[[list[int]], Result]
    ) -> Iterator[tuple[list[int], Result]]:
        """Call `work` on the places of texts of similar length, in smaller batches where memory does not suffice."""
        for places in batch_by_length(lengths, tokens):
            training = self.model.training
            self.model.eval()
            try:
                results = run_in_halves(places, work, split_in_half, self.device)
            except RuntimeError as error:
                if not is_out_of_memory(error):
                    raise
                advice = "split it into sentences, search with a smaller --beam, or use --device cpu"
                reason = f"{self.device} does not have enough memory for a single text of this length"
                raise UserError(f"{reason}; {advice}") from error
            finally:
                self.model.train(training)
            yield from results

    def force(self, pairs: Sequence[IdPair], read: Callable[[Batch], list[Result]], tokens: int) -> list[Result]:
        """The results of `read`, one per pair, which it gets in batches of at most so many tokens: teacher forcing."""

        def run(places: list[int]) -> list[Result]:
            sources, targets = zip(*(pairs[i] for i in places), strict=True)
            with torch.inference_mode():
                return read(Batch.of(sources, targets, places).to(self.device))

        lengths = [max(len(source), len(target)) + 1 for source, target in pairs]
        results: dict[int, Result] = {}
        for places, rows in self.map_batches(lengths, tokens, run):
            results |= zip(places, rows, strict=True)
        return [results[i] for i in range(len(pairs))]

    def _translate(self, items: Sequence[Item], first: int, options: CallOptions) -> list[Translation]:
        """`first` is the number of items[0] in the whole input."""
        texts = [self.split(text, options.too_long, rules) for text, rules in items]
        for number, text in enumerate(texts, first + 1):
            if text.refused is not None:
                raise UserError(f"text {number}: {text.refused}; cut it, or give too_long='split'")
        parts = [
            TextPart(place, part, self.vocabularies.mask(part), constraints, first + place + (k << _PART_BITS))
            for place, ((_, constraints), text) in enumerate(zip(items, texts, strict=True))
            for k, part in enumerate(text.parts)
        ]
        unfinished = [len(text.parts) for text in texts]
        for finished in self._search(parts, options):
            for part in finished:
                unfinished[part.place] -= 1
            if options.progress is not None:
                options.progress(sum(unfinished[place] == 0 for place in {part.place for part in finished}))
        if options.weights and self.attends:
            pairs = [self._segments(part.masked, part.hypotheses[0].tokens) for part in parts]
            for part, attention in zip(parts, self._attend(pairs, options.batch_tokens or BATCH_TOKENS), strict=True):
                part.attention = attention
        rest, results = iter(parts), []
        for (source, _), text in zip(items, texts, strict=True):
            translated = [self._translation(part, part.hypotheses) for part in islice(rest, len(text.parts))]
            notes = () if text.note is None else (text.note,)
            if len(translated) > 1:
                results.append(join_parts(source, translated, options.search, notes))
            else:
                results += [replace(part, notes=(*notes, *part.notes)) for part in translated]
        return results

    def _search(self, parts: Sequence[TextPart], options: CallOptions) -> Iterator[list[TextPart]]:
        """Find the hypotheses of each part; yield the parts that have them, batch by batch."""
        blank = [part for part in parts if self._has_blank_result(part)]
        for part in blank:
            part.hypotheses = [blank_hypothesis(part.constraints)]
        yield blank
        written = [part for part in parts if not self._has_blank_result(part)]
        ids = [self.vocabularies.source.encode(part.masked.text) for part in written]
        if options.engine is not None and not options.record:
            yield from self._search_by_engine(options.engine, written, ids, options)
            left = [i for i, part in enumerate(written) if not part.hypotheses]
            written, ids = [written[i] for i in left], [ids[i] for i in left]
        search, on_step = options.search, options.on_step
        texts = self.vocabularies.target.tokens(range(self.model.target_size)) if options.record else None

        def run(places: list[int]) -> list[list[Hypothesis]]:
            batch, recorder = [written[i] for i in places], Recorder(texts) if options.record else None
            source, readable = (rows.to(self.device) for rows in pad_sources([ids[i] for i in places]))
            indices, rules = [part.index for part in batch], [self._rules(part) for part in batch]
            results = run_search(
                self.model,
                source,
                readable,
                search,
                indices=indices,
                rules=rules,
                recorder=recorder,
                on_step=on_step,
                candidates=self._candidates([ids[i] for i in places], rules, options),
                most=search.n_best,
            )
            if recorder is not None:
                for part in batch:
                    part.tree = recorder.trees[part.index]
            return results

        lengths = [len(row) + 1 for row in ids]
        tokens = options.batch_tokens or choose_batch_tokens(self.device)
        for places, results in self.map_batches(lengths, tokens // search.beam, run):
            for i, hypotheses in zip(places, results, strict=True):
                written[i].hypotheses = hypotheses[: search.n_best]
            yield [written[i] for i in places]

    def _has_blank_result(self, part: TextPart) -> bool:
        """A language model writes a text without a source."""
        return self.model.reads_source and part.is_blank()

    def _search_by_engine(
        self, engine: Engine, parts: Sequence[TextPart], ids: Sequence[Sequence[int]], options: CallOptions
    ) -> Iterator[list[TextPart]]:
        """Find the hypotheses of the parts that the engine can search."""
        free, search = [i for i, part in enumerate(parts) if not part.is_constrained()], options.search
        tokens = options.batch_tokens or choose_batch_tokens(self.device)
        for places, results in engine.search([ids[i] for i in free], search, tokens // search.beam):
            batch = [parts[free[place]] for place in places]
            for part, hypotheses in zip(batch, results, strict=True):
                part.hypotheses = (hypotheses or [])[: search.n_best]
            yield [part for part in batch if part.hypotheses]

    def _candidates(
        self, sources: Sequence[Sequence[int]], rules: Sequence[Rules | None], options: CallOptions
    ) -> Candidates | None:
        """The tokens to score; None: all of them."""
        if not options.search.shortlist:
            return None
        shortlist = require_shortlist(self.model, self.shortlist)
        constrained = [place for place, rule in enumerate(rules) if rule is not None]
        whole = why_whole_vocabulary(options.search, constrained=bool(constrained), recorded=options.record)
        return shortlist.choose(sources, unlimited=constrained, keeps_ids=whole is not None)

    def _rules(self, part: TextPart) -> Rules | None:
        if part.constraints is None or not part.is_constrained():
            return None
        return Rules(part.constraints, self._token_bytes.with_placeholders(part.masked.shown))

    @cached_property
    def _token_bytes(self) -> TokenBytes:
        return TokenBytes(self.vocabularies.target)

    def _translation(self, part: TextPart, hypotheses: Sequence[Hypothesis]) -> Translation:
        """The first hypothesis, with the others as alternatives."""
        (best, *others), target, shown = hypotheses, self.vocabularies.target, part.masked.shown
        written = target.decode(best.tokens)
        is_best = best is part.hypotheses[0]

        def attend() -> PairAttention:
            if is_best and part.attention is not None:
                return part.attention
            return self._attend([self._segments(part.masked, best.tokens)], BATCH_TOKENS)[0]

        return Translation(
            **{**vars(best), "tokens": tuple(target.tokens(best.tokens, shown))},
            source=part.text,
            text=part.masked.restore(written),
            alternatives=tuple(self._translation(part, [other]) for other in others),
            notes=part.masked.notes(written),
            tree=part.tree if is_best else None,
            attend=attend if self.attends else None,
            segment=partial(SegmentedText.from_ids, best.tokens, target, shown),
            calibration=self.calibration,
        )

    def _segments(self, source: Masked, target: Sequence[int]) -> tuple[SegmentedText, SegmentedText]:
        return (
            SegmentedText.from_text(source.text, self.vocabularies.source, source.shown),
            SegmentedText.from_ids(target, self.vocabularies.target, source.shown),
        )

    def _attend(self, pairs: Sequence[tuple[SegmentedText, SegmentedText]], batch_tokens: int) -> list[PairAttention]:
        if not self.attends:
            raise UserError(NO_ATTENTION)

        def read(batch: Batch) -> list[PairAttention]:
            with self.model.trace() as trace:
                self.model(batch.source, batch.source_readable, batch.target_in)
            layers = [trace[name].float().cpu().numpy() for name in self.model.cross]  # each (B, H, T + 1, S + 1)
            build = partial(
                PairAttention.from_batch, default_head=self.alignment_head, tokeniser=self.vocabularies.source
            )
            places: list[int] = batch.indices.tolist()
            return [build(*pairs[i], [layer[row] for layer in layers]) for row, i in enumerate(places)]

        return self.force([(source.ids, target.ids) for source, target in pairs], read, batch_tokens)
