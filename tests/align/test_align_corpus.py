"""Whole corpora aligned from Python."""

import json

import pytest

from saccade.align import Aligner, align_corpus, format_links
from saccade.align.options import AlignOptions
from saccade.data import TextPair
from saccade.decode import Translator
from saccade.ranges import OptionError


def test_a_corpus_is_written_in_each_format(learnt: Translator, pairs: list[TextPair]) -> None:
    expected = [format_links(pair.links) for pair in Aligner(learnt).align(pairs[:3])]
    lines: list[str] = []
    result = align_corpus(learnt, pairs[:3], write=lines.append)
    assert lines == expected and result.tables() == [] and result.notes == []
    lines.clear()
    align_corpus(learnt, pairs[:3], AlignOptions(format="json", entropy=True), write=lines.append)
    assert [json.loads(line)["line"] for line in lines] == [1, 2, 3]


def test_options_that_exclude_each_other_are_refused() -> None:
    with pytest.raises(OptionError, match="mean excludes --layer"):
        AlignOptions(layer=0, mean=True)
