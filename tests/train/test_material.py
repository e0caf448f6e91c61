"""From a recipe's files to encoded pairs: what is held out, borrowed, kept for the second start, and reported."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from saccade.data import Corpus, TextPair
from saccade.decode import save
from saccade.errors import UserError
from saccade.models import Seq2Seq
from saccade.text import Policy, Vocabularies
from saccade.train.material import load_material
from saccade.train.recipe import Data

SMALL = Policy(kind="bpe", size=330)


def write(path: Path, pairs: list[TextPair]) -> str:
    path.write_text("".join(f"{pair.source}\t{pair.target}\n" for pair in pairs), encoding="utf-8")
    return str(path)


@pytest.fixture
def data(tmp_path: Path, pairs: list[TextPair]) -> Data:
    return Data(pairs=write(tmp_path / "pairs.tsv", pairs), vocabulary=SMALL)


def test_pairs_are_held_out_and_never_trained_on(data: Data, tmp_path: Path, pairs: list[TextPair]) -> None:
    material = load_material(replace(data, valid_share=0.3), tmp_path / "run", 1)
    assert len(material.valid) == 2 and len(material.corpus) == 6
    trained = {pairs[line - 1] for line in material.corpus.lines.tolist()}
    assert trained.isdisjoint(material.valid) and trained | set(material.valid) == set(pairs)


def test_validation_pairs_that_are_given(data: Data, tmp_path: Path, pairs: list[TextPair]) -> None:
    valid = write(tmp_path / "valid.tsv", [TextPair("a cat sleeps", "un chat dort"), TextPair("", "rien")])
    material = load_material(replace(data, valid=valid), tmp_path / "run", 1)
    assert [pair.source for pair in material.valid] == ["a cat sleeps"] and len(material.corpus) == len(pairs)
    assert "validation: kept 1 of 2 pairs; left out 1 empty on a side (line 2)" in material.notes


def test_validation_pairs_that_are_given_for_a_task(tmp_path: Path, pairs: list[TextPair]) -> None:
    task = Data(pairs="task:phrasebook-en-fr", count=60, words=(3, 5), vocabulary=SMALL)
    drawn = load_material(task, tmp_path / "drawn", 1)
    assert len(drawn.corpus) == 60 and len(drawn.valid) == 50
    trained = {tuple(drawn.corpus.source(i)) for i in range(60)}
    assert trained.isdisjoint(tuple(drawn.valid_corpus.source(i)) for i in range(50))
    given = load_material(replace(task, valid=write(tmp_path / "v.tsv", pairs)), tmp_path / "given", 1)
    assert list(given.valid) == pairs


def test_two_parallel_files(data: Data, tmp_path: Path, pairs: list[TextPair]) -> None:
    for name in ("source", "target"):
        lines = "".join(f"{getattr(pair, name)}\n" for pair in pairs)
        (tmp_path / f"{name}.txt").write_text(lines, encoding="utf-8")
    both = replace(data, pairs=str(tmp_path / "source.txt"), targets=str(tmp_path / "target.txt"))
    assert load_material(both, tmp_path / "two", 1).valid == load_material(data, tmp_path / "one", 1).valid


def test_what_is_left_out_is_reported(tmp_path: Path, pairs: list[TextPair]) -> None:
    odd = [TextPair("", "vide"), TextPair("long " * 90, "long"), TextPair(" ", "")]
    given = Data(pairs=write(tmp_path / "odd.tsv", [*pairs, *odd]), vocabulary=SMALL, longest=60)
    note = load_material(given, tmp_path / "run", 1).notes[0]
    assert note.startswith(f"{given.pairs}: kept 7 of 10 pairs")
    assert "1 longer than 60 pieces on a side (line 10)" in note and "2 empty on a side (lines 9, 11)" in note


def test_a_vocabulary_that_came_out_smaller_is_said(data: Data, tmp_path: Path) -> None:
    asked = replace(data, vocabulary=Policy(kind="unigram", size=5000))
    assert any("5,000 asked for" in note for note in load_material(asked, tmp_path / "run", 1).notes)


def test_a_vocabulary_is_borrowed_and_kept(
    data: Data,
    tmp_path: Path,
    vocabularies: Vocabularies,
    untrained: Callable[..., Seq2Seq[Any, Any]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    save(tmp_path / "other", untrained("cho2014"), vocabularies)
    borrowing = replace(data, vocab_from=str(tmp_path / "other"))
    monkeypatch.setattr(Vocabularies, "train", None)
    assert load_material(borrowing, tmp_path / "run", 1).vocabularies.hash == vocabularies.hash
    (tmp_path / "other").rename(tmp_path / "gone")  # a resumed run does not need it
    assert load_material(borrowing, tmp_path / "run", 1).vocabularies.hash == vocabularies.hash
    with pytest.raises(UserError, match=r"data\.vocab_from: .*other is not a model folder"):
        load_material(borrowing, tmp_path / "new", 1)


def test_the_second_start_encodes_nothing_anew(
    data: Data, tmp_path: Path, pairs: list[TextPair], monkeypatch: pytest.MonkeyPatch
) -> None:
    encoded: list[int] = []
    encode = Corpus.encode.__func__  # type: ignore[attr-defined]

    def counting(cls: type[Corpus], pairs: Any, *arguments: Any, **options: Any) -> Corpus:
        corpus: Corpus = encode(cls, pairs, *arguments, **options)
        encoded.append(len(corpus))
        return corpus

    monkeypatch.setattr(Corpus, "encode", classmethod(counting))
    first = load_material(data, tmp_path / "run", 1)
    monkeypatch.setattr(Vocabularies, "train", None)  # neither is the vocabulary made again
    second = load_material(data, tmp_path / "run", 1)
    assert encoded == [7, 1, 1]  # the held-out pair alone, which is not kept
    assert second.corpus.source.ids.tolist() == first.corpus.source.ids.tolist()
    assert second.vocabularies.hash == first.vocabularies.hash

    write(tmp_path / "pairs.tsv", [*pairs, TextPair("the dog sleeps", "le chien dort")])
    assert len(load_material(data, tmp_path / "run", 1).corpus) + 1 == 9
    load_material(replace(data, longest=50), tmp_path / "run", 1)
    assert len(encoded) == 7


def test_the_validation_pairs_are_those_that_were_encoded(data: Data, tmp_path: Path) -> None:
    odd = [TextPair("it " * 80, "long"), TextPair("it sleeps", "il dort")]
    given = replace(data, valid=write(tmp_path / "v.tsv", odd), longest=40)
    material = load_material(given, tmp_path / "run", 1)
    assert len(material.valid) == len(material.valid_corpus) == 1 and material.valid[0].target == "il dort"
    write(tmp_path / "v.tsv", odd[:1])
    with pytest.raises(UserError, match=r"^validation: no pair is left: .* left out 1 longer than 40 pieces"):
        load_material(given, tmp_path / "run", 1)


def test_the_longest_source_is_counted_in_words(tmp_path: Path) -> None:
    lines = ["a b c\tx", "extraordinarily\ty", "d e\tz", "f g h i j\tw", "k\tv"] * 3
    (tmp_path / "pairs.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    data = Data(pairs=str(tmp_path / "pairs.tsv"), vocabulary=Policy(kind="char", size=400), valid_most=1)
    assert load_material(data, tmp_path / "run", seed=1).longest_source in (3, 5)  # the longest may be held out
