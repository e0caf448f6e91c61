"""The training forward and backward never wait for the device: a CUDA graph can record them."""

import pytest
import torch
from model_cases import CASES, Case, build
from torch import Tensor

from saccade.models import ALL_MODELS
from saccade.models.capturing import find_host_reads, why_not_captured
from saccade.models.cho2014 import Cho2014, Config

# tests/attention asks the same of every attention.
BUILT_IN = [case for case in CASES if not any("attention" in option for option in case.options)]


@pytest.mark.parametrize("case", BUILT_IN, ids=str)
def test_every_model_can_be_captured(case: Case) -> None:
    assert find_host_reads(build(case).train()) is None


@pytest.mark.slow
@pytest.mark.parametrize("name", ALL_MODELS)
def test_every_preset_can_be_captured(name: str) -> None:
    for config in ALL_MODELS[name].PRESETS.values():
        with torch.device("meta"):
            model = ALL_MODELS[name](config, 20, 20)
        assert find_host_reads(model.train()) is None


def test_asking_changes_neither_numbers_nor_the_random_state() -> None:
    model = build(Case("luong2015")).train()
    before, random = {name: p.clone() for name, p in model.named_parameters()}, torch.get_rng_state()
    assert find_host_reads(model) is None
    assert torch.equal(torch.get_rng_state(), random)
    assert all(torch.equal(p, before[name]) and p.grad is None for name, p in model.named_parameters())


class ReadsLengths(Cho2014):
    def forward(self, source: Tensor, readable: Tensor, target: Tensor) -> Tensor:
        return super().forward(source, readable, target[:, : int(readable.sum())])


class SendsNumbers(Cho2014):
    def forward(self, source: Tensor, readable: Tensor, target: Tensor) -> Tensor:
        return super().forward(source, readable, target) + torch.ones(self.target_size).to(source.device)


@pytest.mark.parametrize("model", [ReadsLengths, SendsNumbers])
def test_a_model_that_waits_gives_the_reason(model: type[Cho2014]) -> None:
    reason = why_not_captured(model(Config(embedding=4, hidden=4, maxout=4), 9, 9))
    assert reason is not None and "\n" not in reason and "needs numbers from the device" in reason
