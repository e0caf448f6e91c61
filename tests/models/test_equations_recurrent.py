"""Each recurrent model against the equations of its file, with each cell, written out word by word in numpy."""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import product

import numpy as np
import pytest
import torch
from model_cases import Case
from transcribed import Array, Parameters, Transcription, affine, check, softmax

from saccade.models.kalchbrenner2013 import Encoder

State = tuple[Array, ...]  # (h,), or (h, c) of an LSTM


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def maxout(pairs: Array) -> Array:
    return np.array([max(pairs[2 * i], pairs[2 * i + 1]) for i in range(len(pairs) // 2)])


def elman(p: Parameters, name: str, projected: Array, state: State) -> State:
    return (np.tanh(projected + p[f"{name}.of_state.weight"] @ state[0]),)


def gated(p: Parameters, name: str, projected: Array, state: State) -> State:
    """Cho 2014: reset before the product; z keeps the old state"""
    (h,) = state
    of_reset, of_update, of_candidate = np.split(projected, 3)
    recurrent_reset, recurrent_update = np.split(p[f"{name}.of_gates.weight"], 2)
    reset = sigmoid(of_reset + recurrent_reset @ h)
    update = sigmoid(of_update + recurrent_update @ h)
    candidate = np.tanh(of_candidate + p[f"{name}.of_candidate.weight"] @ (reset * h))
    return (update * h + (1 - update) * candidate,)


def long_short(p: Parameters, name: str, projected: Array, state: State) -> State:
    """Gers 2000, without peepholes"""
    h, c = state
    of_f, of_i, of_o, of_g = np.split(projected, 4)
    u_f, u_i, u_o, u_g = np.split(p[f"{name}.of_state.weight"], 4)
    c = sigmoid(of_f + u_f @ h) * c + sigmoid(of_i + u_i @ h) * np.tanh(of_g + u_g @ h)
    return sigmoid(of_o + u_o @ h) * np.tanh(c), c


UNITS: dict[str, tuple[Callable[[Parameters, str, Array, State], State], int]] = {
    "tanh": (elman, 1),
    "gru": (gated, 1),
    "lstm": (long_short, 2),
}


def run(cell: str, p: Parameters, name: str, inputs: list[Array], state: State | None = None) -> list[State]:
    step, parts = UNITS[cell]
    states = []
    if state is None:
        width = p[f"{name}.of_input.weight"].shape[0] // {"tanh": 1, "gru": 3, "lstm": 4}[cell]
        state = (np.zeros(width),) * parts
    for x in inputs:
        state = step(p, name, affine(p, f"{name}.of_input", x), state)
        states.append(state)
    return states


def outputs(states: list[State]) -> list[Array]:
    return [state[0] for state in states]


def backwards(cell: str, p: Parameters, name: str, inputs: list[Array]) -> list[State]:
    return run(cell, p, name, inputs[::-1])[::-1]


def first_state(p: Parameters, name: str, cell: str, x: Array) -> State:
    return tuple(np.split(np.tanh(affine(p, f"{name}.of_source", x)), UNITS[cell][1]))


def words(p: Parameters, source: list[int]) -> list[Array]:
    return [p["embeddings.source.weight"][x] for x in source]


def aligned_rnn(cell: str, p: Parameters, source: list[int], target: list[int]) -> Iterator[Array]:
    states = outputs(run(cell, p, "encoder.layers.0.0.unit", words(p, source)))  # (1)
    for i, y in enumerate(target):
        if i < len(states):
            hidden = affine(p, "of_state", states[i])
            if "of_last.weight" in p:
                hidden = hidden + affine(p, "of_last", p["embeddings.target.weight"][y])
            yield affine(p, "embeddings.output", np.tanh(hidden))  # (2)
        else:
            beyond = np.zeros(p["embeddings.output.weight"].shape[0])
            beyond[3] = 20.0
            yield beyond


def sentence_vector(kernels: Array, last: Array, columns: list[Array], widest: int) -> Array:
    """(2) and (3): `kernels` holds K^2, K^3, … side by side, `last` L^2, L^3, …"""

    def kernel(table: Array, width: int) -> Array:
        start = sum(range(2, width))
        return table[:, start : start + width]

    width = 2
    while len(columns) >= width:
        k = kernel(kernels, width)
        columns = [
            np.tanh(np.sum([k[:, n] * columns[j + n] for n in range(width)], 0))
            for j in range(len(columns) - width + 1)
        ]
        width = min(width + 1, widest)
    if len(columns) > 1:
        k = kernel(last, len(columns))
        return np.asarray(np.tanh(np.sum([k[:, n] * column for n, column in enumerate(columns)], 0)))
    return columns[0] if columns else np.zeros(kernels.shape[0])


def kalchbrenner2013(cell: str, p: Parameters, source: list[int], target: list[int]) -> Iterator[Array]:
    last = p.get("encoder.last", np.zeros((0, 0)))
    widest = next(w for w in range(2, 99) if sum(range(2, w + 1)) == p["encoder.kernels"].shape[1])
    vector = sentence_vector(p["encoder.kernels"], last, words(p, source), widest)
    step, parts = UNITS[cell]
    state = (np.zeros(p["of_vector.weight"].shape[0] // {"tanh": 1, "gru": 3, "lstm": 4}[cell]),) * parts
    if "first.of_source.weight" in p:
        state = first_state(p, "first", cell, vector)
    for y in target:
        before = p["embeddings.target.weight"][y]
        state = step(p, "unit", affine(p, "unit.of_input", before) + affine(p, "of_vector", vector), state)  # (4)
        yield affine(p, "embeddings.output", affine(p, "narrow", state[0]))  # (5)


def cho2014(cell: str, p: Parameters, source: list[int], target: list[int]) -> Iterator[Array]:
    *_, last = outputs(run(cell, p, "encoder.recurrence.layers.0.0.unit", words(p, source)))  # (1)
    context = np.tanh(affine(p, "encoder.summary", last))  # (2)
    state = first_state(p, "decoder.first", cell, context)  # (3)
    for y in target:
        before = p["embeddings.target.weight"][y]
        both = affine(p, "decoder.unit.of_input", before) + affine(p, "decoder.of_context", context)
        state = UNITS[cell][0](p, "decoder.unit", both, state)  # (4)
        read = affine(p, "decoder.of_state", state[0]) + affine(p, "decoder.of_last", before)
        read = maxout(read + affine(p, "decoder.of_summary", context))
        yield affine(p, "embeddings.output", affine(p, "decoder.narrow", read))  # (5)


def sutskever2014(cell: str, reverse: bool, p: Parameters, source: list[int], target: list[int]) -> Iterator[Array]:
    below, ends = words(p, source[::-1] if reverse else source), []
    for layer in range(2):  # (1)
        states = run(cell, p, f"encoder.layers.{layer}.0.unit", below)
        below = outputs(states)
        ends.append(states[-1])  # (2)
    above = [p["embeddings.target.weight"][y] for y in target]
    for layer in range(2):  # (3)
        above = outputs(run(cell, p, f"decoder.units.{layer}", above, ends[layer]))
    for h in above:
        yield affine(p, "embeddings.output", affine(p, "narrow", h))  # (4)


def searched(p: Parameters, h: Array, annotations: list[Array]) -> Array:
    """Bahdanau's (3), and Luong's concat"""
    of_state, of_annotation = p["decoder.attention.of_queries.weight"], p["decoder.attention.of_keys.weight"]
    v = p["decoder.attention.score.v"][0]
    energies = [v @ np.tanh(of_state @ h + of_annotation @ annotation) for annotation in annotations]
    return mixed(softmax(np.array(energies)), annotations)


def mixed(weights: Array, annotations: list[Array]) -> Array:
    return np.asarray(sum(weight * annotation for weight, annotation in zip(weights, annotations)))


def bahdanau_output(p: Parameters, h: Array, before: Array, context: Array) -> Array:
    """(5)"""
    read = affine(p, "decoder.of_state", h) + affine(p, "decoder.of_last", before)
    read = maxout(read + affine(p, "decoder.of_read", context))
    return affine(p, "embeddings.output", affine(p, "decoder.narrow", read))


def bahdanau2014(
    cell: str, first: str, conditional: bool, p: Parameters, source: list[int], target: list[int]
) -> Iterator[Array]:
    step, parts = UNITS[cell]
    there = outputs(run(cell, p, "encoder.layers.0.0.unit", words(p, source)))
    back = outputs(backwards(cell, p, "encoder.layers.0.1.unit", words(p, source)))
    annotations = [np.concatenate(both) for both in zip(there, back)]  # (1)
    state = (np.zeros_like(back[0]),) * parts
    if first != "zero":  # (2)
        summary = back[0] if first == "last" else np.mean(annotations, 0)
        state = first_state(p, "decoder.first", cell, summary)
    for y in target:
        before = p["embeddings.target.weight"][y]
        projected = affine(p, "decoder.unit.of_input", before)
        if conditional:
            state = step(p, "decoder.unit", projected, state)
            context = searched(p, state[0], annotations)
            state = step(p, "decoder.second", affine(p, "decoder.second.of_input", context), state)
            yield bahdanau_output(p, state[0], before, context)
        else:
            context = searched(p, state[0], annotations)  # (3)
            yield bahdanau_output(p, state[0], before, context)
            state = step(p, "decoder.unit", projected + affine(p, "decoder.of_context", context), state)  # (4)


def dot(p: Parameters, h: Array, annotations: list[Array]) -> Array:
    return mixed(softmax(np.array([h @ annotation for annotation in annotations])), annotations)


def general(p: Parameters, h: Array, annotations: list[Array]) -> Array:
    keys = [p["decoder.attention.of_keys.weight"] @ annotation for annotation in annotations]
    return mixed(softmax(np.array([h @ key for key in keys])), annotations)


def local_p_general(p: Parameters, h: Array, annotations: list[Array]) -> Array:
    """All sentences here are within D = 10 of any predicted place."""
    hidden = np.tanh(p["decoder.attention.window.hidden.weight"] @ h)
    place = len(annotations) * sigmoid(p["decoder.attention.window.place.weight"] @ hidden)[0]
    weights = softmax(np.array([h @ p["decoder.attention.of_keys.weight"] @ annotation for annotation in annotations]))
    taper = [np.exp(-((j - place) ** 2) / (2 * 5**2)) for j in range(len(annotations))]
    return mixed(weights * np.array(taper), annotations)


def luong_encoder(
    cell: str, direction: str, p: Parameters, below: list[Array], layers: int
) -> tuple[list[Array], list[State]]:
    """(1): annotations of the highest layer, the state at the end of each"""
    ends: list[State] = []
    for layer in range(layers):
        unit = f"encoder.layers.{layer}"
        if direction == "both":
            there, back = run(cell, p, f"{unit}.0.unit", below), backwards(cell, p, f"{unit}.1.unit", below)
            below = [np.concatenate(both) for both in zip(outputs(there), outputs(back))]
            ends.append(tuple(np.concatenate(both) for both in zip(there[-1], back[0])))
        else:
            states = (run if direction == "forwards" else backwards)(cell, p, f"{unit}.0.unit", below)
            below = outputs(states)
            ends.append(states[-1 if direction == "forwards" else 0])
    return below, ends


def luong2015(
    cell: str,
    direction: str,
    align: Callable[[Parameters, Array, list[Array]], Array],
    layers: int,
    p: Parameters,
    source: list[int],
    target: list[int],
) -> Iterator[Array]:
    annotations, states = luong_encoder(cell, direction, p, words(p, source), layers)
    read = np.zeros(p["decoder.of_read.weight"].shape[0])
    for y in target:
        projected = affine(p, "decoder.stack.units.0.of_input", p["embeddings.target.weight"][y])
        if "decoder.of_fed.weight" in p:
            projected = projected + affine(p, "decoder.of_fed", read)
        for layer in range(layers):  # (2)
            if layer:
                projected = affine(p, f"decoder.stack.units.{layer}.of_input", states[layer - 1][0])
            states[layer] = UNITS[cell][0](p, f"decoder.stack.units.{layer}", projected, states[layer])
        h = states[-1][0]
        read = np.tanh(affine(p, "decoder.of_read", np.concatenate([align(p, h, annotations), h])))  # (3), (4)
        yield affine(p, "embeddings.output", affine(p, "narrow", read))  # (5)


def wu2019(cell: str, longest: int, p: Parameters, source: list[int], target: list[int]) -> Iterator[Array]:
    """By its definition: the sum over every path through the source, one by one"""
    there = outputs(run(cell, p, "encoder.layers.0.0.unit", words(p, source)))
    back = outputs(backwards(cell, p, "encoder.layers.0.1.unit", words(p, source)))
    annotations = [np.concatenate(both) for both in zip(there, back)]  # (1)
    states = outputs(run(cell, p, "decoder.unit", [p["embeddings.target.weight"][y] for y in target]))  # (2)

    def jump(s: Array, place: int, next_place: int) -> float:  # (3)
        hidden = affine(p, "decoder.jumps.of_state", s) + affine(p, "decoder.jumps_of_place", annotations[place])
        scores = affine(p, "decoder.jumps.length", np.tanh(hidden))[: len(source) - place]  # none leads beyond the end
        return float(softmax(scores)[next_place - place])

    def output(s: Array, place: int) -> Array:  # (4)
        hidden = affine(p, "decoder.outputs_of_state", s) + affine(p, "decoder.outputs_of_place", annotations[place])
        return softmax(affine(p, "embeddings.output", np.tanh(hidden)))

    def probability(steps: int, path: tuple[int, ...]) -> float:
        """Of a path and of the outputs y_1 … before its last place"""
        found = 1.0
        for i, (place, next_place) in enumerate(zip((0, *path), path)):
            found *= jump(states[i], place, next_place)
            found *= output(states[i], next_place)[target[i + 1]] if i < steps - 1 else 1.0
        return found

    for steps in range(1, len(target) + 1):
        total = np.zeros(p["embeddings.output.weight"].shape[0])
        for path in product(range(len(source)), repeat=steps):
            if all(0 <= after - before <= longest for before, after in zip((0, *path), path)):
                total += probability(steps, path) * output(states[steps - 1], path[-1])
        yield np.log(total / total.sum())  # (5) to (7)


TRANSCRIPTIONS: dict[Case, Transcription] = {
    Case("aligned-rnn"): partial(aligned_rnn, "tanh"),
    Case("aligned-rnn", {"cell": "gru", "feedback": True}): partial(aligned_rnn, "gru"),
    Case("aligned-rnn", {"cell": "lstm", "feedback": True}): partial(aligned_rnn, "lstm"),
    Case("kalchbrenner2013"): partial(kalchbrenner2013, "tanh"),
    Case("kalchbrenner2013", {"cell": "gru", "widest": 2}): partial(kalchbrenner2013, "gru"),
    Case("kalchbrenner2013", {"cell": "lstm", "widest": 4, "first": "last"}): partial(kalchbrenner2013, "lstm"),
    Case("cho2014"): partial(cho2014, "gru"),
    Case("cho2014", {"cell": "tanh"}): partial(cho2014, "tanh"),
    Case("cho2014", {"cell": "lstm"}): partial(cho2014, "lstm"),
    Case("sutskever2014"): partial(sutskever2014, "lstm", True),
    Case("sutskever2014", {"cell": "gru"}): partial(sutskever2014, "gru", True),
    Case("sutskever2014", {"cell": "tanh", "reverse": False}): partial(sutskever2014, "tanh", False),
    Case("bahdanau2014"): partial(bahdanau2014, "gru", "last", False),
    Case("bahdanau2014", {"decoder": "conditional"}): partial(bahdanau2014, "gru", "last", True),
    Case("bahdanau2014", {"cell": "tanh", "first": "zero"}): partial(bahdanau2014, "tanh", "zero", False),
    Case("bahdanau2014", {"cell": "lstm", "first": "mean"}): partial(bahdanau2014, "lstm", "mean", False),
    Case("luong2015", {"layers": 2}): partial(luong2015, "lstm", "backwards", general, 2),
    Case("luong2015", {"attention": "luong2015-local-p-general"}): partial(
        luong2015, "lstm", "backwards", local_p_general, 1
    ),
    Case("luong2015", {"layers": 2, "bidirectional": True, "attention": "luong2015-global-concat"}): partial(
        luong2015, "lstm", "both", searched, 2
    ),
    Case("luong2015", {"cell": "gru", "reverse": False, "feeding": False}): partial(
        luong2015, "gru", "forwards", general, 1
    ),
    Case("luong2015", {"cell": "tanh", "attention": "luong2015-global-dot"}): partial(
        luong2015, "tanh", "backwards", dot, 1
    ),
    Case("wu2019"): partial(wu2019, "lstm", 4),
    Case("wu2019", {"cell": "gru", "jump": 2}): partial(wu2019, "gru", 2),
}


@pytest.mark.parametrize("case", TRANSCRIPTIONS, ids=str)
def test_logits_match_the_equations(case: Case) -> None:
    check(case, TRANSCRIPTIONS[case])


@pytest.mark.parametrize("widest", [2, 3, 4, 7])
def test_a_sentence_of_any_length_becomes_one_vector(widest: int) -> None:
    torch.manual_seed(1)
    encoder, longest = Encoder(3, widest).double(), 40
    words = torch.randn(longest + 1, longest, 3, dtype=torch.float64)
    readable = torch.arange(longest) < torch.arange(longest + 1)[:, None]  # a sentence of each length, from none on
    vectors = encoder(words, readable).detach().numpy()
    kernels = encoder.kernels.detach().numpy()
    last = np.zeros((0, 0)) if encoder.last is None else encoder.last.detach().numpy()
    for length, vector in enumerate(vectors):
        columns = list(words[length, :length].numpy())
        np.testing.assert_allclose(vector, sentence_vector(kernels, last, columns, widest), rtol=0, atol=1e-12)
