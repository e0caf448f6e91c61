"""Parquet: the rows of a part as JSON lines, and their translations as columns beside the columns of the input."""

import io
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import accumulate
from typing import Any, BinaryIO

import pyarrow as pa
from pyarrow import parquet

from saccade.data.parts import InputPart
from saccade.data.storage import StoredFile
from saccade.errors import UserError
from saccade.files import parse_json

RESULT = "saccade.result"  # the field of a JSON line with the translation
_CONSTRAINTS = "constraints"
_texts = pa.list_(pa.string())
COLUMNS = pa.schema(
    {
        "line": pa.int64(),  # the key: the number of the row, from 1
        "text": pa.string(),
        "score": pa.float64(),
        "log_prob": pa.float64(),
        "confidence": pa.float64(),
        "ended": pa.bool_(),
        "tokens": _texts,
        "token_log_probs": pa.list_(pa.float64()),
        "notes": _texts,
        "unmet": _texts,
        "unit": pa.string(),
        "alignment": pa.list_(pa.list_(pa.int32())),
        "source_words": _texts,
        "target_words": _texts,
        "alternatives": pa.list_(pa.struct({"text": pa.string(), "score": pa.float64(), "log_prob": pa.float64()})),
    }
)


@contextmanager
def open_table(file: StoredFile) -> Iterator[Any]:
    """The open Parquet file. Its rows are not read yet."""
    with file.open() as stream:
        try:
            opened = parquet.ParquetFile(stream)
        except pa.ArrowException as error:
            reason = str(error).partition("\n")[0].rstrip(".")
            raise UserError(f"{file}: not a Parquet file ({reason})") from None
        yield opened


def check_columns(names: Sequence[str], file: StoredFile, field: str, into: str | None, *, adds_columns: bool) -> None:
    """Refuse a table without the column to translate, or with a column that the output adds."""
    if field not in names and field.partition(".")[0] not in names:
        raise UserError(
            f"{file}: there is no column {field!r}; there are {', '.join(names)}; name the one to translate by --field"
        )
    added = {into} if into is not None else set(COLUMNS.names)
    if adds_columns and (common := sorted(added & set(names))):
        raise UserError(
            f"{file}: has a column {common[0]!r}, which the output has, too; rename it, or give another name by --into"
        )


def read_rows(file: StoredFile, part: InputPart) -> Any:
    """The rows of a part as a table."""
    with open_table(file) as opened:
        sizes = [opened.metadata.row_group(group).num_rows for group in range(opened.num_row_groups)]
        starts = list(accumulate(sizes, initial=0))
        groups = [g for g, size in enumerate(sizes) if starts[g] < part.end and starts[g] + size > part.start]
        if not groups:
            return opened.schema_arrow.empty_table()
        return opened.read_row_groups(groups).slice(part.start - starts[groups[0]], part.lines)


def rows_as_json(table: Any, field: str) -> list[str]:
    """One JSON object per row, with the columns that are read for a translation."""
    read = [
        name for name in dict.fromkeys((field, field.partition(".")[0], _CONSTRAINTS)) if name in table.column_names
    ]
    rows = table.select(read).to_pylist()
    for row in rows:
        if isinstance(row.get(_CONSTRAINTS), dict):  # every struct of a column has the same fields
            row[_CONSTRAINTS] = {name: value for name, value in row[_CONSTRAINTS].items() if value is not None}
    return [json.dumps(row, ensure_ascii=False, default=str) for row in rows]


def add_translations(table: Any, lines: Sequence[str], into: str | None) -> bytes:
    """The content of a Parquet file with the table's columns and those of the translations in the JSON `lines`."""
    results = [parse_json(line)[RESULT] for line in lines]
    if into is not None:
        table = table.append_column(into, pa.array(results, pa.struct(list(COLUMNS))))
    else:
        for column in COLUMNS:
            table = table.append_column(column, pa.array([row.get(column.name) for row in results], column.type))
    content = io.BytesIO()
    parquet.write_table(table, content)
    return content.getvalue()


def append_tables(files: Sequence[StoredFile], joined: BinaryIO) -> None:
    """Write one Parquet file with the rows of all, one row group per part."""
    writer = None
    for file in files:
        table = parquet.read_table(io.BytesIO(file.read()))
        writer = writer or parquet.ParquetWriter(joined, table.schema)
        writer.write_table(table)
    if writer is not None:
        writer.close()


def texts_as_table(texts: Sequence[str]) -> Any:
    """The table for a text file, which has one column."""
    return pa.table({"source": pa.array(texts, pa.string())})
