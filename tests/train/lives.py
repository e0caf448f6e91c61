"""Runs in processes of their own, one or several together, that end when and how a test says.

They are forked from a server that has torch loaded already, so that a life costs a fraction of a second.
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
class Death:
    """SIGKILL just before file operation number `operation` in the run's folder, or when half of what
    `Path.write_bytes` writes there for the `torn`-th time is on disk. Only the disk outlives a kill: there are no other
    moments."""

    operation: int | None = None
    torn: int | None = None


@dataclass(frozen=True)
class Ended:
    code: int | None  # negative: by that signal
    said: str


def live(
    *arguments: str | Path, out: Path, death: Death | None = None, at: Callable[[], int | None] | None = None
) -> Ended:
    """`saccade ARGUMENTS` to its end. `at` is asked again and again, and may name a signal to send, once."""
    said = out.with_name(f"{out.name}.said")
    process = _server().Process(target=_life, args=([*map(str, arguments)], out, said, death))
    process.start()
    _watch(process, at)
    assert process.exitcode is not None, "the run hangs"
    return Ended(process.exitcode, said.read_text(encoding="utf-8") if said.exists() else "")


def live_together(
    *arguments: str | Path,
    out: Path,
    workers: int,
    at: Callable[[], tuple[int, int] | None] | None = None,
    spoil: Callable[[int], None] | None = None,
) -> list[Ended]:
    """`saccade ARGUMENTS` by so many workers, as torchrun starts them.

    `at` may name, once, a worker and a signal to send to it; `spoil` is called in each worker, with its rank, first.
    """
    from torch.distributed import TCPStore

    store = TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)  # which outlives the workers
    everybody = {"WORLD_SIZE": workers, "LOCAL_WORLD_SIZE": workers, "MASTER_ADDR": "127.0.0.1"}
    everybody |= {"MASTER_PORT": store.port, "TORCHELASTIC_USE_AGENT_STORE": True, "TORCHELASTIC_RESTART_COUNT": 0}
    said = [out.with_name(f"{out.name}.{rank}.said") for rank in range(workers)]
    processes = []
    for rank in range(workers):
        place = {name: str(value) for name, value in ({"RANK": rank, "LOCAL_RANK": rank} | everybody).items()}
        own = ([*map(str, arguments)], out, said[rank], None, place, spoil)
        processes.append(_server().Process(target=_life, args=own))
        processes[-1].start()
    ends = time.monotonic() + DEADLINE
    while any(process.exitcode is None for process in processes) and time.monotonic() < ends:
        if at is not None and (to := at()) is not None:
            os.kill(processes[to[0]].pid or 0, to[1])
            at = None
        time.sleep(0.003 if at is not None else 0.05)
    hanging = [rank for rank, process in enumerate(processes) if process.exitcode is None]
    for rank in hanging:
        processes[rank].kill()
    ended = [
        Ended(process.exitcode, path.read_text(encoding="utf-8") if path.exists() else "")
        for process, path in zip(processes, said)
    ]
    assert not hanging, (hanging, ended)
    return ended


def _watch(process: ForkServerProcess, at: Callable[[], int | None] | None) -> None:
    ends = time.monotonic() + DEADLINE
    while process.exitcode is None and time.monotonic() < ends:
        if at is not None and process.pid is not None and (number := at()) is not None:
            os.kill(process.pid, number)
            at = None
        process.join(0.003 if at is not None else DEADLINE)
    if process.exitcode is None:
        process.kill()


def _life(
    arguments: list[str],
    out: Path,
    said: Path,
    death: Death | None = None,
    place: Mapping[str, str] | None = None,
    spoil: Callable[[int], None] | None = None,
) -> None:
    os.environ.update(place or {})
    stderr = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(stderr, 2)
    sys.stderr = open(2, "w", buffering=1, closefd=False)  # noqa: SIM115
    signal.signal(signal.SIGINT, signal.default_int_handler)  # the server's children ignore Ctrl-C
    import torch

    from saccade.cli import main

    torch.set_num_threads(1)
    if death is not None:
        arm(death, out)
    if spoil is not None:
        spoil(int(os.environ["RANK"]))
    sys.argv = ["saccade", *arguments]
    main()


def arm(death: Death, out: Path) -> None:
    """This process dies at that moment."""
    counted = {"operation": 0, "torn": 0}

    def now(kind: str, number: int | None) -> bool:
        counted[kind] += 1
        return counted[kind] == number

    def on_event(event: str, arguments: tuple[Any, ...]) -> None:
        touches = event == "open" or event.startswith(("os.", "shutil."))
        if touches and str(arguments[0]).startswith(f"{out}{os.sep}") and now("operation", death.operation):
            os.kill(os.getpid(), signal.SIGKILL)

    write = Path.write_bytes

    def write_bytes(path: Path, content: Any) -> int:
        if str(path).startswith(f"{out}{os.sep}") and now("torn", death.torn):
            write(path, content[: len(content) // 2])
            os.kill(os.getpid(), signal.SIGKILL)
        return write(path, content)

    setattr(Path, "write_bytes", write_bytes)  # noqa: B010
    sys.addaudithook(on_event)


def metrics(out: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (out / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
