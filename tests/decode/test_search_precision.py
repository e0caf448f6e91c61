"""A search in half precision uses a copy of the model, with its present weights."""

from typing import get_args

import pytest
import torch
from search_models import TINY, batch, tiny

from saccade.decode import Ensemble, Search, run_search
from saccade.decode.options import DecodingPrecision
from saccade.decode.precision import choose_precision, in_precision
from saccade.text import EOS

SOURCES = [(4, 5, 6, EOS), (5, EOS), (6, 6, 4, 4, 5, EOS)]
CPU = torch.device("cpu")


@pytest.mark.parametrize("name", TINY)
def test_half_precision_stays_near(name: str) -> None:
    model = tiny(name, 6).float()
    wide, narrow = (run_search(model, *batch(*SOURCES), Search(beam=3, precision=p)) for p in ("fp32", "bf16"))
    assert all(weight.dtype == torch.float32 for weight in model.parameters())
    assert sum(abs(a[0].score - b[0].score) < 0.3 for a, b in zip(wide, narrow, strict=True)) >= 2


def test_a_copy_follows_the_weights_of_its_model() -> None:
    model = Ensemble([tiny("gehring2017").float(), tiny("vaswani2017").float()])
    copied = in_precision(model, torch.bfloat16)
    with torch.no_grad():
        for weight in model.parameters():
            weight.copy_(torch.randn_like(weight))
    model.train()
    again = in_precision(model, torch.bfloat16)
    assert again is copied and again.training
    for weight, narrow in zip(model.parameters(), again.parameters(), strict=True):
        assert torch.equal(weight.bfloat16(), narrow)


@pytest.mark.parametrize("name", ["bahdanau2014", "vaswani2017"])
def test_numbers_beyond_the_range_of_fp16_are_searched_in_fp32(name: str) -> None:
    model = tiny(name, 6).float()
    with torch.no_grad():
        model.embeddings.output.weight.mul_(1e6)
    assert not in_precision(model, torch.float16).embeddings.output.weight.isfinite().all()
    wide, narrow = (run_search(model, *batch(*SOURCES), Search(beam=2, precision=p)) for p in ("fp32", "fp16"))
    assert narrow == wide


def test_fp32_and_other_weights_stay_as_they_are() -> None:
    model = tiny("cho2014")
    assert in_precision(model, torch.bfloat16) is model  # float64, as the laws are tested
    assert in_precision(model.float(), torch.float32) is model


def test_auto_is_fp32_on_a_cpu() -> None:
    assert [choose_precision(name, CPU) for name in get_args(DecodingPrecision)] == [
        torch.float32,
        torch.float32,
        torch.bfloat16,
        torch.float16,
    ]
