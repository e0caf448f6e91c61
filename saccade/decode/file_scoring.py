"""Score the pairs of a file: one line per pair, and the scores of the whole corpus."""

import json
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import repeat
from typing import Any

from saccade.data import PairFiles, TextPair
from saccade.data.text_files import line_error
from saccade.decode.file_translation import check_tag
from saccade.decode.options import ScoreOptions
from saccade.decode.scoring import PairScore, ScoreTotals, score_pairs
from saccade.decode.translator import Translator
from saccade.errors import Progress
from saccade.files import write_json
from saccade.journal import open_output, refuse_folder

Item = tuple[TextPair, Mapping[str, Any]]  # a pair, and the other fields of its line


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
    add_tag = check_tag(options.tag, translator)
    (blank,) = score_pairs(translator, [("", "")])
    total = _check(pairs, name, {"line", *blank.as_dict()} - {"source", "target"} if options.jsonl else set())
    with open_output(options.out, command, write=write, restart=options.restart) as output:
        totals = ScoreTotals(**output.state)
        remaining = output.skip_finished(_items(pairs), _mark)
        waiting: deque[Item] = deque()

        def texts() -> Iterator[tuple[str, str]]:
            for item in remaining:
                waiting.append(item)
                yield add_tag(item[0].source), item[0].target

        results = score_pairs(translator, texts(), batch_tokens=options.batch_tokens, chunk=options.chunk)
        for number, score in enumerate(results, output.lines + 1):
            item = waiting.popleft()
            output.write("out", _line(score, number, item[1], options))
            output.note(_mark(item))
            totals.add(score)
            if progress is not None:
                progress(number, total)
            if not waiting:  # the whole chunk is written
                output.commit(number, vars(totals))
    if options.summary is not None:
        summary = {"model": command.get("model") and str(command["model"]), "corpus": name, **totals.as_dict()}
        write_json(options.summary, summary)
    return totals


def _items(pairs: Iterable[TextPair]) -> Iterator[Item]:
    return zip(pairs, pairs.records() if isinstance(pairs, PairFiles) else repeat({}), strict=False)


def _mark(item: Item) -> str:
    return json.dumps([*item[0], item[1]])


def _check(pairs: Iterable[TextPair], name: str, fields: set[str]) -> int:
    """The number of pairs. A mistake in the last line is reported before hours of work, not after."""
    count = 0
    for _, record in _items(pairs):
        count += 1
        if common := sorted(fields & record.keys()):
            raise line_error(name, count, f"has a field {common[0]!r}, which the output has, too; rename it")
    return count


def _line(score: PairScore, number: int, record: Mapping[str, Any], options: ScoreOptions) -> str:
    if options.jsonl:
        return json.dumps({"line": number, **score.as_dict(), **record}, ensure_ascii=False)
    return f"{getattr(score, options.value.replace('-', '_')):.6f}"
