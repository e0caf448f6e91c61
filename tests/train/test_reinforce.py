"""Sampled attention learns by REINFORCE, with the baseline and the entropy of Xu et al. 2015."""

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor

from saccade import model_folder
from saccade.attention.normalisers import Sampled
from saccade.attention.trace import expecting, traced
from saccade.data.batching import Batch
from saccade.errors import UserError
from saccade.models import Seq2Seq
from saccade.train.losses import (
    Objective,
    Reinforce,
    batch_loss,
    has_sampled_attention,
    next_baseline,
    refuse_untrainable_attention,
)
from saccade.train.recipe import Recipe, recipe_of
from saccade.train.training_options import Training
from saccade.train.translation import train

Untrained = Callable[..., Seq2Seq[Any, Any]]
MakeRecipe = Callable[..., Recipe]
TERM = Reinforce(Training(reinforce=0.5, reinforce_entropy=0.1, reinforce_expected=0.0), baseline=-1.0)


def two_pairs() -> Batch:
    return Batch.of([[4], [5, 6]], [[4, 6], [5]], [0, 1])  # 3 and 2 target tokens, the end included


def test_reinforce_loss_by_hand() -> None:
    log_prob = torch.tensor([[[-0.1, -0.2, -0.3]], [[-0.4, -0.5, -9.0]]])  # (B, H, T); the last is of padding
    entropy = torch.tensor([[[1.0, 2.0, 3.0]], [[4.0, 5.0, 9.0]]])
    trace: Any = SimpleNamespace(draws=lambda: {"attention": (log_prob, entropy)})
    tokens = torch.tensor([[-0.3, -0.6, -0.9], [-2.0, -4.0, 0.0]])
    # The sentences reach −0.6 and −3 a token, which is 0.4 above and 2 below the baseline of −1.
    expected = -(0.5 * (0.4 * -0.6 + -2.0 * -0.9) + 0.1 * (6 + 9))
    assert float(TERM.loss(two_pairs(), tokens, trace)) == pytest.approx(expected)


def test_first_baseline_is_the_mean_of_the_batch() -> None:
    log_prob = torch.ones(2, 1, 3, requires_grad=True)
    trace: Any = SimpleNamespace(draws=lambda: {"attention": (log_prob, torch.zeros(2, 1, 3))})
    first = Reinforce(Training(reinforce=1.0, reinforce_entropy=0.0, reinforce_expected=0.0), baseline=None)
    tokens = torch.tensor([[-1.0, -1.0, -1.0], [-3.5, -3.5, 0.0]])
    first.loss(two_pairs(), tokens, trace).backward()
    assert log_prob.grad is not None
    # −2 a token of all five: 1 above, and 1.5 below
    assert log_prob.grad.tolist() == [[[-1.0, -1.0, -1.0]], [[1.5, 1.5, 0.0]]]


def test_baseline_is_a_moving_average() -> None:
    assert next_baseline(None, -2.0) == -2.0
    assert next_baseline(-2.0, -1.0) == pytest.approx(-1.9)


@pytest.mark.parametrize("name", ["bahdanau2014", "vaswani2017"])
def test_gradients_reach_the_attention_scores(name: str, untrained: Untrained) -> None:
    """By the draws alone, none of which the logits have a gradient for."""
    option = {"bahdanau2014": "attention", "vaswani2017": "cross_attention"}[name]
    model = untrained(name, **{option: "xu2015"}).train()
    assert has_sampled_attention(model) and not has_sampled_attention(untrained(name))
    batch = two_pairs()
    loss, plain = batch_loss(model, batch, Objective(reinforce=TERM))
    assert float(loss.detach()) != float(plain)
    loss.backward()
    scores = {
        key: value
        for key, value in model.named_parameters()
        for place in model.cross
        if key.startswith((f"{place}.of_queries", f"{place}.of_keys", f"{place}.score"))
    }
    assert len(scores) >= 3
    assert all(value.grad is not None and bool(value.grad.abs().max() > 0) for value in scores.values())


def test_expected_reading_equals_soft_attention(untrained: Untrained) -> None:
    hard, soft = untrained("bahdanau2014", attention="xu2015").train(), untrained("bahdanau2014", dropout=0.0).train()
    hard.load_state_dict(soft.state_dict())
    for module in hard.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    batch = two_pairs()
    inputs = (batch.source, batch.source_readable, batch.target_in)
    with traced(hard, weights=False) as trace, expecting(torch.tensor([True, False])):
        logits = hard(*inputs)
    torch.testing.assert_close(logits[0], soft(*inputs)[0])
    assert not torch.allclose(logits[1], soft(*inputs)[1])
    ((log_prob, entropy),) = trace.draws().values()
    assert log_prob[0].abs().max() == 0 and log_prob[1].abs().min() > 0 and entropy.min() > 0
    assert len(trace) == 0  # no weights were requested


def test_trace_of_draws_alone_requests_no_weights(untrained: Untrained, monkeypatch: pytest.MonkeyPatch) -> None:
    model, batch = untrained("vaswani2017"), two_pairs()
    requested: list[bool] = []
    attention = model.get_submodule(model.cross[0])
    read = attention._read_suitably
    monkeypatch.setattr(attention, "_read_suitably", lambda *inputs: requested.append(inputs[-1]) or read(*inputs))
    for weights in (False, True):
        with traced(model, weights=weights):
            model(batch.source, batch.source_readable, batch.target_in)
    assert requested == [False, True]


def test_baseline_is_saved_and_resumed(make_recipe: MakeRecipe, tmp_path: Path) -> None:
    def baseline(folder: Path) -> float:
        return float(model_folder.load_training(folder)["progress"]["numbers"]["baseline"])

    def entries(folder: Path) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]

    train(make_recipe(**{"model.attention": "xu2015", "train.schedule": "constant"}), tmp_path / "constant")
    short = {"model.attention": "xu2015", "train.schedule": "constant", "train.max_steps": 3}
    train(make_recipe(**short), tmp_path / "parts")
    halfway = baseline(tmp_path / "parts")
    train(make_recipe(**short | {"train.max_steps": 8}), tmp_path / "parts", resume=True)
    assert baseline(tmp_path / "parts") == baseline(tmp_path / "constant") != halfway
    assert entries(tmp_path / "parts") == entries(tmp_path / "constant")


def draw_without_log_probability(
    part: Sampled, scores: Tensor, allowed: Tensor | None, history: object
) -> tuple[Tensor, None]:
    return torch.zeros_like(scores).scatter(-1, scores.argmax(-1, keepdim=True), 1.0), None


def test_attention_that_cannot_learn_is_refused(
    make_recipe: MakeRecipe, untrained: Untrained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("bahdanau2014", "xu2015", "jang2017"):
        refuse_untrainable_attention(untrained("bahdanau2014", attention=name).train(), two_pairs())
    monkeypatch.setattr(Sampled, "weigh", draw_without_log_probability)
    with pytest.raises(UserError, match="'sampled' passes no gradient on and gives no log-probability"):
        train(make_recipe(**{"model.attention": "xu2015"}), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_reinforce_weights_of_zero_are_refused(make_recipe: MakeRecipe, tmp_path: Path) -> None:
    nothing = {"model.attention": "xu2015", "train.reinforce": 0.0, "train.reinforce_expected": 0.0}
    with pytest.raises(UserError, match=r"train.reinforce and train.reinforce_expected are both 0"):
        train(make_recipe(**nothing), tmp_path / "run")


@pytest.mark.parametrize("option", ["train.r_drop", "train.simcut"])
def test_consistency_of_a_sampled_attention_is_refused(option: str, make_recipe: MakeRecipe, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot train a sampled attention, which learns by REINFORCE: set both to 0"):
        train(make_recipe(**{"model.attention": "xu2015", option: 3.0}), tmp_path / "run")
    assert not (tmp_path / "run").exists()
    train(make_recipe(**{option: 3.0, "train.max_steps": 1}), tmp_path / "soft")


@pytest.mark.slow
def test_xu2015_learns_to_reverse_by_reinforce_alone(tmp_path: Path) -> None:
    """To reverse, every word is read at another place: without a gradient for the choice, 60 % are right."""
    recipe = recipe_of(
        {
            "data": {"pairs": "task:reverse", "count": 5000, "words": [3, 6], "joint": False}
            | {"vocabulary": {"kind": "word", "size": 400}},
            "model": {"name": "bahdanau2014", "attention": "xu2015", "dropout": 0.0}
            | {"embedding": 32, "hidden": 32, "align": 32, "maxout": 32},
            "train": {"tokens": 400, "lr": 1e-2, "warmup": 50, "smoothing": 0.0, "max_steps": 600, "check_every": 600}
            | {"judge_on": 100, "device": "cpu", "threads": 1, "reinforce": 1.0, "reinforce_expected": 0.0},
        },
        "test",
    )
    best = train(recipe, tmp_path / "run").best
    assert best is not None and best["exact"] >= 85
