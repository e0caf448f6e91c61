"""Every composition that can be compiled reads the same when it is, as one graph."""

import shutil

import pytest
import torch
from compositions import build, keeping
from torch import Tensor

# What reads many queries at once; one of them in the quick run.
QUICK = ["vaswani2017"]
SLOW = ["bahdanau2014", "luong2015-global-general", "luong2015-local-p-general", "vaswani2017-causal", "chorowski2015",
        "tu2016", "raffel2017", "t5", "su2021", "ainslie2023", "narrow near"]  # fmt: skip


def read_compiled(name: str, backend: str, numbers: tuple[Tensor, ...]) -> tuple[Tensor, Tensor]:
    """The context, compiled and not."""
    attention = build(name)
    torch._dynamo.reset()

    def step(queries: Tensor, source: Tensor, readable: Tensor) -> Tensor:
        return attention(queries, attention.remember(source, readable)).context

    return torch.compile(step, fullgraph=True, backend=backend)(*numbers), step(*numbers)


def test_compiled_attentions_are_not_exempt() -> None:
    assert {*QUICK, *SLOW} <= {*keeping("compile")}


@pytest.mark.parametrize("name", [*QUICK, *(pytest.param(name, marks=pytest.mark.slow) for name in SLOW)])
def test_compiles_as_one_graph(name: str, numbers: tuple[Tensor, ...]) -> None:
    found, expected = read_compiled(name, "aot_eager", numbers)
    torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-10)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of torch's own, when it loads its compiler
@pytest.mark.parametrize("name", ["bahdanau2014", "vaswani2017-causal", "luong2015-local-p-general"])
def test_compiles_with_inductor(name: str, numbers: tuple[Tensor, ...]) -> None:
    found, expected = read_compiled(name, "inductor" if shutil.which("g++") else "aot_eager", numbers)
    torch.testing.assert_close(found, expected, rtol=1e-6, atol=1e-7)
