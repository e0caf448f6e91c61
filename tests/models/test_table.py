"""Models by name: sizes and parts that do not fit together are refused in one line, without a traceback."""

from dataclasses import replace

import pytest

from saccade.attention import ATTENTIONS
from saccade.errors import UserError
from saccade.models import MODELS, build_model
from saccade.models.table import find_model

PLACES = [(name, key) for name, kind in MODELS.items() for key in vars(kind.config_type()) if key.endswith("attention")]


@pytest.mark.parametrize(("name", "key"), PLACES)
def test_every_attention_is_built_or_refused_with_its_setting(name: str, key: str) -> None:
    odd = {"embedding": 3, "hidden": 6, "width": 3, "heads": 1, "align": 3, "semantics": 6}
    odd |= {"layers": 1, "encoder_layers": 1, "decoder_layers": 1}
    small = MODELS[name].PRESETS["tiny"]
    small = replace(small, **{size: value for size, value in odd.items() if hasattr(small, size)})
    for attention in ATTENTIONS:
        try:
            build_model(name, replace(small, **{key: attention}), 9, 9)
        except UserError as error:
            assert str(error).startswith(f"model.{key}: attention {attention!r} does not fit: "), error


def test_incompatible_settings_are_refused() -> None:
    rotary = replace(MODELS["vaswani2017"].PRESETS["tiny"], width=6, heads=2, positions="rotary")
    with pytest.raises(UserError, match=r"^model vaswani2017: its settings do not fit together: .*even, got 3"):
        build_model("vaswani2017", rotary, 9, 9)


def test_own_model_must_be_a_seq2seq_class() -> None:
    with pytest.raises(UserError, match="'json:loads' is not a class of models; expected a subclass of"):
        find_model("json:loads")
