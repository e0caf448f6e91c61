from collections import OrderedDict
from dataclasses import dataclass
from typing import NamedTuple

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from model_cases import leaves
from torch import Tensor

from saccade.models.contract import map_tensors, take_rows


class Moving(NamedTuple):
    hidden: Tensor
    name: str
    past: tuple[Tensor, ...] | None


@dataclass(frozen=True, kw_only=True)
class Fixed:
    keys: Tensor
    layers: list[Moving]


def example(rows: int) -> Fixed:
    hidden = torch.arange(rows * 2).view(rows, 2)
    return Fixed(keys=hidden + 100, layers=[Moving(hidden, "gru", (hidden * 2,)), Moving(hidden + 7, "top", None)])


def test_take_reorders_every_tensor_and_keeps_all_else() -> None:
    taken = take_rows(example(3), torch.tensor([2, 0, 0, 1]))
    assert isinstance(taken, Fixed)
    assert taken.keys[:, 0].tolist() == [104, 100, 100, 102]
    first, second = taken.layers
    assert isinstance(first, Moving) and first.name == "gru" and second.past is None
    assert first.past is not None and first.past[0][:, 1].tolist() == [10, 2, 2, 6]


def test_map_tensors_goes_depth_first() -> None:
    assert [int(leaf[0, 0]) for leaf in leaves(example(1))] == [100, 0, 0, 7]
    assert list(leaves({"a": None, "b": "text", "c": [3, ()]})) == []


def test_map_keeps_the_type_of_a_dict_and_leaves_the_original_alone() -> None:
    before = OrderedDict(b=torch.zeros(2), a=torch.ones(2))
    after = map_tensors(lambda tensor: tensor + 1, before)
    assert type(after) is OrderedDict and list(after) == ["b", "a"]
    assert after["a"].tolist() == [2, 2] and before["a"].tolist() == [1, 1]


TREES = st.recursive(
    st.integers(0, 9).map(lambda n: torch.full((3, 2), n)) | st.none() | st.text(max_size=2),
    lambda inner: (
        st.lists(inner, max_size=3) | st.lists(inner, max_size=3).map(tuple) | st.dictionaries(st.text(), inner)
    ),
    max_leaves=8,
)


@given(TREES, st.permutations(range(3)))
@settings(deadline=None, max_examples=40)
def test_take_rows_applies_to_every_tensor(value: object, order: list[int]) -> None:
    rows = torch.tensor(order)
    assert shape(take_rows(value, rows)) == shape(value)
    for before, after in zip(leaves(value), leaves(take_rows(value, rows)), strict=True):
        assert torch.equal(after, before[rows])


def shape(value: object) -> object:
    """The tree with its tensors blanked out."""
    if isinstance(value, Tensor):
        return Tensor
    if isinstance(value, list | tuple):
        return type(value), [shape(branch) for branch in value]
    return {key: shape(branch) for key, branch in value.items()} if isinstance(value, dict) else value
