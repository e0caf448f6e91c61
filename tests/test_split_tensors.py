import json
import math
import random
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from saccade.model_folder import join_tensors, split_tensors

DTYPES = [torch.float32, torch.float64, torch.bfloat16, torch.float16, torch.int64, torch.uint8, torch.bool]
TENSORS = st.builds(
    lambda shape, dtype: torch.randn(shape).to(dtype), st.lists(st.integers(0, 3), max_size=3), st.sampled_from(DTYPES)
)
PLAIN = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
STATES = st.recursive(
    PLAIN | TENSORS,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=4).map(tuple)
        | st.dictionaries(st.text() | st.sampled_from(["tensor", "tuple", "dict", "items", "float"]), inner, max_size=4)
        | st.dictionaries(
            st.integers(0, 3) | st.sampled_from(["0", "1", "a/b"]) | st.tuples(st.text()), inner, max_size=4
        )
    ),
    max_leaves=12,
)


def same(a: Any, b: Any) -> bool:
    """Equal in value and in type, all the way down; bit-equal tensors; nan is nan and -0.0 is not 0.0."""
    if type(a) is not type(b):
        return False
    if isinstance(a, Tensor):
        bits = [tensor.contiguous().reshape(-1).view(torch.uint8) for tensor in (a, b)]
        return a.dtype == b.dtype and a.shape == b.shape and torch.equal(*bits)
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b))
    if isinstance(a, dict):
        return same(list(a), list(b)) and same(list(a.values()), list(b.values()))
    return repr(a) == repr(b)


def round_trip(state: Any) -> Any:
    tree, tensors = split_tensors(state)
    return join_tensors(json.loads(json.dumps(tree, allow_nan=False)), tensors)


@given(STATES)
@settings(deadline=None, max_examples=150)
def test_any_state_survives_a_round_trip(state: Any) -> None:
    assert same(round_trip(state), state)


def test_training_state_survives_a_round_trip() -> None:
    layer = torch.nn.Linear(3, 2)
    optimiser = torch.optim.AdamW(layer.parameters(), lr=1e-3)
    layer(torch.randn(4, 3)).sum().backward()
    optimiser.step()
    state = {
        "optimiser": optimiser.state_dict(),
        "python": random.getstate(),
        "torch": torch.get_rng_state(),
        "numpy": np.random.default_rng(0).bit_generator.state,  # integers of 128 bits
        "best": -math.inf,
    }
    back = round_trip(state)
    assert same(back, state)
    random.setstate(back["python"])
    optimiser.load_state_dict(back["optimiser"])


def test_shared_tensor_is_stored_once_and_views_are_copied() -> None:
    whole = torch.arange(12.0).view(3, 4)
    state = {"a": whole, "b": [whole], "flat": whole.view(-1), "row": whole[1], "column": whole[:, 1], "t": whole.t()}
    tree, tensors = split_tensors(state)
    assert sorted(tensors) == ["a", "column", "flat", "row", "t"]
    assert len({tensor.untyped_storage().data_ptr() for tensor in tensors.values()}) == 5
    back = join_tensors(tree, tensors)
    assert back["a"] is back["b"][0] and same(back, state)


@pytest.mark.parametrize("value", [np.float64(1), {1, 2}, b"bytes", object()])
def test_unsupported_value_is_named_by_its_path(value: object) -> None:
    with pytest.raises(TypeError, match=r"^best/0: a "):
        split_tensors({"best": [value]})
