"""The log of a run: a live display in a terminal, plain lines elsewhere, metrics.jsonl, and TensorBoard on request."""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.live import Live
from rich.table import Table

from saccade import files
from saccade.errors import UserError, printable
from saccade.files import parse_json

if TYPE_CHECKING:
    from torch.utils.tensorboard import SummaryWriter


class Log:
    def __init__(self, folder: Path, console: Console | None = None, *, tensorboard: bool = False) -> None:
        self.console = console or Console(stderr=True)
        self.metrics = folder / "metrics.jsonl"
        self._live = Live(console=self.console, refresh_per_second=4) if self.console.is_terminal else None
        self._shown: dict[str, str] = {}
        self._said = 0.0
        self._board = Board(folder / "tensorboard") if tensorboard else None

    def __enter__(self) -> Log:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            self._live.stop()
        if self._board is not None:
            self._board.close()

    def truncate_after(self, step: int, *, averaged: bool = False) -> None:
        """Forget what was noted after `step`: a resumed run will come to it again. What was `averaged` comes last."""
        # What is no UTF-8 is a line that is damaged, and is forgotten as one that a kill has cut.
        lines = self.metrics.read_text(encoding="utf-8", errors="replace").splitlines() if self.metrics.exists() else []
        last = (step, averaged)
        files.write_atomically(self.metrics, "".join(f"{line}\n" for line in lines if _place(line) <= last))
        if self._board is not None:
            self._board.open_after(step)

    def say(self, text: str) -> None:
        self.console.print(printable(text, keep="\n\t"), highlight=False, markup=False, soft_wrap=True)

    def note(self, **numbers: Any) -> None:
        """A line of JSON, which has no number that is not finite: null."""
        numbers = {name: None if isinstance(n, float) and not math.isfinite(n) else n for name, n in numbers.items()}
        try:
            with self.metrics.open("a", encoding="utf-8") as stream:
                stream.write(json.dumps(numbers) + "\n")
        except OSError as error:
            raise UserError(
                f"{self.metrics}: cannot be written: {error.strerror}; what was saved is intact: "
                "free some space and go on with --resume"
            ) from error

    def progress(
        self, *, step: int, epoch: int, loss: float, rate: float, speed: float, done: float, seconds: float
    ) -> None:
        """Show where the run is; plain lines at most every ten seconds."""
        self._shown |= {
            "step": f"{step:,}",
            "epoch": str(epoch),
            "loss": f"{loss:.3f}",
            "perplexity": f"{math.exp(min(loss, 20)):.2f}",
            "rate": f"{rate:.2e}",
            "tokens/s": f"{speed:,.0f}",
            "left": self._left(seconds, done),
            "memory": _memory(),
        }
        self._show(f"{done:4.0%}")
        if self._board is not None:
            self._board.write(step, {"loss": loss, "rate": rate, "tokens/s": speed})

    def _left(self, seconds: float, done: float) -> str:
        """At the pace so far. Checks take their time too, so that before the first one this is too little."""
        if done <= 0:
            return "?"
        return ("" if "validation" in self._shown else "over ") + _clock(seconds * (1 - done) / done)

    def checked(self, *, step: int, loss: float, bleu: float | None, better: bool, averaged: int | None = None) -> None:
        """Of the weights at `step`, or of their mean over so many checks."""
        score = f"{loss:.3f}" + ("" if bleu is None else f", BLEU {bleu:.1f}")
        self._shown["validation"] = score
        what = f"step {step:,}" if averaged is None else f"the mean of {averaged} checks"
        self.say(f"{what}: validation loss {score}" + (" (best so far)" if better else ""))
        if self._board is not None and averaged is None:
            self._board.write(step, {"valid loss": loss} | ({} if bleu is None else {"BLEU": bleu}))

    def _show(self, done: str) -> None:
        if self._live is not None:
            table = Table.grid(padding=(0, 2))
            table.add_row(done, *(f"[dim]{name}[/] {value}" for name, value in self._shown.items()))
            self._live.update(table)
        elif time.monotonic() - self._said > 10:
            self._said = time.monotonic()
            self.say(done + "  " + "  ".join(f"{name} {value}" for name, value in self._shown.items()))


class SilentLog(Log):
    """Of a worker that does not lead: neither says nor writes anything."""

    def __enter__(self) -> Log:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def truncate_after(self, step: int, *, averaged: bool = False) -> None:
        pass

    def say(self, text: str) -> None:
        pass

    def note(self, **numbers: Any) -> None:
        pass

    def progress(
        self, *, step: int, epoch: int, loss: float, rate: float, speed: float, done: float, seconds: float
    ) -> None:
        pass

    def checked(self, *, step: int, loss: float, bleu: float | None, better: bool, averaged: int | None = None) -> None:
        pass


def _place(line: str) -> tuple[int, bool]:
    try:
        noted = parse_json(line)
        return int(noted["step"]), "averaged" in noted
    except (ValueError, KeyError, TypeError):  # a line cut off by a kill
        return sys.maxsize, True


def _clock(seconds: float) -> str:
    minutes, seconds = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02d}:{seconds:02d}"


def _memory() -> str:
    return f"{peak_memory() / 2**30:.1f} GiB"


def peak_memory() -> int:
    """Bytes that this process had at most: of the GPU, where it uses one, else resident."""
    if "torch" in sys.modules and sys.modules["torch"].cuda.is_initialized():
        return int(sys.modules["torch"].cuda.max_memory_allocated())
    if sys.platform == "win32":
        import psutil

        return int(psutil.Process().memory_info().peak_wset)
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # KiB on Linux, bytes on macOS
    return peak if sys.platform == "darwin" else 1024 * peak


class Board:
    def __init__(self, folder: Path) -> None:
        if find_spec("tensorboard") is None:
            raise UserError("train.tensorboard needs TensorBoard: pip install 'saccade[tensorboard]'")
        self.folder = folder
        self._writer: SummaryWriter | None = None

    def open_after(self, step: int) -> None:
        """Forget what was written after `step`: a resumed run will come to it again."""
        from torch.utils.tensorboard import SummaryWriter

        self.close()
        self._writer = SummaryWriter(str(self.folder), purge_step=step + 1)

    def write(self, step: int, numbers: Mapping[str, float]) -> None:
        if self._writer is not None:
            for name, value in numbers.items():
                self._writer.add_scalar(name, value, step)

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()
