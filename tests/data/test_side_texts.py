"""The texts on one side of pairs, from which a model learns as from a file of texts."""

from pathlib import Path

import pytest

from saccade.data import PairFiles, TextPair
from saccade.data.texts import SideTexts
from saccade.ranges import OptionError
from saccade.train.data_options import Data, WeightedCorpus


@pytest.fixture
def pairs(tmp_path: Path) -> PairFiles:
    (tmp_path / "pairs.tsv").write_text("one\tun\ntwo\tdeux\nthree\ttrois\n", encoding="utf-8")
    return PairFiles(tmp_path / "pairs.tsv")


def test_each_side_is_texts(pairs: PairFiles) -> None:
    sources, targets = SideTexts(pairs, "source"), SideTexts(pairs, "target")
    assert [*sources] == [TextPair(text, text) for text in ("one", "two", "three")]
    assert [pair.source for pair in targets.in_memory()] == ["un", "deux", "trois"]
    assert len({sources.digest(), targets.digest(), pairs.digest()}) == 3
    assert sources.unit == "text" and str(sources) == f"{pairs}, sources"
    second = [mark for mark, _ in targets.marked()][1]
    assert [pair.target for _, pair in targets.marked(second)] == ["deux", "trois"]


def test_sides_are_for_texts() -> None:
    corpora = (WeightedCorpus(pairs="pairs.tsv", side="source"),)
    assert Data(corpora=corpora, contents="text").form is not None
    with pytest.raises(OptionError, match="has a side, which is for a text: set contents = 'text'"):
        Data(corpora=corpora)
    with pytest.raises(OptionError, match="are a text, but task:reverse has pairs"):
        Data(corpora=(WeightedCorpus(pairs="task:reverse", side="source"),), contents="text")
    with pytest.raises(OptionError, match="are a text, but hf:news has pairs"):
        Data(pairs="hf:news", contents="text")
