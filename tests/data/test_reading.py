import gzip
import io
import lzma
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saccade.data.reading import LONGEST_LINE, PairFiles, TextPair, read_lines
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
def test_one_file(tmp_path: Path, pack: Callable[[bytes], bytes], data: bytes) -> None:
    files = PairFiles(write(tmp_path / "pairs", pack(data)))
    assert list(files) == PAIRS
    assert list(files) == PAIRS, "a second pass"


def test_two_files(tmp_path: Path) -> None:
    source = write(tmp_path / "a.en", b"one\ntwo\twith a tab\n")
    target = write(tmp_path / "a.fr.gz", gzip.compress(b"un\r\ndeux"))
    assert list(PairFiles(source, target)) == [("one", "un"), ("two\twith a tab", "deux")]


def feed(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))


def test_standard_input(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for data in (PLAIN, gzip.compress(PLAIN)):
        feed(monkeypatch, data)
        assert list(PairFiles("-")) == PAIRS
        assert not sys.stdin.closed
    feed(monkeypatch, PLAIN)
    kept = PairFiles("-").kept_in(tmp_path)
    assert list(kept) == list(kept) == PAIRS
    assert [file.name for file in tmp_path.iterdir()] == ["pairs.tsv"]
    with pytest.raises(UserError, match="both sides"):
        PairFiles("-", "-").kept_in(tmp_path)


def test_a_pipe_is_kept_and_a_file_is_left_where_it_is(tmp_path: Path) -> None:
    pipe, plain = tmp_path / "pipe", write(tmp_path / "plain", b"un\ndeux\n")
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(b"one\ntwo\n",))
    writer.start()
    files = PairFiles(pipe, plain).kept_in(tmp_path)
    writer.join()
    assert files == PairFiles(tmp_path / "pairs.source", plain)
    assert list(files) == list(files) == [("one", "un"), ("two", "deux")]


BAD = {
    "no tab": (b"a\tb\nno tab here\n", r"pairs.tsv:2: 0 tabs .*expected one"),
    "two tabs": (b"a\tb\tc\n", r"pairs.tsv:1: 2 tabs"),
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
def test_bad_input_is_named_with_its_place(case: str, tmp_path: Path) -> None:
    data, message = BAD[case]
    with pytest.raises(UserError, match=message) as caught:
        list(PairFiles(write(tmp_path / "pairs.tsv", data)))
    assert "\n" not in str(caught.value)


def test_the_longest_line_is_still_read(tmp_path: Path) -> None:
    line = "x" * LONGEST_LINE
    for end in ("", "\n", "\r\n"):
        assert list(read_lines(write(tmp_path / "long", (line + end).encode()))) == [line]


@pytest.mark.parametrize(
    ("left", "right", "message"),
    [
        (b"1\n2\n3\n", b"1\n2\n", r"right:3: the file ends .*left has 3 lines"),
        (b"1\n", b"1\n2\n\n", r"left:2: the file ends .*right has 3 lines"),
        (b"", b"1\n", r"left:1: the file ends .*right has 1 lines"),
        (b"", b"", r"left:1: .*at least one"),
    ],
)
def test_uneven_files(tmp_path: Path, left: bytes, right: bytes, message: str) -> None:
    with pytest.raises(UserError, match=message):
        list(PairFiles(write(tmp_path / "left", left), write(tmp_path / "right", right)))


def test_what_is_not_a_file(tmp_path: Path) -> None:
    write(tmp_path / "pairs.tsv", PLAIN)
    for given_path, message in (
        (tmp_path / "pair.tsv", r"pair.tsv: no such file; did you mean \S*pairs.tsv\?"),
        (tmp_path / "zzz" / "pairs.tsv", r"no such file; there is no folder \S*zzz either"),
        (tmp_path / "quite different", r"no such file$"),
        (tmp_path, r"a folder; expected a file of pairs; did you mean \S*pairs.tsv\?"),
    ):
        with pytest.raises(UserError, match=message):
            list(PairFiles(given_path))
        with pytest.raises(UserError, match=message):
            PairFiles(given_path).digest()


def test_the_digest_follows_the_content(tmp_path: Path) -> None:
    one = PairFiles(write(tmp_path / "one", PLAIN))
    two = PairFiles(write(tmp_path / "two", PLAIN))
    assert one.digest() == two.digest() != PairFiles(tmp_path / "one", tmp_path / "two").digest()
    before = one.digest()
    write(tmp_path / "one", PLAIN + b"x\ty\n")
    assert one.digest() != before


cells = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\t\n\r\0\ufeff"), max_size=20)


@settings(deadline=None, max_examples=100)
@given(pairs=st.lists(st.builds(TextPair, cells, cells), min_size=1))
def test_what_is_written_is_read(pairs: list[TextPair], tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("read") / "pairs.tsv"
    write(path, "".join(f"{source}\t{target}\n" for source, target in pairs).encode())
    assert list(PairFiles(path)) == pairs
