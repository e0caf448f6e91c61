"""gehring2017 and russin2019 against the equations of their files, written out word by word in numpy: no batch, no
padding, no mask; and the one equation of gehring2017 that is about its gradient.
"""

import math
from collections.abc import Callable, Iterator

import numpy as np
import pytest
import torch
from model_cases import TWO_DEEP, Case, build, sentences
from numpy.typing import NDArray

Array = NDArray[np.float64]
Parameters = dict[str, Array]
HALF = math.sqrt(0.5)


def sigmoid(x: Array) -> Array:
    return np.asarray(1 / (1 + np.exp(-x)))


def softmax(scores: list[float]) -> Array:
    exponents = np.exp(np.array(scores) - max(scores))
    return np.asarray(exponents / exponents.sum())


def mean(weights: Array, vectors: list[Array]) -> Array:
    return np.asarray(sum(weight * vector for weight, vector in zip(weights, vectors, strict=True)))


def weight(p: Parameters, name: str) -> Array:
    """g v/‖v‖, a length and a direction for each output; or the plain matrix"""
    if f"{name}.weight" in p:
        return p[f"{name}.weight"]
    lengths, directions = (p[f"{name}.parametrizations.weight.original{i}"] for i in (0, 1))
    return np.stack([g.item() * v / np.sqrt((v**2).sum()) for g, v in zip(lengths, directions, strict=True)])


def affine(p: Parameters, name: str, x: Array) -> Array:
    return np.asarray(weight(p, name) @ x + p.get(f"{name}.bias", 0.0))


def gated(p: Parameters, name: str, inputs: list[Array], first: Callable[[int], int]) -> list[Array]:
    """v(W ∗ h + b): the window of output t begins at first(t)"""
    kernel = weight(p, name)  # (2·hidden, hidden, taps)
    outputs = []
    for t in range(len(inputs)):
        total = p[f"{name}.bias"].copy()
        for tap in range(kernel.shape[2]):
            if 0 <= first(t) + tap < len(inputs):
                total += kernel[:, :, tap] @ inputs[first(t) + tap]
        content, gate = np.split(total, 2)
        outputs.append(content * sigmoid(gate))
    return outputs


def placed(p: Parameters, side: str, tokens: list[int]) -> list[Array]:
    """(1)"""
    places = p[f"{side}_places.table.weight"]
    return [p[f"embeddings.{side}.weight"][token] + places[min(i, len(places) - 1)] for i, token in enumerate(tokens)]


def gehring2017(p: Parameters, source: list[int], target: list[int]) -> Iterator[Array]:
    kernel = weight(p, "decoder.0.convolution.convolution").shape[2]
    layers = range(1 + max(int(name.split(".")[1]) for name in p if name.startswith("decoder.")))
    e = placed(p, "source", source)
    hs = [affine(p, "encoder.widen", vector) for vector in e]
    for n in layers:  # as many in the encoder
        vs = gated(p, f"encoder.layers.{n}.convolution", hs, lambda t: t - (kernel - 1) // 2)
        hs = [HALF * (v + h) for v, h in zip(vs, hs, strict=True)]  # (2)
    z = [affine(p, "encoder.narrow", h) for h in hs]  # (3)
    values = [HALF * (z_j + e_j) for z_j, e_j in zip(z, e, strict=True)]

    g = placed(p, "target", target)
    hs = [affine(p, "widen", vector) for vector in g]
    for n in layers:
        states = gated(p, f"decoder.{n}.convolution.convolution", hs, lambda t: t - kernel + 1)  # (4)
        outputs = []
        for g_i, s, h in zip(g, states, hs, strict=True):
            d = HALF * (affine(p, f"decoder.{n}.of_state", s) + g_i)  # (5)
            c = math.sqrt(len(z)) * mean(softmax([d @ z_j for z_j in z]), values)  # (6)
            outputs.append(HALF * (HALF * (affine(p, f"decoder.{n}.of_context", c) + s) + h))  # (7)
        hs = outputs
    for h in hs:
        yield affine(p, "embeddings.output", affine(p, "narrow", h))  # (8)


def lstm(p: Parameters, name: str, projected: Array, h: Array, c: Array) -> tuple[Array, Array]:
    forget, enter, leave, candidate = np.split(projected + p[f"{name}.of_state.weight"] @ h, 4)
    c = sigmoid(forget) * c + sigmoid(enter) * np.tanh(candidate)
    return sigmoid(leave) * np.tanh(c), c


def recurrence(p: Parameters, name: str, inputs: list[Array]) -> list[Array]:
    h = c = np.zeros(p[f"{name}.of_state.weight"].shape[1])
    outputs = []
    for x in inputs:
        h, c = lstm(p, name, affine(p, f"{name}.of_input", x), h, c)
        outputs.append(h)
    return outputs


def both_ways(p: Parameters, name: str, inputs: list[Array]) -> tuple[list[Array], list[Array]]:
    forwards = recurrence(p, f"{name}.layers.0.0.unit", inputs)
    return forwards, recurrence(p, f"{name}.layers.0.1.unit", inputs[::-1])[::-1]


def russin2019(p: Parameters, source: list[int], target: list[int], *, options: bool = False) -> Iterator[Array]:
    """As published; `options`: feedback, sequential, nonlinear and syntax_acts, all of them, and a second layer"""
    m = [p["embeddings.source.weight"][x] for x in source]  # (1)
    if options:
        m = [np.concatenate(both) for both in zip(*both_ways(p, "semantics", m), strict=True)]
    forwards, backwards = both_ways(p, "syntax.around", [p["syntax.words.weight"][x] for x in source])
    nothing = np.zeros_like(forwards[0])
    around = zip([nothing, *forwards[:-1]], [*backwards[1:], nothing], strict=True)
    hs = [np.concatenate(both) for both in around]  # (2)
    if options:
        forwards, backwards = both_ways(p, "syntax.above", hs)
        hs = [np.concatenate(both) for both in zip(forwards, backwards, strict=True)]
    s = np.tanh(affine(p, "decoder.control.first.of_source", np.concatenate([forwards[-1], backwards[0]])))  # (3)
    cell = np.zeros_like(s)
    for y in target:
        last = p["embeddings.target.weight"][y] if options else None
        query = s if last is None else s + affine(p, "decoder.control.asked", last)
        weights = softmax([query @ h for h in hs])  # (4)
        d, c = mean(weights, m), mean(weights, hs)
        if options:
            d = np.maximum(affine(p, "decoder.deeper", np.maximum(d, 0)), 0) + affine(p, "decoder.of_syntax", c)
        yield affine(p, "embeddings.output", d)  # (5)
        projected = affine(p, "decoder.control.unit.of_input", c)
        if last is not None:
            projected = projected + affine(p, "decoder.control.of_last", last)
        s, cell = lstm(p, "decoder.control.unit", projected, s, cell)  # (6)


def russin2019_with_options(p: Parameters, source: list[int], target: list[int]) -> Iterator[Array]:
    return russin2019(p, source, target, options=True)


OPTIONS = {"feedback": True, "sequential": True, "nonlinear": True, "syntax_acts": True, "layers": 2}
TRANSCRIPTIONS: dict[Case, Callable[[Parameters, list[int], list[int]], Iterator[Array]]] = {
    Case("gehring2017", TWO_DEEP): gehring2017,
    Case("gehring2017", TWO_DEEP | {"kernel": 4, "tie": "target", "longest": 3}): gehring2017,
    Case("gehring2017", {"weight_norm": False, "kernel": 2}): gehring2017,
    Case("russin2019"): russin2019,
    Case("russin2019", OPTIONS): russin2019_with_options,
}


@pytest.mark.parametrize("case", TRANSCRIPTIONS, ids=str)
def test_logits_match_the_equations(case: Case) -> None:
    model, (source, readable, target) = build(case), sentences()
    logits = model(source, readable, target).detach().numpy()
    parameters = {name: tensor.numpy() for name, tensor in model.state_dict().items()}
    for b, length in enumerate(readable.sum(1).tolist()):
        expected = list(TRANSCRIPTIONS[case](parameters, source[b, :length].tolist(), target[b].tolist()))
        np.testing.assert_allclose(logits[b], expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("layers", [1, 2])
def test_gehring2017_scales_the_encoders_gradient(layers: int) -> None:
    """Its gradient, and no other, is 1/2L of the derivative."""
    model, inputs = build(Case("gehring2017", {"encoder_layers": layers, "decoder_layers": layers})), sentences()
    direction = torch.randn(model(*inputs).shape, dtype=torch.float64, generator=torch.Generator().manual_seed(3))
    (model(*inputs) * direction).sum().backward()
    for name, share in (("encoder.narrow.bias", 1 / (2 * layers)), ("narrow.bias", 1.0)):
        parameter = model.get_parameter(name)
        assert parameter.grad is not None
        results = []
        with torch.no_grad():
            for step in (1e-6, -2e-6):
                parameter[0] += step
                results.append((model(*inputs) * direction).sum().item())
        derivative = (results[0] - results[1]) / 2e-6
        assert parameter.grad[0].item() == pytest.approx(share * derivative, rel=1e-4)
