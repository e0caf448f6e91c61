"""A model that lacks a part of the contract cannot be constructed."""

from typing import Any

import pytest
from torch import Tensor

from saccade.errors import UserError
from saccade.models import Seq2Seq


class Stepless(Seq2Seq[Any, Any]):
    def start(self, source: Tensor, readable: Tensor) -> tuple[Any, Any]:
        return source, readable

    def forward(self, source: Tensor, readable: Tensor, target: Tensor) -> Tensor:
        return target


class Whole(Stepless):
    def step(self, token: Tensor, t: Tensor, fixed: Any, moving: Any) -> tuple[Tensor, Any]:
        return token, moving


def test_what_is_missing_is_named() -> None:
    with pytest.raises(UserError, match=r"the model Stepless does not define step: a Seq2Seq must define start\("):
        Stepless(None, 5, 5)
    with pytest.raises(UserError, match="Seq2Seq does not define start, step, forward"):
        Seq2Seq(None, 5, 5)


def test_a_method_may_be_inherited() -> None:
    assert Whole(None, 5, 6).target_size == 6
