"""What a language model read, as a figure."""

import numpy as np
from matplotlib import pyplot

from saccade.lm.text_attention import TextAttention

READ = TextAttention(tokens=("the", "cat"), read=("<s>", "the"), layers=(np.eye(2, dtype=np.float32)[None],))


def test_the_sides_are_named_in_the_language_of_the_figure() -> None:
    axes = READ.plot(lang="en")
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("read", "predicted")
    notes: list[str] = []  # of a machine without a Chinese font, where labels stay English
    axes = READ.plot(lang="zh", say=notes.append)
    expected = ("read", "predicted") if notes else ("读到的词元", "预测的词元")
    assert (axes.get_xlabel(), axes.get_ylabel()) == expected and len(notes) <= 1
    pyplot.close("all")
