import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saccade.data import Corpus, DamagedError, ListedPairs, Mixture, Selection, Split, TextPair
from saccade.errors import UserError
from saccade.text import Policy, Vocabularies

TEXTS = [TextPair(f"the dog number {n} sleeps", f"le chien numéro {n} dort") for n in range(40)]
VOCABULARIES = Vocabularies.train(TEXTS, Policy(kind="bpe", size=330), joint=False)


def encode(pairs: list[TextPair], **options: Any) -> Corpus:
    return Corpus.encode(Selection.of(ListedPairs(pairs)), VOCABULARIES, **options)


def test_every_pair_is_encoded_or_reported() -> None:
    pairs = [
        TextPair("", "x"),
        *TEXTS,
        TextPair("a", " "),
        TextPair("word " * 99, "court"),
        TextPair("dog", "mot " * 99),
    ]
    corpus = encode(pairs, longest=60)
    assert len(corpus) == 40
    for index, (line, pair) in enumerate(zip(corpus.lines, TEXTS)):
        assert pairs[line - 1] is pair
        assert VOCABULARIES.source.decode(corpus.source(index).tolist()) == pair.source
        assert VOCABULARIES.target.decode(corpus.target(index).tolist()) == pair.target
        assert corpus.source.lengths[index] == len(corpus.source(index))
    assert str(corpus.report) == (
        "kept 40 of 44 pairs; left out 2 with an empty side (lines 1, 42); "
        "left out 2 longer than 60 tokens on a side (lines 43, 44)"
    )


def test_the_report_shows_the_first_lines() -> None:
    report = encode([*TEXTS, *[TextPair("", "")] * 9]).report
    assert str(report) == "kept 40 of 49 pairs; left out 9 with an empty side (lines 41, 42, 43, 44, 45, …)"
    assert str(encode(TEXTS).report) == "kept 40 of 40 pairs"


def test_held_out_pairs_are_skipped_and_line_numbers_stay_right() -> None:
    split = Split.of(TEXTS, share=0.25)
    corpus = Corpus.encode(Selection.of(ListedPairs(TEXTS)).hold_out(split), VOCABULARIES)
    assert [TEXTS[line - 1] for line in corpus.lines] == [pair for pair in TEXTS if pair not in split]
    assert corpus.report.kept == 30


def test_a_text_of_exactly_the_longest_length_is_kept() -> None:
    source, target = (len(side) for side in VOCABULARIES.encode(TEXTS[0]))
    assert len(encode(TEXTS[:1], longest=max(source, target))) == 1
    with pytest.raises(UserError, match="no pair is left"):
        encode(TEXTS[:1], longest=max(source, target) - 1)


def test_corpora_of_the_same_size_have_different_orders() -> None:
    corpus = encode(TEXTS)
    places = Mixture([corpus, corpus], [0.5, 0.5]).window(1, 1, 0).places
    assert len(places) == 40 and set(places[:20]) != set(places[20:] - 40)


def test_a_corpus_without_pairs_is_refused() -> None:
    with pytest.raises(UserError, match=r"no pair is left: kept 0 of 40 .* 3 tokens"):
        encode(TEXTS, longest=3)


def test_a_saved_corpus_is_mapped_from_disk(tmp_path: Path) -> None:
    corpus = encode([*TEXTS, TextPair("", "")])
    corpus.save(tmp_path)
    loaded = Corpus.load(tmp_path)
    assert loaded.report == corpus.report
    assert isinstance(loaded.source.ids, np.memmap)
    for built, mapped in zip(
        (*corpus.source, *corpus.target, corpus.lines), (*loaded.source, *loaded.target, loaded.lines)
    ):
        assert np.array_equal(mapped, built) and mapped.dtype == built.dtype


def test_any_damage_is_noticed(tmp_path: Path) -> None:
    with pytest.raises(DamagedError):
        Corpus.load(tmp_path)
    encode(TEXTS).save(tmp_path)
    files = sorted(tmp_path.iterdir())
    assert len(files) == 6
    for file in files:
        whole = file.read_bytes()
        middle = len(whole) // 2
        flipped = whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :]
        for damaged in (b"", whole[:middle], *([flipped] if file.suffix == ".npy" else [])):
            file.write_bytes(damaged)
            with pytest.raises(DamagedError):
                Corpus.load(tmp_path)
        file.unlink()
        with pytest.raises(DamagedError):
            Corpus.load(tmp_path)
        file.write_bytes(whole)
    about = json.loads((tmp_path / "about.json").read_text())
    others: list[object] = [about | {"format": 0}, about | {"checksums": {}}, about | {"about": {"more": 1}}, []]
    for other in others:
        (tmp_path / "about.json").write_text(json.dumps(other))
        with pytest.raises(DamagedError):
            Corpus.load(tmp_path)


def test_a_tag_precedes_every_source() -> None:
    vocabularies = Vocabularies.train(TEXTS, Policy(kind="bpe", size=330), tags=["<fr>"])
    corpus = Corpus.encode(Selection.of(ListedPairs(TEXTS)), vocabularies, tag="<fr>")
    assert {int(corpus.source(i)[0]) for i in range(40)} == {vocabularies.source.tags["<fr>"]}
    assert vocabularies.source.decode(corpus.source(3).tolist()) == f"<fr> {TEXTS[3].source}"
    assert vocabularies.target.decode(corpus.target(3).tolist()) == TEXTS[3].target


PARTS = [encode(TEXTS[:n]) for n in (1, 7, 10)]
weights = st.lists(st.sampled_from([0.1, 0.3, 0.5, 1.0, 1.5, 2.0, 3.7]), min_size=3, max_size=3)


@settings(deadline=None, max_examples=30)
@given(weights, st.integers(0, 9))
def test_a_mixture_uses_each_corpus_as_often_as_its_weight(weights: list[float], seed: int) -> None:
    mixture = Mixture(PARTS, weights)
    starts, sizes = [0, 1, 8], [1, 7, 10]
    seen: list[list[int]] = [[], [], []]
    for epoch in range(1, 11):
        window = mixture.window(seed, epoch, 0)
        assert window.places.tolist() == mixture.window(seed, epoch, 0).places.tolist()
        for place in window.places.tolist():
            which = 2 if place >= 8 else 1 if place >= 1 else 0
            seen[which].append(place - starts[which])
            assert window.source(place).tolist() == PARTS[which].source(place - starts[which]).tolist()
    for places, size, weight in zip(seen, sizes, weights):
        assert len(places) == int(size * weight * 10 + 1e-9)
        passes = [places[first : first + size] for first in range(0, len(places), size)]
        assert all(sorted(whole) == list(range(size)) for whole in passes if len(whole) == size), (
            "a pass takes all once"
        )
    lengths = mixture.window(seed, 1, 0).source.lengths
    assert lengths.tolist() == list(itertools.chain(*(part.source.lengths.tolist() for part in PARTS)))


def test_a_corpus_and_a_mixture_know_their_lengths() -> None:
    whole = PARTS[2]
    assert whole.longest_sides == (max(whole.source.lengths), max(whole.target.lengths))
    assert whole.tokens == sum(max(len(whole.source(i)), len(whole.target(i))) for i in range(10))
    mixture = Mixture(PARTS, [1.0, 1.0, 2.0])
    assert (
        mixture.longest_sides == whole.longest_sides
        and mixture.tokens == sum(part.tokens for part in PARTS) + whole.tokens
    )
