"""Pairs as tensors, and the share of correct answers."""

from typing import Any

import torch
from torch import Tensor

from saccade.models.contract import Seq2Seq
from saccade.models.vaswani2017 import Config, Vaswani2017
from saccade.study.token_pairs import PairEncoder, TokenPairs, share_correct, train_on_examples
from saccade.text import BOS, EOS, PAD

PAIRS = [(["b"], ["x", "y"]), (["a", "b", "a"], ["z"])]


def test_pairs_are_padded_between_start_and_end() -> None:
    source, inputs, expected = PairEncoder(PAIRS).encode(PAIRS)  # a, b are 4, 5; x, y, z are 4, 5, 6
    assert source.tolist() == [[5, PAD, PAD], [4, 5, 4]]
    assert inputs.tolist() == [[BOS, 4, 5], [BOS, 6, EOS]]
    assert expected.tolist() == [[4, 5, EOS], [6, EOS, PAD]]


class Parrot(Seq2Seq[Any, Any]):
    """Always predicts the token 4."""

    def __init__(self) -> None:
        super().__init__(None, 8, 8)

    def start(self, source: Tensor, readable: Tensor) -> Any:
        raise NotImplementedError

    def step(self, token: Tensor, t: Tensor, fixed: Any, moving: Any) -> Any:
        raise NotImplementedError

    def forward(self, source: Tensor, readable: Tensor, target: Tensor) -> Tensor:
        return torch.eye(8)[4].expand(*target.shape, 8)


def test_an_answer_is_correct_if_every_token_is_and_padding_does_not_count() -> None:
    source = torch.full((4, 1), 5)
    inputs = torch.full((4, 2), BOS)
    expected = torch.tensor([[4, 4], [4, PAD], [4, 6], [PAD, 4]])
    assert share_correct(Parrot(), TokenPairs(source, inputs, expected)) == 75.0


def test_a_small_model_learns_pairs_by_heart() -> None:
    examples = PairEncoder(PAIRS).encode(PAIRS)
    torch.manual_seed(1)
    config = Config(width=16, inner=16, heads=2, encoder_layers=1, decoder_layers=1, dropout=0.0)
    model = Vaswani2017(config, 6, 7)
    assert share_correct(model, examples) < 100
    curve: dict[int, float] = {}

    def observe(updates: int) -> None:
        curve[updates] = share_correct(model, examples)

    train_on_examples(model, examples, updates=120, seed=1, observe=observe, every=50)
    assert list(curve) == [50, 100, 120] and curve[120] == share_correct(model, examples) == 100
