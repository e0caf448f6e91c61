"""Translate the lines of a file: check, translate in chunks, write and draw them."""

import json
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import chain, islice
from pathlib import Path
from time import monotonic
from typing import Any

from saccade.align.attention import NO_ATTENTION
from saccade.decode.loading import load
from saccade.decode.long_texts import SplitText, split_text
from saccade.decode.mbr import minimise_risk
from saccade.decode.options import Constraints, FileOptions, RerankingModels, Search
from saccade.decode.records import JsonOutput, Record, RecordFile, read_constraints
from saccade.decode.reranking import Reranker, RerankingWeights
from saccade.decode.search.loop import OnStep
from saccade.decode.translation import Translation
from saccade.decode.translator import Translator
from saccade.decode.unknown_words import read_dictionary, replace_unknown
from saccade.errors import Progress, UserError, count_up, plural, say
from saccade.journal import DirectOutput, Journal, open_output

Choose = Callable[[Iterator[Translation]], Iterator[Translation]]

_UNDATED = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}
SECONDS_BETWEEN_MESSAGES = 10.0  # about the progress of one long search


def translate_file(
    translator: Translator,
    file: str,
    options: FileOptions,
    search: Search,
    constraints: Constraints | None = None,
    rerankers: RerankingModels | None = None,
    *,
    command: Mapping[str, Any],
    lines: Iterable[str] | None = None,
    write: Callable[[str], None] = print,
    progress: Progress | None = None,
) -> None:
    """Translate each line of `file`, or of standard input ("-"), and pass it to `write`, or to `options.out`.

    `command` must be the same for an interrupted command to continue. `lines` are typed one by one, replace the file.
    """
    if constraints == Constraints():
        constraints = None
    if options.constraints_file is not None and constraints is not None:
        raise UserError(
            f"--constraints {options.constraints_file} has those of each line; give it without --prefix, --outline, "
            "--include and --exclude"
        )
    if (options.heatmap or options.plot is not None) and not translator.attends:
        raise UserError(f"--{'heatmap' if options.heatmap else 'plot'}: {NO_ATTENTION}")
    if lines is not None:
        options = replace(options, chunk=1)
    work = FileTranslation(
        translator=translator,
        search=search,
        options=options,
        add_tag=check_tag(options.tag, translator),
        choose=choose_by(options, rerankers or RerankingModels(), translator, search),
        fill=fill_unknown(options, translator),
    )
    source = RecordFile.open(file, lines, jsonl=options.jsonl_in, field=options.field)
    records, total = _checked(source, constraints, work)
    remaining: Iterator[Record] = records
    if options.plot is not None:
        remaining, several = (records, total != 1) if total or lines is not None else _several(records)
        work.draw = draw_figures(options.plot, options, several=several)
    output = open_output(options.out, command, write=write, tree=options.tree, restart=options.restart)
    with closing(records), output as journal:
        work.run(remaining, journal, None if progress is None else count_up(progress, total))


@dataclass(kw_only=True)
class FileTranslation:
    """From records to their output."""

    translator: Translator
    search: Search
    options: FileOptions
    add_tag: Callable[[str], str]
    choose: Choose | None  # among all hypotheses of the search
    fill: Callable[[Translation], Translation] | None  # replaces unknown words
    draw: Callable[[Translation, int], None] | None = None

    def check(self, source: RecordFile, record: Record) -> None:
        """Refuse a record that cannot be processed, before any work is done."""
        if self._json is not None and (clash := self._json.clash(record, self._fields)):
            raise source.mistake(record.number, clash)
        if (refused := self._split(record).refused) is not None:
            raise source.mistake(record.number, f"{refused}; cut it, or give --too-long split or keep")

    def run(
        self, records: Iterator[Record], output: Journal | DirectOutput, advance: Callable[[int], None] | None
    ) -> None:
        waiting = deque[Record]()
        records = output.skip_finished(records, _mark)
        if advance is not None:
            advance(output.lines)

        def items() -> Iterator[tuple[str, Constraints | None]]:
            for record in records:
                waiting.append(record)
                if (note := self._split(record).note) is not None:  # before the work, which may take minutes
                    say(f"saccade: line {record.number}: {note}")
                yield self.add_tag(record.text), record.constraints

        results = self.translator.translate_stream(
            items(),
            self.search if self.choose is None else replace(self.search, n_best=self.search.beam),
            record=self.options.tree is not None,
            batch_tokens=self.options.batch_tokens,
            weights=self.choose is None and self._needs_attention,
            too_long=self.options.too_long,
            progress=advance,
            on_step=report_long_search(),
            chunk=self.options.chunk,
            first=output.lines,
        )
        for result in results if self.choose is None else self.choose(results):
            record = waiting.popleft()
            self._write(record, result if self.fill is None else self.fill(result), output)
            output.note(_mark(record))
            if not waiting:  # the whole chunk is written
                output.commit(record.number)

    def _write(self, record: Record, result: Translation, output: Journal | DirectOutput) -> None:
        output.write("out", self._line(record, result))
        if self.options.tree is not None:
            output.write("tree", json.dumps({"line": record.number, **_tree(result)}, ensure_ascii=False))
        announced = self._split(record).note if result.notes else None
        for note in (*result.notes, *(f"not met: {reason}" for reason in result.unmet)):
            if note != announced:
                say(f"saccade: line {record.number}: {note}")
        if self.options.heatmap and result.text.strip():
            result.show(by=self.options.by)
        if self.draw is not None:
            self.draw(result, record.number)

    def _split(self, record: Record) -> SplitText:
        text, translator = self.add_tag(record.text), self.translator
        return split_text(text, self.options.too_long, translator.limits, translator.vocabularies, record.constraints)

    def _line(self, record: Record, result: Translation) -> str:
        if self._json is not None:
            return self._json.line(record, {"line": record.number, **result.as_dict(by=self.options.by)})
        if self.search.n_best == 1:
            return " ".join(result.text.split("\n"))
        ranked = [(other.score, " ".join(other.text.split("\n"))) for other in result.n_best]
        return "\n".join(f"{record.number}\t{score:.4f}\t{text}" for score, text in ranked)

    @property
    def _json(self) -> JsonOutput | None:
        return JsonOutput(into=self.options.into) if self.options.jsonl else None

    @property
    def _needs_attention(self) -> bool:
        return self.options.jsonl or self.options.heatmap or self.draw is not None or self.fill is not None

    @cached_property
    def _fields(self) -> frozenset[str]:
        """The fields of the output."""
        (blank,) = self.translator.translate([""], self.search)
        return frozenset({"line", *blank.as_dict()})


def check_tag(tag: str | None, translator: Translator) -> Callable[[str], str]:
    """A function that puts the tag before a text; a blank text stays blank."""
    if tag is not None and tag not in (tags := translator.vocabularies.source.tags):
        raise UserError(f"--tag {tag}: the tags that the model was trained with are {', '.join(tags) or 'none'}")
    return lambda text: text if tag is None or not text.strip() else f"{tag} {text}"


def fill_unknown(options: FileOptions, translator: Translator) -> Callable[[Translation], Translation] | None:
    if not options.replace_unknown and options.dictionary is None:
        return None
    if not translator.attends:
        raise UserError(f"--replace-unknown: {NO_ATTENTION}")
    dictionary = {} if options.dictionary is None else read_dictionary(options.dictionary)
    return partial(replace_unknown, vocabularies=translator.vocabularies, dictionary=dictionary)


def load_reranker(translator: Translator, models: RerankingModels, weights: dict[str, float] | None = None) -> Reranker:
    folders = {"right_to_left": models.right_to_left, "channel": models.channel, "prior": models.prior}
    loaded: dict[str, Any] = {
        name: load(folder, device=translator.device) for name, folder in folders.items() if folder is not None
    }
    return Reranker(translator=translator, prior_source=models.prior_source, weights=weights or {}, **loaded)


def choose_by(options: FileOptions, models: RerankingModels, translator: Translator, search: Search) -> Choose | None:
    """A function that ranks all hypotheses of the search again and keeps the best; None: the search's own order."""
    should_rerank = options.rerank_weights is not None or models != RerankingModels()
    if options.mbr is None and not should_rerank:
        return None
    if options.mbr is not None and should_rerank:
        raise UserError(f"--mbr {options.mbr} and reranking models each choose a translation; give one of them")
    if search.beam == 1:
        raise UserError("--beam 1 finds one hypothesis, and there is nothing to choose from; give --beam 10, say")
    if should_rerank:
        weights = None if options.rerank_weights is None else read_weights(options.rerank_weights)
        reranker = load_reranker(translator, models, weights)

    def rank(results: Iterator[Translation]) -> Iterator[Translation]:
        if options.mbr is None:
            return reranker.rerank_stream(results, chunk=options.chunk)
        weigh: Any = "count" if search.sample else "probability"
        return (minimise_risk(result, options.mbr, weigh=weigh) for result in results)

    return lambda results: (
        replace(result, alternatives=result.alternatives[: search.n_best - 1]) for result in rank(results)
    )


def read_weights(text: str) -> dict[str, float]:
    """From a file of `saccade rerank`, or from "model=1,length=0"."""
    if Path(text).is_file() or "=" not in text:
        return RerankingWeights.load(Path(text)).weights
    try:
        pairs = (pair.split("=") for pair in text.split(","))
        return {name.strip().replace("-", "_"): float(value) for name, value in pairs}
    except ValueError:
        raise UserError(f"--rerank-weights {text}: expected a file, or such as model=1,length=0,channel=0.5") from None


def report_long_search() -> OnStep:
    """Report the progress of a long search every few seconds: one long text may take minutes."""
    last, before = monotonic(), 0

    def watch(written: int, most: int) -> None:
        nonlocal last, before
        if written < before:  # another search
            last = monotonic()
        before = written
        if monotonic() - last >= SECONDS_BETWEEN_MESSAGES:
            say(f"saccade: a long text: {plural(written, 'token')} written, of at most {most:,}")
            last = monotonic()

    return watch


def _checked(
    source: RecordFile, constraints: Constraints | None, work: FileTranslation
) -> tuple[Generator[Record, None, None], int | None]:
    """The records, and their number where it is known beforehand: a file is read through once, so that a mistake in
    its last line is reported before hours of work, not after."""
    file = work.options.constraints_file

    def checked() -> Generator[Record, None, None]:
        for record in source.with_constraints(constraints, file):
            work.check(source, record)
            yield record

    if source.is_read_once:
        if file is not None:
            deque(read_constraints(file), maxlen=0)
        return checked(), None
    total = sum(1 for _ in checked())
    if file is not None and (lines := sum(1 for _ in read_constraints(file))) != total:
        raise UserError(f"{file}: {lines} lines, for {total} to translate; expected as many")
    return checked(), total


def _several(records: Iterator[Record]) -> tuple[Iterator[Record], bool]:
    """Whether there is more than one."""
    first = list(islice(records, 2))
    return chain(first, records), len(first) > 1


def _mark(record: Record) -> str:
    return f"{record.line}\0{record.constraints}"


def _tree(result: Translation) -> dict[str, Any]:
    if result.parts:
        return {"parts": [_tree(part) for part in result.parts]}
    return result.tree.as_dict() if result.tree else {}


def draw_figures(path: Path, options: FileOptions, *, several: bool) -> Callable[[Translation, int], None]:
    """A function that draws a translation to `path`, or each of several to a numbered file."""
    shown: set[str] = set()

    def say_once(note: str) -> None:
        if note not in shown:
            say(f"saccade: {note}")
        shown.add(note)

    def draw(result: Translation, number: int) -> None:
        if not result.text.strip():
            return
        place = path.with_stem(f"{path.stem}-{number}") if several else path
        result.plot(by=options.by, say=say_once)
        from matplotlib import pyplot, rc_context

        try:
            with rc_context({"svg.hashsalt": "saccade"}):  # the same figure is the same file
                pyplot.savefig(place, metadata=_UNDATED.get(place.suffix))
        except OSError as error:
            raise UserError(f"{place}: cannot be written: {error.strerror}") from error
        finally:
            pyplot.close()

    return draw
