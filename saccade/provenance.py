"""How a result was obtained: machine, versions, commit, seed and command."""

import os
import platform
import shlex
import subprocess
import sys
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

_PACKAGES = ("saccade", "torch", "numpy", "entmax", "sentencepiece", "sacrebleu", "matplotlib", "triton")
_CHECKOUT = Path(__file__).resolve().parent.parent


def provenance(seed: int | None = None, command: str | None = None) -> dict[str, Any]:
    """Plain values for JSON; unknown ones are None. `command` is that of this process by default."""
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": command if command is not None else shlex.join([_program(Path(sys.argv[0])), *sys.argv[1:]]),
        "seed": seed,
        "commit": _commit(),
        "machine": {
            "system": platform.platform(terse=True),
            "cpu": _cpu(),
            "cores": _cores(),
            "memory_gib": _memory_gib(),
            "gpu": _gpu(),
        },
        "versions": {"python": platform.python_version(), **_versions()},
    }


def _program(path: Path) -> str:
    """`python -m saccade` runs saccade/__main__.py."""
    return path.parent.name if path.name == "__main__.py" else path.name


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


def _cores() -> int | None:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()


def _memory_gib() -> float:
    import psutil

    return round(int(psutil.virtual_memory().total) / 2**30, 1)


def _gpu() -> str | None:
    # Without torch, this process has not used the GPU; importing torch here would take seconds.
    torch = sys.modules.get("torch")
    return torch.cuda.get_device_name() if torch is not None and torch.cuda.is_available() else None


def _versions() -> dict[str, str]:
    versions = {}
    for package in _PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    return versions


def _output(*command: str) -> str | None:
    try:
        result = subprocess.run(command, capture_output=True, text=True, check=True, timeout=20)
    except (OSError, subprocess.SubprocessError):
        return None
    return result.stdout.strip() or None
