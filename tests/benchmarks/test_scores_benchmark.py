"""benchmarks/scores.py trains the runs of a file, scores them and records how they were made; so does a control."""

import gzip
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
ROWS = """
[data.cats]
test = ["valid.tsv"]

[[runs]]
name = "cats-{which}"
each = { which = ["few", "many"] }
data = "cats"
train = ["train-{which}.tsv"]
budget = "2"
set = ["train.judge_on=2", "train.threads=1", "model.preset=tiny"]

[[runs]]
name = "by-recipe"
train = ["train-few.tsv"]
test = ["valid.tsv"]
recipe = "RECIPE"

[[runs]]
name = "control"
first = 150
train = ["train-few.tsv"]
test = ["valid.tsv"]
lower = true
control = ["--size", "tiny"]

[[runs]]
name = "minute"
first = 150
train = ["train-few.tsv"]
test = ["valid.tsv"]
budget = "1m"
set = ["train.judge_on=2", "train.threads=1", "model.preset=tiny"]

[[runs]]
name = "control-minute"
train = ["train-few.tsv"]
test = ["valid.tsv"]
control = ["--minutes", "1"]

[[runs]]
name = "together"
train = ["train-few.tsv"]
test = ["valid.tsv"]
of = "seeds"
ensemble = [7, 8]

[[runs]]
name = "seeds"
train = ["train-few.tsv"]
test = ["valid.tsv"]
vocab_of = 7
budget = "1"
set = ["train.judge_on=2", "train.threads=1", "model.preset=tiny"]
"""
RECIPE = """
[data]
pairs = "train-few.tsv"
[model]
name = "cho2014"
preset = "tiny"
[train]
max_steps = 1
judge_on = 2
threads = 1
"""
TIMED = """
import sys, time, torch
weight = torch.nn.Parameter(torch.zeros(1))
optimiser = torch.optim.SGD([weight], lr=1.0)
schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda step: 1.0)
while True:
    time.sleep(0.01)
    optimiser.step()
    schedule.step()
"""
CONTROL = """
import json, sys
from pathlib import Path
values = sys.argv[1:]
out = Path(values[values.index("--out") + 1])
out.mkdir()
source, target = (Path(values[values.index("--train") + place]) for place in (1, 2))
lines = [len(path.read_text().splitlines()) for path in (source, target)]
(out / "log.json").write_text(json.dumps({"bleu": 1.0, "lines": lines, "values": values}))
"""


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    folder.mkdir()
    pairs = [f"the cat number {n}\tle chat numéro {n}\n" for n in range(300)]
    (folder / "train-few.tsv").write_text("".join(pairs[:200]), encoding="utf-8")
    (folder / "train-many.tsv.gz").write_bytes(gzip.compress("".join(pairs).encode()))
    (folder / "valid.tsv").write_text("".join(pairs[:5]), encoding="utf-8")
    return folder


def run(tmp_path: Path, data: Path, *arguments: str, program: str = CONTROL) -> dict[str, Any]:
    rows, recipe, control = tmp_path / "rows.toml", tmp_path / "recipe.toml", tmp_path / "control.py"
    rows.write_text(ROWS.replace("RECIPE", str(recipe)), encoding="utf-8")
    recipe.write_text(RECIPE, encoding="utf-8")
    control.write_text(program, encoding="utf-8")
    command = [sys.executable, BENCHMARKS / "scores.py", rows, "--data", data, "--control", control, "--device", "cpu"]
    places = ["--work", tmp_path / "work", "--out", tmp_path / "out.json"]
    subprocess.run([*command, *places, *arguments], check=True, capture_output=True)
    found: dict[str, Any] = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))
    return found


@pytest.mark.slow
def test_runs_are_scored_and_recorded_without_paths(tmp_path: Path, data: Path) -> None:
    found = run(tmp_path, data, "--only", "cats-*", "by-recipe", "--at-once", "2", "--seeds", "7")
    assert found.keys() == {"cats-few/7", "cats-many/7", "by-recipe/7"}
    many = found["cats-many/7"]
    assert many["updates"] == 2 and many["recipe"]["train"]["seed"] == 7 and many["budget"] == "2"
    assert many["scores"]["test"]["pairs"] == 5 and 0 <= many["scores"]["test"]["wrong"] <= 100
    expected = (
        "python -m saccade train --out WORK/cats-many/7/model DATA/train-many.tsv.gz --budget 2 --set train.seed=7"
    )
    assert many["command"].startswith(expected)
    assert found["by-recipe/7"]["recipe"]["model"]["name"] == "cho2014"
    assert str(tmp_path) not in json.dumps([found["cats-few/7"], many])
    again = run(tmp_path, data, "--only", "cats-many", "--seeds", "8", "--like", "7")["cats-many/8"]
    assert again["recipe"] == many["recipe"] | {"train": many["recipe"]["train"] | {"seed": 8}}
    assert again["updates"] == 2


@pytest.mark.slow
def test_a_control_gets_two_files_and_is_not_repeated(tmp_path: Path, data: Path) -> None:
    (control,) = run(tmp_path, data, "--only", "control").values()
    assert control["lines"] == [150, 150] and control["bleu"] == 1.0
    assert control["values"][-3:] == ["--size", "tiny", "--lower"]
    changed = {"control/1": {"bleu": 2.0}}
    (tmp_path / "out.json").write_text(json.dumps(changed), encoding="utf-8")
    assert run(tmp_path, data, "--only", "control") == changed


@pytest.mark.slow
def test_runs_are_timed_one_at_a_time_and_repeated_for_their_updates(tmp_path: Path, data: Path) -> None:
    found = run(tmp_path, data, "--only", "*minute", "--alone", "1", "--at-once", "2", program=TIMED)
    ours, control = found["minute/alone"], found["control-minute/alone"]
    assert ours["updates_per_second"] > 0 and 0 < ours["updates"] <= 61 * ours["updates_per_second"]
    assert (
        0 < control["steps"] == pytest.approx(60 * control["updates_per_second"], rel=0.01) and control["steps"] < 6000
    )
    found["minute/alone"]["updates"] = 3
    (tmp_path / "out.json").write_text(json.dumps(found), encoding="utf-8")
    found = run(tmp_path, data, "--only", "minute", "control-minute", "--like", "alone")
    assert found["minute/1"]["updates"] == 3 and found["minute/1"]["recipe"]["train"]["max_minutes"] is None
    assert found["minute/1"]["recipe"]["data"]["pairs"] == "WORK/minute/1/train.source"  # not those that were timed
    assert found["control-minute/1"]["values"][-4:] == ["--minutes", "10000", "--steps", str(control["steps"])]


@pytest.mark.slow
def test_a_run_that_was_killed_is_repeated(tmp_path: Path, data: Path) -> None:
    (tmp_path / "work" / "by-recipe" / "1" / "model").mkdir(parents=True)
    (tmp_path / "work" / "by-recipe" / "1" / "model" / "state.json").write_text("{}", encoding="utf-8")
    assert run(tmp_path, data, "--only", "by-recipe")["by-recipe/1"]["updates"] == 1


@pytest.mark.slow
def test_models_of_several_seeds_are_scored_together(tmp_path: Path, data: Path) -> None:
    run(tmp_path, data, "--only", "seeds", "--seeds", "7", "8")
    together = run(tmp_path, data, "--only", "together")["together/1"]
    assert together["scores"]["test"]["pairs"] == 5 and together["ensemble"] == [7, 8]
    assert together["scores"]["test"]["by_length"].keys() == {"1–5"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--only", "by-recipe", "--like", "3"], "there is no record of by-recipe/3"),
        (["--only", "by-recipe", "--alone", "1"], "by-recipe has no budget of minutes"),
    ],
)
def test_mistakes_are_explained(tmp_path: Path, data: Path, arguments: list[str], message: str) -> None:
    with pytest.raises(subprocess.CalledProcessError) as failed:
        run(tmp_path, data, *arguments)
    assert message in failed.value.stderr.decode() and b"Traceback" not in failed.value.stderr
