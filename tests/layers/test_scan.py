"""A scan equals the steps of its unit: outputs, last states and gradients, for every cell, direction and padding."""

from typing import get_args

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from saccade.layers import recurrent, scan
from saccade.layers.recurrent import SCANS, UNITS, Cell, GatedUnit, RecurrentEncoder, RecurrentUnit
from saccade.layers.scan import GatedScan, why_not_scanned

each_cell = pytest.mark.parametrize("cell", get_args(Cell))
each_fused = pytest.mark.parametrize("cell", ["gru", "lstm"])


def run(
    unit: RecurrentUnit, inputs: Tensor, state: Tensor, readable: Tensor | None, backwards: bool, *, scanned: bool
) -> tuple[Tensor, Tensor, tuple[Tensor, ...]]:
    """h, the last state, and the gradients of a loss that reads both"""
    with pytest.MonkeyPatch.context() as patch:
        if not scanned:
            patch.setattr(recurrent, "why_not_scanned", lambda kind: "the plain path")
        outputs, last = unit.run(unit.of_input(inputs), state, readable, backwards=backwards)
    loss = (
        outputs * torch.linspace(-1, 1, outputs.numel(), device=outputs.device).view_as(outputs)
    ).sum() + last.square().sum()
    return outputs, last, torch.autograd.grad(loss, [inputs, state, *unit.parameters()])


def drawn(*shape: int, dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.randn(shape, dtype=dtype, requires_grad=True)


@settings(deadline=None, max_examples=60)
@given(
    cell=st.sampled_from(get_args(Cell)),
    lengths=st.one_of(st.none(), st.lists(st.integers(0, 4), min_size=2, max_size=2)),
    backwards=st.booleans(),
    steps=st.integers(1, 4),
)
def test_a_scan_equals_its_steps(cell: Cell, lengths: list[int] | None, backwards: bool, steps: int) -> None:
    torch.manual_seed(1)
    unit = UNITS[cell](2, 3).double()
    readable = None if lengths is None else torch.arange(steps) < torch.tensor(lengths)[:, None]
    inputs, state = drawn(2, steps, 2), drawn(2, unit.size)
    torch.testing.assert_close(
        run(unit, inputs, state, readable, backwards, scanned=True),
        run(unit, inputs, state, readable, backwards, scanned=False),
    )


@each_cell
def test_gradients_are_the_derivatives(cell: Cell) -> None:
    torch.manual_seed(1)
    unit = UNITS[cell](2, 2).double()
    readable = torch.tensor([[True, True, True], [True, False, False]])

    def of(projected: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        return unit.run(projected, state, readable)

    assert torch.autograd.gradcheck(of, (drawn(2, 3, unit.projected), drawn(2, unit.size)))


@each_cell
@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def test_mixed_precision_stays_near(cell: Cell, device: str) -> None:
    torch.manual_seed(1)
    unit = UNITS[cell](4, 8).to(device)
    inputs, state = (torch.randn(shape, device=device, requires_grad=True) for shape in ((3, 5, 4), (3, unit.size)))
    readable = (torch.arange(5) < torch.tensor([[5], [2], [0]])).to(device)
    exact = run(unit, inputs, state, readable, False, scanned=False)
    with torch.autocast(device, torch.bfloat16):
        near = run(unit, inputs, state, readable, False, scanned=True)
    assert near[1].dtype == torch.float32  # a state is added to at every step
    torch.testing.assert_close(near[0].float(), exact[0], rtol=0.05, atol=0.05)
    torch.testing.assert_close(near[1:], exact[1:], rtol=0.1, atol=0.1)


def check_fused(cell: Cell, width: int, device: str) -> None:
    torch.manual_seed(1)
    unit = UNITS[cell](4, width).to(device)
    inputs, state = (torch.randn(shape, device=device, requires_grad=True) for shape in ((3, 5, 4), (3, unit.size)))
    readable = (torch.arange(5) < torch.tensor([[5], [2], [0]])).to(device)
    for mask, backwards in ((None, False), (readable, False), (readable, True)):
        fused = run(unit, inputs, state, mask, backwards, scanned=True)
        plain = run(unit, inputs, state, mask, backwards, scanned=False)
        torch.testing.assert_close(fused, plain, rtol=1e-4, atol=5e-5)


@each_fused
@pytest.mark.gpu
@pytest.mark.parametrize("width", [3, 300, 1000])
def test_fused_kernels_equal_steps(cell: Cell, width: int) -> None:
    check_fused(cell, width, "cuda")


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of the interpreter
@each_fused
def test_interpreted_kernels_equal_steps(cell: Cell, monkeypatch: pytest.MonkeyPatch) -> None:
    """With triton, and TRITON_INTERPRET=1 in the environment, the kernels run on a CPU."""
    triton = pytest.importorskip("triton")
    if not triton.knobs.runtime.interpret:
        pytest.skip("the kernels are compiled")
    monkeypatch.setattr(scan, "why_not_fused", lambda kind, projected: None)
    monkeypatch.setattr(recurrent, "why_not_fused", lambda kind, projected: None)
    check_fused(cell, 300, "cpu")
    check_both_directions(cell, "cpu")


def test_reasons_against_fused_kernels() -> None:
    assert scan.why_not_fused(GatedScan, torch.zeros(1)) == "the device is cpu"
    on_cuda = type("Projected", (), {"is_cuda": True, "dtype": torch.float64})()
    assert scan.why_not_fused(GatedScan, on_cuda) == "there is no kernel for it"


@each_cell
def test_nothing_is_kept_where_no_gradient_is_needed(cell: Cell) -> None:
    unit = UNITS[cell](2, 3)
    with torch.no_grad():
        outputs, last = unit.run(torch.randn(2, 4, unit.projected), torch.zeros(2, unit.size))
    assert outputs.grad_fn is None and last.grad_fn is None
    torch.testing.assert_close(unit.read(last), outputs[:, -1])


def test_a_frozen_unit_passes_gradients_on() -> None:
    unit = GatedUnit(2, 3)
    unit.requires_grad_(False)
    inputs = torch.randn(2, 4, 2, requires_grad=True)
    unit.run(unit.of_input(inputs), torch.zeros(2, 3))[0].sum().backward()  # type: ignore[no-untyped-call]
    assert inputs.grad is not None and unit.of_gates.weight.grad is None


class OtherUnit(GatedUnit):
    def forward(self, projected: Tensor, state: Tensor) -> Tensor:
        return state + 1


def test_a_unit_with_other_equations_runs_its_own_steps() -> None:
    outputs, _ = OtherUnit(2, 3).run(torch.zeros(1, 2, 9), torch.zeros(1, 3))
    assert outputs[0, :, 0].tolist() == [1.0, 2.0]
    assert why_not_scanned(SCANS.get(OtherUnit)) == "the unit has no derivative of its own"
    assert all(isinstance(layer, nn.Linear) for layer in GatedUnit(2, 3).recurrent_layers())


def encode(encoder: RecurrentEncoder, inputs: Tensor, readable: Tensor) -> tuple[Tensor, ...]:
    annotations, ends = encoder(inputs, readable)
    direction = torch.linspace(-1, 1, annotations.numel(), device=inputs.device).view_as(annotations)
    loss = (annotations * direction).sum() + sum(end.square().sum() for end in ends)
    return annotations, *ends, *torch.autograd.grad(loss, [inputs, *encoder.parameters()])


def check_both_directions(cell: Cell, device: str) -> None:
    torch.manual_seed(1)
    encoder = RecurrentEncoder(cell, 3, 5, layers=2).to(device)
    inputs = torch.randn(3, 4, 3, device=device, requires_grad=True)
    readable = (torch.arange(4) < torch.tensor([[4], [2], [0]])).to(device)
    at_once = encode(encoder, inputs, readable)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(recurrent, "why_not_scanned", lambda kind: "the plain path")
        torch.testing.assert_close(at_once, encode(encoder, inputs, readable), rtol=1e-4, atol=2e-5)


@each_cell
@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def test_an_encoder_equals_the_steps_of_its_units(cell: Cell, device: str) -> None:
    check_both_directions(cell, device)
