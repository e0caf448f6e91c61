"""Every model whose linear layers multiply by oneDNN gives the numbers of the plain layers."""

import copy
from typing import Any

import pytest
import torch
from model_cases import SMALL, Case, built, sentences
from torch import Tensor

from saccade import products
from saccade.attention import Attention
from saccade.attention.short import are_linear
from saccade.models import MODELS, Seq2Seq, build_model
from saccade.products import FastLinear, accelerate_linear_layers

COUNT = 2  # hypotheses


@pytest.fixture(autouse=True)
def _small_layers_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(products, "_FEWEST_WEIGHTS", 1)


def fast_and_plain(name: str) -> tuple[Seq2Seq[Any, Any], Seq2Seq[Any, Any]]:
    plain = copy.deepcopy(built(Case(name))).float()
    fast = copy.deepcopy(plain)
    accelerate_linear_layers(fast)
    assert any(isinstance(part, FastLinear) for part in fast.modules()) or name == "gehring2017"
    return fast, plain


def search_steps(model: Seq2Seq[Any, Any]) -> list[Tensor]:
    source, readable, _ = sentences()
    with torch.inference_mode():
        fixed, moving = model.start(source, readable)
        moving = model.for_hypotheses(moving, COUNT)
        logits = []
        for t in range(3):
            tokens = torch.arange(COUNT * len(source)) % 7 + 4
            step, moving = model.step(tokens, torch.full_like(tokens, t), fixed, moving)
            logits.append(step)
    return logits


def gradients(model: Seq2Seq[Any, Any]) -> list[Tensor | None]:
    logits = model(*sentences())
    loss = (logits * torch.linspace(-1, 1, logits.numel()).view_as(logits)).sum()
    return [logits, *torch.autograd.grad(loss, list(model.parameters()), allow_unused=True)]


@pytest.mark.parametrize("name", SMALL)
def test_a_search_and_an_update_are_the_same(name: str) -> None:
    fast, plain = fast_and_plain(name)
    torch.testing.assert_close(search_steps(fast), search_steps(plain), rtol=1e-4, atol=1e-5)
    for ours, expected in zip(gradients(fast), gradients(plain), strict=True):
        torch.testing.assert_close(ours, expected, rtol=1e-4, atol=1e-4)


def test_models_are_built_with_fast_layers() -> None:
    model = build_model("vaswani2017", MODELS["vaswani2017"].PRESETS["tiny"], 9, 9)
    assert isinstance(model.embeddings.output, FastLinear)
    assert model.embeddings.output.weight is model.embeddings.target.weight


def test_fast_layers_may_be_multiplied_together() -> None:
    model = build_model("vaswani2017", MODELS["vaswani2017"].PRESETS["tiny"], 9, 9)
    attentions = [part for part in model.modules() if isinstance(part, Attention)]
    assert attentions and all(are_linear([each.of_queries, each.of_keys, each.of_values]) for each in attentions)
