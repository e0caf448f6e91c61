"""What a check decides besides what is best: whether the rate falls, and what the mean of the last ones is worth."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from lives import metrics
from test_loop import judged_as
from test_resume import assert_same_run

from saccade import Search, model_folder
from saccade.align import AlignmentHead
from saccade.decode import load
from saccade.train import loop
from saccade.train.loop import validate
from saccade.train.recipe import Recipe
from saccade.train.translation import start, train

MakeRecipe = Callable[..., Recipe]
PLATEAU: dict[str, Any] = {  # Gehring 2017
    "train.optimiser": "sgd",
    "train.momentum": 0.99,
    "train.nesterov": True,
    "train.lr": 0.25,
    "train.schedule": "plateau",
    "train.decay": 0.1,
    "train.least_lr": 1e-3,
    "train.warmup": 0,
    "train.judge": "loss",
    "train.check_every": 1,
    "train.max_steps": 100,
}


def rates(out: Path) -> list[float]:
    return [line["rate"] for line in metrics(out) if "rate" in line]


def test_the_rate_falls_when_the_loss_does_not_and_then_the_run_ends(
    make_recipe: MakeRecipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    judged_as(monkeypatch, 5.0, 4.0, 4.5, 3.9, 3.9, 3.8, 3.8)
    outcome = train(make_recipe(**PLATEAU), tmp_path / "run")
    assert outcome.reason == "the learning rate fell below train.least_lr = 0.001" and outcome.step == 7
    assert rates(tmp_path / "run") == pytest.approx([0.25, 0.25, 0.25, 0.025, 0.025, 0.0025, 0.0025])
    assert outcome.best is not None and outcome.best["step"] == 6


def test_a_plateau_may_be_waited_for(make_recipe: MakeRecipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    judged_as(monkeypatch, 5.0, 5.1, 5.2, 4.0, 4.1, 4.2, 4.3)
    recipe = make_recipe(**{**PLATEAU, "train.decay_patience": 2, "train.max_steps": 7})
    train(recipe, tmp_path / "run")
    assert rates(tmp_path / "run") == pytest.approx([0.25, 0.25, 0.25, 0.025, 0.025, 0.025, 0.0025])


def test_a_plateau_is_resumed(make_recipe: MakeRecipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for out, cuts in (("whole", [6]), ("cut", [1, 2, 4, 6])):
        judged_as(monkeypatch, 5.0, 5.5, 5.6, 5.0, 5.7, 5.8)
        for cut in cuts:
            recipe = make_recipe(**{**PLATEAU, "train.decay_patience": 2, "train.max_steps": cut})
            train(recipe, tmp_path / out, resume=cut != cuts[0])
    assert_same_run(tmp_path / "cut", tmp_path / "whole")
    assert rates(tmp_path / "cut") == rates(tmp_path / "whole")
    states = [model_folder.load_training(tmp_path / out)["progress"] for out in ("cut", "whole")]
    assert [states[0][key] for key in ("falls", "flat", "lowest")] == [2, 1, 5.0]
    assert all(states[0][key] == states[1][key] for key in ("falls", "flat", "lowest"))


@pytest.mark.parametrize("better", [True, False])
def test_what_the_mean_of_the_last_checks_is_worth_is_noted_once(
    better: bool, make_recipe: MakeRecipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    judged_as(monkeypatch, 5.0, 4.0, 3.0 if better else 6.0, 1.0)
    out = tmp_path / "run"
    recipe = make_recipe(**{"train.judge": "loss", "train.average": 2, "train.check_every": 2, "train.max_steps": 4})
    outcome = train(recipe, out)
    averaged = {
        "step": 4,
        "epoch": 1,
        "valid_loss": 3.0 if better else 6.0,
        "best": better,
        "averaged": 2,
    }
    assert metrics(out)[-1] == averaged
    assert outcome.best is not None and ("averaged" in outcome.best) is better
    assert train(recipe, out, resume=True).best == outcome.best  # nothing is judged again
    assert metrics(out)[-1] == averaged and metrics(out)[-2] != averaged


def test_a_run_killed_while_it_notes_the_mean_notes_it_again(
    make_recipe: MakeRecipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = make_recipe(**{"train.judge": "loss", "train.average": 2, "train.check_every": 2, "train.max_steps": 4})
    train(recipe, tmp_path / "whole")

    def killed(run: Any) -> None:
        run.log.note(step=run.state.step, epoch=1, valid_loss=0.0, best=True, averaged=2)
        raise MemoryError

    with monkeypatch.context() as patched:
        patched.setattr(loop, "try_average", killed)
        with pytest.raises(MemoryError):
            train(recipe, tmp_path / "cut")
    train(recipe, tmp_path / "cut", resume=True)
    assert_same_run(tmp_path / "cut", tmp_path / "whole")


def test_which_weights_align_is_settled_at_the_end(make_recipe: MakeRecipe, tmp_path: Path) -> None:
    """On validation pairs, and kept with the model; a model that was guided aligns by what was."""
    layers = {"model.decoder_layers": 2, "data.valid_share": 0.3, "train.max_steps": 2}
    train(make_recipe("vaswani2017", **layers), tmp_path / "chosen")
    reader = load(tmp_path / "chosen", device="cpu").alignment_head
    assert reader.layer is not None and reader.shift in (0, 1)
    found = load(tmp_path / "chosen", device="cpu").attend(["the cat sleeps"], ["le chat dort"])
    assert found[0].default_head == reader
    guided = {"data.pairs": "task:phrasebook-en-fr", "data.count": 60, "data.alignments": "task", "train.guided": 0.5}
    train(make_recipe("vaswani2017", **layers, **guided, **{"train.guided_layer": 0}), tmp_path / "guided")
    assert load(tmp_path / "guided", device="cpu").alignment_head == AlignmentHead(layer=0, shift=1)
    few = {"data.valid_most": 5, "train.max_steps": 2}
    train(make_recipe("bahdanau2014", **few), tmp_path / "few")
    assert load(tmp_path / "few", device="cpu").alignment_head == AlignmentHead(shift=0)


def test_the_kept_model_knows_how_sure_it_is(make_recipe: MakeRecipe, tmp_path: Path) -> None:
    settings = {"data.valid_most": 30, "data.valid_share": 0.25, "train.judge_on": 24, "train.max_steps": 3}
    train(make_recipe(**settings), tmp_path / "run")
    known = load(tmp_path / "run", device="cpu")
    assert known.calibration is not None and known.calibration.sentences == 24
    (one,) = known.translate(["the cat sleeps."], Search(longest=5))
    assert one.confidence is not None and one.confidence < 0.5  # it has learnt next to nothing
    train(make_recipe(**{"train.max_steps": 3}), tmp_path / "few")  # judged on three pairs
    assert load(tmp_path / "few", device="cpu").calibration is None


def test_what_is_to_be_averaged_are_the_weights_that_were_judged(make_recipe: MakeRecipe, tmp_path: Path) -> None:
    run = start(make_recipe(**{"train.average": 2, "train.judge": "loss"}), tmp_path / "run")
    assert run.average is not None
    for parameter in run.model.parameters():
        parameter.data.add_(1.0)  # the running mean stays behind
    validate(run)
    (kept,) = run.state.snapshots
    assert all(torch.equal(kept[name], value) for name, value in run.average.weights.items())
