"""Each fast path of a model's parts is taken, or says why not."""

import pytest
import torch
from model_cases import Case, build

from saccade.models import ALL_MODELS
from saccade.models.fast_paths import list_fast_paths

CPU = torch.device("cpu")


def reasons(case: Case, device: torch.device = CPU) -> dict[str, str | None]:
    return {path.name: path.reason for path in list_fast_paths(build(case), device)}


def test_a_recurrent_model_on_a_cpu_takes_all_of_them() -> None:
    config = ALL_MODELS["bahdanau2014"].PRESETS["base"]
    paths = list_fast_paths(ALL_MODELS["bahdanau2014"](config, 9, 9), CPU)
    assert len(paths) == 4 and all(path.reason is None for path in paths)


def test_reasons_name_what_prevents_a_path() -> None:
    assert reasons(Case("aligned-rnn"))["output layer and loss in chunks"] == (
        "the model computes its logits in another way"
    )
    covered = reasons(Case("bahdanau2014", {"attention": "tu2016"}))
    assert covered["additive score without a stored hidden layer"] == "the score reads the previous weights"
    with torch.autocast("cpu", torch.bfloat16):
        mixed = reasons(Case("bahdanau2014"))
    assert mixed["output layer and loss in chunks"] == "the precision is mixed"
    assert mixed["recurrence as one operation"] is None
    elsewhere = reasons(Case("bahdanau2014"), torch.device("meta"))
    assert "meta" in str(elsewhere["additive score without a stored hidden layer"])


@pytest.mark.parametrize("name", ALL_MODELS)
def test_every_model_lists_its_paths(name: str) -> None:
    named = reasons(Case(name))
    without = ("gehring2017", "vaswani2017", "bengio2003", "cheng2016", "radford2018")
    assert ("recurrence as one operation" in named) == (name not in without)


def test_a_transformer_names_its_paths_on_a_gpu() -> None:
    named = reasons(Case("vaswani2017"))
    assert named["sums with dropout and norms in one kernel"] == "the device is cpu"
    assert named["attention over few slots in one kernel"] == "the device is cpu"
