"""Verdicts, line numbers, and reading from any place."""

import gzip
from pathlib import Path

import numpy as np
import pytest

from saccade.data import Cleaning, DamagedError, ListedPairs, PairFiles, Selection, Split, TextPair, Verdict, selection
from saccade.data.cleaning import text_key
from saccade.text import Policy, Vocabularies

TEXTS = [TextPair(f"the dog number {n} sleeps", f"le chien numéro {n} dort") for n in range(50)]
VOCABULARIES = Vocabularies.train(TEXTS, Policy(kind="bpe", size=330), tags=["<fr>"])


@pytest.fixture(autouse=True)
def short_strides(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selection, "STRIDE", 8)


def written(tmp_path: Path, kind: str) -> PairFiles:
    if kind == "csv":  # every record takes two lines, after a header
        text = "source,target\n" + "".join(f'{pair.source},"{pair.target}\n"\n' for pair in TEXTS)
    else:
        text = "".join(f"{pair.source}\t{pair.target}\n" for pair in TEXTS)
    path = tmp_path / f"pairs.{kind}"
    path.write_bytes(gzip.compress(text.encode()) if kind == "gz" else text.encode())
    return PairFiles(path)


@pytest.mark.parametrize("kind", ["tsv", "csv", "gz"])
def test_records_are_read_from_any_place(kind: str, tmp_path: Path) -> None:
    chosen = Selection.of(written(tmp_path, kind))
    every = list(chosen.records())
    assert len(chosen) == 50 and len(chosen.marks) == 7
    assert [line for _, line, _ in every] == [2 * n if kind == "csv" else n for n in range(1, 51)]
    for first in (0, 1, 7, 8, 9, 33, 49, 50):
        assert list(chosen.records(first)) == every[first:]


def test_a_report_has_the_line_numbers_of_the_file(tmp_path: Path) -> None:
    files = written(tmp_path, "csv")
    long = Selection.of(files, Cleaning(most_words=5)).report()
    assert long.kept == 50
    few = Selection.of(files, Cleaning(most_words=4)).report()
    assert few.kept == 0 and few.left_out[0].first == (2, 4, 6, 8, 10)


def test_pairs_are_held_out_here_and_elsewhere() -> None:
    pairs = [
        *TEXTS,
        TextPair("le chien numéro 3 dort", "x"),
        TextPair("x", "the dog number 4 sleeps"),
        TextPair("", ""),
    ]
    split = Split(1, frozenset(text_key(pair.source, 1) for pair in TEXTS[3:5]))
    chosen = Selection.of(ListedPairs(pairs)).hold_out(split)
    assert chosen.held_out == tuple(TEXTS[3:5]) and (chosen.verdicts == Verdict.HELD_OUT).sum() == 2
    other = Selection.of(ListedPairs(pairs)).hold_out(Split(1, frozenset()), split.held_out)
    assert np.flatnonzero(other.verdicts == Verdict.HELD_OUT_ELSEWHERE).tolist() == [3, 4, 51] and not other.held_out
    assert "left out 3 with a text that is held out in another corpus (lines 4, 5, 52)" in str(other.report())
    assert chosen.report().kept == 50


@pytest.mark.parametrize("longest", [8, 12, 20, 80])
@pytest.mark.parametrize("tag", [None, "<fr>"])
def test_long_pairs_are_found_without_tokenising_every_text(longest: int, tag: str | None) -> None:
    pairs = [TextPair("dog " * n, "chien " * (n // 2 + 1)) for n in range(1, 30)]
    shorter = Selection.of(ListedPairs(pairs)).drop_long(VOCABULARIES, longest, tag)
    for place, pair in enumerate(pairs):
        source, target = map(len, VOCABULARIES.encode(pair))
        too_long = max(source + (tag is not None), target) > longest
        assert (shorter.verdicts[place] == Verdict.TOO_LONG) == too_long
    selected = [pair for _, pair in shorter.selected()]
    assert shorter.longest == longest and shorter.longest_source == max(len(pair.source.split()) for pair in selected)
    assert (f"longer than {longest} tokens" in str(shorter.report())) == (longest < 80)


def test_a_text_that_grows_when_normalised_is_measured_afterwards() -> None:
    folded = Vocabularies.train(TEXTS, Policy(kind="char", size=400, normalise="nfkc"))
    grown = TextPair("\ufdfa" * 4, "x")  # three bytes each, and eighteen letters
    assert len(folded.source.encode(grown.source)) > 100
    assert Selection.of(ListedPairs([grown])).drop_long(folded, 40).verdicts.tolist() == [Verdict.TOO_LONG]
    words = Vocabularies.train(TEXTS, Policy(kind="word", size=300))
    spaced = TextPair("the     dog", "x")  # a space that is no word's is three bytes
    assert len(words.source.encode(spaced.source)) == 14
    assert Selection.of(ListedPairs([spaced])).drop_long(words, 13).verdicts.tolist() == [Verdict.TOO_LONG]


def test_a_saved_selection_is_loaded(tmp_path: Path) -> None:
    files, cleaning = written(tmp_path, "tsv"), Cleaning(script=0.5, duplicates=True)
    made = Selection.of(files, cleaning).hold_out(Split.of(TEXTS)).drop_long(VOCABULARIES, 30)
    folder = tmp_path / "kept"
    folder.mkdir()
    made.save(folder)
    loaded = Selection.load(folder, files, cleaning)
    assert list(loaded.selected()) == list(made.selected()) and loaded.held_out == made.held_out
    assert loaded.report() == made.report() and loaded.scripts == made.scripts
    assert (loaded.longest, loaded.longest_source, loaded.tokens) == (30, 5, made.tokens)
    assert loaded.longest_sides == made.longest_sides == (30, 30)
    (folder / "verdicts.npy").write_bytes(b"")
    with pytest.raises(DamagedError):
        Selection.load(folder, files, cleaning)


def test_source_and_target_have_their_own_bounds_in_tokens() -> None:
    short, long = "dog", "le chien numéro 7 dort " * 3
    for pair in (TextPair(short, long), TextPair(long, short)):
        bounds = Selection.of(ListedPairs([pair])).drop_long(VOCABULARIES, 256).longest_sides
        pieces = tuple(map(len, VOCABULARIES.encode(pair)))
        assert all(count <= bound for count, bound in zip(pieces, bounds, strict=True))
        assert (bounds[0] < bounds[1]) == (pieces[0] < pieces[1])
