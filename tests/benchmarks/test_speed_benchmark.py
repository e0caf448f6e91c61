"""benchmarks/speed.py measures every row of every table, here with tiny sizes and without the peers' environments."""

import json
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))
import arithmetic  # noqa: E402  (benchmarks/ is no package: its scripts are found by path)
import contest  # noqa: E402
import ours  # noqa: E402
import peers  # noqa: E402
import plain_torch  # noqa: E402
import profile_step  # noqa: E402
import speed  # noqa: E402
import speed_growth  # noqa: E402
import speed_rows  # noqa: E402
from work import Work  # noqa: E402

RANDOM = partial(Work, name="random", vocabulary=50, rows=3, source=6, target=5)


@pytest.fixture(autouse=True)
def no_environments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peers, "FOLDER", tmp_path / "no peers")


def run(out: Path, table: str, *rows: str) -> dict[str, Any]:
    small = ["--tiny", "--rounds", "1", "--tokens", "128", "--updates", "4", "--rows", ",".join(rows)]
    speed.main([table, *small, "--out", str(out)])
    result: dict[str, Any] = json.loads(out.read_text(encoding="utf-8"))
    return result


@pytest.mark.parametrize(
    ("table", "rows"),
    [
        ("cpu-training", ["rnn", "transformer"]),
        ("cpu-decoding", ["base", "rnn"]),
        ("gpu-training", ["base", "cho2014", "tiny-loop"]),
        ("gpu-decoding", ["base-float16-64", "bahdanau2014-float32-64"]),
    ],
)
def test_each_table_is_measured_and_recorded(tmp_path: Path, table: str, rows: list[str]) -> None:
    result = run(tmp_path / "new" / "result.json", table, *rows)
    assert [row["row"] for row in result["rows"]] == rows
    for row in result["rows"]:
        assert row["flops_per_unit"] > 0 and (row["bytes_per_unit"] is not None) == table.endswith("decoding")
        measured = {entry["name"]: entry for entry in row["contestants"] if "median" in entry}
        assert measured["Saccade"]["median"] > 0 and measured["Saccade"]["share_of_matmul"] > 0
        assert len(measured["Saccade"]["rounds"]) == 1
    assert result["provenance"]["seed"] == 1 and result["floors"]


def test_every_row_has_tiny_sizes() -> None:
    for table in speed_rows.TABLES.values():
        rows = table(speed_rows.Options(tiny=True))
        rows.pop("tiny-loop", None)  # which is prepared from text
        assert all(prepare().work.device == "cpu" for prepare in rows.values())


def test_ours_is_compared_with_the_best_peer() -> None:
    entries: list[dict[str, Any]] = [
        {"name": "Saccade", "peer": False, "median": 6.0},
        {"name": "Saccade, compiled", "peer": False, "median": 7.0},
        {"name": "slow", "peer": True, "median": 2.0},
        {"name": "fast", "peer": True, "median": 3.0},
        {"name": "missing", "peer": True, "skipped": "not installed"},
    ]
    assert speed.compare(entries) == {"best_peer": "fast", "ratio_to_best_peer": 2.0}
    assert speed.compare(entries[:1])["ratio_to_best_peer"] is None


def test_a_peer_that_fails_is_skipped_with_its_reason() -> None:
    program = "import json; print(json.dumps({'failed': 'no such thing'}))"
    ended = "import sys; print('{}', flush=True); input(); sys.exit(3)"
    failing, ending = (contest.Subprocess("peer", [sys.executable, "-c", code]) for code in (program, ended))
    entries = contest.compete([failing, ending], 2, per="seconds")
    assert [entry["skipped"] for entry in entries] == ["no such thing", "the program ended with exit code 3"]
    absent = peers.contestant(
        peers.Peer("peer", "nowhere", "peer.py", "no_such_module"), RANDOM(phase="training", model="")
    )
    assert absent.skipped == "not installed: python benchmarks/peers.py nowhere"


def test_peers_get_the_same_pairs() -> None:
    work = RANDOM(phase="training", model="vaswani2017", shorter=2, settings={"width": 8})
    assert Work.from_json(work.to_json()).pairs() == work.pairs()
    sources, targets = work.pairs()
    assert len(sources[0]) == 5 and {len(source) for source in sources} <= {3, 4, 5}
    assert work.units == sum(len(target) + 1 for target in targets)


MODELS: list[tuple[str, dict[str, Any]]] = [
    ("vaswani2017", {"preset": "tiny", "encoder_layers": 1}),
    ("bahdanau2014", {"preset": "tiny"}),
    ("bahdanau2014", {"preset": "tiny", "decoder": "conditional"}),
    ("luong2015", {"preset": "tiny", "bidirectional": True}),
    ("sutskever2014", {"preset": "tiny"}),
    ("cho2014", {"preset": "tiny"}),
]


@pytest.mark.parametrize(("model", "settings"), MODELS)
def test_counted_operations_are_those_that_torch_counts(model: str, settings: dict[str, Any]) -> None:
    work = RANDOM(phase="training", model=model, settings=settings, vocabulary=500, source=30, target=30)
    net, batch = ours.build(work).eval(), ours.batch_of(work)
    with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:  # fused kernels are not counted
        net(batch.source, batch.source_readable, batch.target_in)
    counted = 3 * counter.get_total_flops() / (work.rows * work.target)
    assert arithmetic.flops_per_unit(net, work) == pytest.approx(counted, rel=0.05)


def test_a_search_needs_more_operations_with_a_wider_beam() -> None:
    work = RANDOM(phase="decoding", model="vaswani2017", settings={"preset": "tiny"})
    with torch.device("meta"):
        net = ours.build(work)
    assert arithmetic.flops_per_unit(net, work.resized(beam=10)) > 1.7 * arithmetic.flops_per_unit(net, work)
    half, whole = (arithmetic.decoding_bytes(net, work.resized(dtype=dtype)) for dtype in ("bfloat16", "float32"))
    assert whole == 2 * half


def test_the_plain_models_learn() -> None:
    """They are peers only if they are trained by what is measured."""
    for model, build in (("vaswani2017", plain_torch.TorchTransformer), ("luong2015", plain_torch.NaiveRecurrent)):
        settings = speed_rows.TINY if model == "vaswani2017" else {"embedding": 16, "hidden": 16}
        work = RANDOM(phase="training", model=model, settings=settings)
        net = build(work)
        before = {name: weight.clone() for name, weight in net.named_parameters()}
        plain_torch.training_step(net, work, net)()
        assert all((weight != before[name]).any() for name, weight in net.named_parameters()), model


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["cpu-training", "--rows", "rnn,lstm"], "no row is named lstm; expected some of rnn, rnn-conditional"),
        (["gpu-training"], "gpu-training needs a CUDA GPU; --tiny runs it on the CPU"),
    ],
)
def test_mistakes_are_reported(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(SystemExit) as exit_:
        speed.main(arguments)
    assert exit_.value.code == 2 and said in capsys.readouterr().err


@pytest.mark.slow
def test_a_peer_runs_in_its_own_process() -> None:
    """plain_torch stands in for a peer that is not installed here."""
    program = f"import sys; sys.path.insert(0, {str(ROOT / 'benchmarks')!r}); import contest, plain_torch; "
    program += "contest.serve(plain_torch.transformer_step, {'peer': '1'})"
    work = RANDOM(phase="training", model="vaswani2017", settings=speed_rows.TINY)
    peer = contest.Subprocess("peer", [sys.executable, "-c", program, work.to_json()])
    (entry,) = contest.compete([peer], 2, per="cpu_seconds")
    assert entry["versions"] == {"peer": "1"} and len(entry["speeds"]) == 2


def test_growth_changes_one_quantity_at_a_time(tmp_path: Path) -> None:
    out = tmp_path / "growth.json"
    speed_growth.main(
        ["--tiny", "--rounds", "1", "--models", "bahdanau2014", "--phases", "decoding", "--out", str(out)]
    )
    cells = json.loads(out.read_text(encoding="utf-8"))["cells"]
    assert {cell["quantity"] for cell in cells} == {"length", "batch", "vocabulary", "width"}
    assert all(cell["median"] > 0 and cell["share_of_matmul"] > 0 for cell in cells)
    grid = speed_growth.GRIDS["tiny"]
    for quantity, value, work in speed_growth.works("vaswani2017", "training", grid, "cpu"):
        sizes = {
            "length": (work.source, 5),
            "batch": (work.rows, 3),
            "vocabulary": (work.vocabulary, 50),
            "width": (work.settings["width"], 128),
        }
        assert sizes[quantity][0] == value
        assert all(size == middle for name, (size, middle) in sizes.items() if name != quantity)


@pytest.mark.parametrize(("table", "row"), [("cpu-training", "rnn"), ("cpu-decoding", "base")])
def test_a_profile_lists_the_costliest_operations(tmp_path: Path, table: str, row: str) -> None:
    out = tmp_path / "profile.json"
    profile_step.main([row, "--table", table, "--tiny", "--out", str(out)])
    result = json.loads(out.read_text(encoding="utf-8"))
    shares = [entry["share"] for entry in result["top"]]
    assert shares == sorted(shares, reverse=True) and 0 < sum(shares) <= 1
    assert result["milliseconds_per_step"] > 0 and result["idle_share"] is None and result["launches_per_step"] == 0


def test_idle_time_is_what_no_kernel_covers() -> None:
    assert profile_step.busy([(5.0, 7.0), (0.0, 2.0), (1.0, 3.0), (1.5, 2.5)]) == 5.0
