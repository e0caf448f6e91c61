"""Texts are read as pairs of two equal sides, and learnt line by line or in blocks."""

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saccade.data.batching import Batch, Batches
from saccade.data.corpus import Corpus, Side
from saccade.data.texts import LINE_END, TextFiles, TextForm
from saccade.errors import UserError
from saccade.ranges import OptionError
from saccade.text import BOS, EOS, Policy, Vocabularies
from saccade.train.data_options import Data
from saccade.train.dataset import load_dataset

TEXTS = st.lists(st.lists(st.integers(4, 99), min_size=1, max_size=30), min_size=1, max_size=20)


def window_of(texts: list[list[int]]) -> Any:
    """A window as a corpus gives it before its form: both sides are the text"""
    joined = np.array([token for text in texts for token in text], np.int32)
    side = Side(joined, np.cumsum([0, *map(len, texts)]).astype(np.int64))
    return Corpus(side, side, np.arange(len(texts)), report=None).window(1, 1, 0)  # type: ignore[arg-type]


def learnt(form: TextForm, texts: list[list[int]], epoch: int = 1) -> list[list[int]]:
    """Each target with the token that ends it"""
    window = form(window_of(texts), seed=7, epoch=epoch, number=0)
    assert not window.source.lengths.any()
    ends = [EOS] * len(window.places) if window.ends is None else window.ends.tolist()
    return [[*window.target(place).tolist(), end] for place, end in zip(window.places.tolist(), ends, strict=True)]


@given(TEXTS)
def test_each_line_is_a_text_with_an_end(texts: list[list[int]]) -> None:
    assert learnt(TextForm(), texts) == [[*text, EOS] for text in texts]


@settings(deadline=None)
@given(TEXTS, st.integers(2, 12), st.integers(1, 5))
def test_blocks_have_every_token_once_in_order(texts: list[list[int]], size: int, epoch: int) -> None:
    blocks = learnt(TextForm(size), texts, epoch)
    assert [token for block in blocks for token in block] == [token for text in texts for token in text]
    assert all(1 <= len(block) <= size for block in blocks)
    assert all(len(block) == size for block in blocks[1:-1])
    assert blocks == learnt(TextForm(size), texts, epoch)


def test_blocks_of_another_epoch_are_cut_elsewhere() -> None:
    text = [list(range(4, 90))]
    assert len({tuple(map(len, learnt(TextForm(10), text, epoch))) for epoch in range(1, 9)}) > 3


def test_a_block_is_followed_by_the_next_token_of_the_text() -> None:
    """Every token of a block is predicted; its first one from the start symbol alone."""
    corpus = Corpus(*[Side(np.arange(10, 30, dtype=np.int32), np.array([0, 20]))] * 2, np.arange(1), None)  # type: ignore[arg-type]
    batches: list[Batch] = [*Batches(corpus, tokens=100, form=TextForm(8))]
    rows = [
        (batch.target_in[row, :length].tolist(), batch.target_out[row, :length].tolist())
        for batch in batches
        for row, length in enumerate(batch.target_readable.sum(1).tolist())
    ]
    for read, written in rows:
        assert read == [BOS, *written[:-1]]
    assert sorted(token for _, written in rows for token in written) == [*range(10, 30)]
    assert all(batch.source.shape[1] == 1 for batch in batches)  # the end symbol, which no language model reads


def test_lines_become_passages_for_blocks(tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text("one\n\ntwo and\nthree\n", encoding="utf-8")
    lines = [pair.target for pair in TextFiles(str(tmp_path / "text.txt"))]
    assert lines == ["one", "", "two and", "three"]
    passages = [pair.target for pair in TextFiles(str(tmp_path / "text.txt"), passage=8)]
    assert passages == [f"one{LINE_END}{LINE_END}two and{LINE_END}", f"three{LINE_END}"]
    assert "".join(passages).replace(LINE_END, "\n") == (tmp_path / "text.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize("block", [None, 16])
def test_a_text_becomes_a_dataset(tmp_path: Path, block: int | None) -> None:
    lines = [f"the {colour} {animal} sleeps" for colour in ("old", "new", "red") for animal in ("cat", "dog", "fox")]
    (tmp_path / "text.txt").write_text("\n".join([*lines, ""] * 30) + "\n", encoding="utf-8")
    letters = Policy(kind="char", size=100, byte_fallback=False)
    data = Data(pairs=str(tmp_path / "text.txt"), contents="text", block=block, vocabulary=letters)
    dataset = load_dataset(data, tmp_path / "run", seed=1)
    assert isinstance(dataset.vocabularies, Vocabularies) and dataset.vocabularies.joint
    (note, *_) = dataset.notes
    assert "texts" in note and "pair" not in note
    if block is None:  # the empty lines are left out, and the repeated ones are not
        assert "left out 30 empty (lines 10, 20, 30, 40, 50, …)" in note
    held_out = {pair.target for pair in dataset.valid}
    assert held_out and (block is not None or held_out < set(lines))
    again = load_dataset(data, tmp_path / "run", seed=1)
    assert [pair.target for pair in again.valid] == [pair.target for pair in dataset.valid]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"contents": "pairs", "block": 8}, "block is for a text: set contents = 'text', or leave it out"),
        ({"targets": "b.txt"}, "contents are a text, which has one side: leave targets out"),
        ({"both_directions": 2}, "contents are a text, which has one side: leave both_directions out"),
        ({"pairs": "task:copy"}, "contents are a text, but task:copy has pairs: give a file"),
    ],
)
def test_settings_of_pairs_are_not_for_texts(options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        Data(**{"pairs": "a.txt", "contents": "text"} | options)


def test_a_file_without_text_says_what_is_expected(tmp_path: Path) -> None:
    (tmp_path / "empty.txt").write_text("")
    with pytest.raises(UserError, match=r"empty.txt:1: the file is empty; expected one text per line"):
        list(TextFiles(str(tmp_path / "empty.txt")))
    (tmp_path / "blank.txt").write_text("\n\n  \n")
    data = Data(pairs=str(tmp_path / "blank.txt"), contents="text")
    with pytest.raises(UserError, match=r"0 texts; expected at least 2 different texts, .*: give more texts"):
        load_dataset(data, tmp_path / "run", seed=1)


@pytest.mark.parametrize("block", [None, 8])
def test_a_streamed_text_has_every_token_once_per_epoch(tmp_path: Path, block: int | None) -> None:
    lines = [f"{number:04d} and so on" for number in range(200)]
    (tmp_path / "text.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    letters = Policy(kind="char", size=100, byte_fallback=False)
    data = Data(pairs=str(tmp_path / "text.txt"), contents="text", block=block, vocabulary=letters)
    counts = []
    for streaming in (False, True):
        chosen = replace(data, streaming=streaming, buffer=30)
        dataset = load_dataset(chosen, tmp_path / f"run-{streaming}", seed=1)
        batches = Batches(dataset.corpus, tokens=200, form=dataset.form)
        for _ in range(2):
            written = [token for batch in batches for token in batch.target_out[batch.target_readable].tolist()]
            counts.append(Counter(written))
    assert counts[0] == counts[1] == counts[2] == counts[3]
