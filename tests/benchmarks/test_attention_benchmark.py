import json
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch

from saccade.attention import ATTENTIONS
from saccade.study import cost

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))
import attention  # noqa: E402  (benchmarks/ is no package: its scripts are found by path)
import contenders  # noqa: E402
import cost_tables  # noqa: E402

CPU = torch.device("cpu")
TINY = ["--width", "8", "--heads", "2", "--repeats", "1"]


def run(path: Path, *arguments: str) -> dict[str, Any]:
    assert attention.main([*TINY, "--out", str(path), *arguments]) == 0
    result: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return result


@pytest.mark.slow
def test_a_tiny_run_prints_tables_and_writes_json(tmp_path: Path) -> None:
    out = tmp_path / "new" / "result.json"
    script = [sys.executable, "-W", "error", str(ROOT / "benchmarks" / "attention.py")]
    chosen = ["--only", "vaswani2017,luong2015-local-m-concat,xu2015", "--lengths", "8,4", "--threads", "1"]
    done = subprocess.run(
        [*script, *TINY, *chosen, "--seed", "3", "--out", str(out)], capture_output=True, text=True, check=True
    )
    assert "time, forward+backward" in done.stdout and "memory, forward" in done.stdout
    assert "profiler" not in done.stderr  # which would announce each start

    result = json.loads(out.read_text(encoding="utf-8"))
    labels = ["vaswani2017", "vaswani2017 + weights", "xu2015"]
    labels += ["luong2015-local-m-concat", "luong2015-local-m-concat + weights", contenders.SDPA]
    cells = result["cells"]
    assert {(c["label"], c["direction"], c["length"]) for c in cells} == {
        (label, direction, n) for label in labels for direction in ("forward", "forward+backward") for n in (4, 8)
    }
    assert all(c["seconds"] > 0 and c["peak_bytes"] > 0 and c["samples"] for c in cells)
    assert {c["ratio_to_sdpa"] for c in cells if c["mechanism"] == contenders.SDPA} == {1.0}
    assert all(fit["time"]["lengths"] == fit["memory"]["lengths"] == [4, 8] for fit in result["growth"])
    assert result["complete"] and result["options"]["lengths"] == [4, 8] and result["options"]["threads"] == 1
    assert result["provenance"]["seed"] == 3 and "--seed 3" in result["provenance"]["command"]


def test_every_attention_is_a_contender_and_gives_gradients() -> None:
    every = list(contenders.contenders(8, 2))
    assert {c.name for c in every} == {contenders.SDPA, contenders.TORCH, contenders.LOOP, *ATTENTIONS}
    # The three windows by position, and a fused one, are measured with their weights too.
    with_weights = {c.name for c in every if c.weights}
    assert {"luong2015-local-m-concat", "beltagy2020", "liu2018", "vaswani2017", contenders.TORCH} <= with_weights
    sentence = torch.randn(1, 5, 8, requires_grad=True)
    for contender in every:
        made = contender.read(sentence)
        (gradient,) = torch.autograd.grad(made, sentence, [torch.ones_like(out) for out in made])
        assert gradient.isfinite().all(), contender.label


def test_the_loop_computes_what_sdpa_does() -> None:
    by_name = {c.name: c for c in contenders.contenders(8, 2, (contenders.LOOP,))}
    sentence = torch.randn(2, 7, 8)
    torch.testing.assert_close(by_name[contenders.LOOP].read(sentence), by_name[contenders.SDPA].read(sentence))


def test_peak_memory_of_known_cases() -> None:
    def two_of_three_at_once() -> None:
        first, second = torch.empty(1000), torch.empty(3000)
        del first
        torch.empty(500)
        del second

    lived_before = torch.randn(1, 2, 256, 16)

    def with_weights() -> None:
        scores = lived_before @ lived_before.transpose(-1, -2)
        torch.softmax(scores, -1)

    assert cost.peak_bytes(two_of_three_at_once, CPU) == 4 * 4000
    assert cost.peak_bytes(with_weights, CPU) == 4 * 2 * (2 * 256 * 256)  # scores and weights of two heads
    assert cost.peak_bytes(lambda: lived_before.transpose(0, 1), CPU) == 0


def test_the_fused_kernel_holds_less_than_the_weights() -> None:
    both = [c for c in contenders.contenders(8, 2, ("vaswani2017",)) if c.name == "vaswani2017"]
    sentence = torch.randn(1, 256, 8)
    with torch.no_grad():
        fused, with_weights = (cost.peak_bytes(partial(c.read, sentence), CPU) for c in both)
    weights = 4 * 2 * 256 * 256
    assert fused < weights <= with_weights


def test_growth_is_the_exponent_of_the_longest_lengths() -> None:
    lengths = [64, 128, 256, 512, 1024, 2048]
    quadratic = cost.growth(lengths, [1.0, 1.0, *(3e-6 * n**2 for n in lengths[2:])])
    assert quadratic == {"exponent": pytest.approx(2.0), "lengths": lengths[2:]}
    assert cost.growth([64], [1.0]) is None
    assert cost.growth([64, 128], [5.0, 10.0]) == {"exponent": pytest.approx(1.0), "lengths": [64, 128]}


def test_cell_that_would_not_fit_is_skipped_with_the_reason(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    result = run(tmp_path / "result.json", "--only", "bahdanau2014", "--lengths", "128", "--gib-per-cell", "0.0005")
    skipped = {c["label"]: c["skipped"] for c in result["cells"] if "skipped" in c}
    assert skipped.keys() == {"bahdanau2014"} and "GiB" in skipped["bahdanau2014"]
    assert "bahdanau2014 (forward)" in capsys.readouterr().out


def test_slow_length_ends_its_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attention, "seconds", lambda call, device, calls=1: 3.0)
    result = run(tmp_path / "slow.json", "--only", "weightless", "--lengths", "4,8,16")
    assert {c["length"] for c in result["cells"] if "seconds" in c} == {4}
    assert {c["skipped"] for c in result["cells"] if c["length"] > 4} == {
        "length 4 took 3.0 s, more than the 2 s of a cell"
    }
    assert all(fit["time"] is None for fit in result["growth"])


def test_a_missing_package_skips_its_attentions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "entmax", None)
    result = run(tmp_path / "result.json", "--only", "martins2016,peters2019", "--lengths", "4")
    skipped = {c["label"]: c["skipped"] for c in result["cells"] if "skipped" in c}
    assert skipped == dict.fromkeys(["martins2016", "peters2019"], "needs the package entmax, which is not installed")


def test_an_interruption_keeps_what_was_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    measure = attention.Run._measure

    def interrupted(self: attention.Run, length: int, direction: str, progress: cost_tables.Progress) -> None:
        if length == 8:
            raise KeyboardInterrupt
        measure(self, length, direction, progress)

    monkeypatch.setattr(attention.Run, "_measure", interrupted)
    out = tmp_path / "result.json"
    assert attention.main([*TINY, "--only", "weightless", "--lengths", "4,8", "--out", str(out)]) == 130
    result = json.loads(out.read_text(encoding="utf-8"))
    assert not result["complete"] and {c["length"] for c in result["cells"]} == {4}


def test_without_rich_the_tables_are_plain(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(cost_tables, "RICH", False)
    run(tmp_path / "result.json", "--only", "weightless", "--lengths", "4")
    printed = capsys.readouterr()
    assert "forward of 4" in printed.err
    assert any(line.split()[:2] == ["attention", "4"] for line in printed.out.splitlines())


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--only", "vaswani"], "no attention is named vaswani"),
        (["--lengths", "64,long"], "got '64,long'"),
        (["--width", "10", "--heads", "4"], "heads must divide the width"),
    ],
)
def test_mistakes_are_reported(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_:
        attention.main(arguments)
    assert exit_.value.code == 2 and said in capsys.readouterr().err


def test_the_page_shows_the_results() -> None:
    page = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    fresh = "stale: run python benchmarks/attention.py --page docs/benchmarks.md"
    assert cost_tables.refresh(page, attention.RESULTS) == page, fresh
    assert "<!-- table: attention-cpu.json -->" in page
