"""Each language model against the equations of its file, written out word by word in numpy."""

from collections.abc import Iterator
from functools import partial
from math import erf, sqrt

import numpy as np
import pytest
from model_cases import Case
from test_equations_recurrent import outputs, run, sigmoid
from transcribed import Array, Parameters, Transcription, affine, check, softmax

from saccade.text import BOS


def vectors(p: Parameters, target: list[int]) -> list[Array]:
    return [p["embeddings.target.weight"][word] for word in target]


def elman1990(cell: str, layers: int, p: Parameters, source: list[int], target: list[int]) -> Iterator[Array]:
    states = vectors(p, target)
    for layer in range(layers):
        states = outputs(run(cell, p, f"recurrence.units.{layer}", states))  # (1)
    for h in states:
        read = affine(p, "narrow", h) if "narrow.weight" in p else h
        yield affine(p, "embeddings.output", read)  # (2)


def bengio2003(n: int, direct: bool, p: Parameters, source: list[int], target: list[int]) -> Iterator[Array]:
    words = [BOS] * (n - 2) + target
    for t in range(len(target)):
        x = np.concatenate(vectors(p, words[t : t + n - 1]))  # (1)
        hidden = np.tanh(affine(p, "of_window", x))
        both = p["embeddings.output.weight"]
        u, w = both[:, : len(hidden)], both[:, len(hidden) :]
        logits = p["embeddings.output.bias"] + u @ hidden
        yield logits + w @ x if direct else logits  # (2)


def cheng2016(layers: int, p: Parameters, source: list[int], target: list[int]) -> Iterator[Array]:
    inputs = vectors(p, target)
    for layer in range(layers):
        inputs = list(_memory_network(p, f"layers.{layer}", inputs))
    for h in inputs:
        yield affine(p, "embeddings.output", affine(p, "narrow", h) if "narrow.weight" in p else h)  # (5)


def _memory_network(p: Parameters, name: str, inputs: list[Array]) -> Iterator[Array]:
    width = p[f"{name}.of_state.weight"].shape[1]
    of_queries, of_keys = p[f"{name}.attention.of_queries.weight"], p[f"{name}.attention.of_keys.weight"]
    v = p[f"{name}.attention.score.v"]
    hidden: list[Array] = []
    cells: list[Array] = []
    last = np.zeros(width)
    for x in inputs:
        query = of_queries @ np.concatenate([x, last])  # W_x x + W_h̃ h̃
        h, c = np.zeros(width), np.zeros(width)
        if hidden:
            s = softmax(np.array([v @ np.tanh(query + of_keys @ h_i) for h_i in hidden]))  # (1)
            h = np.sum([s_i * h_i for s_i, h_i in zip(s, hidden)], 0)  # (2)
            c = np.sum([s_i * c_i for s_i, c_i in zip(s, cells)], 0)
        last = h
        of_x, of_h = affine(p, f"{name}.of_input", x), affine(p, f"{name}.of_state", h)
        f, i, o, candidate = np.split(of_x + of_h, 4)  # (3)
        cells.append(sigmoid(f) * c + sigmoid(i) * np.tanh(candidate))  # (4)
        hidden.append(sigmoid(o) * np.tanh(cells[-1]))
        yield hidden[-1]


def radford2018(layers: int, heads: int, p: Parameters, source: list[int], target: list[int]) -> Iterator[Array]:
    x = np.array(vectors(p, target)) + p["positions.table.weight"][: len(target)]  # (1)
    for layer in range(layers):  # (2)
        name = f"layers.{layer}"
        x = x + _attend(p, f"{name}.attention.attention", heads, _norm(p, f"{name}.around.0.norm", x))
        hidden = _gelu(_rows(p, f"{name}.feed_forward.first", _norm(p, f"{name}.around.1.norm", x)))
        x = x + _rows(p, f"{name}.feed_forward.second", hidden)
    yield from _rows(p, "embeddings.output", _norm(p, "norm", x))  # (3)


def _attend(p: Parameters, name: str, heads: int, x: Array) -> Array:
    queries, keys, values = (_rows(p, f"{name}.of_{side}", x) for side in ("queries", "keys", "values"))
    width, read = x.shape[1] // heads, np.zeros_like(queries)
    for head in range(heads):
        part = slice(head * width, (head + 1) * width)
        for t in range(len(x)):
            weights = softmax(keys[: t + 1, part] @ queries[t, part] / np.sqrt(width))
            read[t, part] = weights @ values[: t + 1, part]
    return _rows(p, f"{name}.of_output", read)


def _rows(p: Parameters, name: str, x: Array) -> Array:
    return np.array([affine(p, name, row) for row in x])


def _norm(p: Parameters, name: str, x: Array) -> Array:
    centred = x - x.mean(1, keepdims=True)
    scaled = centred / np.sqrt(centred.var(1, keepdims=True) + 1e-5)
    return np.asarray(p[f"{name}.weight"] * scaled + p[f"{name}.bias"])


def _gelu(x: Array) -> Array:
    return np.asarray(x * np.vectorize(lambda z: (1 + erf(z / sqrt(2))) / 2)(x))


TRANSCRIPTIONS: dict[Case, Transcription] = {
    Case("elman1990"): partial(elman1990, "tanh", 1),
    Case("elman1990", {"cell": "gru", "layers": 2}): partial(elman1990, "gru", 2),
    Case("elman1990", {"cell": "lstm", "tie": "target"}): partial(elman1990, "lstm", 1),
    Case("bengio2003"): partial(bengio2003, 3, True),
    Case("bengio2003", {"order": 2, "direct": False}): partial(bengio2003, 2, False),
    Case("bengio2003", {"order": 6}): partial(bengio2003, 6, True),
    Case("cheng2016"): partial(cheng2016, 1),
    Case("cheng2016", {"layers": 2, "tie": "target"}): partial(cheng2016, 2),
    Case("radford2018"): partial(radford2018, 1, 2),
    Case("radford2018", {"layers": 2}): partial(radford2018, 2, 2),
}


@pytest.mark.parametrize("case", TRANSCRIPTIONS, ids=str)
def test_logits_match_the_equations(case: Case) -> None:
    check(case, TRANSCRIPTIONS[case])
