import sys
from pathlib import Path

import pytest

from saccade.data import ListedPairs, PairFiles, TextPair, open_pairs
from saccade.data.huggingface import HubPairs
from saccade.errors import UserError

PAIRS = [TextPair("one", "un"), TextPair("two", "deux"), TextPair("three", "trois")]


def test_a_location_opens_files_or_a_data_set(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("one\tun\ntwo\tdeux\n")
    files = open_pairs(str(tmp_path / "a.tsv"))
    assert isinstance(files, PairFiles) and list(files) == PAIRS[:2]
    assert isinstance(open_pairs("hf:some/where:config@test"), HubPairs)
    with pytest.raises(UserError, match=r"hf:x has both sides; leave y out"):
        open_pairs("hf:x", "y")


def test_reversed_and_listed_pairs_are_sources(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("one\tun\ntwo\tdeux\n")
    forwards, backwards = open_pairs(str(tmp_path / "a.tsv")), open_pairs(str(tmp_path / "a.tsv"), reverse=True)
    assert list(backwards) == [("un", "one"), ("deux", "two")] and str(backwards).endswith("a.tsv, reversed")
    marks = [mark for mark, _ in backwards.marked()]
    assert list(backwards.marked(marks[1])) == [(marks[1], ("deux", "two"))]
    assert backwards.digest() != forwards.digest() and backwards.size() == forwards.size() == 16
    listed = ListedPairs(PAIRS)
    assert list(listed.marked((2,))) == [((2,), PAIRS[1]), ((3,), PAIRS[2])]
    assert listed.digest() == ListedPairs(PAIRS).digest() != ListedPairs(PAIRS[:2]).digest()


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(UserError, match=r"hf:some/data needs the package datasets: pip install datasets"):
        list(open_pairs("hf:some/data"))
