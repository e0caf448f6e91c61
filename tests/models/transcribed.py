"""What the transcriptions of equations share: numpy alone, a vector at a time, no batch, no padding, no mask.

A transcription reads a sentence and the target before it (from the start symbol on) and gives the logits of each step.
"""

from collections.abc import Callable, Iterator

import numpy as np
from model_cases import Case, build, sentences
from numpy.typing import NDArray

Array = NDArray[np.float64]
Parameters = dict[str, Array]
Transcription = Callable[[Parameters, list[int], list[int]], Iterator[Array]]


def softmax(scores: Array) -> Array:
    exponents = np.exp(scores - scores.max())
    return np.asarray(exponents / exponents.sum())


def affine(p: Parameters, name: str, x: Array) -> Array:
    return p[f"{name}.weight"] @ x + p.get(f"{name}.bias", 0.0)


def check(case: Case, transcription: Transcription) -> None:
    """The model's logits are those of the equations."""
    model, (source, readable, target) = build(case), sentences()
    logits = model(source, readable, target).detach().numpy()
    parameters = {name: tensor.numpy() for name, tensor in model.state_dict().items()}
    for b, length in enumerate(readable.sum(1).tolist()):
        expected = list(transcription(parameters, source[b, :length].tolist(), target[b].tolist()))
        np.testing.assert_allclose(logits[b], expected, rtol=0, atol=1e-9)
