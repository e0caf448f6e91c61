"""Every place of dropout in every model: which share it drops, how often it is passed, and that it is on in training
alone."""

from collections import Counter
from typing import Any

import pytest
import torch
from model_cases import SMALL, VOCABULARY, Model, T, sentences
from torch import Tensor, nn

from saccade.attention import Attention
from saccade.config import to_dict
from saccade.models import MODELS

EMBEDDING, LAYER, OUTPUT = 0.1, 0.2, 0.3
Places = dict[str, tuple[float, int]]  # the share that is dropped there, and how often in one teacher-forced pass

_DEEP = {"layers": 3}
_ENDS: Places = {"embedding_dropout": (EMBEDDING, 2), "output_dropout": (OUTPUT, 1)}  # of source and target; once
RECURRENT: dict[str, tuple[str, dict[str, Any], Places]] = {
    "aligned-rnn": ("aligned-rnn", _DEEP | {"feedback": True}, _ENDS | {"encoder.dropout": (LAYER, 2)}),
    "kalchbrenner2013": ("kalchbrenner2013", {}, _ENDS | {"layer_dropout": (LAYER, 1)}),
    "cho2014": (
        "cho2014",
        _DEEP,
        {
            "embedding_dropout": (EMBEDDING, 2),
            "encoder.recurrence.dropout": (LAYER, 2),
            "decoder.output_dropout": (OUTPUT, 1),
        },
    ),
    "sutskever2014": (
        "sutskever2014",
        _DEEP,
        _ENDS | {"encoder.dropout": (LAYER, 2), "decoder.dropout": (LAYER, 2)},
    ),
    "bahdanau2014": (
        "bahdanau2014",
        _DEEP,
        {
            "embedding_dropout": (EMBEDDING, 2),
            "encoder.dropout": (LAYER, 2),
            "layer_dropout": (LAYER, 1),  # of the annotations, which the attention reads
            "decoder.output_dropout": (OUTPUT, 1),
        },
    ),
    "luong2015": (
        "luong2015",
        _DEEP,
        _ENDS | {"encoder.dropout": (LAYER, 2), "layer_dropout": (LAYER, 1), "decoder.stack.dropout": (LAYER, 2 * T)},
    ),
    "luong2015 without input feeding": (
        "luong2015",
        _DEEP | {"feeding": False},
        _ENDS | {"encoder.dropout": (LAYER, 2), "layer_dropout": (LAYER, 1), "decoder.stack.dropout": (LAYER, 2)},
    ),
    "gehring2017": (
        "gehring2017",
        {"encoder_layers": 2, "decoder_layers": 2},
        _ENDS
        | {f"encoder.layers.{layer}.dropout": (LAYER, 1) for layer in range(2)}
        | {f"decoder.{layer}.convolution.dropout": (LAYER, 1) for layer in range(2)},
    ),
    "russin2019": (
        "russin2019",
        _DEEP | {"feedback": True},
        {
            "embedding_dropout": (EMBEDDING, 2),
            "syntax.embedding_dropout": (EMBEDDING, 1),
            "syntax.layer_dropout": (LAYER, 1),
            "syntax.above.dropout": (LAYER, 1),
            "layer_dropout": (LAYER, 1),
            "decoder.output_dropout": (OUTPUT, 1),
        },
    ),
    "wu2019": (
        "wu2019",
        _DEEP,
        {
            "embedding_dropout": (EMBEDDING, 2),
            "encoder.dropout": (LAYER, 2),
            "layer_dropout": (LAYER, 2),  # of the annotations, and of the decoder's states
            "decoder.output_dropout": (OUTPUT, 1),
        },
    ),
}
_BLOCKS = [f"encoder.0.around.{n}" for n in range(2)] + [f"decoder.0.around.{n}" for n in range(3)]
_BLOCKS += ["encoder.0.feed_forward", "decoder.0.feed_forward"]
TRANSFORMER: Places = {
    "dropout": (EMBEDDING, 2),
    **{f"{block}.dropout": (EMBEDDING, 1) for block in _BLOCKS},
}
SITES = {"encoder.0.attention.attention", "decoder.0.attention.attention", "decoder.0.cross.attention"}
CASES = RECURRENT | {
    "vaswani2017": ("vaswani2017", {}, TRANSFORMER),
    "vaswani2017, gated": ("vaswani2017", {"feed_forward": "gated", "norm": "post"}, TRANSFORMER),
    "vaswani2017, convolution": ("vaswani2017", {"feed_forward": "convolution"}, TRANSFORMER),
}
cases = pytest.mark.parametrize("case", CASES)


def build(case: str, *, dropping: bool = True) -> Model:
    """In training mode, the weights always the same."""
    name, options, _ = CASES[case]
    shares: dict[str, float] = {"dropout": EMBEDDING, "attention_dropout": LAYER}
    if name != "vaswani2017":
        shares = {"dropout": 0.9, "embedding_dropout": EMBEDDING, "layer_dropout": LAYER, "output_dropout": OUTPUT}
    torch.manual_seed(1)
    config = MODELS[name].config_type(**SMALL[name] | options | (shares if dropping else dict.fromkeys(shares, 0.0)))
    return MODELS[name](config, VOCABULARY, VOCABULARY).train()


def dropouts(model: nn.Module) -> dict[str, nn.Dropout]:
    return {name: module for name, module in model.named_modules() if isinstance(module, nn.Dropout)}


def test_every_model_is_here() -> None:
    assert {name for name, _, _ in CASES.values()} == set(MODELS)


@cases
def test_each_place_drops_its_share_at_every_pass(case: str) -> None:
    model, passed = build(case), Counter[str]()
    for name, module in dropouts(model).items():
        module.register_forward_hook(lambda *_, name=name: passed.update([name]))
    model(*sentences())
    assert {name: (module.p, passed[name]) for name, module in dropouts(model).items()} == CASES[case][2]


@cases
def test_each_place_changes_the_output_in_training(case: str) -> None:
    model, still = build(case), build(case, dropping=False)
    still.load_state_dict(model.state_dict())
    expected = still(*sentences())
    for attention in attentions(model).values():
        attention.dropout = 0.0
    for place, module in dropouts(model).items():
        for other in dropouts(model).values():
            other.p = 0.9 if other is module else 0.0
        assert not torch.allclose(model(*sentences()), expected), place


@cases
def test_nothing_is_dropped_in_evaluation(case: str) -> None:
    model, still = build(case), build(case, dropping=False)
    still.load_state_dict(model.state_dict())
    found: Tensor = model.eval()(*sentences())
    torch.testing.assert_close(found, still.eval()(*sentences()))


def attentions(model: nn.Module) -> dict[str, Attention]:
    return {name: module for name, module in model.named_modules() if isinstance(module, Attention)}


def test_a_transformer_drops_weights_at_each_of_its_attentions() -> None:
    assert {name: attention.dropout for name, attention in attentions(build("vaswani2017")).items()} == dict.fromkeys(
        SITES, LAYER
    )


@pytest.mark.parametrize("name", dict.fromkeys(name for name, _, _ in RECURRENT.values()))
def test_one_dropout_applies_everywhere(name: str) -> None:
    config = MODELS[name].config_type(**SMALL[name] | {"dropout": 0.4})
    model = MODELS[name](config, VOCABULARY, VOCABULARY)
    assert "layer_dropout" in to_dict(config) and {module.p for module in dropouts(model).values()} == {0.4}
