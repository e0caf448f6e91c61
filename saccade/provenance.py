"""How a result was obtained: machine, versions, commit, seed and command."""

import functools
import os
import platform
import reprlib
import shlex
import sys
from collections.abc import Callable
from contextlib import suppress
from contextvars import ContextVar
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

recorded_command: ContextVar[str | None] = ContextVar("recorded_command", default=None)
_PACKAGES = ("saccade", "torch", "numpy", "entmax", "sentencepiece", "sacrebleu", "ctranslate2", "matplotlib", "triton")
_CHECKOUT = Path(__file__).resolve().parent.parent
_LONGEST_ARGUMENT = 200  # characters


def provenance(seed: int | None = None, command: str | None = None) -> dict[str, Any]:
    """Plain values for JSON; unknown ones are None. `command` is by default the `saccade` command or the call of the
    API that is running, or else the command line of this process."""
    import psutil

    program = Path(sys.argv[0])
    name = program.parent.name if program.name == "__main__.py" else program.name  # python -m saccade
    # Without torch, this process has not used the GPU; importing torch here would take seconds.
    torch = sys.modules.get("torch")
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": command or recorded_command.get() or shlex.join([name, *sys.argv[1:]]),
        "seed": seed,
        "commit": _commit(),
        "machine": {
            "system": platform.platform(terse=True),
            "cpu": _cpu(),
            "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
            "memory_gib": round(int(psutil.virtual_memory().total) / 2**30, 1),
            "gpu": torch.cuda.get_device_name() if torch is not None and torch.cuda.is_available() else None,
        },
        "versions": {"python": platform.python_version(), **_versions()},
    }


def recording_call(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Record this call as the command of the results that it writes, unless it is a part of a recorded one."""

    @functools.wraps(function)
    def call(*arguments: Parameters.args, **named: Parameters.kwargs) -> Result:
        if recorded_command.get() is not None:
            return function(*arguments, **named)
        shown = [*map(_shown, arguments), *(f"{name}={_shown(value)}" for name, value in named.items())]
        token = recorded_command.set(f"saccade.{function.__name__}({', '.join(shown)})")
        try:
            return function(*arguments, **named)
        finally:
            recorded_command.reset(token)

    return call


def _shown(value: object) -> str:
    shortened = reprlib.Repr()
    shortened.maxstring = shortened.maxother = _LONGEST_ARGUMENT
    return " ".join(shortened.repr(str(value) if isinstance(value, Path) else value).split())


def _commit() -> str | None:
    """SACCADE_COMMIT, for copies without a repository; else the commit of this checkout, with -dirty if tracked files
    differ; None if this is not a checkout."""
    if commit := os.environ.get("SACCADE_COMMIT"):
        return commit
    # An installed copy may lie inside another repository (in a .venv). In our checkout, the first line of the answer,
    # the path below the top folder, is empty.
    if _output("git", "-C", str(_CHECKOUT), "rev-parse", "--show-prefix", "--is-inside-work-tree") != "true":
        return None
    return _output("git", "-C", str(_CHECKOUT), "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*")


def _cpu() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return _output("sysctl", "-n", "machdep.cpu.brand_string") or platform.processor() or platform.machine()


def _versions() -> dict[str, str]:
    from importlib.metadata import PackageNotFoundError, version

    versions = {}
    for package in _PACKAGES:
        with suppress(PackageNotFoundError):
            versions[package] = version(package)
    return versions


def _output(*command: str) -> str | None:
    import subprocess

    try:
        result = subprocess.run(command, capture_output=True, text=True, check=True, timeout=20)
    except (OSError, subprocess.SubprocessError):
        return None
    return result.stdout.strip() or None
