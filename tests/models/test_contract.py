"""A model that lacks a part of the contract cannot be constructed."""

import sys
from typing import Any

import pytest
from torch import Tensor

from saccade.errors import UserError
from saccade.models import Seq2Seq
from saccade.models.table import find_model


class Stepless(Seq2Seq[Any, Any]):
    def start(self, source: Tensor, readable: Tensor) -> tuple[Any, Any]:
        return source, readable

    def forward(self, source: Tensor, readable: Tensor, target: Tensor) -> Tensor:
        return target


class Whole(Stepless):
    def step(self, token: Tensor, t: Tensor, fixed: Any, moving: Any) -> tuple[Tensor, Any]:
        return token, moving


def test_incomplete_model_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(TypeError, match=r"abstract class Stepless .*step"):
        Stepless(None, 5, 5)
    monkeypatch.setitem(sys.modules, "my_models", sys.modules[__name__])
    with pytest.raises(UserError, match=r"'my_models:Stepless' does not define step: a Seq2Seq must define start\("):
        find_model("my_models:Stepless")


def test_inherited_method_completes_a_model() -> None:
    assert Whole(None, 5, 6).target_size == 6
