"""A search names the fast paths that it takes, with the reason where it does not take one."""

from typing import Any

import pytest
import torch
from search_models import TINY, tiny

from saccade.decode import Ensemble, Search, Translator
from saccade.decode.explaining import search_paths
from saccade.decode.options import DEFAULT_SEARCH
from saccade.models import MODELS, build_model
from saccade.products import has_onednn
from saccade.trained_model import Model

CPU, CUDA = torch.device("cpu"), torch.device("cuda")


def reasons(name: str, device: torch.device, **options: Any) -> dict[str, str | None]:
    rules = {"constrained": options.pop("constrained", False), "recorded": options.pop("recorded", False)}
    search = Search(**{"beam": 4, **options})
    return {path.name: path.reason for path in search_paths(tiny(name), device, search, **rules)}


@pytest.mark.parametrize("name", TINY)
def test_every_path_is_taken_or_has_a_reason(name: str) -> None:
    paths = reasons(name, CUDA, precision="fp16")
    history = name == "vaswani2017, coverage of what was written"
    assert (paths["hypotheses share one cache"] is None) == (name.startswith("vaswani2017") and not history)
    assert paths["half precision"] is paths["no step waits for the host"] is None
    assert paths["CUDA graphs of steps"] == ("tu2016 keeps a history of the slots in their order" if history else None)
    assert "on cpu" in str(reasons(name, CPU)["CUDA graphs of steps"])


@pytest.mark.parametrize(
    ("options", "reason"),
    [({"sample": True}, "drawn"), ({"constrained": True}, "constraints"), ({"recorded": True}, "recorded")],
)
def test_parts_that_need_the_host_are_reasons(options: dict[str, Any], reason: str) -> None:
    paths = reasons("vaswani2017", CUDA, **options)
    for name in ("no step waits for the host", "CUDA graphs of steps"):
        assert reason in str(paths[name])


def test_a_shortlist_is_searched_without_graphs() -> None:
    assert "shortlist" in str(reasons("vaswani2017", CUDA, shortlist=True)["CUDA graphs of steps"])
    assert reasons("vaswani2017", CUDA, shortlist=True)["scores for a shortlist of tokens"] is None
    assert "one output layer" in str(reasons("aligned-rnn", CUDA, shortlist=True)["scores for a shortlist of tokens"])


def test_products_on_a_cpu_give_their_reason() -> None:
    name = "weights arranged for oneDNN"
    model = build_model("vaswani2017", MODELS["vaswani2017"].PRESETS["small"], 9, 9)
    options = {"constrained": False, "recorded": False}
    for device, precision, reason in ((CPU, "auto", None), (CPU, "bf16", "fp32"), (CUDA, "auto", "cuda")):
        paths = {path.name: path for path in search_paths(model, device, Search(precision=precision), **options)}
        if reason is None:
            assert (paths[name].reason is None) == has_onednn()
        else:
            assert reason in str(paths[name].reason)
    assert "no such layers" in str(reasons("vaswani2017", CPU)[name])


def test_attention_gives_its_reason() -> None:
    assert reasons("vaswani2017", CPU)["fused attention"] is None
    assert "coverage penalty" in str(reasons("vaswani2017", CPU, coverage_penalty=0.1)["fused attention"])
    assert "in 1 of 1 places the score 'additive'" in str(reasons("bahdanau2014", CPU)["fused attention"])
    assert "no attention" in str(reasons("cho2014", CPU)["fused attention"])


def test_an_ensemble_shares_what_a_member_shares() -> None:
    pair = Ensemble([tiny("bahdanau2014", 1), tiny("vaswani2017", 2)])
    assert pair.why_no_shared_cache() is None
    assert Ensemble([tiny("bahdanau2014", 1)]).why_no_shared_cache() is not None


def test_a_model_lists_its_paths(learnt: Translator) -> None:
    model = Model(learnt)
    assert [str(path) for path in model.fast_paths(include=["cat"])][1].endswith(
        "no, constraints are checked by the host at every step"
    )
    assert len(model.fast_paths(DEFAULT_SEARCH)) == 8
    assert str(model.fast_paths(DEFAULT_SEARCH)[-1]) == "CTranslate2: yes"
    assert str(model.fast_paths(engine="torch")[-1]) == "CTranslate2: no, --engine torch was given"
