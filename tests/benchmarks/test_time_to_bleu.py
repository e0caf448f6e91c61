"""benchmarks/time_to_bleu.py compares two learning curves."""

import json
import sys
from pathlib import Path

import pytest

from saccade.tasks import task

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))
import time_to_bleu  # noqa: E402  (benchmarks/ is no package: its scripts are found by path)

CONTROL = """
import argparse, json, pathlib
parser = argparse.ArgumentParser()
parser.add_argument("--minutes", type=float)
parser.add_argument("--out", type=pathlib.Path)
options, _ = parser.parse_known_args()
options.out.mkdir()
log = {"minutes": options.minutes, "bleu": 10 * options.minutes, "steps": 5}
(options.out / "log.json").write_text(json.dumps(log))
"""


def test_the_time_lies_between_two_points() -> None:
    points = [{"minutes": 2.0, "bleu": 20.0}, {"minutes": 4.0, "bleu": 40.0}]
    assert time_to_bleu.minutes_to(points, 30.0) == pytest.approx(3.0)
    assert time_to_bleu.minutes_to(points, 10.0) == pytest.approx(1.0)
    assert time_to_bleu.minutes_to(points, 41.0) is None


def test_both_curves_are_recorded(tmp_path: Path) -> None:
    pairs = list(task("copy").pairs(60, seed=1, words=(2, 4)))
    for kind, some in (("train", pairs[:50]), ("valid", pairs[50:])):
        (tmp_path / f"{kind}.src").write_text("".join(f"{pair.source}\n" for pair in some))
        (tmp_path / f"{kind}.tgt").write_text("".join(f"{pair.target}\n" for pair in some))
    (tmp_path / "control.py").write_text(CONTROL)
    files = [str(tmp_path / f"{kind}.{side}") for kind in ("train", "valid") for side in ("src", "tgt")]
    small = ["data.vocabulary.kind=char", "model.encoder_layers=1", "model.decoder_layers=1", "model.width=16"]
    small += ["train.max_steps=2", "train.check_every=1", "train.tokens=64", "train.judge_on=2", "train.threads=1"]
    control = [
        "--control",
        str(tmp_path / "control.py"),
        "--control-python",
        sys.executable,
        "--budgets",
        "1",
        "2",
        "9",
    ]
    out = tmp_path / "result.json"
    time_to_bleu.main(
        ["--train", *files[:2], "--valid", *files[2:], *control, "--bleu", "15", "--lower", "--out", str(out)]
        + [argument for setting in small for argument in ("--set", setting)]
    )
    result = json.loads(out.read_text(encoding="utf-8"))
    assert [point["step"] for point in result["curves"]["Saccade"]] == [1, 2]
    assert [point["bleu"] for point in result["curves"]["control"]] == [10, 20]  # the third run was not needed
    assert result["minutes"]["control"] == pytest.approx(1.5)
