"""Corpora on a local Ray cluster of several nodes: whatever is killed, the output is that of one machine."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from saccade.errors import UserError
from saccade.trained_model import Model, load

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("default")]  # of Ray itself

TEXTS = ["the cat sleeps", "", "a dog eats", "I see the house", "it sleeps", "  ", "a big dog", "we see"]
SLOWLY = {"shortest": 40, "longest": 50, "chunk": 4, "part": 4}
DEADLINE = 200.0  # seconds


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """A head and a second node with one CPU each"""
    as_in_product = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ENABLE_AUTO_CONNECT": "0"}
    os.environ |= {**as_in_product, "RAY_worker_niceness": "0"}  # other tests would starve workers of lower priority
    pytest.importorskip("ray", reason="Ray is not installed: pip install 'saccade[ray]'")
    from ray.cluster_utils import Cluster

    node = {"num_cpus": 1, "object_store_memory": 80 << 20}
    started = Cluster(initialize_head=True, head_node_args={**node, "include_dashboard": False})
    started.add_node(**node)
    yield started
    started.shutdown()


@pytest.fixture
def model(model_folder: Path) -> Model:
    return load(model_folder, device="cpu")


@pytest.fixture
def source(tmp_path: Path) -> Path:
    file = tmp_path / "in.txt"
    file.write_text("".join(f"{text}\n" for text in TEXTS * 8), encoding="utf-8")
    return file


def whole(model: Model, source: Path, **options: Any) -> bytes:
    out = source.with_name("whole")
    model.translate_file(source, out=out, **{name: value for name, value in options.items() if name != "part"})
    return out.read_bytes()


def translate(model: Model, source: Path, cluster: Any, **options: Any) -> list[int]:
    """Translate into `out` → the finished lines at each report"""
    finished: list[int] = []
    then = options.pop("then", lambda: None)

    def progress(done: int, total: int | None) -> None:
        finished.append(done)
        if len(finished) == 2:  # after the first part
            then()

    model.translate_corpus(source, ray_address=cluster.address, device="cpu", progress=progress, **options)
    return finished


def kill_replica() -> None:
    """Kill one process of a replica, as a machine that runs out of memory does"""
    replicas = [process for process in psutil.process_iter(["cmdline"]) if "Replica" in str(process.info["cmdline"])]
    assert replicas
    replicas[0].kill()


def test_killed_worker(cluster: Any, model: Model, source: Path) -> None:
    out, options = source.with_name("out.txt"), {"sample": True, "beam": 2, "temperature": 3, "jsonl": True}
    finished = translate(model, source, cluster, out=out, then=kill_replica, **SLOWLY, **options)
    assert out.read_bytes() == whole(model, source, **SLOWLY, **options)
    assert finished[0] == 0 and finished[-1] == 8 * len(TEXTS) and finished == sorted(finished)
    assert sorted(path.name for path in source.parent.iterdir()) == ["in.txt", "out.txt", "whole"]


def test_killed_node(cluster: Any, model: Model, source: Path) -> None:
    node = cluster.add_node(num_cpus=2, object_store_memory=80 << 20)
    out = source.with_name("out.txt")

    def kill() -> None:
        cluster.remove_node(node, allow_graceful=False)

    translate(model, source, cluster, out=out, replicas=4, then=kill, **SLOWLY)
    assert out.read_bytes() == whole(model, source, **SLOWLY)


def test_killed_command_continues(cluster: Any, model: Model, model_folder: Path, source: Path) -> None:
    out = source.with_name("out.txt")
    flags = [word for name, value in SLOWLY.items() for word in (f"--{name}", str(value))]
    command = [sys.executable, "-m", "saccade", "translate", model_folder, source, "--ray", "--out", out, *flags]
    arguments = [*map(str, command), "--ray-address", cluster.address, "--device", "cpu"]
    started = subprocess.Popen(arguments, cwd="/", stderr=subprocess.DEVNULL)
    parts, until = source.with_name("out.txt.parts"), time.monotonic() + DEADLINE
    while len(list(parts.glob("part-*"))) < 2:
        assert started.poll() is None and time.monotonic() < until
        time.sleep(0.01)
    started.send_signal(signal.SIGKILL)
    started.wait()
    time.sleep(3)  # until Ray has ended the replicas of the killed command, which would write the changed part again
    first, *_ = sorted(parts.glob("part-*"))
    first.write_text("not translated again\n" * 4, encoding="utf-8")
    with pytest.raises(UserError, match="made by another command: --shortest was 40, is 41"):
        translate(model, source, cluster, out=out, **{**SLOWLY, "shortest": 41})
    finished = translate(model, source, cluster, out=out, **SLOWLY)
    assert finished[0] >= 8
    expected = whole(model, source, **SLOWLY).splitlines(keepends=True)
    lines = out.read_bytes().splitlines(keepends=True)
    place = 4 * int(first.name.split("-")[1])
    assert lines[place : place + 4] == [b"not translated again\n"] * 4
    assert lines[:place] == expected[:place] and lines[place + 4 :] == expected[place + 4 :]
    assert not parts.exists()


def test_mistake_is_mended_and_a_folder_holds_the_parts(cluster: Any, model: Model, tmp_path: Path) -> None:
    source, out = tmp_path / "in.jsonl", f"file://{tmp_path}/out/"
    rows = [{"source": text, "id": number} for number, text in enumerate(TEXTS)]
    lines = [json.dumps(row) for row in rows]
    source.write_text("\n".join([*lines[:-1], '{"sauce": 1}']), encoding="utf-8")
    with pytest.raises(UserError, match=r"in\.jsonl:8: there is no 'source'"):
        translate(model, source, cluster, out=out, jsonl=True, chunk=4, part=4)
    source.write_text("\n".join(lines), encoding="utf-8")
    translate(model, source, cluster, out=out, jsonl=True, chunk=4, part=4)
    parts = sorted((tmp_path / "out").glob("part-*.jsonl"))
    assert len(parts) == 2
    assert b"".join(part.read_bytes() for part in parts) == whole(model, source, jsonl=True, chunk=4)


def test_table(cluster: Any, model: Model, tmp_path: Path) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    source, out = tmp_path / "in.parquet", tmp_path / "out.parquet"
    table = pa.table({"source": TEXTS, "id": range(8), "bytes": [b"\xff"] * 8})
    parquet.write_table(table, source, row_group_size=3)
    translate(model, source, cluster, out=out, chunk=2, part=4)
    translated = parquet.read_table(out)
    assert translated.select(table.column_names) == table
    assert translated["line"].to_pylist() == list(range(1, 9))
    assert translated["text"].to_pylist() == [result.text for result in model.translate(TEXTS)]


def test_unwritable_output(model: Model, source: Path) -> None:
    pytest.importorskip("ray", reason="Ray is not installed: pip install 'saccade[ray]'")
    with pytest.raises(UserError, match="cannot be written: there is no folder"):
        model.translate_corpus(source, out=source.parent / "missing" / "out.txt")


def test_nothing_connects_by_itself() -> None:
    """A thread that outlives a run must not connect again: the next run could not, and a cluster could not end."""
    pytest.importorskip("ray", reason="Ray is not installed: pip install 'saccade[ray]'")
    program = (
        "from saccade.decode.cluster import corpus_translation\n"
        "ray = corpus_translation._import_ray()\n"
        "try:\n"
        "    ray.put(1)\n"
        "except ray.exceptions.RaySystemError:\n"
        "    print(ray.is_initialized())\n"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=DEADLINE)
    assert ended.stdout == "False\n", ended.stderr
