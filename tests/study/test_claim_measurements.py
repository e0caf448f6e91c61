"""What the studies of attention and training measure, on cases that are known."""

import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import one_hot

from saccade.attention.papers import luong2015
from saccade.data.batching import Batch
from saccade.study.claims.alignment import crossings, neighbouring_links
from saccade.study.claims.exposure_bias import (
    continue_freely,
    cost_of_mistake,
    likeliest_mistakes,
    shares,
)
from saccade.study.claims.scale import draw_lookups, softmax_gradient
from saccade.study.claims.scores_and_windows import count_flops
from saccade.tasks import Pair
from saccade.text import BOS, EOS

_SYMBOLS = 20


def test_wrong_links_are_beside_the_right_ones() -> None:
    pair = Pair(source="a b c", target="x y z", alignment=((0, 0), (1, 1), (2, 2)))
    assert neighbouring_links(pair) == {(1, 0), (2, 1), (1, 2)}


def test_crossing_links_change_the_order() -> None:
    assert crossings([(0, 0), (1, 1), (2, 2)]) == 0
    assert crossings([(0, 0), (1, 2), (2, 1)]) == 1
    assert crossings([(0, 2), (1, 1), (2, 0)]) == 3


def test_the_derivative_of_a_softmax_is_that_of_autograd() -> None:
    scores = torch.tensor([0.5, -1.0, 2.0, 0.0], dtype=torch.float64)
    jacobian = torch.autograd.functional.jacobian(lambda x: x.softmax(-1), scores)
    assert float(softmax_gradient(scores.softmax(-1))) == pytest.approx(float(jacobian.norm()))
    assert float(softmax_gradient(torch.tensor([1.0, 0.0]))) == 0.0  # saturated


def test_the_answer_to_a_lookup_stands_beside_the_queried_key() -> None:
    keys, values, queries, answers = draw_lookups(50, seed=1)
    assert all(len(set(row)) == len(row) for row in keys.tolist())
    places = (keys == queries[:, None]).long().argmax(-1, keepdim=True)
    assert values.gather(1, places).squeeze(1).tolist() == answers.tolist()


def test_operations_are_those_of_the_products() -> None:
    attention = luong2015("global", "general", query_dim=8, memory_dim=8, width=8).eval()
    with torch.no_grad():
        memory = attention.remember(torch.randn(1, 5, 8))
        queries = torch.randn(1, 3, 8)
        # 3 queries × 5 positions: a score and a weighted sum, each of 8 products and 8 sums.
        assert count_flops(lambda: attention(queries, memory)) == 3 * 5 * 2 * (8 + 8)


class Successor(nn.Module):
    """Writes the symbol after the one that it reads, and next best the one after that."""

    def forward(self, source: Tensor, readable: Tensor, target: Tensor) -> Tensor:
        following = one_hot((target + 1).clamp_max(_SYMBOLS - 1), _SYMBOLS).float()
        return following + 0.5 * one_hot((target + 2).clamp_max(_SYMBOLS - 1), _SYMBOLS)


@pytest.fixture
def batch() -> Batch:
    return Batch.of([[5], [5]], [[10, 11, 15, 16], [10, 12, 13, 14]], [0, 1])


def test_a_model_continues_the_true_words_and_then_its_own(batch: Batch) -> None:
    forced = continue_freely(Successor(), batch, true_words=5)
    assert forced.tolist() == [[BOS + 1, 11, 12, 16, 17], [BOS + 1, 11, 13, 14, 15]]
    free = continue_freely(Successor(), batch, true_words=0)
    assert free.tolist() == [[BOS + 1 + place for place in range(5)]] * 2
    after_two = continue_freely(Successor(), batch, true_words=2)
    assert after_two[:, 2:].tolist() == [[12, 13, 14], [13, 14, 15]]


def test_a_planted_word_takes_the_place_of_the_next_true_one(batch: Batch) -> None:
    written = continue_freely(Successor(), batch, true_words=1, planted=torch.tensor([7, 8]))
    assert written[:, 2:].tolist() == [[8, 9, 10], [9, 10, 11]]


def test_the_likeliest_mistake_is_neither_the_true_word_nor_the_end(batch: Batch) -> None:
    # After 10, the model would write 11, which is right in the first sentence and wrong in the second.
    assert likeliest_mistakes(Successor(), batch, 1).tolist() == [12, 11]
    assert EOS not in likeliest_mistakes(Successor(), batch, 0).tolist()


def test_the_cost_of_a_mistake_is_the_loss_of_accuracy() -> None:
    after = {"true": [90.0, 80.0, None], "mistake": [50.0, 75.0, None]}
    assert cost_of_mistake({"after": after}) == [40.0, 5.0, None]


def test_only_counted_tokens_are_right() -> None:
    right = torch.tensor([[True, True, True], [False, True, True]])
    counted = torch.tensor([[True, True, False], [True, False, False]])
    assert shares(right, counted) == [50.0, 100.0, None]
