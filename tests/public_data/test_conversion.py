"""From downloaded texts to files of pairs."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from saccade.data import TextPair, open_pairs
from saccade.errors import UserError
from saccade.public_data.conversion import Commands, Form, Layout, Listed, SideBySide, TextFile, read_part
from saccade.public_data.download import WantedFile

FILE = WantedFile(url="http://host/file", most=1)


def texts(tmp_path: Path, content: str | bytes, form: Form = "lines") -> list[str]:
    path = tmp_path / "texts"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return list(TextFile(FILE, form=form).texts(path))


def test_lines_end_with_line_feeds_alone(tmp_path: Path) -> None:
    content = "\ufeffone\r\ntwo\tthree\n\n four\u2028five \x0b\nlast"
    assert texts(tmp_path, content) == ["one", "two three", "", "four\u2028five", "last"]
    assert texts(tmp_path, b"caf\xe9 \0 x\n") == ["caf\ufffd   x"]
    with pytest.raises(UserError, match=r"texts:2: more than 262,144 bytes without a line end: not a text file"):
        texts(tmp_path, b"a\n" + b"x" * 300_000)


def test_segments_of_a_test_set_are_read(tmp_path: Path) -> None:
    content = '<srcset>\n<doc>\n<p>\n<seg id="1">Tom &amp; Jerry</seg>\n<SEG id="2"> two\nlines </SEG>\n</p></doc>\n'
    assert texts(tmp_path, content, "segments") == ["Tom & Jerry", "two lines"]


def test_talks_keep_what_is_translated(tmp_path: Path) -> None:
    lines = [
        "<url>http://x</url>",
        "<title>A title</title>",
        "<speaker>A. B.</speaker>",
        "<description>About</description>",
    ]
    content = "\n".join([*lines, "<talkid>1</talkid>", "<keywords>a, b</keywords>", " A sentence. ", "3 < 4", ""])
    assert texts(tmp_path, content, "talks") == ["A title", "About", "A sentence.", "3 < 4"]


def test_two_files_must_have_the_same_length(tmp_path: Path) -> None:
    first, second = TextFile(FILE, "a.de"), TextFile(FILE, "a.en")
    (tmp_path / "0").write_text("eins\nzwei\n")
    (tmp_path / "1").write_text("one\n")
    pairs = SideBySide(first, second).pairs({first: tmp_path / "0", second: tmp_path / "1"})
    assert next(pairs) == ("eins", "one")
    with pytest.raises(UserError, match=r"a.de and a.en differ in length: one ends after 1 line: not used"):
        next(pairs)


def test_commands_are_split_into_words_and_actions(tmp_path: Path) -> None:
    file = TextFile(FILE)
    (tmp_path / "0").write_text("IN: jump twice OUT: I_JUMP I_JUMP\n<html>\n")
    pairs = Commands(file).pairs({file: tmp_path / "0"})
    assert next(pairs) == ("jump twice", "I_JUMP I_JUMP")
    with pytest.raises(UserError, match=r"http://host/file: line 2 is '<html>'; expected IN: … OUT: …"):
        next(pairs)


LINE = st.text(st.characters(codec="utf-8", exclude_characters="\0\t\r\n\ufeff"), min_size=1).map(str.strip)


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(st.tuples(LINE.filter(bool), LINE.filter(bool)), min_size=1, max_size=5))
@pytest.mark.parametrize("languages", [None, ("en", "de")], ids=["tsv", "two files"])
def test_training_reads_what_is_written(
    tmp_path: Path, languages: tuple[str, str] | None, given: list[tuple[str, str]]
) -> None:
    layout = Layout(languages=languages)
    names = [tmp_path / name for name in layout.names("train")]
    for name in names:
        name.unlink(missing_ok=True)
    pairs = [TextPair(*pair) for pair in given]
    counts = layout.write(tmp_path, (("train", pair) for pair in read_part([Listed(lambda: pairs)], {})), ["train"])
    assert counts == {"train": len(pairs)}
    assert list(open_pairs(*map(str, names))) == pairs
