"""The objective of word2vec, computed pair by pair."""

from itertools import chain

import pytest
import torch
from test_word_windows import batches_of, corpus_of
from torch import Tensor

from saccade.words.mikolov2013 import Mikolov2013, Word2VecConfig
from saccade.words.options import Method
from saccade.words.windows import WindowBatch


def a_batch() -> WindowBatch:
    sentences = torch.randint(0, 9, (12, 9), generator=torch.Generator().manual_seed(1)).tolist()
    return next(iter(batches_of(corpus_of([*sentences, [3]]), words=10_000)))


def a_model(method: Method) -> Mikolov2013:
    torch.manual_seed(2)
    model = Mikolov2013(Word2VecConfig(method=method, words=9, size=6, negatives=4))
    torch.nn.init.normal_(model.input.weight)
    torch.nn.init.normal_(model.output.weight)
    return model


def log_sigmoid(score: Tensor) -> Tensor:
    return torch.log(1 / (1 + torch.exp(-score)))


def expected_loss(model: Mikolov2013, batch: WindowBatch) -> Tensor:
    """Equations 2 and 3, one word after the other."""
    u, v, total = model.input.weight, model.output.weight, torch.zeros(())
    neighbours, negatives = batch.neighbours(), model.config.negatives
    for row in range(len(batch)):
        random = batch.negatives[row]
        for place in range(batch.reach.shape[1]):
            word = batch.words[row, batch.margin + place]
            near = batch.words[row, neighbours[row, place]]
            if not len(near):
                continue
            readers = [(u[word], c) for c in near] if model.config.method == "skip-gram" else [(u[near].mean(0), word)]
            for reader, written in readers:
                total = total - log_sigmoid(reader @ v[written])
                total = total - negatives * log_sigmoid(-(v[random] @ reader)).mean()
    return total


@pytest.mark.parametrize("method", ["skip-gram", "cbow"])
def test_loss_is_that_of_every_pair(method: Method) -> None:
    model, batch = a_model(method), a_batch()
    loss, expected = model(batch), expected_loss(model, batch)
    torch.testing.assert_close(loss, expected, rtol=1e-4, atol=1e-3)
    loss.backward()
    gradients = [parameter.grad.clone() for parameter in model.parameters() if parameter.grad is not None]
    model.zero_grad()
    expected_loss(model, batch).backward()
    for gradient, parameter in zip(gradients, model.parameters(), strict=True):
        torch.testing.assert_close(gradient, parameter.grad, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("method", ["skip-gram", "cbow"])
def test_parts_of_a_batch_add_up(method: Method) -> None:
    model, batch = a_model(method), a_batch()
    parts = [batch.rows(slice(start, start + 1)) for start in range(len(batch))]
    torch.testing.assert_close(sum(map(model, parts)), model(batch), rtol=1e-5, atol=1e-3)


def test_new_vectors_are_small_and_predict_nothing() -> None:
    model = Mikolov2013(Word2VecConfig(words=9, size=10))
    assert model.input.weight.abs().max() <= 0.05 and not model.output.weight.any()
    batch = a_batch()
    pairs = batch.neighbours().sum()
    assert model(batch).item() == pytest.approx(pairs.item() * (1 + 5) * 0.6931, rel=1e-3)  # log 2 for each score
    assert all(parameter.dtype == torch.float32 for parameter in chain(model.parameters()))
