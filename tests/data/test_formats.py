import csv
import gzip
import io
import json
import lzma
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saccade.data import PairFiles, TextPair
from saccade.data.text_files import LONGEST_LINE
from saccade.errors import UserError

PAIRS = [TextPair("the dog", "le chien"), TextPair("", ""), TextPair("河岸", " la  rive ")]
PLAIN = "the dog\tle chien\n\n河岸\t la  rive \n".encode()


def write(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("pack", [bytes, gzip.compress, lzma.compress])
@pytest.mark.parametrize(
    "data",
    [PLAIN, PLAIN.rstrip(b"\n"), PLAIN.replace(b"\n", b"\r\n"), b"\xef\xbb\xbf" + PLAIN],
    ids=["plain", "no last line end", "crlf", "bom"],
)
def test_one_file_is_read_packed_or_plain(tmp_path: Path, pack: Callable[[bytes], bytes], data: bytes) -> None:
    files = PairFiles(write(tmp_path / "pairs", pack(data)))
    assert list(files) == PAIRS
    assert list(files) == PAIRS, "a second pass"


def test_two_parallel_files_are_read(tmp_path: Path) -> None:
    source = write(tmp_path / "a.en", b"one\ntwo\twith a tab\n")
    target = write(tmp_path / "a.fr.gz", gzip.compress(b"un\r\ndeux"))
    assert list(PairFiles(source, target)) == [("one", "un"), ("two\twith a tab", "deux")]


def feed(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))


def test_standard_input_is_read_and_buffered(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for data in (PLAIN, gzip.compress(PLAIN)):
        feed(monkeypatch, data)
        assert list(PairFiles("-")) == PAIRS
        assert not sys.stdin.closed
    feed(monkeypatch, PLAIN)
    buffered = PairFiles("-").buffered_in(tmp_path)
    assert list(buffered) == list(buffered) == PAIRS
    assert [file.name for file in tmp_path.iterdir()] == ["pairs.tsv"]
    with pytest.raises(UserError, match="both sides"):
        PairFiles("-", "-").buffered_in(tmp_path)


def test_a_pipe_is_buffered_and_a_file_is_not(tmp_path: Path) -> None:
    pipe, plain = tmp_path / "pipe", write(tmp_path / "plain", b"un\ndeux\n")
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(b"one\ntwo\n",))
    writer.start()
    files = PairFiles(pipe, plain).buffered_in(tmp_path)
    writer.join()
    assert files == PairFiles(tmp_path / "pairs.source", plain)
    assert list(files) == list(files) == [("one", "un"), ("two", "deux")]


BAD = {
    "no tab": (b"a\tb\nno tab here\n", r"pairs.tsv:2: 0 tabs .*expected one"),
    "three columns": (
        b"a\tb\tc\n",
        r"pairs.tsv:1: 2 tabs .*cut -f 1,2 \S*pairs.tsv > two.tsv, or train with --set 'data.fields=\[\"1\", \"2\"\]'",
    ),
    "nul": (b"a\tb\na\0\tb\n", r"pairs.tsv:2: .*NUL"),
    "latin-1": (
        "a\tb\ncafé\tx\n".encode("latin-1"),
        r"pairs.tsv:2: byte 4 .* 0xE9.*iconv -f latin1 -t utf8 \S*pairs.tsv",
    ),
    "utf-16": ("a\tb\n".encode("utf-16"), r"pairs.tsv:1: .*iconv -f utf16"),
    "surrogate": (b"a\tb\n\xed\xa0\x80\tb\n", r"pairs.tsv:2: byte 1 "),
    "empty": (b"", r"pairs.tsv:1: the file is empty"),
    "1 MB line": (b"a\tb\n" + b"x" * 1_000_000 + b"\ty\n", rf"pairs.tsv:2: more than {LONGEST_LINE:,} bytes"),
    "cut gzip": (gzip.compress(os.urandom(99_999).hex().encode() + b"\tb\n")[:50_000], r"pairs.tsv:1: .*cut off"),
    "damaged gzip": (gzip.compress(PLAIN)[:-8] + b"12345678", r"pairs.tsv:\d: .*damaged"),
    "cut xz": (lzma.compress(PLAIN)[:-20], r"pairs.tsv:\d: .*cut off"),
}


@pytest.mark.parametrize("case", BAD)
def test_an_error_names_the_file_and_the_line(case: str, tmp_path: Path) -> None:
    data, message = BAD[case]
    with pytest.raises(UserError, match=message) as caught:
        list(PairFiles(write(tmp_path / "pairs.tsv", data)))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("left", "right", "message"),
    [
        (b"1\n2\n3\n", b"1\n2\n", r"right:3: the file ends .*left has 3 lines"),
        (b"1\n", b"1\n2\n\n", r"left:2: the file ends .*right has 3 lines"),
        (b"", b"1\n", r"left:1: the file ends .*right has 1 line;"),
        (b"", b"", r"left:1: .*at least one"),
    ],
)
def test_files_of_different_lengths_are_refused(tmp_path: Path, left: bytes, right: bytes, message: str) -> None:
    with pytest.raises(UserError, match=message):
        list(PairFiles(write(tmp_path / "left", left), write(tmp_path / "right", right)))


def test_a_missing_file_suggests_another(tmp_path: Path) -> None:
    write(tmp_path / "pairs.tsv", PLAIN)
    for given_path, message in (
        (tmp_path / "pair.tsv", r"pair.tsv: no such file; did you mean \S*pairs.tsv\?"),
        (tmp_path / "zzz" / "pairs.tsv", r"no such file; there is no folder \S*zzz either"),
        (tmp_path / "quite different", r"no such file$"),
        (tmp_path, r"a folder; expected a file; did you mean \S*pairs.tsv\?"),
    ):
        with pytest.raises(UserError, match=message):
            list(PairFiles(given_path))
        with pytest.raises(UserError, match=message):
            PairFiles(given_path).digest()


def test_the_digest_depends_on_the_content(tmp_path: Path) -> None:
    one = PairFiles(write(tmp_path / "one", PLAIN))
    two = PairFiles(write(tmp_path / "two", PLAIN))
    assert one.digest() == two.digest() != PairFiles(tmp_path / "one", tmp_path / "two").digest()
    before = one.digest()
    write(tmp_path / "one", PLAIN + b"x\ty\n")
    assert one.digest() != before


cells = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\t\n\r\0\ufeff"), max_size=20)


@settings(deadline=None, max_examples=30)
@given(
    pairs=st.lists(st.builds(TextPair, cells, cells), min_size=1), kind=st.sampled_from(["jsonl", "json", "csv", "tsv"])
)
def test_every_format_is_read_from_every_mark(
    pairs: list[TextPair], kind: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("read") / f"pairs.{kind}"
    if kind in ("jsonl", "json"):
        pairs = [TextPair(pair.source + "\n\t", pair.target) for pair in pairs]
        text = "".join(json.dumps(pair._asdict(), ensure_ascii=False) + "\n" for pair in pairs)
        if kind == "json":
            text = "[" + ",".join(text.split("\n")[:-1]) + "]"
    elif kind == "csv":
        pairs = [TextPair(pair.source, f'{pair.target}," \n;') for pair in pairs]
        written = io.StringIO()
        csv.writer(written, lineterminator="\n").writerows([("source", "target"), *pairs])
        text = written.getvalue()
    else:
        text = "".join(f"{source}\t{target}\n" for source, target in pairs)
    write(path, text.encode("utf-8", "surrogatepass"))
    packed = PairFiles(write(path.with_suffix(f".{kind}.gz"), gzip.compress(path.read_bytes())))
    for files in (PairFiles(path), packed):
        marked = list(files.marked())
        assert [pair for _, pair in marked] == pairs
        for place, (mark, _) in enumerate(marked):
            assert list(files.marked(mark)) == marked[place:]


def test_two_files_are_read_from_a_mark(tmp_path: Path) -> None:
    files = PairFiles(write(tmp_path / "a", b"one\ntwo\nthree\n"), write(tmp_path / "b", b"un\r\ndeux\r\ntrois\r\n"))
    marked = list(files.marked())
    assert [mark[0] for mark, _ in marked] == [1, 2, 3]
    assert list(files.marked(marked[1][0])) == marked[1:]


def test_fields_are_chosen_by_name(tmp_path: Path) -> None:
    nested = (
        b'{"id": 1, "translation": {"en": "one", "fr": "un"}, "a.b": "x"}\n\n{"translation": {"en": "", "fr": "y"}}\n'
    )
    path = write(tmp_path / "a.jsonl", nested)
    assert list(PairFiles(path, fields=("translation.en", "translation.fr"))) == [("one", "un"), ("", ""), ("", "y")]
    line = write(tmp_path / "b.ndjson", nested.splitlines()[0])
    assert list(PairFiles(line, fields=("a.b", "translation.fr"))) == [("x", "un")]
    table = write(tmp_path / "a.csv", b'\xef\xbb\xbfid;de;en\n1;"ein ""x""; zwei";one\n2;drei;three\n')
    assert list(PairFiles(table, fields=("en", "de"))) == [("one", 'ein "x"; zwei'), ("three", "drei")]
    assert [mark[0] for mark, _ in PairFiles(table, fields=("en", "de")).marked()] == [2, 3]
    assert PairFiles(table, fields=("en", "de")).digest() != PairFiles(table, fields=("de", "en")).digest()


def test_a_json_file_is_an_array_or_one_object_per_line(tmp_path: Path) -> None:
    rows = [{"intent": "sort a list", "snippet": "sorted(xs)", "id": 3}, {"intent": "one", "snippet": "1"}]
    fields = ("intent", "snippet")
    expected = [("sort a list", "sorted(xs)"), ("one", "1")]
    for text in (json.dumps(rows), json.dumps(rows, indent=2), "\ufeff\n" + json.dumps(rows)):
        files = PairFiles(write(tmp_path / "conala.json", text.encode()), fields=fields)
        assert list(files) == expected and list(files.records()) == rows
    lines = "\n".join(map(json.dumps, rows))
    assert list(PairFiles(write(tmp_path / "lines.json", lines.encode()), fields=fields)) == expected


def test_the_attribution_of_a_manythings_file_is_not_read(tmp_path: Path) -> None:
    line = "Go.\tVa !\tCC-BY 2.0 (France) Attribution: tatoeba.org #2877272 (CM) & #1158250 (Wittydev)\n"
    assert list(PairFiles(write(tmp_path / "fra.txt", line.encode()))) == [("Go.", "Va !")]


def test_columns_are_chosen_by_number(tmp_path: Path) -> None:
    table = write(tmp_path / "a.csv", b"1,one,un\n\n2,two,deux\n")
    assert list(PairFiles(table, fields=("2", "3"))) == [("one", "un"), ("", ""), ("two", "deux")]
    tabs = write(tmp_path / "a.tsv", b"un\tx\tone\n\n")
    assert list(PairFiles(tabs, fields=("3", "1"))) == [("one", "un"), ("", "")]


BAD_FORMS = {
    "no JSON": ("a.jsonl", b'{"source": "a", "target": "b"}\n{oops\n', None, r"a.jsonl:2: not JSON"),
    "deep": ("a.jsonl", b"[" * 5000 + b"]" * 5000, None, r"a.jsonl:1: not JSON \(more than 100 lists or tables"),
    "digits": ("a.jsonl", b'{"source": ' + b"1" * 5000 + b"}", None, r"a.jsonl:1: not JSON"),
    "surrogate": ("a.jsonl", b'{"source": "\\ud800", "target": "b"}', None, r"a.jsonl:1: not JSON \(\\ud800 is half"),
    "no object": ("a.jsonl", b'["a", "b"]\n', None, r"a.jsonl:1: \[\"a\", \"b\"\]… is not an object"),
    "array": ("a.jsonl", b'[{"source": "a",\n', None, r"a.jsonl:1: not JSON .*for an array of objects, name the file"),
    "bad array": ("a.json", b'[{"source": "a"},\n', None, r"a.json: not JSON .*expected an array of objects"),
    "empty array": ("a.json", b"[]", None, r"a.json: the array is empty"),
    "bad item": ("a.json", b'[{"source": "a", "target": "b"}, 3]', None, r"a.json: item 2 is 3…, not an object"),
    "item without field": ("a.json.gz", gzip.compress(b'[{"en": "a"}]'), None, r"a.json.gz: item 1: there is no 'sour"),
    "no field": (
        "a.jsonl",
        b'{"en": "a", "x": {"de": "b"}}\n',
        None,
        r"a.jsonl:1: there is no 'source'; the texts there are x.de, en; name two by .*\[\"x.de\", \"en\"\]'",
    ),
    "no text": ("a.jsonl", b'{"source": 3, "target": "b"}\n', None, r"a.jsonl:1: 'source' is 3; expected a text"),
    "null": ("a.jsonl", b'{"source": "a", "target": null}\n', None, r"a.jsonl:1: 'target' is null; expected a text"),
    "empty jsonl": ("a.jsonl.gz", gzip.compress(b""), None, r"a.jsonl.gz:1: the file is empty"),
    "not UTF-8": ("a.jsonl", b'{"source": "a", "target": "\xe9"}\n', None, r"a.jsonl:1: .*not UTF-8"),
    "no header": ("a.csv", b"a,b\nc,d\n", None, r"a.csv:1: the header has no 'source'; the texts there are a, b"),
    "short row": ("a.csv", b"source,target\na,b\nc\n", None, r"a.csv:3: 1 column; expected at least 2"),
    "open quote": ("a.csv", b'source,target\na,b\nc,"d\ne,f\n', None, r"a.csv:3: not CSV .*is a quote not closed"),
    "header alone": ("a.csv", b"source,target\n", None, r"a.csv:1: the file is empty"),
    "empty csv": ("a.csv", b"", None, r"a.csv:1: the file is empty"),
    "few columns": ("a.tsv", b"a\tb\n", ("1", "3"), r"a.tsv:1: 1 tab in the line; expected at least 2, for column 3"),
    "no such column": ("a.tsv", b"a\tb\n", ("1", "9" * 5000), r"a.tsv: a TSV has no header"),
    "named columns": ("a.tsv", b"a\tb\n", ("en", "de"), r"a.tsv: a TSV has no header"),
}


@pytest.mark.parametrize("case", BAD_FORMS)
def test_an_error_in_any_format_names_the_file_and_the_line(case: str, tmp_path: Path) -> None:
    name, data, fields, message = BAD_FORMS[case]
    with pytest.raises(UserError, match=message) as caught:
        list(PairFiles(write(tmp_path / name, data), fields=fields))
    assert "\n" not in str(caught.value)


def test_two_files_with_fields_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="two files have no fields"):
        PairFiles(tmp_path / "a", tmp_path / "b", ("x", "y")).marked()
