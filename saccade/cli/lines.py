"""What `saccade translate` makes of its lines: checked, translated a chunk at a time, written, drawn."""

import json
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

from saccade.cli.console import say
from saccade.cli.picking import Picker
from saccade.cli.records import Answer, Input, Record
from saccade.cli.resuming import Journal, Passing
from saccade.errors import UserError

if TYPE_CHECKING:
    from saccade.decode import Constraints, Search, Translation, Translator
    from saccade.decode.long_texts import SplitText, TooLong
    from saccade.decode.search.loop import OnStep
    from saccade.text.words import UnitChoice

_UNDATED = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}
PATIENCE = 10.0  # seconds of a search without a word of how far it is


@dataclass(kw_only=True)
class Work:
    """From records to what is written of each."""

    translator: "Translator"
    how: "Search"
    tagged: Callable[[str], str]
    answer: Answer | None  # None: as text
    too_long: "TooLong"
    batch_tokens: int
    chunk: int
    heatmap: bool
    by: "UnitChoice"  # what heatmaps and alignments are between
    figure: Callable[["Translation", int], None] | None = None
    picker: Picker | None = None  # chooses among all that were found
    fill: Callable[["Translation"], "Translation"] | None = None  # puts words in place of unknown ones

    def check(self, given: Input, record: Record) -> None:
        """All that can be wrong with one, before anything is done with it."""
        if self.answer is not None and (clash := self.answer.clash(record, self._names)):
            raise given.mistake(record.number, clash)
        if (refused := self._cut(record).refused) is not None:
            raise given.mistake(record.number, f"{refused}; cut it, or give --too-long split or keep")

    def run(
        self, records: Iterator[Record], put: Journal | Passing, advance: Callable[[int], None], *, trees: bool
    ) -> None:
        waiting = deque[Record]()
        records = put.after_those_done(records, _mark)
        advance(put.lines)

        def items() -> Iterator[tuple[str, "Constraints | None"]]:
            for record in records:
                waiting.append(record)
                if (note := self._cut(record).note) is not None:  # before the work, which may take minutes
                    say(f"saccade: line {record.number}: {note}")
                yield self.tagged(record.text), record.constraints

        results = self.translator.translate_stream(
            items(),
            self.how if self.picker is None else replace(self.how, n_best=self.how.beam),
            record=trees,
            batch_tokens=self.batch_tokens,
            weights=self.picker is None and self._looks,
            too_long=self.too_long,
            progress=advance,
            on_step=now_and_then(),
            chunk=self.chunk,
            first=put.lines,
        )
        for result in results if self.picker is None else self.picker(results):
            record = waiting.popleft()
            self._put(record, result if self.fill is None else self.fill(result), put, trees=trees)
            put.note(_mark(record))
            if not waiting:  # all that was translated together
                put.commit(record.number)

    def _put(self, record: Record, result: "Translation", put: Journal | Passing, *, trees: bool) -> None:
        number = record.number
        put.write("out", self._shown(record, result))
        if trees:
            put.write("tree", json.dumps({"line": number, **_tree(result)}, ensure_ascii=False))
        known = self._cut(record).note if result.notes else None  # said already
        for note in (*result.notes, *(f"not met: {reason}" for reason in result.unmet)):
            if note != known:
                say(f"saccade: line {number}: {note}")
        if self.heatmap and result.text.strip():
            result.show(by=self.by)
        if self.figure is not None:
            self.figure(result, number)

    def _cut(self, record: Record) -> "SplitText":
        from saccade.decode.long_texts import split_text

        text, translator = self.tagged(record.text), self.translator
        return split_text(text, self.too_long, translator.limits, translator.vocabularies, record.constraints)

    def _shown(self, record: Record, result: "Translation") -> str:
        if self.answer is not None:
            return self.answer.line(record, {"line": record.number, **result.as_dict(by=self.by)})
        every = [(one.score, " ".join(one.text.split("\n"))) for one in (result, *result.alternatives)]
        if self.how.n_best == 1:
            return every[0][1]
        return "\n".join(f"{record.number}\t{score:.4f}\t{text}" for score, text in every)

    @property
    def _looks(self) -> bool:
        """Whether attention is wanted of every line."""
        return self.answer is not None or self.heatmap or self.figure is not None or self.fill is not None

    @cached_property
    def _names(self) -> frozenset[str]:
        """The fields of an answer."""
        (blank,) = self.translator.translate([""], self.how)
        return frozenset({"line", *blank.as_dict()})


def now_and_then() -> "OnStep":
    """Says how far a search is, every `PATIENCE` seconds: one of a long text may take minutes."""
    last, before = monotonic(), 0

    def watch(written: int, most: int) -> None:
        nonlocal last, before
        if written < before:  # another search
            last = monotonic()
        before = written
        if monotonic() - last >= PATIENCE:
            say(f"saccade: {written:,} pieces of a long text are written, of at most {most:,}")
            last = monotonic()

    return watch


def _mark(record: Record) -> str:
    return f"{record.line}\0{record.constraints}"


def _tree(result: "Translation") -> dict[str, Any]:
    if result.parts:
        return {"parts": [_tree(part) for part in result.parts]}
    return result.tree.as_dict() if result.tree else {}


def figures(path: Path, by: "UnitChoice", *, several: bool) -> Callable[["Translation", int], None]:
    """Draws a translation to `path`, or each of several to a numbered one."""
    said: set[str] = set()

    def say_once(note: str) -> None:
        if note not in said:
            say(f"saccade: {note}")
        said.add(note)

    def draw(result: "Translation", number: int) -> None:
        if not result.text.strip():
            return
        place = path.with_stem(f"{path.stem}-{number}") if several else path
        result.plot(by=by, say=say_once)
        from matplotlib import pyplot, rc_context

        try:
            with rc_context({"svg.hashsalt": "saccade"}):  # the same figure is the same file
                pyplot.savefig(place, metadata=_UNDATED.get(place.suffix))
        except OSError as error:
            raise UserError(f"{place}: cannot be written: {error.strerror}") from error
        finally:
            pyplot.close()

    return draw
