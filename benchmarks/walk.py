"""Count the files of the package that one command uses: how many files one has to read to follow it.

    python benchmarks/walk.py             # both walks, as lists and counts
    python benchmarks/walk.py --json

The two walks are `saccade translate MODEL FILE` of one sentence, and `saccade train PAIRS` up to its first update. A
file counts if one of its functions ran; a function that ran only while modules were imported does not count. The files
of the model itself (attention, layers, models) are counted separately, as they depend on the paper. A crossing is a
pair of files in different folders of the package, one of which calls the other.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from types import FrameType
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = f"{ROOT / 'saccade'}{os.sep}"
TARGETS = {"translate": 24, "train": 36}  # the most files that a walk should pass outside the model
MODEL = ("attention", "layers", "models")
_FUNCTION = 1  # CO_OPTIMIZED, which the code of a module or of a class body does not have
_TINY = ["--set", "train.max_steps=2"]


class FirstUpdate(BaseException):
    """Ends a training after its first update."""


class Walk:
    """Records which functions of the package run, and which file called them."""

    def __init__(self) -> None:
        self.files: set[str] = set()
        self.crossings: set[tuple[str, str]] = set()
        self.ends_at_update = False

    def __call__(self, frame: FrameType, event: str, argument: object) -> None:
        path = frame.f_code.co_filename
        if event == "call" and path.startswith(PACKAGE) and frame.f_code.co_flags & _FUNCTION:
            if not _is_importing(frame):
                self._record(path, frame)
        elif event == "return" and self.ends_at_update and frame.f_code.co_name == "step" and "/torch/optim/" in path:
            stop(self)
            raise FirstUpdate

    def _record(self, path: str, frame: FrameType) -> None:
        self.files.add(path)
        caller = frame.f_back
        while caller is not None and not caller.f_code.co_filename.startswith(PACKAGE):
            caller = caller.f_back
        if caller is not None and Path(path).parent != Path(caller.f_code.co_filename).parent:
            self.crossings.add((caller.f_code.co_filename, path))

    def summary(self) -> dict[str, Any]:
        files = sorted(path.removeprefix(PACKAGE) for path in self.files)
        outside = [path for path in files if Path(path).parts[0] not in MODEL]
        return {"files": files, "all": len(files), "count": len(outside), "crossings": len(self.crossings)}


def _is_importing(frame: FrameType | None) -> bool:
    """Whether a module of the package is being imported further out."""
    while frame is not None:
        if frame.f_code.co_name == "<module>" and frame.f_code.co_filename.startswith(PACKAGE):
            return True
        frame = frame.f_back
    return False


def start(walk: Walk) -> None:
    threading.setprofile(walk)
    sys.setprofile(walk)


def stop(walk: Walk) -> None:
    walk.ends_at_update = False
    threading.setprofile(None)
    sys.setprofile(None)


def trace(arguments: list[str], out: Path) -> None:
    """Run `saccade ARGUMENTS` in this process, and write its walk as JSON."""
    from saccade.cli import main

    sys.argv = ["saccade", *arguments]
    walk = Walk()
    walk.ends_at_update = arguments[0] == "train"
    start(walk)
    try:
        main()
    except (FirstUpdate, SystemExit) as ending:
        if isinstance(ending, SystemExit) and ending.code not in (0, None):
            raise
    finally:
        stop(walk)
    out.write_text(json.dumps(walk.summary()), encoding="utf-8")


def measure() -> dict[str, dict[str, Any]]:
    """Both walks, each in a process of its own, so that nothing is left from the other."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        words = [("un", "one"), ("deux", "two"), ("trois", "three"), ("quatre", "four"), ("cinq", "five")]
        pairs = [f"{a} {b} {c}\t{x} {y} {z}\n" for a, x in words for b, y in words for c, z in words]
        (folder / "pairs.tsv").write_text("".join(pairs), encoding="utf-8")
        (folder / "sentence.txt").write_text("un deux trois\n", encoding="utf-8")
        training = ["train", "pairs.tsv", "--out"]
        _run(folder, ["-m", "saccade", *training, "model", *_TINY])
        walks = {"translate": ["translate", "model", "sentence.txt"], "train": [*training, "other"]}
        for command, arguments in walks.items():
            _run(folder, [str(Path(__file__).resolve()), "--trace", f"{command}.json", *arguments])
        return {command: json.loads((folder / f"{command}.json").read_text("utf-8")) for command in walks}


def _run(folder: Path, arguments: list[str]) -> None:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
    result = subprocess.run([sys.executable, *arguments], cwd=folder, env=environment, capture_output=True, text=True)
    if result.returncode:
        raise SystemExit(f"{' '.join(arguments)} failed:\n{result.stderr}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print the walks as JSON")
    parser.add_argument("--trace", type=Path, metavar="OUT", help=argparse.SUPPRESS)
    options, command = parser.parse_known_args()
    if options.trace is not None:
        trace(command, options.trace)
        return
    walks = measure()
    if options.json:
        print(json.dumps(walks, indent=2))
        return
    for name, walk in walks.items():
        of_model = walk["all"] - walk["count"]
        print(f"saccade {name}: {walk['count']} files (target: {TARGETS[name]}), {of_model} more of the model itself")
        print(f"crossings between folders: {walk['crossings']}")
        print("".join(f"  {path}\n" for path in walk["files"]))


if __name__ == "__main__":
    main()
