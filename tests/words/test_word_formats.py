"""word2vec's files, written and read in both formats, and the messages about damaged or hostile ones."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from saccade import words
from saccade.errors import UserError
from saccade.words.formats import read_vectors, write_vectors

NUMBERS = st.floats(width=32, allow_nan=False, allow_infinity=False)
WORDS = st.text(st.characters(blacklist_categories=["Cs", "Cc", "Zs", "Zl", "Zp"]), min_size=1, max_size=8)


@settings(max_examples=60, deadline=None)
@given(data=st.data(), suffix=st.sampled_from([".txt", ".bin"]))
def test_every_number_survives(data: st.DataObject, suffix: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    listed = data.draw(st.lists(WORDS, min_size=1, max_size=6, unique=True))
    listed = [word for word in listed if not any(map(str.isspace, word)) and "\ufeff" not in word]
    matrix = data.draw(arrays(np.float32, (len(listed), 3), elements=NUMBERS))
    path = tmp_path_factory.getbasetemp() / f"vectors{suffix}"
    write_vectors(path, listed, matrix)
    found, numbers = read_vectors(path)
    assert found == listed
    assert np.array_equal(numbers, matrix)


def test_text_is_one_line_per_word(tmp_path: Path) -> None:
    path = tmp_path / "vectors.txt"
    write_vectors(path, ["cat", "chat"], np.array([[0.5, -1], [1e-9, 3]], np.float32))
    assert path.read_text() == "2 2\ncat 0.5 -1\nchat 0.000000001 3\n"
    assert words.load(path)["chat"].tolist() == pytest.approx([1e-9, 3])


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("v.txt", b"", "the first line is not the numbers of words and of dimensions"),
        ("v.txt", b"cat 0.5 1\n", "the first line is not the numbers of words and of dimensions"),
        ("v.txt", b"3 2\ncat 0.5 1\n", "cut off"),
        ("v.txt", b"2 2\ncat 0.5 1\n\n\n\n\n", "v.txt:3: 0 numbers; expected a word and 2 numbers, 2 times"),
        ("v.txt", b"1 2\ncat 0.5 one\n", "v.txt:2: the vector of 'cat' has something that is not a number"),
        ("v.txt", b"1 2\ncat 0.5 nan\n", "a number is not finite"),
        ("v.txt", b"2 1\ncat 0.5\ncat 0.5\n", "a word is listed twice"),
        ("v.txt", b"1 1\ncat 0.5\ndog 0.5\n", "v.txt:3: 1 numbers; expected a word and 1 numbers, 1 times"),
        ("v.txt", b"900000000 900000000\ncat 0.5\n", "needs at least"),
        ("v.bin", b"900000000 900000000\ncat 0.5\n", "needs at least"),
        ("v.bin", b"1 2\ncat \0\0\0\0\0\0\0", "the vector of word 1 is cut off"),
        ("v.bin", b"1 1\ncatcatcat", "word 1 does not end"),
        ("v.bin", b"1 1\n\xff \0\0\0\0\n", "word 1 is not UTF-8"),
    ],
)
def test_damage_is_named(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(UserError, match=message.replace("(", r"\(")):
        words.load(path)


def test_words_with_spaces_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="'new york' has white space"):
        write_vectors(tmp_path / "v.txt", ["new york"], np.ones((1, 2), np.float32))
    assert not any(tmp_path.iterdir())


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".txt", ".bin"])
def test_gensim_reads_and_writes_the_same_files(tmp_path: Path, suffix: str) -> None:
    from gensim.models import KeyedVectors

    is_binary, matrix = suffix == ".bin", np.random.default_rng(1).normal(size=(3, 4)).astype(np.float32)
    write_vectors(tmp_path / f"ours{suffix}", ["cat", "chat", "猫"], matrix)
    read = KeyedVectors.load_word2vec_format(str(tmp_path / f"ours{suffix}"), binary=is_binary)
    assert read.index_to_key == ["cat", "chat", "猫"] and np.array_equal(read.vectors, matrix)

    read.save_word2vec_format(str(tmp_path / f"theirs{suffix}"), binary=is_binary)
    ours = words.load(tmp_path / f"theirs{suffix}")
    assert ours.words == ["cat", "chat", "猫"]
    np.testing.assert_allclose(ours.matrix, matrix, rtol=1e-6)
    neighbours = read.most_similar("cat", topn=2)
    assert [(word, pytest.approx(cosine, abs=1e-5)) for word, cosine in ours.similar("cat")] == neighbours
