"""The probe reads what is stored, and nothing else; the projection keeps the largest variances."""

from types import SimpleNamespace
from typing import cast

import pytest
import torch
import torch.nn.functional as F

from saccade.decode.translator import Translator
from saccade.study.claims.fixed_vector import copied, probe, project, sentence


def test_a_probe_reads_only_the_letters_that_are_stored() -> None:
    torch.manual_seed(1)
    letters = torch.randint(26, (1500, 2))
    vectors = F.one_hot(letters[:, 0], 26).float()  # the second letter is not in it
    stored, absent = probe(vectors, letters, learned=1000, updates=150, seed=1)
    assert stored > 99 and absent < 15


def test_the_projection_finds_the_directions_of_the_largest_variance() -> None:
    vectors = torch.tensor([[1.0, 0, 5], [1, 1, -5], [1, -1, 5], [1, 0, -5]])  # the means are 1, 0 and 0
    points = project(vectors)
    # The third axis has the largest variance, the second the next one. They are nearly uncorrelated: the largest
    # variance in the plane is at least that of the third axis, and the two components hold everything.
    assert points.square().sum() == pytest.approx(100 + 2)
    assert points[:, 0].square().sum() >= 100
    assert points.mean(0).tolist() == pytest.approx([0, 0], abs=1e-6)


def test_a_paraphrase_and_an_exchange_have_the_same_words() -> None:
    plain, paraphrase, exchanged = (text.removesuffix(".").split() for text in sentence("king", "queen", "see"))
    assert sorted(plain) == sorted(paraphrase) == sorted(exchanged) and plain != exchanged


def test_letters_that_are_written_right_are_counted_by_place() -> None:
    class Copyist:
        def translate(self, texts: list[str]) -> list[SimpleNamespace]:
            return [SimpleNamespace(text=text) for text in ("a b", "a x c")]

    # The first lacks its third letter, the second has another letter in its second place.
    assert copied(cast(Translator, Copyist()), ["a b c", "a b c"], 3) == [100, 50, 50]
