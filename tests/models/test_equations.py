"""Each model against the equations of its file, written out word by word in numpy: no batch, no padding, no mask.

A transcription reads a sentence and the target before it (from the start symbol on) and gives the logits of each step.
"""

import math
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
import pytest
from model_cases import TWO_DEEP, Case, build, sentences
from numpy.typing import NDArray

Array = NDArray[np.float64]
Parameters = dict[str, Array]


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def softmax(scores: Array) -> Array:
    exponents = np.exp(scores - scores.max())
    return np.asarray(exponents / exponents.sum())


def maxout(pairs: Array) -> Array:
    return np.array([max(pairs[2 * i], pairs[2 * i + 1]) for i in range(len(pairs) // 2)])


def affine(p: Parameters, name: str, x: Array) -> Array:
    return p[f"{name}.weight"] @ x + p.get(f"{name}.bias", 0.0)


def gated(p: Parameters, name: str, projected: Array, state: Array) -> Array:
    """Cho 2014: reset before the product; z keeps the old state"""
    of_reset, of_update, of_candidate = np.split(projected, 3)
    recurrent_reset, recurrent_update = np.split(p[f"{name}.of_gates.weight"], 2)
    reset = sigmoid(of_reset + recurrent_reset @ state)
    update = sigmoid(of_update + recurrent_update @ state)
    candidate = np.tanh(of_candidate + p[f"{name}.of_candidate.weight"] @ (reset * state))
    return np.asarray(update * state + (1 - update) * candidate)


def recurrence(p: Parameters, name: str, inputs: list[Array]) -> Iterator[Array]:
    state = np.zeros(p[f"{name}.of_candidate.weight"].shape[0])
    for x in inputs:
        state = gated(p, name, affine(p, f"{name}.of_input", x), state)
        yield state


def cho2014(p: Parameters, source: list[int], target: list[int]) -> Iterator[Array]:
    words = [p["embeddings.source.weight"][x] for x in source]
    *_, last = recurrence(p, "encoder.recurrence.layers.0.0.unit", words)  # (1)
    context = np.tanh(affine(p, "encoder.summary", last))  # (2)
    state = np.tanh(affine(p, "decoder.first", context))  # (3)
    for y in target:
        before = p["embeddings.target.weight"][y]
        both = affine(p, "decoder.unit.of_input", before) + affine(p, "decoder.of_context", context)
        state = gated(p, "decoder.unit", both, state)  # (4)
        read = affine(p, "decoder.of_state", state) + affine(p, "decoder.of_last", before)
        read = maxout(read + affine(p, "decoder.of_summary", context))
        yield affine(p, "embeddings.output", affine(p, "decoder.narrow", read))  # (5)


def annotated(p: Parameters, source: list[int]) -> tuple[list[Array], Array]:
    """(1) and ←h_1"""
    words = [p["embeddings.source.weight"][x] for x in source]
    forwards = list(recurrence(p, "encoder.layers.0.0.unit", words))
    backwards = list(recurrence(p, "encoder.layers.0.1.unit", words[::-1]))[::-1]
    return [np.concatenate(both) for both in zip(forwards, backwards)], backwards[0]


def searched(p: Parameters, state: Array, annotations: list[Array]) -> Array:
    """(3)"""
    of_state, of_annotation = p["decoder.attention.of_queries.weight"], p["decoder.attention.of_keys.weight"]
    v = p["decoder.attention.score.v"][0]
    energies = [v @ np.tanh(of_state @ state + of_annotation @ h) for h in annotations]
    return np.asarray(sum(weight * h for weight, h in zip(softmax(np.array(energies)), annotations)))


def bahdanau_output(p: Parameters, state: Array, before: Array, context: Array) -> Array:
    """(5)"""
    read = affine(p, "decoder.of_state", state) + affine(p, "decoder.of_last", before)
    read = maxout(read + affine(p, "decoder.of_read", context))
    return affine(p, "embeddings.output", affine(p, "decoder.narrow", read))


def bahdanau2014(p: Parameters, source: list[int], target: list[int]) -> Iterator[Array]:
    annotations, first = annotated(p, source)
    state = np.tanh(affine(p, "decoder.first", first))  # (2)
    for y in target:
        before = p["embeddings.target.weight"][y]
        context = searched(p, state, annotations)
        yield bahdanau_output(p, state, before, context)
        both = affine(p, "decoder.unit.of_input", before) + affine(p, "decoder.of_context", context)
        state = gated(p, "decoder.unit", both, state)  # (4)


def bahdanau2014_conditional(p: Parameters, source: list[int], target: list[int]) -> Iterator[Array]:
    annotations, first = annotated(p, source)
    state = np.tanh(affine(p, "decoder.first", first))
    for y in target:
        before = p["embeddings.target.weight"][y]
        state = gated(p, "decoder.unit", affine(p, "decoder.unit.of_input", before), state)
        context = searched(p, state, annotations)
        state = gated(p, "decoder.second", affine(p, "decoder.second.of_input", context), state)
        yield bahdanau_output(p, state, before, context)


HEADS, LAYERS = 2, 2


def placed(embedding: Array, tokens: list[int]) -> list[Array]:
    """(1) √d·E + PE"""
    width = embedding.shape[1]
    vectors = []
    for place, token in enumerate(tokens):
        vector = math.sqrt(width) * embedding[token]
        for i in range(0, width, 2):
            angle = place / 10000 ** (i / width)
            vector[i] += math.sin(angle)
            vector[i + 1] += math.cos(angle)
        vectors.append(vector)
    return vectors


def layer_norm(p: Parameters, name: str, x: Array) -> Array:
    centred = x - x.mean()
    return np.asarray(centred / np.sqrt((centred**2).mean() + 1e-5) * p[f"{name}.weight"] + p[f"{name}.bias"])


def attended(p: Parameters, name: str, query: Array, memory: list[Array]) -> Array:
    """(4), a head after another"""
    q, k, v = (np.split(p[f"{name}.of_{side}.weight"], HEADS) for side in ("queries", "keys", "values"))
    heads = []
    for h in range(HEADS):
        scores = [(q[h] @ query) @ (k[h] @ slot) / math.sqrt(len(q[h])) for slot in memory]
        heads.append(sum(weight * (v[h] @ slot) for weight, slot in zip(softmax(np.array(scores)), memory)))
    return np.asarray(p[f"{name}.of_output.weight"] @ np.concatenate(heads))


def self_attention(p: Parameters, name: str, xs: list[Array]) -> list[Array]:
    return [attended(p, name, x, xs) for x in xs]


def causal_self_attention(p: Parameters, name: str, ys: list[Array]) -> list[Array]:
    return [attended(p, name, y, ys[: i + 1]) for i, y in enumerate(ys)]


def cross_attention(p: Parameters, name: str, xs: list[Array], ys: list[Array]) -> list[Array]:
    return [attended(p, name, y, xs) for y in ys]


def feed_forward(p: Parameters, name: str, xs: list[Array]) -> list[Array]:
    return [affine(p, f"{name}.second", np.maximum(affine(p, f"{name}.first", x), 0)) for x in xs]


Function = Callable[[list[Array]], list[Array]]


def post_norm(p: Parameters, norm: str, xs: list[Array], f: Function) -> list[Array]:
    return [layer_norm(p, norm, x + y) for x, y in zip(xs, f(xs))]


def pre_norm(p: Parameters, norm: str, xs: list[Array], f: Function) -> list[Array]:
    return [x + y for x, y in zip(xs, f([layer_norm(p, norm, x) for x in xs]))]


Around = Callable[[Parameters, str, list[Array], Function], list[Array]]


def vaswani2017(around: Around, p: Parameters, source: list[int], target: list[int]) -> Iterator[Array]:
    xs = placed(p["embeddings.source.weight"], source)
    for n in range(LAYERS):  # (2)
        layer = f"encoder.{n}"
        xs = around(p, f"{layer}.around.0.norm", xs, partial(self_attention, p, f"{layer}.attention.attention"))
        xs = around(p, f"{layer}.around.1.norm", xs, partial(feed_forward, p, f"{layer}.feed_forward"))
    if around is pre_norm:
        xs = [layer_norm(p, "encoder_norm", x) for x in xs]
    ys = placed(p["embeddings.target.weight"], target)
    for n in range(LAYERS):  # (3)
        layer = f"decoder.{n}"
        ys = around(p, f"{layer}.around.0.norm", ys, partial(causal_self_attention, p, f"{layer}.attention.attention"))
        ys = around(p, f"{layer}.around.1.norm", ys, partial(cross_attention, p, f"{layer}.cross.attention", xs))
        ys = around(p, f"{layer}.around.2.norm", ys, partial(feed_forward, p, f"{layer}.feed_forward"))
    if around is pre_norm:
        ys = [layer_norm(p, "decoder_norm", y) for y in ys]
    for y in ys:
        yield p["embeddings.target.weight"] @ y  # (5)


TRANSCRIPTIONS: dict[Case, Callable[[Parameters, list[int], list[int]], Iterator[Array]]] = {
    Case("cho2014"): cho2014,
    Case("bahdanau2014"): bahdanau2014,
    Case("bahdanau2014", {"decoder": "conditional"}): bahdanau2014_conditional,
    Case("vaswani2017", TWO_DEEP | {"norm": "post", "tie": "all"}): partial(vaswani2017, post_norm),
    Case("vaswani2017", TWO_DEEP | {"norm": "pre", "tie": "target"}): partial(vaswani2017, pre_norm),
}


@pytest.mark.parametrize("case", TRANSCRIPTIONS, ids=str)
def test_logits_are_those_of_the_equations(case: Case) -> None:
    model, (source, readable, target) = build(case), sentences()
    logits = model(source, readable, target).detach().numpy()
    parameters = {name: tensor.numpy() for name, tensor in model.state_dict().items()}
    for b, length in enumerate(readable.sum(1).tolist()):
        expected = list(TRANSCRIPTIONS[case](parameters, source[b, :length].tolist(), target[b].tolist()))
        np.testing.assert_allclose(logits[b], expected, rtol=0, atol=1e-9)
