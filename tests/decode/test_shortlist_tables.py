"""The candidates of a batch, their places and ids, and tables that come from somebody else."""

from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from saccade.decode.search.hypotheses import Hypothesis
from saccade.decode.shortlist.tables import NAME, Shortlist, ShortlistRecord, read_shortlist, with_special_tokens
from saccade.errors import UserError
from saccade.files import sha256
from saccade.text import EOS

SOURCES, TARGETS = 12, 30


@st.composite
def shortlists(draw: st.DrawFn) -> Shortlist:
    rows = draw(st.lists(st.lists(st.integers(4, TARGETS - 1), max_size=6), min_size=SOURCES, max_size=SOURCES))
    always = with_special_tokens(np.array(draw(st.lists(st.integers(0, TARGETS - 1), max_size=8)), np.int64))
    starts = np.cumsum([0, *map(len, rows)]).astype(np.int32)
    return Shortlist(starts, np.array([token for row in rows for token in row], np.int32), always, TARGETS)


sentences = st.lists(st.lists(st.integers(4, SOURCES - 1), max_size=5), min_size=1, max_size=5)


@settings(deadline=None, max_examples=200)
@given(shortlist=shortlists(), sources=sentences, data=st.data())
def test_every_sentence_has_its_own_tokens_each_at_one_place(
    shortlist: Shortlist, sources: list[list[int]], data: st.DataObject
) -> None:
    unlimited = sorted(data.draw(st.sets(st.integers(0, len(sources) - 1))))
    keeps_ids = data.draw(st.booleans())
    candidates = shortlist.choose(sources, unlimited=unlimited, keeps_ids=keeps_ids)
    for b, (source, ids, allowed) in enumerate(zip(sources, candidates.ids, candidates.allowed, strict=True)):
        wanted = {*shortlist.always.tolist()}
        for token in source:
            wanted |= {*shortlist.best[shortlist.starts[token] : shortlist.starts[token + 1]].tolist()}
        written = ids[allowed].tolist()
        assert len(written) == len(set(written))
        assert set(written) == (set(range(TARGETS)) if b in unlimited else wanted)
        assert ids[: EOS + 1].tolist() == [0, 1, 2, 3] and allowed[: EOS + 1].all()
        if keeps_ids or unlimited:
            assert ids.tolist() == list(range(TARGETS))
        places = torch.nonzero(allowed).flatten().tolist()
        found = Hypothesis(tokens=tuple(places), token_log_probs=(), log_prob=0.0, score=0.0, ended=True)
        results: list[list[Hypothesis]] = [[] for _ in sources]
        results[b] = [found]
        assert candidates.restore(results)[b][0].tokens == tuple(written)


def test_memory_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    starts, always = np.arange(SOURCES + 1, dtype=np.int32), with_special_tokens(np.empty(0, np.int64))
    shortlist = Shortlist(starts, np.arange(4, 4 + SOURCES, dtype=np.int32), always, TARGETS)
    sources = [[4, 5, 6], [7, 8]] * 20
    few = shortlist.choose(sources)
    assert few.own.shape == (40, 3)
    monkeypatch.setattr("saccade.decode.shortlist.tables._MOST_COPIES", 3)
    many = shortlist.choose(sources)
    assert many.own.shape == (40, 0) and many.ids[0].tolist() == list(range(TARGETS))
    for few_ids, few_allowed, allowed in zip(few.ids, few.allowed, many.allowed, strict=True):
        assert sorted(few_ids[few_allowed].tolist()) == torch.nonzero(allowed).flatten().tolist()


@settings(deadline=None, max_examples=30)
@given(shortlist=shortlists())
def test_tables_are_read_as_they_were_written(shortlist: Shortlist) -> None:
    again = Shortlist.from_bytes(shortlist.to_bytes(), Path(NAME), SOURCES, TARGETS)
    for name in ("starts", "best", "always"):
        assert np.array_equal(getattr(again, name), getattr(shortlist, name))


def tables(**changes: object) -> bytes:
    good = {
        "starts": np.array([0, 1, *[2] * (SOURCES - 1)], np.int32),
        "best": np.array([5, 6], np.int32),
        "always": np.array([0, 1, 2, 3, 9], np.int32),
    }
    return safetensors.numpy.save({name: value for name, value in {**good, **changes}.items() if value is not None})  # type: ignore[misc]


BAD = {
    "no file of tensors": b"no tensors",
    "cut off": tables()[:-3],
    "another table": tables(more=np.zeros(1, np.int32)),
    "a table too few": tables(best=None),
    "wide numbers": tables(best=np.array([5, 6])),
    "floats": tables(best=np.array([5, 6], np.float32)),
    "two axes": tables(best=np.array([[5, 6]], np.int32)),
    "another vocabulary": tables(starts=np.array([0, 2], np.int32)),
    "a late start": tables(starts=np.array([1, *[2] * SOURCES], np.int32)),
    "an early end": tables(starts=np.array([0, *[1] * SOURCES], np.int32)),
    "backwards": tables(starts=np.array([0, 2, 1, *[2] * (SOURCES - 2)], np.int32)),
    "a token beyond the vocabulary": tables(best=np.array([5, TARGETS], np.int32)),
    "a frequent token beyond the vocabulary": tables(always=np.array([0, 1, 2, 3, TARGETS], np.int32)),
    "a negative token": tables(best=np.array([5, -1], np.int32)),
    "no end symbol": tables(always=np.array([0, 1, 2, 9], np.int32)),
    "not sorted": tables(always=np.array([0, 1, 2, 3, 9, 8], np.int32)),
    "nothing frequent": tables(always=np.array([], np.int32)),
}


def write(folder: Path, content: bytes) -> ShortlistRecord:
    (folder / NAME).write_bytes(content)
    return ShortlistRecord(sha256=sha256(content), pairs=1)


@pytest.mark.parametrize("content", BAD.values(), ids=BAD)
def test_bad_tables_are_refused_in_one_line(content: bytes, tmp_path: Path) -> None:
    record = write(tmp_path, content)
    with pytest.raises(UserError, match=r"shortlist\.safetensors: damaged .* saccade shortlist") as refused:
        read_shortlist(tmp_path, record, SOURCES, TARGETS)
    assert "\n" not in str(refused.value)


def test_good_tables_are_read_and_bad_files_refused(tmp_path: Path) -> None:
    record = write(tmp_path, tables())
    assert read_shortlist(tmp_path, record, SOURCES, TARGETS).best.tolist() == [5, 6]
    (tmp_path / NAME).write_bytes(tables(best=np.array([5, 7], np.int32)))
    with pytest.raises(UserError, match="checksum"):
        read_shortlist(tmp_path, record, SOURCES, TARGETS)
    with (tmp_path / NAME).open("ab") as grown:
        grown.truncate(1 << 30)  # a sparse file: it would take memory only if it were read
    with pytest.raises(UserError, match="expected at most"):
        read_shortlist(tmp_path, record, SOURCES, TARGETS)
    (tmp_path / NAME).unlink()
    with pytest.raises(UserError, match="missing"):
        read_shortlist(tmp_path, record, SOURCES, TARGETS)
    (tmp_path / "elsewhere").write_bytes(tables())
    (tmp_path / NAME).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UserError, match="link"):
        read_shortlist(tmp_path, record, SOURCES, TARGETS)
