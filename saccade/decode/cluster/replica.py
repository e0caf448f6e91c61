"""One copy of the model on a worker: it reads a part, checks and translates its lines, and saves their output."""

import io
import json
import socket
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stderr
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from saccade.data.parts import InputPart, read_part
from saccade.data.storage import StoredFile
from saccade.decode.cluster.part_folder import PartFolder
from saccade.decode.engines.choice import EngineChoice, EngineRequest
from saccade.decode.engines.options import EngineOptions
from saccade.decode.file_translation import FileTranslation, RecordFile, explain_search
from saccade.decode.options import Constraints, FileOptions, RerankingOptions, Search
from saccade.decode.translator import Translator
from saccade.errors import UserError
from saccade.journal import DirectOutput, describe_command, explain_changes
from saccade.names import trusting_code


@dataclass(frozen=True, kw_only=True)
class CorpusJob:
    """What every replica needs to know. It is sent to other processes and machines."""

    file: StoredFile
    is_table: bool  # Parquet, not lines
    output: PartFolder
    command: Mapping[str, Any]  # as `output.command`, before files and folders were described by their contents
    load: Callable[[], Translator]
    folders: Sequence[Path]  # of the model, or of the models of an ensemble
    engine: EngineOptions
    trusts_code: bool
    options: FileOptions
    search: Search
    constraints: Constraints
    rerankers: RerankingOptions

    @property
    def writes_table(self) -> bool:
        return self.output.suffix == ".parquet"


class Replica:
    """Called by Ray Data with a part, and again with the same part if its result was lost with a worker.

    The model is loaded at the first call, not on construction: a mistake of the user is then a result like any other.
    """

    def __init__(self, job: CorpusJob) -> None:
        self.job = job

    def __call__(self, row: Mapping[str, Any]) -> dict[str, Any]:
        part, messages, error = InputPart(**json.loads(row["part"])), io.StringIO(), ""
        try:
            with redirect_stderr(messages), trusting_code(self.job.trusts_code):
                self.translate(part)
        except (UserError, OSError) as mistake:
            error = str(mistake)
        return {"lines": part.lines, "messages": messages.getvalue(), "error": error}

    def translate(self, part: InputPart) -> None:
        """Write the output of a part, unless it exists already."""
        job = self.job
        if job.output.file(part).exists():
            return
        if job.is_table:
            from saccade.decode.cluster.tables import read_rows, rows_as_json

            table = read_rows(job.file, part)
            texts = rows_as_json(table, job.options.field)
        else:
            content = job.file.read(part.start, part.end) if part.lines else b""
            table, texts = None, list(read_part(content, part, job.file.url))
        lines = self._translate(texts, part.first)
        job.output.file(part).write(self._content(table, texts, lines))

    def _translate(self, texts: list[str], first: int) -> list[str]:
        constraints = None if self.job.constraints == Constraints() else self.job.constraints
        if self.job.options.explain and first == 0:
            explain_search(self._work.translator, self.job.options, self.job.search, self.job.constraints)
        source = RecordFile(self.job.file.url, texts, self._options, constraints, self._work.check, first)
        records = list(source.records())  # all are checked before the first is translated
        lines: list[str] = []
        self._work.run(iter(records), DirectOutput({"out": lines.append}, first), lambda _: None)
        return lines

    def _content(self, table: Any, texts: list[str], lines: list[str]) -> bytes:
        if not self.job.writes_table:
            return "".join(f"{line}\n" for line in lines).encode()
        from saccade.decode.cluster.tables import add_translations, texts_as_table

        return add_translations(texts_as_table(texts) if table is None else table, lines, self.job.options.into)

    @cached_property
    def _options(self) -> FileOptions:
        options = self.job.options
        if self.job.is_table:
            options = replace(options, jsonl_in=True)
        if self.job.writes_table:
            from saccade.decode.cluster.tables import RESULT

            options = replace(options, jsonl=True, into=RESULT)
        return options

    @cached_property
    def _work(self) -> FileTranslation:
        translator = self.job.load()
        if (changes := explain_changes(self.job.output.command, describe_command(self.job.command))) is not None:
            raise UserError(
                f"{socket.gethostname()} has other files than the machine of the command: {changes}; put the model and "
                "the files of the options on a file system that all machines share"
            )
        job, options = self.job, self._options
        request = EngineRequest.for_file(options, job.search, job.constraints, job.rerankers, job.engine)
        engine = EngineChoice(translator, job.folders).choose(request)
        return FileTranslation(translator, options, job.search, job.rerankers, engine)


def as_row(part: InputPart) -> dict[str, str]:
    return {"part": json.dumps(asdict(part))}
