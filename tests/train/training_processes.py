"""`saccade` commands in processes of their own, one or several together, which a test can signal or kill at any moment.

They are forked from a server that has torch loaded already, so that each takes a fraction of a second.
"""

import json
import os
import signal
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.context import ForkServerContext, ForkServerProcess
from pathlib import Path
from typing import Any

DEADLINE = 400.0  # seconds; only a hang lasts so long


def _server() -> ForkServerContext:
    server = get_context("forkserver")
    server.set_forkserver_preload(["saccade.train.translation", "torch._dynamo", "sacrebleu", "sentencepiece"])
    return server


@dataclass(frozen=True, kw_only=True)
class KillPoint:
    """SIGKILL just before file operation number `operation` in the run's folder, or when half of what
    `Path.write_bytes` writes there for the `torn`-th time is on disk. Only the disk outlives a kill: there are no other
    moments."""

    operation: int | None = None
    torn: int | None = None


@dataclass(frozen=True)
class ProcessResult:
    code: int | None  # negative: the signal that ended it
    stderr: str


def run_saccade(
    *arguments: str | Path,
    out: Path,
    kill: KillPoint | None = None,
    choose_signal: Callable[[], int | None] | None = None,
) -> ProcessResult:
    """Run `saccade ARGUMENTS` to its end. `choose_signal` is called again and again; its first signal is sent."""
    stderr = out.with_name(f"{out.name}.stderr")
    process = _server().Process(target=_run_main, args=([*map(str, arguments)], out, stderr, kill))
    process.start()
    _wait(process, choose_signal)
    assert process.exitcode is not None, "the run hangs"
    return ProcessResult(process.exitcode, stderr.read_text(encoding="utf-8") if stderr.exists() else "")


def run_workers(
    *arguments: str | Path,
    out: Path,
    workers: int,
    choose_signal: Callable[[], tuple[int, int] | None] | None = None,
    prepare: Callable[[int], None] | None = None,
) -> list[ProcessResult]:
    """Run `saccade ARGUMENTS` by so many workers, as torchrun starts them.

    `choose_signal` is called again and again; its first answer is a rank and the signal to send there. `prepare` is
    called in each worker at the beginning, with its rank.
    """
    from torch.distributed import TCPStore

    store = TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)  # which outlives the workers
    shared = {"WORLD_SIZE": workers, "LOCAL_WORLD_SIZE": workers, "MASTER_ADDR": "127.0.0.1"}
    shared |= {"MASTER_PORT": store.port, "TORCHELASTIC_USE_AGENT_STORE": True, "TORCHELASTIC_RESTART_COUNT": 0}
    outputs = [out.with_name(f"{out.name}.{rank}.stderr") for rank in range(workers)]
    processes = []
    for rank in range(workers):
        variables = {name: str(value) for name, value in ({"RANK": rank, "LOCAL_RANK": rank} | shared).items()}
        options = ([*map(str, arguments)], out, outputs[rank], None, variables, prepare)
        processes.append(_server().Process(target=_run_main, args=options))
        processes[-1].start()
    deadline = time.monotonic() + DEADLINE
    while any(process.exitcode is None for process in processes) and time.monotonic() < deadline:
        if choose_signal is not None and (chosen := choose_signal()) is not None:
            rank, number = chosen
            os.kill(processes[rank].pid or 0, number)
            choose_signal = None
        time.sleep(0.003 if choose_signal is not None else 0.05)
    hanging = [rank for rank, process in enumerate(processes) if process.exitcode is None]
    for rank in hanging:
        processes[rank].kill()
    results = [
        ProcessResult(process.exitcode, path.read_text(encoding="utf-8") if path.exists() else "")
        for process, path in zip(processes, outputs)
    ]
    assert not hanging, (hanging, results)
    return results


def _wait(process: ForkServerProcess, choose_signal: Callable[[], int | None] | None) -> None:
    deadline = time.monotonic() + DEADLINE
    while process.exitcode is None and time.monotonic() < deadline:
        if choose_signal is not None and process.pid is not None and (number := choose_signal()) is not None:
            os.kill(process.pid, number)
            choose_signal = None
        process.join(0.003 if choose_signal is not None else DEADLINE)
    if process.exitcode is None:
        process.kill()


def _run_main(
    arguments: list[str],
    out: Path,
    stderr: Path,
    kill: KillPoint | None = None,
    variables: Mapping[str, str] | None = None,
    prepare: Callable[[int], None] | None = None,
) -> None:
    os.environ.update(variables or {})
    os.dup2(os.open(stderr, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 2)
    sys.stderr = open(2, "w", buffering=1, closefd=False)  # noqa: SIM115
    signal.signal(signal.SIGINT, signal.default_int_handler)  # the server's children ignore Ctrl-C
    import torch

    from saccade.cli import main

    torch.set_num_threads(1)
    if kill is not None:
        kill_self_at(kill, out)
    if prepare is not None:
        prepare(int(os.environ["RANK"]))
    sys.argv = ["saccade", *arguments]
    main()


def kill_self_at(kill: KillPoint, out: Path) -> None:
    """From now on, this process kills itself at that moment."""
    counts = {"operation": 0, "torn": 0}

    def is_reached(kind: str, number: int | None) -> bool:
        counts[kind] += 1
        return counts[kind] == number

    def on_event(event: str, arguments: tuple[Any, ...]) -> None:
        touches = event == "open" or event.startswith(("os.", "shutil."))
        if touches and str(arguments[0]).startswith(f"{out}{os.sep}") and is_reached("operation", kill.operation):
            os.kill(os.getpid(), signal.SIGKILL)

    write = Path.write_bytes

    def write_bytes(path: Path, content: Any) -> int:
        if str(path).startswith(f"{out}{os.sep}") and is_reached("torn", kill.torn):
            write(path, content[: len(content) // 2])
            os.kill(os.getpid(), signal.SIGKILL)
        return write(path, content)

    setattr(Path, "write_bytes", write_bytes)  # noqa: B010
    sys.addaudithook(on_event)


def metrics(out: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (out / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
