"""Translate the lines of a file: read and check them, translate them in chunks, write and draw the translations.

A line is a text, or a JSON object with a text in it. The output has one line per line.
"""

import json
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import chain, islice, repeat
from pathlib import Path
from time import monotonic
from typing import Any

from saccade.align.attention import NO_ATTENTION
from saccade.data import read_lines
from saccade.data.sources import get_text
from saccade.data.text_files import display_name, is_read_once, line_error
from saccade.decode.batch_sizes import CHUNK
from saccade.decode.explaining import search_paths
from saccade.decode.long_texts import SplitText
from saccade.decode.options import Constraints, FileOptions, RerankingOptions, Search
from saccade.decode.parts import Engine
from saccade.decode.reranking import Rank, rerank_by
from saccade.decode.search.loop import OnStep
from saccade.decode.shortlist.narrowed_model import require_shortlist
from saccade.decode.translation import Translation
from saccade.decode.translator import Translator
from saccade.decode.unknown_words import read_dictionary, replace_unknown
from saccade.errors import Progress, UserError, count_up, plural, say
from saccade.files import parse_json
from saccade.inspect.figures import save_figure
from saccade.journal import DirectOutput, Journal, open_output

_SOURCE = "source"
SECONDS_BETWEEN_MESSAGES = 10.0  # about the progress of one long search


def translate_file(
    translator: Translator,
    file: str,
    options: FileOptions,
    search: Search,
    constraints: Constraints,
    rerankers: RerankingOptions,
    *,
    command: Mapping[str, Any],
    lines: Iterable[str] | None = None,
    write: Callable[[str], None] = print,
    progress: Progress | None = None,
    engine: Engine | None = None,
) -> None:
    """Translate each line of `file`, or of standard input ("-"), and pass it to `write`, or to `options.out`.

    `command` must be the same for an interrupted command to continue. `lines`, typed one by one, replace the file.
    """
    check_options(translator, options, constraints)
    if lines is not None:
        options = replace(options, chunk=1)
    if options.explain:
        explain_search(translator, options, search, constraints)
    work = FileTranslation(translator, options, search, rerankers, engine)
    source = RecordFile(file, lines, options, None if constraints == Constraints() else constraints, work.check)
    total, records = source.count(), source.records()
    first = list(islice(records, 2)) if options.plot is not None and lines is None else []
    work.draws_several = lines is not None or len(first) > 1
    out = None if options.out is None else Path(options.out)
    output = open_output(out, command, write=write, tree=options.tree, restart=options.restart)
    with closing(records), output as journal:
        work.run(chain(first, records), journal, count_up(progress, total))


def check_options(translator: Translator, options: FileOptions, constraints: Constraints) -> None:
    """Refuse options that contradict each other or that the model cannot follow."""
    if options.constraints_file is not None and constraints != Constraints():
        raise UserError(
            f"--constraints {options.constraints_file} has those of each line; give it without --prefix, --outline, "
            "--include and --exclude"
        )
    needs_attention = {"heatmap": options.heatmap, "plot": options.plot, "replace-unknown": options.replaces_unknown}
    for name in filter(needs_attention.get, needs_attention):
        if not translator.attends:
            raise UserError(f"--{name}: {NO_ATTENTION}")


def explain_search(translator: Translator, options: FileOptions, search: Search, constraints: Constraints) -> None:
    constrained = constraints != Constraints() or options.constraints_file is not None
    recorded, model = options.tree is not None, translator.model
    for path in search_paths(model, translator.device, search, constrained=constrained, recorded=recorded):
        say(f"saccade: {path}")


@dataclass(frozen=True, kw_only=True)
class Record:
    """One line of the input."""

    number: int  # from 1
    line: str
    text: str
    fields: frozenset[str] = frozenset()  # of an object
    constraints: Constraints | None = None


@dataclass(frozen=True)
class RecordFile:
    """The lines of a file, or those that are typed in place of it."""

    file: str  # or - for standard input
    lines: Iterable[str] | None
    options: FileOptions
    constraints: Constraints | None  # of all lines
    check: Callable[[Record], str | None]  # why a record cannot be processed
    first: int = 0  # lines of the file before these lines

    def count(self) -> int | None:
        """The number of lines, if they can be read again. They are all checked, so that a mistake in the last one is
        reported before hours of work, not after."""
        file = self.options.constraints_file
        lines = None if file is None else sum(1 for _ in read_constraints(file))
        if self.lines is not None or is_read_once(self.file):
            return None
        total = sum(1 for _ in self.records())
        check_constraint_count(file, lines, total)
        return total

    def records(self) -> Generator[Record, None, None]:
        file = self.options.constraints_file
        added = repeat(self.constraints) if file is None else islice(read_constraints(file), self.first, None)
        for number, line in enumerate(read_lines(self.file) if self.lines is None else self.lines, self.first + 1):
            record = self._parse(number, line)
            try:
                constraints = next(added)
            except StopIteration:
                count = f"{number - 1} lines"
                raise UserError(f"{file}: {count}, but there are more to translate; expected as many") from None
            if record.constraints is not None and (self.constraints is not None or file is not None):
                raise line_error(self.file, number, "has constraints of its own; give no others by options")
            if constraints is not None:
                record = replace(record, constraints=constraints)
            if (mistake := self.check(record)) is not None:
                raise line_error(self.file, number, mistake)
            yield record

    def _parse(self, number: int, line: str) -> Record:
        field, name = self.options.field, Path(self.file).name.lower().removesuffix(".gz").removesuffix(".xz")
        if not line.strip() or not (self.options.jsonl_in or name.endswith((".jsonl", ".ndjson"))):
            return Record(number=number, line=line, text=line)
        try:
            values = parse_json(line)
        except ValueError as error:
            raise line_error(self.file, number, f"not JSON ({error}); expected one object per line") from None
        if not isinstance(values, dict):
            expected = f"{{{json.dumps(field)}: …}}"
            raise line_error(self.file, number, f"{line[:20]}… is no object; expected {expected}")
        text = get_text(values, field, f"{display_name(self.file)}:{number}", "name the one to translate by --field")
        try:
            constraints = None if values.get("constraints") is None else Constraints.from_json(values["constraints"])
        except UserError as error:
            raise line_error(self.file, number, f"constraints: {error}") from None
        return Record(number=number, line=line.strip(), text=text, fields=frozenset(values), constraints=constraints)


def check_constraint_count(file: Path | None, lines: int | None, total: int) -> None:
    if lines not in (None, total):
        raise UserError(f"{file}: {lines} lines, for {total} to translate; expected as many")


def read_constraints(file: Path) -> Iterator[Constraints | None]:
    """The constraints of each line; None for a blank line."""
    for number, line in enumerate(read_lines(file), 1):
        try:
            yield Constraints.from_json(parse_json(line)) if line.strip() else None
        except (ValueError, UserError) as error:
            raise line_error(file, number, str(error)) from None


class FileTranslation:
    """From records to their output."""

    draws_several = False  # figures, to numbered files

    def __init__(
        self,
        translator: Translator,
        options: FileOptions,
        search: Search,
        rerankers: RerankingOptions,
        engine: Engine | None,
    ) -> None:
        self.translator, self.options, self.search, self.engine = translator, options, search, engine
        if search.shortlist:
            require_shortlist(translator.model, translator.shortlist)
        self.add_tag = translator.tagger(options.tag)
        self.rerank: Rank | None = None  # all hypotheses of the search
        self.search_all = rerankers.search_all(search)
        if rerankers.reranks:
            self.rerank = rerank_by(rerankers, translator, search, chunk=options.chunk or CHUNK)
        self.dictionary = {} if options.dictionary is None else read_dictionary(options.dictionary)
        self.say_once = cache(lambda note: say(f"saccade: {note}"))

    def check(self, record: Record) -> str | None:
        if self.options.jsonl and (common := sorted(record.fields & self._new_fields)):
            into = "--into NAME, to put all new fields into one field NAME"
            advice = f"rename it, or give {'another name by --into' if self.options.into else into}"
            return f"has a field {common[0]!r}, which the output has, too; {advice}"
        refused = self._split(record).refused
        return None if refused is None else f"{refused}; cut it, or give --too-long split or keep"

    def run(self, records: Iterator[Record], output: Journal | DirectOutput, advance: Callable[[int], None]) -> None:
        waiting = deque[Record]()
        records = output.skip_finished(records, _mark)
        advance(output.lines)

        def items() -> Iterator[tuple[str, Constraints | None]]:
            for record in records:
                waiting.append(record)
                if (note := self._split(record).note) is not None:  # before the work, which may take minutes
                    say(f"saccade: line {record.number}: {note}")
                yield self.add_tag(record.text), record.constraints

        options = self.options
        shows_attention = options.jsonl or options.heatmap or options.plot is not None or options.replaces_unknown
        results = self.translator.translate_stream(
            items(),
            self.search_all,
            record=options.tree is not None,
            batch_tokens=options.batch_tokens,
            weights=self.rerank is None and shows_attention,
            too_long=options.too_long,
            progress=advance,
            on_step=report_long_search(),
            engine=self.engine,
            chunk=options.chunk,
            first=output.lines,
        )
        for result in results if self.rerank is None else self.rerank(results):
            record = waiting.popleft()
            if options.replaces_unknown:
                result = replace_unknown(result, self.translator.vocabularies, self.dictionary)
            self._write(record, result, output)
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
        if self.options.plot is not None and result.text.strip():
            self._draw(result, record.number, self.options.plot)

    def _split(self, record: Record) -> SplitText:
        return self.translator.split(self.add_tag(record.text), self.options.too_long, record.constraints)

    @cached_property
    def _new_fields(self) -> frozenset[str]:
        """The fields that the output adds to an object."""
        if self.options.into is not None:
            return frozenset({self.options.into})
        (blank,) = self.translator.translate([""], self.search)
        return frozenset({"line", *blank.as_dict()}) - ({_SOURCE} if self.options.field == _SOURCE else set())

    def _line(self, record: Record, result: Translation) -> str:
        if self.options.jsonl:
            values: dict[str, Any] = {"line": record.number, **result.as_dict(by=self.options.by)}
            if self.options.into is not None:
                values = {self.options.into: values}
            elif record.fields and self.options.field == _SOURCE:
                del values[_SOURCE]
            new = json.dumps(values, ensure_ascii=False, allow_nan=False)
            # The fields of an object stay as they were written.
            return f"{record.line[:-1].rstrip()}, {new[1:]}" if record.fields else new
        ranked = [(other.score, " ".join(other.text.split("\n"))) for other in (result, *result.alternatives)]
        if self.search.n_best == 1:
            return ranked[0][1]
        return "\n".join(f"{record.number}\t{score:.4f}\t{text}" for score, text in ranked)

    def _draw(self, result: Translation, number: int, path: Path) -> None:
        place = path.with_stem(f"{path.stem}-{number}") if self.draws_several else path
        result.plot(by=self.options.by, lang=self.options.lang, say=self.say_once)
        save_figure(place)


def report_long_search() -> OnStep:
    """Report the progress of a long search every few seconds: one long text may take minutes."""
    last = monotonic()

    def watch(written: int, most: int) -> None:
        nonlocal last
        if written == 1:  # another search
            last = monotonic()
        if monotonic() - last >= SECONDS_BETWEEN_MESSAGES:
            say(f"saccade: a long text: {plural(written, 'token')} written, of at most {most:,}")
            last = monotonic()

    return watch


def _mark(record: Record) -> str:
    return f"{record.line}\0{record.constraints}"


def _tree(result: Translation) -> dict[str, Any]:
    if result.parts:
        return {"parts": [_tree(part) for part in result.parts]}
    return result.tree.as_dict() if result.tree else {}
