"""The Transformer against the equations of its file, written out word by word in numpy."""

import math
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
import pytest
from model_cases import TWO_DEEP, Case
from transcribed import Array, Parameters, Transcription, affine, check, softmax

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


TRANSCRIPTIONS: dict[Case, Transcription] = {
    Case("vaswani2017", TWO_DEEP | {"norm": "post", "tie": "all"}): partial(vaswani2017, post_norm),
    Case("vaswani2017", TWO_DEEP | {"norm": "pre", "tie": "target"}): partial(vaswani2017, pre_norm),
}


@pytest.mark.parametrize("case", TRANSCRIPTIONS, ids=str)
def test_logits_match_the_equations(case: Case) -> None:
    check(case, TRANSCRIPTIONS[case])
