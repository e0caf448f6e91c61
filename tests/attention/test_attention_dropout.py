"""Dropout of attention weights, on every way of reading: on in training alone, of the share it says, and never shown.

The values are the rows of an identity, so that a context is the weights by which it was read.
"""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from saccade.attention import Additive, Attention, Causal, Dot, Monotonic, Near, Score, Window
from saccade.attention.memory import Reading

SHARE, WIDTH, QUERIES, SLOTS = 0.3, 4, 90, 90

# How each is read: fused where no weights are asked for, and plainly where they are; an additive score is never fused.
WAYS: dict[str, Callable[[], Attention]] = {
    "everything": lambda: _attention(Dot()),
    "causal": lambda: _attention(Dot(), Causal()),
    "chunks": lambda: _attention(Dot(), Near(20)),
    "not fused": lambda: _attention(Additive(WIDTH)),
    "not fused, chunks": lambda: _attention(Additive(WIDTH), Near(20)),
    "one by one": lambda: _attention(Dot(), normaliser=Monotonic(noise=0.0)),
}
ways = pytest.mark.parametrize("way", WAYS)
shown = pytest.mark.parametrize("weights", [False, True], ids=["weights not asked for", "weights asked for"])


def _attention(score: Score, window: Window | None = None, normaliser: Monotonic | None = None) -> Attention:
    parts = {"score": score, "window": window, "normaliser": normaliser}
    return Attention(query_dim=WIDTH, memory_dim=WIDTH, value_dim=SLOTS, project="", dropout=SHARE, **parts)


def _read(attention: Attention, *, weights: bool) -> Reading:
    generator = torch.Generator().manual_seed(1)
    queries = torch.randn(1, QUERIES, WIDTH, generator=generator)
    source = torch.randn(1, SLOTS, WIDTH, generator=generator)
    reading: Reading = attention(queries, attention.remember(source, values=torch.eye(SLOTS)[None]), weights=weights)
    return reading


def _weights(attention: Attention) -> Tensor:
    """(T, S), without dropout"""
    reading = _read(attention.eval(), weights=True)
    assert reading.weights is not None
    return reading.weights[0, 0]


@ways
@shown
def test_a_share_of_the_weights_is_dropped_in_training(way: str, weights: bool) -> None:
    torch.manual_seed(2)
    attention = WAYS[way]()
    kept = _weights(attention)
    read = _read(attention.train(), weights=weights).context[0]
    some = kept > 1e-6
    dropped = (read == 0) & some
    assert float(dropped.sum() / some.sum()) == pytest.approx(SHARE, abs=0.04)
    rest = some & ~dropped
    torch.testing.assert_close(read[rest], kept[rest] / (1 - SHARE), rtol=1e-4, atol=1e-6)
    assert not torch.equal(_read(attention, weights=weights).context[0], read)  # drawn anew at every call


@ways
@shown
def test_nothing_is_dropped_in_evaluation(way: str, weights: bool) -> None:
    attention = WAYS[way]()
    torch.testing.assert_close(_read(attention.eval(), weights=weights).context[0], _weights(attention))


@ways
def test_weights_and_history_are_taken_before_dropout(way: str) -> None:
    attention = WAYS[way]()
    kept = _weights(attention)
    reading = _read(attention.train(), weights=True)
    assert reading.weights is not None
    assert torch.equal(reading.weights[0, 0], kept)
    if reading.history is not None:
        assert torch.equal(reading.history.normaliser[0, 0], kept[-1])


def test_flex_attention_which_cannot_drop_is_not_used_in_training(monkeypatch: pytest.MonkeyPatch) -> None:
    def flex(*arguments: object) -> Tensor:
        raise RuntimeError("flex")

    monkeypatch.setattr("saccade.attention.fused.flex_fits", lambda *sizes: True)
    monkeypatch.setattr("saccade.attention.fused.flex", flex)
    attention = _attention(Dot(), Near(20))
    _read(attention.train(), weights=False)
    with pytest.raises(RuntimeError, match="flex"):
        _read(attention.eval(), weights=False)
