"""What a classifier read, as a figure."""

import numpy as np
from matplotlib import pyplot

from saccade.labels.predictions import HopAttention

READ = HopAttention(text="not bad", words=("not", "bad"), weights=np.array([[1.0, 0.0], [0.5, 0.5]]), label="positive")


def test_hops_are_named_in_the_language_of_the_figure() -> None:
    axes = READ.plot(lang="en")
    assert [label.get_text() for label in axes.get_yticklabels()] == ["hop 1", "hop 2"]
    assert axes.get_xlabel() == axes.get_ylabel() == ""
    notes: list[str] = []  # of a machine without a Chinese font, where labels stay English
    axes = READ.plot(lang="zh", say=notes.append)
    names = ["hop 1", "hop 2"] if notes else ["第 1 跳", "第 2 跳"]
    assert [label.get_text() for label in axes.get_yticklabels()] == names
    assert len(notes) <= 1
    pyplot.close("all")
