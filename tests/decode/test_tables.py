"""Parquet in and out: the columns of the input stay, and every row has its translation and its key."""

from pathlib import Path
from typing import Any

import pytest

from saccade.data.parts import InputPart, cut_rows
from saccade.data.storage import StoredFile
from saccade.decode import Translator
from saccade.decode.cluster.part_folder import PartFolder, join_parts
from saccade.decode.cluster.replica import CorpusJob, Replica, as_row
from saccade.decode.engines.options import EngineOptions
from saccade.decode.options import DEFAULT_SEARCH, Constraints, FileOptions, RerankingOptions
from saccade.errors import UserError
from saccade.journal import describe_command

pytestmark = pytest.mark.slow  # the quick tests have no pyarrow

TEXTS = ["the cat sleeps", "", "a dog eats", "I see the house", "it sleeps"]


def translate(table: Any, tmp_path: Path, learnt: Translator, suffix: str = ".parquet", **options: Any) -> Path:
    """Translate a table in parts of two rows, joined in one file"""
    pytest.importorskip("pyarrow")
    from pyarrow import parquet

    source = StoredFile(str(tmp_path / "in.parquet"))
    parquet.write_table(table, source.url, row_group_size=3)
    output = PartFolder(
        folder=StoredFile(str(tmp_path / "parts")), suffix=suffix, command=describe_command({"model": "m"})
    )
    job = CorpusJob(
        file=source,
        is_table=True,
        output=output,
        command={"model": "m"},
        load=lambda: learnt,
        folders=(),
        engine=EngineOptions(),
        trusts_code=False,
        options=FileOptions(chunk=2, **options),
        search=DEFAULT_SEARCH.with_options(n_best=2),
        constraints=Constraints(),
        rerankers=RerankingOptions(),
    )
    with source.open() as stream:
        parts: list[InputPart] = list(cut_rows(stream, table.num_rows, 2))
    replica = Replica(job)
    for part in parts:
        assert replica(as_row(part))["error"] == ""
    out = tmp_path / f"out{suffix}"
    join_parts([output.file(part) for part in parts], StoredFile(str(out)))
    return out


def test_rows_keep_their_columns_and_get_a_key(tmp_path: Path, learnt: Translator) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    constraints = [{"include": ["chien"], "prefix": None}, *[None] * 4]
    nested = [{"en": text, "id": number} for number, text in enumerate(TEXTS)]
    table = pa.table({"translation": nested, "constraints": constraints, "raw": [b"\xff"] * 5})
    result = parquet.read_table(translate(table, tmp_path, learnt, field="translation.en"))
    assert result.select(table.column_names) == table and result["line"].to_pylist() == [1, 2, 3, 4, 5]
    texts = result["text"].to_pylist()
    assert "chien" in texts[0] and texts[1] == "" and texts[2] == "un chien mange"
    assert all(len(others) == 1 for row, others in enumerate(result["alternatives"].to_pylist()) if row != 1)


def test_new_columns_can_be_one(tmp_path: Path, learnt: Translator) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    table = pa.table({"text": TEXTS})
    result = parquet.read_table(translate(table, tmp_path, learnt, field="text", into="result"))
    assert result.column_names == ["text", "result"] and result["result"][2]["text"].as_py() == "un chien mange"


def test_an_empty_table_has_the_columns(tmp_path: Path, learnt: Translator) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    result = parquet.read_table(translate(pa.table({"source": pa.array([], pa.string())}), tmp_path, learnt))
    assert result.num_rows == 0 and {"source", "line", "text", "score"} <= set(result.column_names)


def test_a_table_can_become_text(tmp_path: Path, learnt: Translator) -> None:
    import pyarrow as pa

    out = translate(pa.table({"source": TEXTS}), tmp_path, learnt, suffix=".txt")
    assert len(out.read_text(encoding="utf-8").splitlines()) == 9  # two translations per row, one of the blank row


def test_columns_are_checked_before_the_work(tmp_path: Path) -> None:
    from saccade.decode.cluster.tables import check_columns, open_table

    file = StoredFile(str(tmp_path / "in.parquet"))
    with pytest.raises(UserError, match="there is no column 'source'; there are text, id; name the one"):
        check_columns(["text", "id"], file, "source", None, adds_columns=True)
    with pytest.raises(UserError, match="has a column 'text', which the output has, too"):
        check_columns(["text", "id"], file, "text", None, adds_columns=True)
    check_columns(["text", "id"], file, "text", None, adds_columns=False)
    check_columns(["text", "id"], file, "text", "new", adds_columns=True)
    Path(file.url).write_bytes(b"no table")
    with pytest.raises(UserError, match=r"in\.parquet: not a Parquet file"), open_table(file):
        pass
