import json
from pathlib import Path

import numpy as np
import pytest

from saccade.data import Corpus, DamagedError, Split, TextPair
from saccade.errors import UserError
from saccade.text import Policy, Vocabularies

TEXTS = [TextPair(f"the dog number {n} sleeps", f"le chien numéro {n} dort") for n in range(40)]
VOCABULARIES = Vocabularies.train(TEXTS, Policy(kind="bpe", size=330), joint=False)


def test_every_pair_is_there_or_accounted_for() -> None:
    pairs = [
        TextPair("", "x"),
        *TEXTS,
        TextPair("a", " "),
        TextPair("word " * 99, "court"),
        TextPair("dog", "mot " * 99),
    ]
    corpus = Corpus.encode(pairs, VOCABULARIES, longest=60)
    assert len(corpus) == 40
    for index, (line, pair) in enumerate(zip(corpus.lines, TEXTS)):
        assert pairs[line - 1] is pair
        assert VOCABULARIES.source.decode(corpus.source(index).tolist()) == pair.source
        assert VOCABULARIES.target.decode(corpus.target(index).tolist()) == pair.target
        assert corpus.source.lengths[index] == len(corpus.source(index))
    assert str(corpus.report) == (
        "kept 40 of 44 pairs; left out 2 longer than 60 pieces on a side (lines 43, 44); "
        "left out 2 empty on a side (lines 1, 42)"
    )


def test_the_report_shows_the_first_few() -> None:
    report = Corpus.encode([*TEXTS, *[TextPair("", "")] * 9], VOCABULARIES).report
    assert str(report) == "kept 40 of 49 pairs; left out 9 empty on a side (lines 41, 42, 43, 44, 45, …)"
    assert str(Corpus.encode(TEXTS, VOCABULARIES).report) == "kept 40 of 40 pairs"


def test_held_out_pairs_are_passed_over_and_lines_stay_true() -> None:
    split = Split.of(TEXTS, share=0.25)
    corpus = Corpus.encode(TEXTS, VOCABULARIES, without=split)
    assert [TEXTS[line - 1] for line in corpus.lines] == list(split.training(TEXTS))
    assert corpus.report.kept == 30


def test_nothing_left_is_said() -> None:
    with pytest.raises(UserError, match=r"no pair is left: kept 0 of 40 .* 3 pieces"):
        Corpus.encode(TEXTS, VOCABULARIES, longest=3)


def test_saved_and_mapped(tmp_path: Path) -> None:
    corpus = Corpus.encode([*TEXTS, TextPair("", "")], VOCABULARIES)
    corpus.save(tmp_path)
    loaded = Corpus.load(tmp_path)
    assert loaded.report == corpus.report
    assert isinstance(loaded.source.ids, np.memmap)
    for name, values in corpus._arrays.items():
        assert np.array_equal(loaded._arrays[name], values) and loaded._arrays[name].dtype == values.dtype


def test_any_damage_is_noticed(tmp_path: Path) -> None:
    with pytest.raises(DamagedError):
        Corpus.load(tmp_path)
    Corpus.encode(TEXTS, VOCABULARIES).save(tmp_path)
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
    about = json.loads((tmp_path / "corpus.json").read_text())
    others: list[object] = [about | {"format": 0}, about | {"checksums": {}}, about | {"report": {"more": 1}}, []]
    for other in others:
        (tmp_path / "corpus.json").write_text(json.dumps(other))
        with pytest.raises(DamagedError):
            Corpus.load(tmp_path)
