import pytest
import torch
from torch import Tensor, nn

from saccade.layers.convolution import HALF, Convolution, GatedConvolution, init_scaled


def by_hand(layer: Convolution, sentence: Tensor) -> Tensor:
    """One sentence (T, inputs), place by place; what is beyond its ends adds nothing."""
    kernel = layer.weight.shape[-1]
    before = kernel - 1 if layer.causal else (kernel - 1) // 2
    outputs = []
    for t in range(len(sentence)):
        output = layer.bias.clone() if layer.bias is not None else torch.zeros(len(layer.weight))
        for tap in range(kernel):
            if 0 <= (place := t - before + tap) < len(sentence):
                output = output + layer.weight[:, :, tap] @ sentence[place]
        outputs.append(output)
    return torch.stack(outputs)


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("kernel", [1, 2, 3, 4])
def test_convolution_matches_its_formula_and_ignores_padding(kernel: int, causal: bool) -> None:
    torch.manual_seed(1)
    layer, x = Convolution(3, 4, kernel, causal=causal), torch.randn(2, 5, 3)
    readable = torch.arange(5) < torch.tensor([[3], [5]])
    outputs = layer(x, readable)
    for row, length in enumerate((3, 5)):
        torch.testing.assert_close(outputs[row, :length], by_hand(layer, x[row, :length]))


@pytest.mark.parametrize("kernel", [1, 2, 3, 4])
def test_causal_feed_forward_continues_from_previous_inputs(kernel: int) -> None:
    torch.manual_seed(1)
    layer, x = GatedConvolution(4, kernel, dropout=0.0, normalised=True, causal=True), torch.randn(2, 5, 4)
    recent, steps = torch.zeros(2, layer.remembers, 4), []
    for step in x.split(1, 1):
        steps.append(layer(step, before=recent))
        recent = torch.cat([recent, step], 1)[:, 1:]
    torch.testing.assert_close(torch.cat(steps, 1), layer(x))


def test_half_of_the_outputs_gate_the_other_half() -> None:
    torch.manual_seed(1)
    layer, x = GatedConvolution(4, 3, dropout=0.0, normalised=False), torch.randn(2, 5, 4)
    content, gate = layer.convolution(x).split(4, -1)
    torch.testing.assert_close(layer(x), content / (1 + torch.exp(-gate)))


def test_normalised_weights_have_a_length_and_a_direction() -> None:
    torch.manual_seed(1)
    plain = nn.Linear(6, 3)
    layer = init_scaled(plain)
    drawn_weight = plain.weight.detach().clone()
    learnt = dict(layer.named_parameters())
    assert len(learnt) == 3  # and the bias
    length, direction = (learnt[f"parametrizations.weight.original{i}"] for i in (0, 1))
    torch.testing.assert_close(length.flatten(), drawn_weight.norm(dim=1))
    with torch.no_grad():
        length.fill_(2.0)
        direction.mul_(7.0)
    torch.testing.assert_close(plain.weight.norm(dim=1), torch.full((3,), 2.0))
    torch.testing.assert_close(plain.weight / 2, drawn_weight / drawn_weight.norm(dim=1, keepdim=True))
    assert not any(
        "parametrizations" in name for name, _ in init_scaled(nn.Linear(6, 3), normalised=False).named_parameters()
    )


@pytest.mark.parametrize("dropout", [0.0, 0.3])
def test_variance_is_preserved_through_many_layers(dropout: float) -> None:
    """§3.5 of the paper: what the weights are drawn from makes up for the gate, the residual and the dropout."""
    torch.manual_seed(1)
    states = 0.1 * torch.randn(8, 20, 128)
    states = init_scaled(nn.Linear(128, 128), dropout=dropout)(nn.functional.dropout(states, dropout))
    assert states.std().item() == pytest.approx(0.1, rel=0.05)
    for _ in range(10):
        states = HALF * (GatedConvolution(128, 3, dropout=dropout, normalised=True)(states) + states)
    assert states.std().item() == pytest.approx(0.1, rel=0.2)
