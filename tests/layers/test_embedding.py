from typing import get_args

import pytest
import torch

from saccade.errors import UserError
from saccade.layers.embedding import Embeddings, Tie
from saccade.text import PAD


def test_ties_share_one_tensor() -> None:
    apart, target, every = (Embeddings(7, 7, 4, tie=tie) for tie in get_args(Tie))
    assert len({id(p) for p in apart.parameters()}) == 4  # two embeddings, the output layer and its bias
    assert target.output.weight is target.target.weight is not target.source.weight
    assert every.output.weight is every.target.weight is every.source.weight
    assert apart.output.bias is not None and target.output.bias is None


def test_two_vocabularies_cannot_be_tied_over_both_sides() -> None:
    with pytest.raises(UserError, match=r"source has 7 entries, the target 8: set model\.tie = 'target'"):
        Embeddings(7, 8, 4, tie="all")
    Embeddings(7, 8, 4, tie="target")


def test_embeddings_are_scaled_if_requested_and_padding_is_zero() -> None:
    embeddings = Embeddings(7, 8, 4, scale=True)
    tokens = torch.tensor([[5, PAD]])
    assert torch.equal(embeddings.of_source(tokens)[0, 0], embeddings.source.weight[5] * 2)
    assert torch.equal(embeddings.of_target(tokens)[0, 0], embeddings.target.weight[5] * 2)
    assert not embeddings.of_source(tokens)[0, 1].any() and not embeddings.of_target(tokens)[0, 1].any()
