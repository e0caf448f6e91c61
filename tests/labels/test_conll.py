"""CoNLL files: columns, comments, blank lines, and what is wrong with a line."""

import gzip
from pathlib import Path

import pytest

from saccade.errors import UserError
from saccade.labels.conll import ConllFiles, is_conll
from saccade.labels.dataset import read_examples

CONLL = """-DOCSTART- -X- -X- O

# text = Anna lives in Bonn .
Anna NNP B-NP B-PER
lives VBZ B-VP O
in IN B-PP O
Bonn NNP B-NP B-LOC
. . O O


# NN B-NP O
1 CD I-NP O
"""


def write(folder: Path, text: str, name: str = "tags.conll") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_the_first_and_the_last_column_are_read(tmp_path: Path) -> None:
    examples = read_examples("tag", str(write(tmp_path, CONLL)))
    assert [tuple(pair) for pair in examples.pairs] == [
        ("Anna lives in Bonn .", "B-PER O O B-LOC O"),
        ("# 1", "O O"),  # a token in the columns of a token is no comment
    ]
    packed = tmp_path / "tags.conll.gz"
    packed.write_bytes(gzip.compress(CONLL.encode()))
    assert read_examples("tag", str(packed)).pairs == examples.pairs


def test_columns_may_be_separated_by_tabs(tmp_path: Path) -> None:
    path = write(tmp_path, "New York\tB-LOC\nis\tO\n\nbig\tO")
    assert [tuple(pair) for pair in ConllFiles(path)] == [("New_York is", "B-LOC O"), ("big", "O")]


def test_sentences_are_read_again_from_their_marks(tmp_path: Path) -> None:
    source = ConllFiles(write(tmp_path, CONLL))
    marks = [mark for mark, _ in source.marked()]
    assert [mark[0] for mark in marks] == [4, 11]
    assert [tuple(pair) for _, pair in source.marked(marks[1])] == [("# 1", "O O")]


def test_sentences_with_one_tag_per_word_are_told_apart(tmp_path: Path) -> None:
    tsv = write(tmp_path, "Yes\tO\nAnna sleeps\tB-PER O\n", "tags.tsv")
    assert not is_conll(tsv) and is_conll(write(tmp_path, CONLL))
    assert [tuple(pair) for pair in read_examples("tag", str(tsv)).pairs] == [("Yes", "O"), ("Anna sleeps", "B-PER O")]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", r"^.*tags.conll:1: the file is empty; expected one token and its tag per line"),
        ("\n\n", r"the file is empty; expected one token and its tag per line"),
        (
            "Anna B-PER\nsleeps\n",
            r"tags.conll:2: 1 column; expected a token and its tag per line, or a sentence, a tab",
        ),
        ("Anna NNP B-PER\nsleeps O\n", r"tags.conll:2: 2 columns; expected 3, as in the lines before"),
        ("Anna sleeps\tB-PER O O\n", r"tags.conll:1: 2 words and 3 tags; expected a token and its tag per line"),
    ],
)
def test_a_wrong_line_is_named(tmp_path: Path, content: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        read_examples("tag", str(write(tmp_path, content)))


def test_a_sentence_with_too_few_tags_is_named(tmp_path: Path) -> None:
    path = write(tmp_path, "Anna sleeps\tB-PER O\nAnna sleeps well\tB-PER O\n", "tags.tsv")
    with pytest.raises(
        UserError, match=r"tags.tsv:2: 3 words and 2 tags; expected one tag per word, and words separated"
    ):
        read_examples("tag", str(path))
