"""After a failure, a run ends or continues cleanly, keeps the best model, and reports the failure."""

import copy
import errno
import io
import math
import signal
import sys
import weakref
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import torch
from rich.console import Console
from torch import nn
from training_processes import metrics, run_saccade

import saccade
from saccade import model_folder
from saccade.cli import main
from saccade.data.batching import Batch, Batches
from saccade.errors import UserError
from saccade.train.log import Log
from saccade.train.recipe import Recipe
from saccade.train.run import TrainingRun
from saccade.train.translation import start, train
from saccade.train.update import _add_gradients as add_gradients
from saccade.train.update import update

MakeRecipe = Callable[..., Recipe]


class RecordingLog(Log):
    """A log whose text can be read."""

    def __init__(self, folder: Path) -> None:
        self.written = io.StringIO()
        super().__init__(folder, Console(file=self.written))

    @property
    def text(self) -> str:
        return self.written.getvalue()


def spoil_losses(monkeypatch: pytest.MonkeyPatch, is_bad: Callable[[int], bool]) -> None:
    calls = count(1)

    def add_spoilt(run: TrainingRun, batch: Batch, tokens: int) -> float:
        factor = math.nan if is_bad(next(calls)) else 1
        return factor * add_gradients(run, batch, factor * tokens)

    monkeypatch.setattr("saccade.train.update._add_gradients", add_spoilt)


def limit_memory(monkeypatch: pytest.MonkeyPatch, most: int, error: Exception | None = None) -> list[Any]:
    """Batches of more than `most` pairs do not fit. Returns weak references to what the failed attempts had made."""
    activations_made: list[Any] = []

    def add_scarcely(run: TrainingRun, batch: Batch, tokens: int) -> float:
        activations = torch.ones(3, requires_grad=True) * 2
        assert all(reference() is None for reference in activations_made), "a failed attempt still holds its memory"
        activations_made.append(weakref.ref(activations))
        if len(batch) > most:
            raise error or torch.OutOfMemoryError("CUDA out of memory")
        return add_gradients(run, batch, tokens)

    monkeypatch.setattr("saccade.train.update._add_gradients", add_scarcely)
    return activations_made


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str]]:
    """`saccade train` in this process → exit code and stderr"""

    def run(*arguments: str | Path) -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", ["saccade", "train", *map(str, arguments)])
        with pytest.raises(SystemExit) as exited:
            main()
        assert exited.value.code is None or isinstance(exited.value.code, int)
        return exited.value.code or 0, capsys.readouterr().err

    return run


def test_update_that_is_not_finite_is_skipped_reported_and_counted(
    make_recipe: MakeRecipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spoil_losses(monkeypatch, lambda step: step in (2, 3, 7))
    log = RecordingLog(tmp_path)
    outcome = train(make_recipe(), tmp_path / "run", log=log)
    assert outcome.finished and outcome.step == 8
    assert [f"step {step}: the loss is not finite" in log.text for step in (1, 2, 3, 7, 8)] == [0, 1, 1, 1, 0]
    state = model_folder.load_training(tmp_path / "run")
    assert (state["progress"]["skipped"], state["progress"]["bad"]) == (3, 0)
    assert all(tensor.isfinite().all() for tensor in state["model"].values())
    assert all(math.isfinite(line["loss"]) for line in metrics(tmp_path) if "loss" in line)


def test_twenty_bad_updates_in_a_row_end_the_run_and_keep_the_best_model(
    make_recipe: MakeRecipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spoil_losses(monkeypatch, lambda step: step > 5)
    outcome = train(make_recipe(**{"train.max_steps": 100, "train.judge": "loss"}), tmp_path / "run")
    assert outcome.step == 25 and "20 updates in a row were not finite: lower train.lr" in outcome.reason
    assert outcome.best is not None and outcome.best["step"] == 6  # the weights of step 5, as they still were
    assert len(saccade.load(tmp_path / "run", device="cpu").translate(["the cook works."])) == 1


def test_diverged_run_exits_with_2_and_one_line(
    run: Callable[..., tuple[int, str]],
    write_recipe: Callable[..., Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    spoil_losses(monkeypatch, lambda step: step > 2)
    recipe = write_recipe(**{"train.max_steps": 100, "train.judge": "loss"})
    code, stderr = run(recipe, "--out", tmp_path / "run")
    assert code == 2
    assert stderr.splitlines()[-1].startswith(
        f"saccade: {tmp_path / 'run'}: 20 updates in a row were not finite: lower"
    )
    assert "the best model so far is in" in stderr and stderr.count("in a row") == 1
    assert saccade.load(tmp_path / "run", device="cpu").translate(["the cook works."])


def test_model_whose_validation_loss_is_not_finite_is_not_saved(
    run: Callable[..., tuple[int, str]], write_recipe: Callable[..., Path], tmp_path: Path
) -> None:
    """One update by a huge rate is finite itself, and its weights are; what they make of a text is not."""
    settings = {"train.max_steps": 2, "train.check_every": 2, "train.lr": 1e30, "train.warmup": 0, "train.ema": None}
    code, stderr = run(write_recipe(**settings), "--out", tmp_path / "run")
    assert code == 2 and stderr.splitlines()[-1].startswith(
        f"saccade: {tmp_path / 'run'}: no validation had a finite loss"
    )
    assert not (tmp_path / "run" / "model.safetensors").exists() and "best so far" not in stderr
    assert "NaN" not in (tmp_path / "run" / "metrics.jsonl").read_text(encoding="utf-8")
    assert metrics(tmp_path / "run")[-1]["valid_loss"] is None


def test_gradient_that_is_not_finite_changes_nothing(make_recipe: MakeRecipe, tmp_path: Path) -> None:
    run, batch = prepare_update(make_recipe, tmp_path)
    model = run.model
    before = copy.deepcopy(model.state_dict())
    first = next(model.parameters())
    first.register_hook(lambda gradient: gradient * math.inf)
    loss, tokens = update(run, [batch])
    assert math.isnan(loss) and tokens == int(batch.target_readable.sum())
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert all(parameter.grad is None for parameter in model.parameters())


def prepare_update(make_recipe: MakeRecipe, tmp_path: Path) -> tuple[TrainingRun, Batch]:
    recipe = make_recipe(**{"model.dropout": 0.0, "train.clip": None})
    run = start(recipe, tmp_path / "run", log=RecordingLog(tmp_path))
    run = replace(run, optimiser=torch.optim.SGD(run.model.parameters(), lr=1.0))
    return run, next(iter(Batches(run.learner.dataset.corpus)))


@pytest.mark.parametrize(
    "error", [torch.OutOfMemoryError("CUDA out of memory"), RuntimeError("DefaultCPUAllocator: can't allocate memory")]
)
def test_batch_that_does_not_fit_is_split_and_gives_the_same_update(
    error: Exception, make_recipe: MakeRecipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, batch = prepare_update(make_recipe, tmp_path)
    updated = []
    for most in (len(batch), 9):
        limit_memory(monkeypatch, most, error)
        model, log = copy.deepcopy(run.model), RecordingLog(tmp_path)
        optimiser = torch.optim.SGD(model.parameters(), lr=1.0)
        loss, tokens = update(replace(run, model=model, optimiser=optimiser, log=log), [batch])
        updated.append((nn.utils.parameters_to_vector(model.parameters()), loss, tokens, log.text))
    (whole, loss, tokens, whole_text), (split, split_loss, split_tokens, split_text) = updated
    torch.testing.assert_close(split, whole, atol=1e-6, rtol=1e-5)
    assert split_loss == pytest.approx(loss) and split_tokens == tokens
    assert (
        whole_text == ""
        and f"a batch of {len(batch)} pairs does not fit in memory; it was read in parts of at" in split_text
    )
    assert (whole - nn.utils.parameters_to_vector(run.model.parameters())).abs().max() > 1e-3


def test_other_errors_are_not_taken_for_lack_of_memory(
    make_recipe: MakeRecipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit_memory(monkeypatch, 0, RuntimeError("shapes cannot be multiplied"))
    with pytest.raises(RuntimeError, match="multiplied"):
        train(make_recipe(), tmp_path / "run")


def test_single_pair_that_does_not_fit_is_reported_and_nothing_is_lost(
    make_recipe: MakeRecipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = make_recipe()
    calls = count(1)

    def add_scarcely(*arguments: Any) -> float:
        if next(calls) > 4:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return add_gradients(*arguments)

    monkeypatch.setattr("saccade.train.update._add_gradients", add_scarcely)
    with pytest.raises(UserError, match=r"a single pair of \d+ tokens does not fit in memory"):
        train(recipe, tmp_path / "run")
    state = model_folder.load_training(tmp_path / "run")
    assert state["progress"]["step"] == 4 and state["batches"]["index"] == 5
    monkeypatch.setattr("saccade.train.update._add_gradients", add_gradients)
    assert train(recipe, tmp_path / "run", resume=True).step == 8


@pytest.fixture
def fill_disk(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str, int], None]]:
    """fill_disk("state.safetensors", 2): from the second time on, nothing is written to files of this name"""

    def fill(name: str, time: int) -> None:
        opened, times = io.open, count(1)

        def full(path: Any, mode: str = "r", *arguments: Any, **options: Any) -> Any:
            if str(path).endswith(name) and set(mode) & {"w", "a"} and next(times) >= time:
                raise OSError(errno.ENOSPC, "No space left on device", str(path))
            return opened(path, mode, *arguments, **options)

        monkeypatch.setattr(io, "open", full)  # which is what Path.open calls

    yield fill
    monkeypatch.undo()


@pytest.mark.slow
@pytest.mark.parametrize(("name", "time"), [("model.safetensors", 2), ("state.safetensors", 2), ("metrics.jsonl", 7)])
def test_full_disk_ends_the_run_and_keeps_the_last_checkpoint(
    name: str,
    time: int,
    write_recipe: Callable[..., Path],
    tmp_path: Path,
    run: Callable[..., tuple[int, str]],
    fill_disk: Callable[[str, int], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    recipe, out = write_recipe(), tmp_path / "run"
    with monkeypatch.context():
        fill_disk(name, time)
        code, stderr = run(recipe, "--out", out)
        assert code == 2, stderr
        assert "No space left on device" in stderr.splitlines()[-1] and "intact" in stderr and str(out) in stderr
        monkeypatch.undo()
    assert not [path for path in out.rglob("*") if ".writing-" in path.name or path.name == ".committed"]
    assert model_folder.load_training(out)["progress"]["step"] == 3
    assert saccade.load(out, device="cpu").translate([""])[0].text == ""
    assert run(recipe, "--out", out, "--resume")[0] == 0
    assert run(recipe, "--out", tmp_path / "reference")[0] == 0
    assert metrics(out) == metrics(tmp_path / "reference")


@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)])
def test_interrupted_run_is_saved_and_resumes_the_same(
    number: signal.Signals, write_recipe: Callable[..., Path], tmp_path: Path
) -> None:
    recipe, out = write_recipe(**{"train.max_steps": 14, "train.check_every": 20}), tmp_path / "run"

    def after_two_steps() -> int | None:
        path = out / "metrics.jsonl"
        return number if path.exists() and path.read_bytes().count(b"\n") >= 1 else None

    result = run_saccade("train", recipe, "--out", out, out=out, choose_signal=after_two_steps)
    assert result.code == 1 and f"interrupted by {number.name} at step" in result.stderr and "--resume" in result.stderr
    assert "Traceback" not in result.stderr
    assert 2 <= model_folder.load_training(out)["progress"]["step"] < 14
    assert run_saccade("train", recipe, "--out", out, "--resume", out=out).code == 0
    assert run_saccade("train", recipe, "--out", tmp_path / "reference", out=tmp_path / "reference").code == 0
    assert metrics(out) == metrics(tmp_path / "reference")


def test_changed_recipe_does_not_resume_with_the_old_weights(make_recipe: MakeRecipe, tmp_path: Path) -> None:
    train(make_recipe(**{"train.max_steps": 1}), tmp_path / "run")
    for changed in ({"model.hidden": 8}, {"train.optimiser": "adadelta"}):
        with pytest.raises(UserError, match=r"does not fit the model and optimiser that .*recipe\.toml describes"):
            train(make_recipe(**changed), tmp_path / "run", resume=True)


def test_model_without_its_training_state_is_not_overwritten(make_recipe: MakeRecipe, tmp_path: Path) -> None:
    out = tmp_path / "run"
    train(make_recipe(**{"train.max_steps": 1}), out)
    (out / "training").rename(tmp_path / "elsewhere")
    before = (out / "model.safetensors").read_bytes(), (out / "metrics.jsonl").read_bytes()
    with pytest.raises(UserError, match="without its training/ folder"):
        train(make_recipe(), out, resume=True)
    assert ((out / "model.safetensors").read_bytes(), (out / "metrics.jsonl").read_bytes()) == before
