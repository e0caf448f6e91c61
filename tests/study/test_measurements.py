"""The measurements that studies make themselves, on cases whose answers are known."""

from functools import partial
from random import Random

import numpy as np
import pytest
import torch
from torch import nn

from saccade.study.claims.complexity import count_kept
from saccade.study.claims.convolution_order import BagOfWords
from saccade.study.claims.polysemy import nearest_centroid, silhouette
from saccade.study.cost import fastest
from saccade.study.senses import SENSES, WORD, draw_sentence


def test_the_silhouette_tells_clusters_from_a_cloud() -> None:
    senses = np.array(["a", "a", "b", "b"])
    points = np.array([[0.0], [1.0], [10.0], [11.0]], np.float32)
    # Of the first point: 1 to its own, (10 + 11) / 2 to the others; of the second: 1 and (9 + 10) / 2.
    expected = (2 * (9.5 / 10.5) + 2 * (8.5 / 9.5)) / 4
    assert silhouette(points, senses) == pytest.approx(expected)
    assert silhouette(np.zeros((4, 1), np.float32), senses) == 0
    assert silhouette(points, senses[[0, 2, 0, 2]]) < 0


def test_a_point_has_the_sense_of_the_nearest_mean() -> None:
    known, senses = np.array([[0.0], [2.0], [10.0]], np.float32), np.array(["a", "a", "b"])
    assert nearest_centroid(known, senses, np.array([[5.0], [6.0]], np.float32)).tolist() == ["a", "b"]


def test_without_a_cue_nothing_before_the_word_tells_the_sense() -> None:
    cues = {cue for sense in SENSES.values() for cue in sense.cues}
    for seed in range(50):
        with_cue, without = (draw_sentence(Random(seed), word=WORD, cued=cued) for cued in (True, False))
        assert with_cue.words[with_cue.place] == without.words[without.place] == WORD
        assert len(cues.intersection(with_cue.words[: with_cue.place])) == 1
        assert not cues.intersection(without.words)


def test_what_is_kept_for_the_backward_pass_is_counted_once() -> None:
    x = torch.randn(10, requires_grad=True)
    assert count_kept(partial(torch.exp, x)) == 10  # its result
    assert count_kept(lambda: x * x) == 10  # both factors are one tensor
    assert count_kept(lambda: torch.exp(x).sum() + torch.exp(x).sum()) == 20
    assert count_kept(lambda: torch.exp(x.detach())) == 0


def test_the_fastest_round_counts_for_each_call() -> None:
    called = [0, 0]

    def count(place: int) -> None:
        called[place] += 1
        sum(range(100_000))

    times = fastest([partial(count, 0), partial(count, 1)], torch.device("cpu"), rounds=2)
    assert len(times) == 2 and min(times) > 0 and min(called) >= 3


def test_a_bag_of_words_does_not_know_their_order() -> None:
    bag, words = BagOfWords(4), torch.randn(1, 3, 4)
    readable = torch.tensor([[True, True, False]])
    swapped = words[:, [1, 0, 2]]
    other = words.clone()
    other[:, 2] = 9.0  # padding
    assert torch.allclose(bag(words, readable), bag(swapped, readable))
    assert torch.allclose(bag(words, readable), bag(other, readable))
    assert isinstance(bag.of_sum, nn.Linear) and not torch.allclose(bag(words, readable), bag(2 * words, readable))
