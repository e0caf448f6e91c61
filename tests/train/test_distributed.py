"""Several workers are one: the same losses, the same weights, one voice; and when one of them is lost, nothing is."""

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
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import torch
from lives import Ended, live, live_together, metrics
from torch import Tensor, nn

from saccade import model_folder
from saccade.errors import UserError
from saccade.train.distributed import Workers
from saccade.train.optimisation import build_optimiser
from saccade.train.recipe import Training

WriteRecipe = Callable[..., Path]

# Plain gradient descent, so that what differs in rounding differs as little in the weights; 60 pieces are fewer pairs
# than workers in some batches.
LIKE_ONE = {
    "model.dropout": 0.0,
    "train.optimiser": "sgd",
    "train.lr": 0.5,
    "train.tokens": 60,
    "train.accumulate": 2,
    "train.max_steps": 12,
    "train.check_every": 4,
}


def run(recipe: Path, out: Path, workers: int = 1, resume: bool = False, **options: Any) -> list[Ended]:
    arguments = ("train", recipe, "--out", out, *(["--resume"] if resume else []))
    if workers == 1:
        return [live(*arguments, out=out)]
    return live_together(*arguments, out=out, workers=workers, **options)


def assert_alike(out: Path, other: Path) -> None:
    """To what float32 sums in another order differ by."""
    lines, others = metrics(out), metrics(other)
    assert [line["step"] for line in lines] == [line["step"] for line in others] and len(lines) > 10
    for line, expected in zip(lines, others):
        for name in expected.keys() & {"loss", "valid_loss"}:
            assert line[name] == pytest.approx(expected[name], abs=1e-5), line
    weights, expected_weights = (model_folder.load_training(folder)["model"] for folder in (out, other))
    for name, tensor in expected_weights.items():
        torch.testing.assert_close(weights[name], tensor, atol=1e-5, rtol=1e-4)


def said_by_all(ended: list[Ended]) -> str:
    return "".join(one.said for one in ended)


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("distributed")


@pytest.fixture
def by_one(write_recipe: WriteRecipe, places: Path) -> Path:
    """The run of LIKE_ONE in one process, made once."""
    if not (places / "one").exists():
        assert run(write_recipe(**LIKE_ONE), places / "one")[0].code == 0
    return places / "one"


def test_two_give_the_losses_and_weights_of_one(write_recipe: WriteRecipe, tmp_path: Path, by_one: Path) -> None:
    recipe = write_recipe(**LIKE_ONE)
    first, second = run(recipe, tmp_path / "two", workers=2)
    assert (first.code, second.code) == (0, 0), first.said + second.said
    assert "one of 2 workers" in first.said and second.said == ""
    assert_alike(tmp_path / "two", by_one)


def test_a_mistake_is_said_once_and_leaves_nothing(write_recipe: WriteRecipe, tmp_path: Path) -> None:
    for settings in ({"data.valid": "none.tsv"}, {"train.device": "tpu"}):
        ended = run(write_recipe(**settings), tmp_path / "run", workers=2)
        assert [one.code for one in ended] == [2, 2]
        said = said_by_all(ended)
        assert said.startswith("saccade: ") and said.count("\n") == 1, said
        assert not (tmp_path / "run").exists()


@pytest.mark.slow
@pytest.mark.parametrize("data", [{}, {"data.streaming": True, "data.buffer": 40}], ids=["in memory", "streamed"])
def test_three_give_the_losses_and_weights_of_one(
    data: dict[str, Any], write_recipe: WriteRecipe, tmp_path: Path
) -> None:
    recipe = write_recipe("vaswani2017", **LIKE_ONE, **data)
    assert run(recipe, tmp_path / "one")[0].code == 0
    assert [one.code for one in run(recipe, tmp_path / "three", workers=3)] == [0, 0, 0]
    assert_alike(tmp_path / "three", tmp_path / "one")


def at_step(out: Path, step: int, rank: int, number: int) -> Callable[[], tuple[int, int] | None]:
    def now() -> tuple[int, int] | None:
        path = out / "metrics.jsonl"
        return (rank, number) if path.exists() and f'"step": {step},' in path.read_text(encoding="utf-8") else None

    return now


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
def test_a_killed_worker_ends_the_run_and_any_number_goes_on(
    before: int, after: int, killed: int, write_recipe: WriteRecipe, tmp_path: Path, by_one: Path
) -> None:
    recipe, out = write_recipe(**LIKE_ONE), tmp_path / "run"
    ended = run(recipe, out, workers=before, at=at_step(out, 6, killed, signal.SIGKILL))
    survivors = [one for rank, one in enumerate(ended) if rank != killed]
    assert ended[killed].code == -signal.SIGKILL and {one.code for one in survivors} == {1}
    said = [line for one in survivors for line in one.said.splitlines() if line.startswith("saccade: ")]
    assert len(said) == 1 and "a worker is gone" in said[0] and "--resume" in said[0]
    assert "Traceback" not in said_by_all(survivors)
    assert model_folder.load_training(out)["progress"]["step"] in (4, 8)
    model_folder.load_model(out)
    ended = run(recipe, out, workers=after, resume=True)
    assert {one.code for one in ended} == {0}, said_by_all(ended)
    assert_alike(out, by_one)


@pytest.mark.slow
def test_one_goes_on_as_two(write_recipe: WriteRecipe, tmp_path: Path, by_one: Path) -> None:
    recipe, out = write_recipe(**LIKE_ONE), tmp_path / "run"
    arguments = ("train", recipe, "--out", out)
    live(*arguments, out=out, at=lambda: at[1] if (at := at_step(out, 6, 0, signal.SIGKILL)()) else None)
    assert [one.code for one in run(recipe, out, workers=2, resume=True)] == [0, 0]
    assert_alike(out, by_one)


@pytest.mark.slow
def test_with_dropout_a_killed_and_resumed_run_is_the_run_never_killed(
    write_recipe: WriteRecipe, tmp_path: Path
) -> None:
    """To the bit, with as many workers: each has its own chance, and gets it back."""
    recipe = write_recipe(**{"train.max_steps": 12, "train.average": 2})
    assert [one.code for one in run(recipe, tmp_path / "whole", workers=2)] == [0, 0]
    out = tmp_path / "killed"
    run(recipe, out, workers=2, at=at_step(out, 7, 1, signal.SIGKILL))
    assert [one.code for one in run(recipe, out, workers=2, resume=True)] == [0, 0]
    for name in ("metrics.jsonl", "model.safetensors"):
        assert (out / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
    first, second = model_folder.load_training(out)["random"]
    assert not torch.equal(first["cpu"], second["cpu"])


@pytest.mark.slow
@pytest.mark.parametrize(("rank", "number"), [(0, signal.SIGINT), (1, signal.SIGTERM)])
def test_what_interrupts_one_ends_all_and_all_is_saved(
    rank: int, number: signal.Signals, write_recipe: WriteRecipe, tmp_path: Path
) -> None:
    recipe, out = write_recipe(**LIKE_ONE | {"train.check_every": 50, "train.max_steps": 200}), tmp_path / "run"
    ended = run(recipe, out, workers=2, at=at_step(out, 5, rank, number))
    assert [one.code for one in ended] == [1, 1], said_by_all(ended)
    assert f"interrupted by {number.name} at step" in ended[0].said and ended[1].said == ""
    assert 5 <= model_folder.load_training(out)["progress"]["step"] < 200


def spoil_second(rank: int) -> None:
    """Its third loss is not a number."""
    from saccade.train import run

    add_gradients, calls = run._add_gradients, count(1)

    def add_spoilt(training_run: Any, batch: Any, tokens: float) -> float:
        factor = math.nan if rank == 1 and next(calls) == 3 else 1
        return factor * add_gradients(training_run, batch, factor * tokens)

    run._add_gradients = add_spoilt


@pytest.mark.slow
def test_what_is_not_finite_on_one_is_skipped_by_all(write_recipe: WriteRecipe, tmp_path: Path) -> None:
    recipe = write_recipe(**{"train.max_steps": 6})
    ended = run(recipe, tmp_path / "run", workers=2, spoil=spoil_second)
    assert [one.code for one in ended] == [0, 0], said_by_all(ended)
    assert ended[0].said.count("the loss is not finite") == 1
    state = model_folder.load_training(tmp_path / "run")
    assert state["progress"]["skipped"] == 1 and all(tensor.isfinite().all() for tensor in state["model"].values())


def starve_second(rank: int) -> None:
    """More than three pairs do not fit."""
    from saccade.train import run

    add_gradients = run._add_gradients

    def add_scarcely(training_run: Any, batch: Any, tokens: int) -> float:
        if rank == 1 and len(batch) > 3:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return add_gradients(training_run, batch, tokens)

    run._add_gradients = add_scarcely


def starve_second_wholly(rank: int) -> None:
    """After its fourth batch nothing fits."""
    from saccade.train import run

    add_gradients, calls = run._add_gradients, count(1)

    def add_scarcely(*arguments: Any) -> float:
        if rank == 1 and next(calls) > 4:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return add_gradients(*arguments)

    run._add_gradients = add_scarcely


@pytest.mark.slow
def test_memory_that_is_scarce_on_one_changes_nothing(write_recipe: WriteRecipe, tmp_path: Path) -> None:
    recipe = write_recipe(**LIKE_ONE | {"train.tokens": 200, "train.accumulate": 1})
    assert run(recipe, tmp_path / "one")[0].code == 0
    ended = run(recipe, tmp_path / "two", workers=2, spoil=starve_second)
    assert [one.code for one in ended] == [0, 0], said_by_all(ended)
    assert "does not fit in memory" in ended[0].said and "from now on" in ended[0].said
    assert_alike(tmp_path / "two", tmp_path / "one")


@pytest.mark.slow
def test_memory_that_is_used_up_on_one_ends_all_with_one_line(write_recipe: WriteRecipe, tmp_path: Path) -> None:
    recipe, out = write_recipe(**{"train.max_steps": 9, "train.check_every": 50}), tmp_path / "run"
    ended = run(recipe, out, workers=2, spoil=starve_second_wholly)
    assert [one.code for one in ended] == [2, 2], said_by_all(ended)
    lines = [line for line in said_by_all(ended).splitlines() if line.startswith("saccade: ")]
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
def test_torchrun(write_recipe: WriteRecipe, tmp_path: Path) -> None:
    """The command of the documentation: its output comes once, and so does a mistake."""
    recipe = write_recipe(**{"train.max_steps": 3})
    process = torchrun(recipe, "--out", tmp_path / "run", "--json")
    out, said = process.communicate()
    assert process.returncode == 0, said
    assert json.loads(out)["step"] == 3 and said.count("parameters, on cpu, one of 2 workers") == 1
    again = torchrun(recipe, "--out", tmp_path / "run")
    assert again.communicate()[1].count("the folder is not empty; add --resume") == 1 and again.returncode != 0


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_torchrun_is_interrupted(number: signal.Signals, write_recipe: WriteRecipe, tmp_path: Path) -> None:
    """Ctrl-C reaches every process twice, from the terminal and from torchrun; a kill reaches one worker."""
    recipe, out = write_recipe(**LIKE_ONE | {"train.max_steps": 1000, "train.judge": "loss"}), tmp_path / "run"
    process = torchrun(recipe, "--out", out)
    while at_step(out, 6, 0, number)() is None:
        assert process.poll() is None
        time.sleep(0.01)
    if number is signal.SIGINT:
        os.killpg(process.pid, number)
    else:
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        os.kill(int(children[-1]), number)
    _, said = process.communicate()
    assert process.returncode != 0
    told = "interrupted by SIGINT at step" if number is signal.SIGINT else "saccade: a worker is gone"
    assert said.count(told) == 1, said
    assert model_folder.load_training(out)["progress"]["step"] >= (5 if number is signal.SIGINT else 4)


def test_alone_nothing_is_exchanged() -> None:
    alone = Workers()
    assert (
        alone.is_rank0
        and alone.gather("a word") == ["a word"]
        and alone.gather_results(lambda: 3) == [3]
        and alone.broadcast(lambda: 3) == alone.rank0_first(lambda: 3) == 3
    )
    for call in (alone.gather_results, alone.broadcast, alone.rank0_first):
        with pytest.raises(UserError, match="mine") as raised:
            call(fail)
        assert not raised.value.elsewhere
    parameter = nn.Parameter(torch.ones(2))
    alone.sum_gradients([parameter])
    assert parameter.grad is None


def summed_by_two(*parameters_of: list[nn.Parameter], monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_gradients_are_summed_and_what_nobody_used_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """A gradient of zeros is not none: the optimiser would let an unused matrix decay."""
    models = [nn.ModuleList(nn.Linear(2, 2, bias=False) for _ in range(4)) for _ in range(2)]
    for rank, (both, one, _, frozen) in enumerate(models):
        both.weight.grad = torch.full((2, 2), 1.0 + rank)
        one.weight.grad = torch.ones(2, 2) if rank else None
        frozen.weight.requires_grad_(False)
    summed_by_two(*(list(model.parameters()) for model in models), monkeypatch=monkeypatch)
    for model in models:
        both, one, unused, frozen = model
        assert torch.equal(both.weight.grad, torch.full((2, 2), 3.0)) and torch.equal(one.weight.grad, torch.ones(2, 2))
        assert unused.weight.grad is None and frozen.weight.grad is None
        before = unused.weight.detach().clone()
        build_optimiser(Training(weight_decay=0.5, lr=0.1), model).step()
        assert torch.equal(unused.weight, before)


def fail() -> int:
    raise UserError("mine")


def test_every_row_is_somebodys() -> None:
    assert [list(Workers(rank, 3).share(range(7))) for rank in range(3)] == [[0, 3, 6], [1, 4], [2, 5]]
