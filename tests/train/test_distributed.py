"""Several workers learn what one learns, report once, and lose nothing when one of them is lost."""

import json
import math
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from training_processes import ProcessResult, metrics, run_saccade, run_workers

from saccade import model_folder
from saccade.errors import UserError
from saccade.train.distributed import Workers
from saccade.train.optimisation import build_optimiser
from saccade.train.training_options import Training

WriteRecipe = Callable[..., Path]

# Plain gradient descent, so that what differs in rounding differs as little in the weights; 60 tokens are fewer pairs
# than workers in some batches.
COMPARABLE = {
    "model.dropout": 0.0,
    "train.optimiser": "sgd",
    "train.lr": 0.5,
    "train.tokens": 60,
    "train.accumulate": 2,
    "train.max_steps": 12,
    "train.check_every": 4,
}


def run(recipe: Path, out: Path, workers: int = 1, resume: bool = False, **options: Any) -> list[ProcessResult]:
    arguments = ("train", recipe, "--out", out, *(["--resume"] if resume else []))
    if workers == 1:
        return [run_saccade(*arguments, out=out)]
    return run_workers(*arguments, out=out, workers=workers, **options)


def assert_alike(out: Path, other: Path) -> None:
    """Up to the rounding of float32 sums in another order."""
    lines, expected_lines = metrics(out), metrics(other)
    assert [line["step"] for line in lines] == [line["step"] for line in expected_lines] and len(lines) > 10
    for line, expected in zip(lines, expected_lines):
        for name in expected.keys() & {"loss", "valid_loss"}:
            assert line[name] == pytest.approx(expected[name], abs=1e-5), line
    weights, expected_weights = (model_folder.load_training(folder)["model"] for folder in (out, other))
    for name, tensor in expected_weights.items():
        torch.testing.assert_close(weights[name], tensor, atol=1e-5, rtol=1e-4)


def all_stderr(results: list[ProcessResult]) -> str:
    return "".join(result.stderr for result in results)


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("distributed")


@pytest.fixture
def single_run(write_recipe: WriteRecipe, folders: Path) -> Path:
    """The run of LIKE_ONE in one process, made once."""
    if not (folders / "one").exists():
        assert run(write_recipe(**COMPARABLE), folders / "one")[0].code == 0
    return folders / "one"


@pytest.mark.slow
def test_two_workers_compute_the_losses_and_weights_of_one(
    write_recipe: WriteRecipe, tmp_path: Path, single_run: Path
) -> None:
    recipe = write_recipe(**COMPARABLE)
    first, second = run(recipe, tmp_path / "two", workers=2)
    assert (first.code, second.code) == (0, 0), first.stderr + second.stderr
    assert "one of 2 workers" in first.stderr and second.stderr == ""
    assert_alike(tmp_path / "two", single_run)


@pytest.mark.slow
def test_mistake_is_reported_once_and_leaves_no_folder(write_recipe: WriteRecipe, tmp_path: Path) -> None:
    for settings in ({"data.valid": "none.tsv"}, {"train.device": "tpu"}):
        results = run(write_recipe(**settings), tmp_path / "run", workers=2)
        assert [result.code for result in results] == [2, 2]
        stderr = all_stderr(results)
        assert stderr.startswith("saccade: ") and stderr.count("\n") == 1, stderr
        assert not (tmp_path / "run").exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    "data",
    [{}, {"data.streaming": True, "data.buffer": 40}, {"data.both_directions": 1}],
    ids=["in memory", "streamed", "both directions"],
)
def test_three_workers_compute_the_losses_and_weights_of_one(
    data: dict[str, Any], write_recipe: WriteRecipe, tmp_path: Path
) -> None:
    recipe = write_recipe("vaswani2017", **COMPARABLE, **data)
    assert run(recipe, tmp_path / "one")[0].code == 0
    assert [result.code for result in run(recipe, tmp_path / "three", workers=3)] == [0, 0, 0]
    assert_alike(tmp_path / "three", tmp_path / "one")


def signal_at_step(out: Path, step: int, rank: int, number: int) -> Callable[[], tuple[int, int] | None]:
    def choose_signal() -> tuple[int, int] | None:
        path = out / "metrics.jsonl"
        return (rank, number) if path.exists() and f'"step": {step},' in path.read_text(encoding="utf-8") else None

    return choose_signal


@pytest.mark.slow
@pytest.mark.parametrize(
    ("before", "after", "killed"),
    [
        (2, 1, 0),
        (2, 3, 1),
        pytest.param(2, 2, 1, marks=pytest.mark.long),
        pytest.param(3, 2, 2, marks=pytest.mark.long),
    ],
)
def test_killed_worker_ends_the_run_and_any_number_of_workers_resumes_it(
    before: int, after: int, killed: int, write_recipe: WriteRecipe, tmp_path: Path, single_run: Path
) -> None:
    recipe, out = write_recipe(**COMPARABLE), tmp_path / "run"
    results = run(recipe, out, workers=before, choose_signal=signal_at_step(out, 6, killed, signal.SIGKILL))
    survivors = [result for rank, result in enumerate(results) if rank != killed]
    assert results[killed].code == -signal.SIGKILL and {result.code for result in survivors} == {1}
    lines = [line for result in survivors for line in result.stderr.splitlines() if line.startswith("saccade: ")]
    assert len(lines) == 1 and "a worker is gone" in lines[0] and "--resume" in lines[0]
    assert "Traceback" not in all_stderr(survivors)
    assert model_folder.load_training(out)["progress"]["step"] in (4, 8)
    model_folder.load_model(out)
    results = run(recipe, out, workers=after, resume=True)
    assert {result.code for result in results} == {0}, all_stderr(results)
    assert_alike(out, single_run)


@pytest.mark.slow
def test_run_of_one_worker_is_resumed_by_two(write_recipe: WriteRecipe, tmp_path: Path, single_run: Path) -> None:
    recipe, out = write_recipe(**COMPARABLE), tmp_path / "run"
    arguments = ("train", recipe, "--out", out)
    is_time = signal_at_step(out, 6, 0, signal.SIGKILL)
    run_saccade(*arguments, out=out, choose_signal=lambda: signal.SIGKILL if is_time() is not None else None)
    assert [result.code for result in run(recipe, out, workers=2, resume=True)] == [0, 0]
    assert_alike(out, single_run)


@pytest.mark.slow
def test_killed_run_with_dropout_resumes_to_the_bit(write_recipe: WriteRecipe, tmp_path: Path) -> None:
    """With as many workers: each has random numbers of its own, which are restored."""
    recipe = write_recipe(**{"train.max_steps": 12, "train.average": 2})
    assert [result.code for result in run(recipe, tmp_path / "whole", workers=2)] == [0, 0]
    out = tmp_path / "killed"
    run(recipe, out, workers=2, choose_signal=signal_at_step(out, 7, 1, signal.SIGKILL))
    assert [result.code for result in run(recipe, out, workers=2, resume=True)] == [0, 0]
    for name in ("metrics.jsonl", "model.safetensors"):
        assert (out / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
    first, second = model_folder.load_training(out)["random"]
    assert not torch.equal(first["cpu"], second["cpu"])


@pytest.mark.slow
@pytest.mark.parametrize(("rank", "number"), [(0, signal.SIGINT), (1, signal.SIGTERM)])
def test_signal_to_one_worker_ends_all_and_saves_the_run(
    rank: int, number: signal.Signals, write_recipe: WriteRecipe, tmp_path: Path
) -> None:
    recipe, out = write_recipe(**COMPARABLE | {"train.check_every": 50, "train.max_steps": 200}), tmp_path / "run"
    results = run(recipe, out, workers=2, choose_signal=signal_at_step(out, 5, rank, number))
    assert [result.code for result in results] == [1, 1], all_stderr(results)
    assert f"interrupted by {number.name} at step" in results[0].stderr and results[1].stderr == ""
    assert 5 <= model_folder.load_training(out)["progress"]["step"] < 200


def spoil_third_loss_of_rank1(rank: int) -> None:
    """Its third loss is not a number."""
    from saccade.train import update

    add_gradients, calls = update._add_gradients, count(1)

    def add_spoilt(training_run: Any, batch: Any, tokens: float) -> float:
        factor = math.nan if rank == 1 and next(calls) == 3 else 1
        return factor * add_gradients(training_run, batch, factor * tokens)

    update._add_gradients = add_spoilt


@pytest.mark.slow
def test_update_that_is_not_finite_on_one_worker_is_skipped_by_all(write_recipe: WriteRecipe, tmp_path: Path) -> None:
    recipe = write_recipe(**{"train.max_steps": 6})
    results = run(recipe, tmp_path / "run", workers=2, prepare=spoil_third_loss_of_rank1)
    assert [result.code for result in results] == [0, 0], all_stderr(results)
    assert results[0].stderr.count("the loss is not finite") == 1
    state = model_folder.load_training(tmp_path / "run")
    assert state["progress"]["skipped"] == 1 and all(tensor.isfinite().all() for tensor in state["model"].values())


def limit_memory_of_rank1(rank: int, *, rows: int, after: int = 0) -> None:
    """After so many batches, more than so many rows do not fit."""
    from saccade.train import update

    add_gradients, calls = update._add_gradients, count(1)

    def add_scarcely(training_run: Any, batch: Any, tokens: int) -> float:
        if rank == 1 and next(calls) > after and len(batch) > rows:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return add_gradients(training_run, batch, tokens)

    update._add_gradients = add_scarcely


@pytest.mark.slow
def test_little_memory_on_one_worker_changes_nothing(write_recipe: WriteRecipe, tmp_path: Path) -> None:
    recipe = write_recipe(**COMPARABLE | {"train.tokens": 200, "train.accumulate": 1})
    assert run(recipe, tmp_path / "one")[0].code == 0
    results = run(recipe, tmp_path / "two", workers=2, prepare=partial(limit_memory_of_rank1, rows=3))
    assert [result.code for result in results] == [0, 0], all_stderr(results)
    assert "does not fit in memory" in results[0].stderr and "from now on" in results[0].stderr
    assert_alike(tmp_path / "two", tmp_path / "one")


@pytest.mark.slow
def test_no_memory_on_one_worker_ends_all_with_one_line(write_recipe: WriteRecipe, tmp_path: Path) -> None:
    recipe, out = write_recipe(**{"train.max_steps": 9, "train.check_every": 50}), tmp_path / "run"
    results = run(recipe, out, workers=2, prepare=partial(limit_memory_of_rank1, rows=0, after=4))
    assert [result.code for result in results] == [2, 2], all_stderr(results)
    lines = [line for line in all_stderr(results).splitlines() if line.startswith("saccade: ")]
    assert len(lines) == 1 and "a single pair of" in lines[0]
    assert model_folder.load_training(out)["progress"]["step"] == 4


TORCHRUN = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "-m", "saccade", "train"]


def torchrun(*arguments: str | Path) -> "subprocess.Popen[str]":
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    pipe = subprocess.PIPE
    return subprocess.Popen(
        [*TORCHRUN, *map(str, arguments)], stdout=pipe, stderr=pipe, text=True, env=environment, start_new_session=True
    )


@pytest.mark.slow
def test_torchrun_prints_results_and_mistakes_once(write_recipe: WriteRecipe, tmp_path: Path) -> None:
    """The command of the documentation."""
    recipe = write_recipe(**{"train.max_steps": 3})
    process = torchrun(recipe, "--out", tmp_path / "run", "--json")
    out, stderr = process.communicate()
    assert process.returncode == 0, stderr
    assert json.loads(out)["step"] == 3 and stderr.count("parameters, on cpu, one of 2 workers") == 1
    second = torchrun(recipe, "--out", tmp_path / "run")
    assert second.communicate()[1].count("the folder is not empty; add --resume") == 1 and second.returncode != 0


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_interrupted_torchrun_reports_once_and_saves_the_run(
    number: signal.Signals, write_recipe: WriteRecipe, tmp_path: Path
) -> None:
    """Ctrl-C reaches every process twice, from the terminal and from torchrun; a kill reaches one worker."""
    recipe, out = write_recipe(**COMPARABLE | {"train.max_steps": 1000, "train.judge": "loss"}), tmp_path / "run"
    process = torchrun(recipe, "--out", out)
    while signal_at_step(out, 6, 0, number)() is None:
        assert process.poll() is None
        time.sleep(0.01)
    if number is signal.SIGINT:
        os.killpg(process.pid, number)
    else:
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        os.kill(int(children[-1]), number)
    _, stderr = process.communicate()
    assert process.returncode != 0
    message = "interrupted by SIGINT at step" if number is signal.SIGINT else "saccade: a worker is gone"
    assert stderr.count(message) == 1, stderr
    assert model_folder.load_training(out)["progress"]["step"] >= (5 if number is signal.SIGINT else 4)


def test_single_worker_exchanges_nothing() -> None:
    alone = Workers()
    assert (
        alone.is_rank0
        and alone.gather("a word") == ["a word"]
        and alone.gather_results(lambda: 3) == [3]
        and alone.broadcast(lambda: 3) == alone.rank0_first(lambda: 3) == 3
    )
    for call in (alone.gather_results, alone.broadcast, alone.rank0_first):
        with pytest.raises(UserError, match="mine") as raised:
            call(raise_mistake)
        assert not raised.value.elsewhere
    parameter = nn.Parameter(torch.ones(2))
    alone.sum_gradients([parameter])
    assert parameter.grad is None


def sum_gradients_of_threads(*parameters_of: list[nn.Parameter], monkeypatch: pytest.MonkeyPatch) -> None:
    """`sum_gradients` of workers that are threads here, and whose exchange is a plain sum."""
    sent: dict[int, Tensor] = {}
    barrier = threading.Barrier(len(parameters_of), timeout=20)

    def all_reduce(tensor: Tensor, group: object) -> None:
        sent[threading.get_ident()] = tensor.clone()
        barrier.wait()
        tensor.copy_(torch.stack(list(sent.values())).sum(0))

    monkeypatch.setattr("saccade.train.distributed.dist.all_reduce", all_reduce)
    workers = [Workers(rank, len(parameters_of)) for rank in range(len(parameters_of))]
    with ThreadPoolExecutor(len(workers)) as pool:
        list(pool.map(lambda worker, parameters: worker.sum_gradients(parameters), workers, parameters_of))


def test_gradients_are_summed_and_unused_parameters_have_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """A gradient of zeros is not none: the optimiser would let an unused matrix decay."""
    models = [nn.ModuleList(nn.Linear(2, 2, bias=False) for _ in range(4)) for _ in range(2)]
    for rank, (shared, single, _, frozen) in enumerate(models):
        shared.weight.grad = torch.full((2, 2), 1.0 + rank)
        single.weight.grad = torch.ones(2, 2) if rank else None
        frozen.weight.requires_grad_(False)
    sum_gradients_of_threads(*(list(model.parameters()) for model in models), monkeypatch=monkeypatch)
    for model in models:
        shared, single, unused, frozen = model
        assert torch.equal(shared.weight.grad, torch.full((2, 2), 3.0))
        assert torch.equal(single.weight.grad, torch.ones(2, 2))
        assert unused.weight.grad is None and frozen.weight.grad is None
        before = unused.weight.detach().clone()
        build_optimiser(Training(weight_decay=0.5, lr=0.1), model).step()
        assert torch.equal(unused.weight, before)


def raise_mistake() -> int:
    raise UserError("mine")


def test_workers_share_every_row() -> None:
    assert [list(Workers(rank, 3).share(range(7))) for rank in range(3)] == [[0, 3, 6], [1, 4], [2, 5]]
