"""Products by oneDNN equal plain ones: results, gradients, and whatever happens to the weights in between."""

import copy
import pickle
from collections.abc import Iterator

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from saccade import products
from saccade.layers.late_gradients import late_gradients
from saccade.products import Factor, FastLinear, accelerate_linear_layers, linear_relu, multiply, multiply_back

close = torch.testing.assert_close
SHAPES = [(1, 6), (7, 6), (2, 3, 6), (2, 0, 6), (0, 6)]


@pytest.fixture(autouse=True)
def _small_layers_too(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(products, "_FEWEST_WEIGHTS", 1)
    torch.manual_seed(1)
    yield


def fast_and_plain(*, bias: bool = True) -> tuple[FastLinear, nn.Linear]:
    plain = nn.Linear(6, 5, bias=bias)
    model = nn.Sequential(copy.deepcopy(plain))
    accelerate_linear_layers(model)
    fast = model[0]
    assert type(fast) is FastLinear
    return fast, plain


def strided(*shape: int) -> Tensor:
    """Not contiguous, as a chunk of a larger tensor is"""
    return torch.randn(*shape[:-1], 2 * shape[-1])[..., : shape[-1]]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("bias", [True, False])
def test_inference_equals_the_plain_layer(shape: tuple[int, ...], bias: bool) -> None:
    fast, plain = fast_and_plain(bias=bias)
    for inputs in (torch.randn(shape), strided(*shape), torch.randn(6).expand(shape)):
        with torch.inference_mode():
            close(fast(inputs), plain(inputs))
            close(linear_relu(fast, inputs), F.relu(plain(inputs)))
        with torch.no_grad():
            close(fast(inputs), plain(inputs))


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("relu", [False, True])
@pytest.mark.parametrize("bias", [True, False])
def test_gradients_equal_those_of_the_plain_layer(shape: tuple[int, ...], relu: bool, bias: bool) -> None:
    layers = fast_and_plain(bias=bias)
    inputs = torch.randn(shape)
    found = []
    for layer in layers:
        x = inputs.clone().requires_grad_()
        outputs = linear_relu(layer, x) if relu else layer(x)
        loss = (outputs * torch.linspace(-1, 1, outputs.numel()).view_as(outputs)).sum()
        found.append([outputs, *torch.autograd.grad(loss, [x, *layer.parameters()])])
    close(*found)


def test_only_gradients_that_are_wanted_are_computed() -> None:
    fast, _ = fast_and_plain()
    fast.requires_grad_(False)
    x = torch.randn(3, 6, requires_grad=True)
    fast(x).sum().backward()
    assert x.grad is not None and fast.weight.grad is None and fast.bias.grad is None
    fast.requires_grad_()
    fast(torch.randn(3, 6)).sum().backward()
    assert fast.weight.grad is not None


def test_outputs_may_be_changed_in_place() -> None:
    fast, plain = fast_and_plain()
    inputs = torch.randn(2, 3, 6)
    for layer in (fast, plain):
        layer(inputs).relu_().sum().backward()
    close(fast.weight.grad, plain.weight.grad)


def test_changed_weights_are_noticed() -> None:
    fast, plain = fast_and_plain()
    inputs = torch.randn(4, 6)

    def check() -> None:
        plain.load_state_dict(fast.state_dict())
        with torch.inference_mode():
            close(fast(inputs), plain(inputs))

    check()
    with torch.no_grad():
        fast.weight.add_(1.0)
        fast.bias.add_(1.0)
    check()
    fast.load_state_dict({name: torch.randn_like(value) for name, value in fast.state_dict().items()})
    check()
    fast.weight = nn.Parameter(torch.randn(5, 6))
    check()
    fast.weight.data = torch.randn(5, 6)
    check()


def test_arranged_weights_are_kept_until_the_layer_is_trained() -> None:
    fast, _ = fast_and_plain()
    with torch.inference_mode():
        fast.eval()(torch.randn(4, 6))
        assert fast in products._kept
        fast.train()
    assert fast not in products._kept


def test_weights_of_inference_mode_are_not_kept() -> None:
    with torch.inference_mode():
        fast, plain = fast_and_plain()
        inputs = torch.randn(4, 6)
        close(fast(inputs), plain(inputs))
        fast.weight.add_(1.0)
        plain.weight.add_(1.0)
        close(fast(inputs), plain(inputs))


def test_a_layer_is_copied_and_stored_as_before() -> None:
    fast, plain = fast_and_plain()
    inputs = torch.randn(4, 6)
    with torch.inference_mode():
        expected = fast(inputs)
        for other in (copy.deepcopy(fast), pickle.loads(pickle.dumps(fast))):
            assert torch.equal(other(inputs), expected)
    assert fast.state_dict().keys() == plain.state_dict().keys()


def test_subclasses_keep_their_own_equations() -> None:
    class Doubled(nn.Linear):
        def forward(self, input: Tensor) -> Tensor:
            return 2 * super().forward(input)

    model = nn.Sequential(Doubled(3, 3), nn.utils.parametrizations.weight_norm(nn.Linear(3, 3)))
    kinds = [type(layer) for layer in model]
    accelerate_linear_layers(model)
    assert [type(layer) for layer in model] == kinds


def test_a_factor_multiplies_both_ways() -> None:
    weight, bias, inputs, gradients = torch.randn(5, 6), torch.randn(5), torch.randn(3, 6), torch.randn(3, 5)
    factor = Factor(weight)
    for _ in range(2):
        close(factor.multiply(inputs, bias), inputs @ weight.t() + bias)
        close(factor.multiply_back(gradients), gradients @ weight)
    close(multiply(inputs, weight, bias), inputs @ weight.t() + bias)
    close(multiply_back(gradients, weight), gradients @ weight)


def test_loops_gather_the_gradients_of_fast_layers() -> None:
    fast, plain = fast_and_plain()
    steps = torch.randn(4, 3, 6)
    with late_gradients(4):
        loss = torch.stack([fast(step) for step in steps]).square().sum()
    loss.backward()
    plain(steps).square().sum().backward()
    close(fast.weight.grad, plain.weight.grad)
    close(fast.bias.grad, plain.bias.grad)


def test_reasons_name_what_prevents_it(monkeypatch: pytest.MonkeyPatch) -> None:
    weight, inputs = torch.randn(5, 6), torch.randn(3, 6)
    why = products.why_not_onednn
    if products.has_onednn():
        assert why(weight, inputs) is None
    assert "meta" in str(why(weight, inputs.to("meta")))
    assert "fp32" in str(why(weight, inputs.double()))
    with torch.autocast("cpu", torch.bfloat16):
        assert "fp32" in str(why(weight, inputs))
    monkeypatch.setattr(products, "has_onednn", lambda: False)
    assert "oneDNN" in str(why(weight, inputs))
    monkeypatch.setattr(products, "_FEWEST_WEIGHTS", 31)
    assert "small" in str(why(weight, inputs))
