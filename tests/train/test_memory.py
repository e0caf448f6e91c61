"""Memory decides how much is read at once, not what is learnt; it is tried before the first update."""

import copy
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from test_failures import RecordingLog
from torch import Tensor
from training_processes import metrics

from saccade import model_folder
from saccade.data.batching import Batch
from saccade.errors import UserError
from saccade.train import resources, translation
from saccade.train.learner import Shape
from saccade.train.losses import batch_loss
from saccade.train.recipe import Recipe, load_recipe
from saccade.train.resources import fit_to_memory
from saccade.train.run import TrainingRun
from saccade.train.translation import start, train
from saccade.train.update import _add_gradients as add_gradients
from saccade.train.update import split_batch

MakeRecipe = Callable[..., Recipe]
STILL = {"train.judge": "loss", "model.dropout": 0.0, "train.optimiser": "sgd", "train.lr": 0.5}


def scarce(monkeypatch: pytest.MonkeyPatch, most: int) -> list[int]:
    """Batches of more than `most` tokens do not fit. Returns the sizes that were tried."""
    tried: list[int] = []

    def add_scarcely(run: TrainingRun, batch: Batch, tokens: int) -> float:
        tried.append(batch.size)
        if batch.size > most:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return add_gradients(run, batch, tokens)

    monkeypatch.setattr("saccade.train.update._add_gradients", add_scarcely)
    return tried


def state_of(run: TrainingRun) -> tuple[Any, Tensor]:
    return copy.deepcopy(run.model.state_dict()), torch.get_rng_state()


def assert_untouched(run: TrainingRun, before: tuple[Any, Tensor]) -> None:
    weights, random_state = before
    assert all(torch.equal(value, weights[name]) for name, value in run.model.state_dict().items())
    assert torch.equal(torch.get_rng_state(), random_state)
    assert all(parameter.grad is None for parameter in run.model.parameters())
    assert run.model.training


@pytest.mark.parametrize("look", ["_estimate_rows", "_try_rows"])
def test_trying_batches_changes_nothing(
    look: str, make_recipe: MakeRecipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = RecordingLog(tmp_path)
    run = start(make_recipe(), tmp_path / "run", log=log)
    before = state_of(run)
    monkeypatch.setattr(resources, "_estimate_rows", getattr(resources, look))  # on a CPU, too
    assert fit_to_memory(run) is run and run.state.room is None
    assert_untouched(run, before)
    source, target = run.learner.dataset.corpus.longest_sides
    rows = 200 // (max(source, target) + 1)
    assert f"memory: the longest batch, {rows} pairs of {source + 1} and {target + 1} tokens, fits" in log.text


def test_the_longest_batches_are_tried_and_halved_until_they_fit(
    make_recipe: MakeRecipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = RecordingLog(tmp_path)
    run = start(make_recipe(**{"train.tokens": 1000}), tmp_path / "run", log=log)
    monkeypatch.setattr(resources, "_estimate_rows", resources._try_rows)
    tried, before = scarce(monkeypatch, 300), state_of(run)
    fit_to_memory(run)
    assert_untouched(run, before)
    longest = max(run.learner.dataset.corpus.longest_sides) + 1
    assert tried[0] == 1000 // longest * longest and min(tried) <= 300
    assert run.state.room is not None and 150 - longest < run.state.room <= 300
    assert f"does not fit; batches are read in parts of at most {run.state.room} tokens" in log.text


def test_the_longest_sources_and_targets_are_tried(make_recipe: MakeRecipe, tmp_path: Path) -> None:
    run = start(make_recipe(), tmp_path / "run")

    def shapes(source: int, target: int) -> list[Shape]:
        class Lengths:
            longest_sides = (source, target)

        corpus: Any = Lengths()
        run.learner.dataset = replace(run.learner.dataset, corpus=corpus)
        return run.learner.shapes()

    assert shapes(9, 9) == [(10, 10)]
    assert shapes(99, 9) == [(100, 10), (10, 10)]
    assert shapes(9, 99) == [(10, 100), (10, 10)]
    recipe = run.learner.recipe
    run.learner.recipe = replace(recipe, data=replace(recipe.data, both_directions=1))
    assert shapes(9, 9) == [(10, 10)]
    assert shapes(99, 9) == [(100, 10), (10, 100), (10, 10)]


def test_a_pair_that_does_not_fit_is_reported_before_training(
    make_recipe: MakeRecipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resources, "_estimate_rows", resources._try_rows)
    scarce(monkeypatch, 3)
    with pytest.raises(UserError, match=r"a pair of \d+ and \d+ tokens does not fit in the memory of cpu"):
        train(make_recipe(), tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
def test_a_run_in_little_memory_gives_the_same_scores(
    make_recipe: MakeRecipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = make_recipe(**STILL)
    train(recipe, tmp_path / "whole")
    run = start(recipe, tmp_path / "other")
    shape = run.learner.shapes()[0]
    a_pair = resources._saved_bytes(run, shape, 2) - resources._saved_bytes(run, shape, 1)
    monkeypatch.setattr(resources, "available", lambda: 2 * (2.5 * 2 * a_pair + 3 * resources._weights(run)))
    tried = scarce(monkeypatch, 10**9)
    log = RecordingLog(tmp_path)
    train(recipe, tmp_path / "parts", log=log)
    room = model_folder.load_training(tmp_path / "parts")["progress"]["room"]
    assert max(shape) <= max(tried) <= room <= 2 * max(shape) and f"at most {room} tokens" in log.text
    for line, expected in zip(metrics(tmp_path), metrics(tmp_path / "whole")):
        assert line == pytest.approx(expected, rel=1e-5, abs=1e-4)  # a perplexity of hundreds is rounded more coarsely


@pytest.mark.parametrize("name", ["cho2014", "bahdanau2014", "vaswani2017"])
def test_saved_bytes_grow_with_the_number_of_pairs(name: str, make_recipe: MakeRecipe, tmp_path: Path) -> None:
    run = start(make_recipe(name), tmp_path / "run")
    shape = (12, 9)
    one_row, two_rows, five_rows = (resources._saved_bytes(run, shape, rows) for rows in (1, 2, 5))
    assert five_rows - two_rows == pytest.approx(3 * (two_rows - one_row), rel=0.05) and two_rows > one_row


def test_automatic_tokens_are_saved_as_a_number(
    make_recipe: MakeRecipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resources, "_LEAST", 300)
    monkeypatch.setattr(resources, "_estimate_rows", resources._try_rows)
    recipe, log = make_recipe(**{"train.tokens": "auto", "train.max_steps": 4}), RecordingLog(tmp_path)
    train(recipe, tmp_path / "ample", log=log)
    ample = load_recipe(tmp_path / "ample" / "recipe.toml").train.tokens
    assert isinstance(ample, int) and f"train.tokens = {ample}, which fits" in log.text
    tried = scarce(monkeypatch, ample // 3)
    train(recipe, tmp_path / "scarce", log=log)
    little = load_recipe(tmp_path / "scarce" / "recipe.toml").train.tokens
    assert (
        isinstance(little, int) and little <= ample // 3 and f"train.tokens = {little}, the most that fits" in log.text
    )
    state = model_folder.load_training(tmp_path / "scarce")
    assert state["progress"]["room"] is None and state["progress"]["splits"] == 0
    del tried[:]
    longer = replace(load_recipe(tmp_path / "scarce" / "recipe.toml"), train=replace(recipe.train, max_steps=6))
    for resumed in (longer, replace(longer, train=replace(longer.train, tokens="auto"))):
        train(resumed, tmp_path / "scarce", resume=True)
    assert max(tried) <= little and load_recipe(tmp_path / "scarce" / "recipe.toml").train.tokens == little


def test_after_three_splits_all_batches_are_split_also_when_resumed(
    make_recipe: MakeRecipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log, training = RecordingLog(tmp_path), {"train.schedule": "constant", "train.judge": "loss"}
    tried = scarce(monkeypatch, 120)
    whole = make_recipe(**training)
    train(whole, tmp_path / "whole", log=log)
    assert log.text.count("does not fit in memory; it was read in parts") == 3 and log.text.count("from now on") == 1
    assert len([size for size in tried if size > 120]) == 3
    train(make_recipe(**training, **{"train.max_steps": 5}), tmp_path / "cut")
    del tried[:]
    train(whole, tmp_path / "cut", resume=True)
    resumed, whole_run = (model_folder.load_training(tmp_path / name) for name in ("cut", "whole"))
    assert max(tried) <= resumed["progress"]["room"] == whole_run["progress"]["room"] <= 120
    assert all(torch.equal(value, whole_run["model"][name]) for name, value in resumed["model"].items())


@settings(deadline=None, max_examples=50)
@given(rows=st.integers(1, 12), source=st.integers(1, 9), target=st.integers(1, 9), room=st.integers(1, 120))
def test_parts_cover_a_batch_and_fit_the_room(rows: int, source: int, target: int, room: int) -> None:
    batch = Batch.of([[5] * source] * rows, [[6] * target] * rows, range(rows))
    parts = split_batch(batch, room)
    assert torch.equal(torch.cat([part.indices for part in parts]), batch.indices)
    assert all(part.size <= room or len(part) == 1 for part in parts)
    assert len(split_batch(batch, None)) == 1
    longest = max(source, target) + 1
    assert len(parts) == -(-rows // max(1, room // longest))


def test_a_validation_that_does_not_fit_is_computed_in_halves(
    make_recipe: MakeRecipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = make_recipe(**{"train.max_steps": 3})
    train(recipe, tmp_path / "whole")
    tried: list[int] = []

    def scarce_loss(model: Any, batch: Batch, objective: Any) -> tuple[Tensor, Tensor]:
        if not torch.is_grad_enabled():
            tried.append(batch.size)
            if batch.size > 60:
                raise torch.OutOfMemoryError("CUDA out of memory")
        return batch_loss(model, batch, objective)

    monkeypatch.setattr("saccade.train.losses.batch_loss", scarce_loss)
    train(recipe, tmp_path / "halves")
    assert max(tried) > 60 and min(tried) < 60
    for line, expected in zip(metrics(tmp_path / "halves"), metrics(tmp_path / "whole")):
        assert line == pytest.approx(expected, rel=1e-5)


def test_a_model_larger_than_the_memory_is_refused(
    make_recipe: MakeRecipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resources, "available", lambda: 10**7)
    with pytest.raises(UserError, match=r"^the weights of this model need more than the 0\.01 GB of free memory: set"):
        train(make_recipe(**{"model.hidden": 4_096}), tmp_path / "run")

    def refused(*given: object) -> Any:
        raise RuntimeError("[enforce fail at alloc_cpu.cpp:127] DefaultCPUAllocator: can't allocate memory")

    monkeypatch.setattr(translation, "build_model", refused)
    with pytest.raises(UserError, match=r"^the weights of this model need more"):
        train(make_recipe(), tmp_path / "other")


def test_free_memory_is_plausible() -> None:
    assert 2**20 < resources.available() < 2**50


@pytest.mark.gpu
@pytest.mark.parametrize("tokens", [200_000, "auto"])
def test_a_small_part_of_a_gpu_is_enough(
    tokens: int | str, make_recipe: MakeRecipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In half a gigabyte, a run whose longest batches would need several times that."""
    monkeypatch.setattr(resources, "_UPDATES", 1)
    device, log = torch.device("cuda", 0), RecordingLog(tmp_path)
    training = {
        "train.device": "cuda",
        "train.tokens": tokens,
        "train.max_steps": 6,
        "data.pairs": "task:phrasebook-en-fr",
    }
    large = {"model.width": 256, "model.inner": 1024, "model.heads": 8, "data.count": 20_000}
    torch.cuda.empty_cache()
    torch.cuda.set_per_process_memory_fraction(2**29 / torch.cuda.get_device_properties(device).total_memory, device)
    try:
        outcome = train(make_recipe("vaswani2017", **training, **large), tmp_path / "run", log=log)
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0, device)
    assert outcome.finished and outcome.step == 6
    assert ("the most that fits" if tokens == "auto" else "read in parts") in log.text
    state = model_folder.load_training(tmp_path / "run")["progress"]
    assert state["splits"] == 0, "batches that fitted before the first update did not fit in it"
    assert (state["room"] is None) is (tokens == "auto")


@pytest.mark.gpu
def test_trying_batches_changes_nothing_on_a_gpu(make_recipe: MakeRecipe, tmp_path: Path) -> None:
    run = start(make_recipe(**{"train.device": "cuda"}), tmp_path / "run")
    before, random_state = state_of(run), torch.cuda.get_rng_state()
    fit_to_memory(run)
    assert_untouched(run, before)
    assert torch.equal(torch.cuda.get_rng_state(), random_state)
