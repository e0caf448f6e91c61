"""The log of a run: lines, a live display, metrics.jsonl and TensorBoard."""

import errno
import importlib.util
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from saccade.errors import UserError
from saccade.train import log
from saccade.train.learner import Judge, TrainingState, Validation
from saccade.train.log import Log
from saccade.train.recipe import Recipe
from saccade.train.translation import train


def make_log(folder: Path, **options: Any) -> tuple[Log, io.StringIO]:
    written = io.StringIO()
    return Log(folder, Console(file=written, width=200, **options)), written


def progress(log: Log, step: int) -> None:
    state = TrainingState(step=step, seconds=3600.0)
    log.progress(state, epoch=1, loss=1.0, rate=1e-3, speed=1234.5, done=0.25)


def test_log_prints_plain_lines_without_a_terminal(tmp_path: Path) -> None:
    log, written = make_log(tmp_path)
    with log:
        log.say("[bold]pairs[/] with 3 brackets")
        first = Validation(scores={"loss": 2.5, "bleu": 12.345}, sample="ein Haus → a house")
        state = TrainingState(step=1000, best=first.scores)
        log.validated(state, first, Judge("bleu", "BLEU"), better=True)
        second, state.step = Validation(scores={"loss": 2.6, "bleu": 12.0}), 2000
        log.validated(state, second, Judge("bleu", "BLEU"), better=False)
        progress(log, 1)
        progress(log, 2)  # too soon after the last
    assert written.getvalue().splitlines()[:4] == [
        "[bold]pairs[/] with 3 brackets",
        "step 1,000: validation loss 2.500, BLEU 12.3 (best so far)",
        "  ein Haus → a house",
        "step 2,000: validation loss 2.600, BLEU 12.0 (best BLEU 12.3)",
    ]
    (line,) = written.getvalue().splitlines()[4:]
    for part in (
        " 25%",
        "step 1 ",
        "loss 1.000",
        "perplexity 2.72",
        "tokens/s 1,234",
        "remaining 3:00:00",
        "memory",
        "GiB",
    ):
        assert part in line
    assert "\x1b" not in written.getvalue()


def test_time_left_is_a_lower_bound_before_the_first_validation(tmp_path: Path) -> None:
    log, written = make_log(tmp_path)
    with log:
        progress(log, 1)
    assert "remaining over 3:00:00" in written.getvalue()


def test_log_shows_a_live_display_in_a_terminal(tmp_path: Path) -> None:
    log, written = make_log(tmp_path, force_terminal=True)
    with log:
        progress(log, 7)
        log.say("said above it")
    for part in ("perplexity", "tokens/s", "3:00:00", "said above it", "\x1b["):
        assert part in written.getvalue()


def test_live_display_ends_with_an_error(tmp_path: Path) -> None:
    log, written = make_log(tmp_path, force_terminal=True)
    with pytest.raises(UserError), log:
        progress(log, 7)
        raise UserError("no")
    assert written.getvalue().endswith("\x1b[?25h")  # the cursor is shown again


def test_damaged_metrics_are_dropped(tmp_path: Path) -> None:
    log, _ = make_log(tmp_path)
    log.note(step=1, loss=2.0)
    content = log.metrics.read_bytes()
    log.metrics.write_bytes(content + b'{"step": 2, "loss": \xff}\n\xff\xfe\n')
    log.truncate_after(5)
    assert log.metrics.read_bytes() == content


def test_metrics_are_truncated_to_a_step(tmp_path: Path) -> None:
    log, _ = make_log(tmp_path)
    log.truncate_after(5)  # of nothing
    for step in (1, 2, 3):
        log.note(step=step, loss=0.1 * step)
    log.note(step=3, valid_loss=None)
    with log.metrics.open("a", encoding="utf-8") as stream:
        stream.write('{"step": 2, "lo')  # cut off by a kill
    log.truncate_after(2)
    assert [json.loads(line) for line in log.metrics.read_text().splitlines()] == [
        {"step": 1, "loss": 0.1},
        {"step": 2, "loss": 0.2},
    ]
    log.truncate_after(-1)
    assert log.metrics.read_text() == ""


def test_metrics_are_exact(tmp_path: Path) -> None:
    log, _ = make_log(tmp_path)
    log.note(step=1, loss=0.1 + 0.2)
    assert json.loads(log.metrics.read_text())["loss"] == 0.1 + 0.2


def test_metrics_that_cannot_be_written_raise_a_clear_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log, _ = make_log(tmp_path)

    def fail(*_: Any, **__: Any) -> Any:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "open", fail)
    with pytest.raises(UserError, match=r"metrics\.jsonl: cannot be written: No space left on device; .*--resume"):
        log.note(step=1)


MakeRecipe = Callable[..., Recipe]


def test_tensorboard_that_is_missing_is_reported(
    make_recipe: MakeRecipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def find_spec(name: str, *_: Any) -> Any:
        return None if name == "tensorboard" else importlib.util.find_spec(name)

    monkeypatch.setattr(log, "find_spec", find_spec)
    with pytest.raises(UserError, match=r"pip install tensorboard"):
        train(make_recipe(**{"train.tensorboard": True}), tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of TensorBoard's own
def test_tensorboard_curves_continue_when_a_run_is_resumed(make_recipe: MakeRecipe, tmp_path: Path) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    settings = {"train.tensorboard": True, "train.schedule": "constant", "train.check_every": 2}
    train(make_recipe(**settings, **{"train.max_steps": 4}), tmp_path / "run")
    train(make_recipe(**settings, **{"train.max_steps": 7}), tmp_path / "run", resume=True)
    events = EventAccumulator(str(tmp_path / "run" / "tensorboard"))
    events.Reload()
    steps = {tag: [event.step for event in events.Scalars(tag)] for tag in events.Tags()["scalars"]}
    assert steps.keys() == {"loss", "rate", "tokens/s", "valid loss", "BLEU"}
    for tag, written_steps in steps.items():
        assert written_steps == ([2, 4, 6, 7] if tag in ("valid loss", "BLEU") else [1, 2, 3, 4, 5, 6, 7]), tag
    assert [event.value for event in events.Scalars("rate")][-1] == pytest.approx(1e-2)
