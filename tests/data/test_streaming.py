"""A stream is never in memory as a whole: it has the same pairs, within bounds, and resumes anywhere exactly."""

import gzip
import itertools
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saccade.data import Cleaning, ListedPairs, PairFiles, Selection, Stream, TextPair
from saccade.data.batching import Batch, Batches
from saccade.errors import UserError
from saccade.text import Placeholders, Policy, Vocabularies

TEXTS = [TextPair(f"the dog {n} " + "sleeps " * (n % 5), f"le chien {n}" + " dort" * (n % 4)) for n in range(40)]
VOCABULARIES = Vocabularies.train(TEXTS, Policy(kind="unigram", size=340), tags=["<a>", "<b>"])
SIZES = (1, 9, 30)


def stream_of(
    sizes: tuple[int, ...] = SIZES, weights: list[float] | None = None, buffer: int = 10, sampling: float = 0.0
) -> Stream:
    """A stream of several corpora; the second has pairs that are left out."""
    return Stream(chosen(sizes), VOCABULARIES, weights=weights, buffer=buffer, sampling=sampling)


@cache
def chosen(sizes: tuple[int, ...]) -> list[Selection]:
    cleaned = Cleaning(most_words=5)
    return [
        Selection.of(ListedPairs(TEXTS[:size]), cleaned if place == 1 else None).drop_long(VOCABULARIES, 60)
        for place, size in enumerate(sizes)
    ]


def endless(batches: Batches) -> Iterator[Batch]:
    return itertools.chain.from_iterable(itertools.repeat(batches))


def seen(batches: list[Batch]) -> list[tuple[list[int], list[list[int]], list[list[int]]]]:
    """Everything in the batches."""
    return [(batch.indices.tolist(), batch.source.tolist(), batch.target_out.tolist()) for batch in batches]


@settings(deadline=None, max_examples=10)
@given(st.integers(1, 50), st.integers(1, 150), st.integers(0, 5), st.sampled_from([0.0, 0.2]))
def test_an_epoch_has_every_pair_once_within_the_token_budget(
    buffer: int, tokens: int, seed: int, sampling: float
) -> None:
    stream = stream_of(buffer=buffer, sampling=sampling)
    selected = [place for place, pair in enumerate(TEXTS[:9]) if max(len(t.split()) for t in pair) <= 5]
    expected = sorted([0, *(1 + place for place in selected), *range(10, 40)])
    batches = Batches(stream, tokens=tokens, seed=seed)
    for _ in range(2):
        epoch = list(batches)
        assert sorted(itertools.chain(*(batch.indices.tolist() for batch in epoch))) == expected
        for batch in epoch:
            assert max(batch.source.numel(), batch.target_in.numel()) <= tokens or len(batch) == 1
    assert batches.epochs == 2.0


@settings(deadline=None, max_examples=10)
@given(
    st.integers(1, 50),
    st.integers(20, 150),
    st.lists(st.sampled_from([0.3, 1.0, 2.0]), min_size=3, max_size=3),
    st.sampled_from([0.0, 0.2]),
    st.data(),
)
def test_a_stream_resumed_anywhere_is_the_same(
    buffer: int, tokens: int, weights: list[float], sampling: float, data: st.DataObject
) -> None:
    def batches() -> Batches:
        return Batches(stream_of(weights=weights, buffer=buffer, sampling=sampling), tokens=tokens, seed=3)

    whole = batches()
    stream = endless(whole)
    stop = data.draw(st.integers(0, 30))
    for _ in itertools.islice(stream, stop):
        pass
    state, progress = whole.state(), whole.epochs
    rest = seen(list(itertools.islice(stream, 12)))

    resumed = batches()
    resumed.restore(state)
    assert resumed.epochs == progress
    assert seen(list(itertools.islice(endless(resumed), 12))) == rest
    assert resumed.state() == whole.state()


@pytest.mark.parametrize("packed", [False, True])
def test_a_file_is_continued_from_its_position(packed: bool, tmp_path: Path) -> None:
    path = tmp_path / ("pairs.tsv.gz" if packed else "pairs.tsv")
    text = "".join(f"{source}\t{target}\n" for source, target in TEXTS).encode()
    path.write_bytes(gzip.compress(text) if packed else text)

    def batches() -> Batches:
        return Batches(
            Stream([Selection.of(PairFiles(path)).drop_long(VOCABULARIES, 60)], VOCABULARIES, buffer=7), tokens=80
        )

    whole = list(itertools.islice(endless(batches()), 40))
    assert {index for batch in whole for index in batch.indices.tolist()} == set(range(40))
    for stop in (0, 1, 5, 13, 27):
        first = batches()
        for _ in itertools.islice(endless(first), stop):
            pass
        second = batches()
        second.restore(first.state())
        assert seen(list(itertools.islice(endless(second), 40 - stop))) == seen(whole[stop:])


def test_every_window_has_a_share_of_every_corpus() -> None:
    stream = stream_of((8, 0 + 8, 32), weights=[2.0, 1.0, 1.0], buffer=14)
    assert stream.windows == 4
    for number in range(4):
        indices = stream.window(1, 1, number).indices
        assert indices is not None
        counts = Counter("abc"[int(index >= 8) + int(index >= 16)] for index in indices.tolist())
        assert counts["a"] == 4 and counts["c"] == 8 and counts["b"] <= 2


def test_a_stream_has_tags_and_placeholders(tmp_path: Path) -> None:
    texts = [TextPair(f"see https://x.org/{n}", f"voir https://x.org/{n}") for n in range(20)]
    vocabularies = Vocabularies.train(
        texts, Policy(kind="bpe", size=330), tags=["<a>", "<b>"], placeholders=Placeholders(("url",))
    )
    both = [Selection.of(ListedPairs(texts)).drop_long(vocabularies, 60) for _ in range(2)]
    for sampling in (0.0, 0.2):
        window = Stream(both, vocabularies, tags=["<a>", None], buffer=100, sampling=sampling).window(1, 1, 0)
        first, second = (vocabularies.source.decode(window.source(place).tolist()) for place in (3, 23))
        assert first.startswith("<a> see ") and first.removeprefix("<a> ") == second
        left, right = vocabularies.mask_pair(*texts[3])
        assert second == left.text and vocabularies.target.decode(window.target(3).tolist()) == right.text
        assert "http" not in second


def test_sampling_differs_between_epochs_and_stays_within_the_limit() -> None:
    stream = stream_of((30,), buffer=100, sampling=0.1)
    texts = []
    for epoch in (1, 2, 3):
        window = stream.window(1, epoch, 0)
        texts.append([tuple(window.source(place).tolist()) for place in range(30)])
        assert [VOCABULARIES.source.decode(ids) for ids in texts[-1]] == [pair.source for pair in TEXTS[:30]]
        assert window.source.lengths.max() <= 60
    assert texts[0] != texts[1] != texts[2]
    tight = Selection.of(ListedPairs(TEXTS)).drop_long(VOCABULARIES, 14)
    window = Stream([tight], VOCABULARIES, sampling=0.01).window(1, 1, 0)
    assert window.source.lengths.max() == 14 or window.source.lengths.max() < 14
    assert len(window.places) == tight.report().kept


def test_a_file_that_became_shorter_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "pairs.tsv"
    path.write_text("a\tb\n" * 10)
    stream = Stream([Selection.of(PairFiles(path)).drop_long(VOCABULARIES, 60)], VOCABULARIES, buffer=4)
    path.write_text("a\tb\n" * 6)
    with pytest.raises(UserError, match="has become shorter since training began"):
        list(Batches(stream))
