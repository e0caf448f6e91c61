"""Validations during a run: measure the model, save it if it is the best, and save the run with it as one."""

import copy
from collections.abc import Callable
from typing import Any

from torch import nn

from saccade.train.learner import TrainingState
from saccade.train.optimisation import mean_weights
from saccade.train.run import TrainingRun, model_card, save_run

Observer = Callable[[TrainingState, Any], None]


def validate(run: TrainingRun, observe: Observer | None = None) -> None:
    training, state, model = run.training, run.state, run.model
    if run.average is not None:
        model = _with_weights(run, run.average.weights)
    if training.average:
        weights = {name: value.detach().cpu().clone() for name, value in model.state_dict().items()}
        state.snapshots = [*state.snapshots, weights][-training.average :]
    state.checked = state.step
    better = _judge(run, model)
    state.stale = 0 if better else state.stale + 1
    save_run(run, _saver(run, model) if better else None)
    if observe is not None and run.workers.is_rank0:
        observe(state, run.learner.predictor(model))


def try_average(run: TrainingRun) -> None:
    """Judge the mean of the last validations' weights, and save it if it is the best."""
    state = run.state
    if len(state.snapshots) < 2 or state.averaged == state.step:
        return
    state.averaged = state.step
    model = _with_weights(run, mean_weights(state.snapshots))
    better = _judge(run, model, averaged=len(state.snapshots))
    save_run(run, _saver(run, model) if better else None)


def _judge(run: TrainingRun, model: nn.Module, averaged: int | None = None) -> bool:
    """Measure the model, and log whether it is the best so far."""
    state, judge = run.state, run.learner.judge
    result = run.learner.validate(model, run.workers)
    scores, which = result.scores, {} if averaged is None else {"averaged": averaged}
    better = judge.prefers(scores, state.best)
    if better:
        state.best = {"step": state.step, **which, **scores}
    if averaged is None:
        _watch_for_plateau(run, scores["loss"])
    metrics = {"valid_loss": scores["loss"]} | {name: value for name, value in scores.items() if name != "loss"}
    run.log.note(step=state.step, epoch=run.learner.batches.epoch, **metrics, best=better, **which)
    run.log.validated(state, result, judge, better=better, averaged=averaged)
    return better


def _watch_for_plateau(run: TrainingRun, loss: float) -> None:
    training, state = run.training, run.state
    state.flat = 0 if loss < state.lowest else state.flat + 1
    state.lowest = min(state.lowest, loss)
    if training.schedule == "plateau" and state.flat >= training.decay_patience:
        state.flat, state.falls = 0, state.falls + 1
        run.log.say(
            f"step {state.step:,}: the validation loss no longer falls; the learning rate does, × {training.decay:g}"
        )


def _with_weights(run: TrainingRun, weights: dict[str, Any]) -> nn.Module:
    model = copy.deepcopy(run.model)
    model.load_state_dict(weights)
    return model


def _saver(run: TrainingRun, model: nn.Module) -> Callable[[Any], None]:
    learner, best = run.learner, run.state.best or {}
    card = model_card(learner, model, best, run.training.seed, run.state.seconds)
    return lambda folder: learner.save(folder, model, best=best, card=card)
