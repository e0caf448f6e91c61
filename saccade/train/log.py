"""The log of a run: a live display in a terminal, plain lines elsewhere, metrics.jsonl, and TensorBoard on request."""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Mapping
from datetime import timedelta
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.live import Live
from rich.table import Table

from saccade import files
from saccade.errors import UserError, printable
from saccade.files import parse_json
from saccade.train.learner import Judge, TrainingState, Validation

if TYPE_CHECKING:
    from torch.utils.tensorboard import SummaryWriter


class Log:
    def __init__(self, folder: Path, console: Console | None = None, *, tensorboard: bool = False) -> None:
        if tensorboard and find_spec("tensorboard") is None:
            raise UserError("train.tensorboard needs TensorBoard: pip install tensorboard")
        self.console = console or Console(stderr=True)
        self.metrics = folder / "metrics.jsonl"
        self._live = Live(console=self.console, refresh_per_second=4) if self.console.is_terminal else None
        self._shown: dict[str, str] = {}
        self._printed = 0.0
        self._board_folder = folder / "tensorboard" if tensorboard else None
        self._board: SummaryWriter | None = None

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
        """Drop the entries after `step`, which a resumed run writes again. Entries of averaged weights come last."""
        # A line that is not UTF-8 is damaged, and is dropped like one that a kill cut off.
        lines = self.metrics.read_text(encoding="utf-8", errors="replace").splitlines() if self.metrics.exists() else []
        last = (step, averaged)
        files.write_atomically(self.metrics, "".join(f"{line}\n" for line in lines if _place(line) <= last))
        if self._board_folder is not None:
            from torch.utils.tensorboard import SummaryWriter

            self._board = SummaryWriter(str(self._board_folder), purge_step=step + 1)

    def say(self, text: str) -> None:
        self.console.print(printable(text, keep="\n\t"), highlight=False, markup=False, soft_wrap=True)

    def note(self, **numbers: Any) -> None:
        """Append one line of JSON; a number that is not finite becomes null."""
        numbers = {name: None if isinstance(n, float) and not math.isfinite(n) else n for name, n in numbers.items()}
        try:
            with self.metrics.open("a", encoding="utf-8") as stream:
                stream.write(json.dumps(numbers) + "\n")
        except OSError as error:
            raise UserError(
                f"{self.metrics}: cannot be written: {error.strerror}; the saved run is intact: "
                "free some space and continue with --resume"
            ) from error

    def progress(
        self,
        state: TrainingState,
        *,
        epoch: int,
        loss: float,
        rate: float,
        speed: float,
        done: float,
        perplexity: bool = True,
    ) -> None:
        """Show the progress; as plain lines, at most every ten seconds."""
        left = "?" if done <= 0 else str(timedelta(seconds=round(state.seconds * (1 - done) / done)))
        is_too_low = done > 0 and "validation" not in self._shown  # the first validation takes its time, too
        self._shown |= {
            "step": f"{state.step:,}",
            "epoch": str(epoch),
            "loss": f"{loss:.3f}",
            **({"perplexity": f"{math.exp(min(loss, 20)):.2f}"} if perplexity else {}),
            "lr": f"{rate:.2e}",
            "tokens/s": f"{speed:,.0f}",
            "remaining": f"over {left}" if is_too_low else left,
            "memory": f"{peak_memory() / 2**30:.1f} GiB",
        }
        if self._live is not None:
            table = Table.grid(padding=(0, 2))
            table.add_row(f"{done:4.0%}", *(f"[dim]{name}[/] {value}" for name, value in self._shown.items()))
            self._live.update(table)
        elif time.monotonic() - self._printed > 10:
            self._printed = time.monotonic()
            self.say("  ".join([f"{done:4.0%}", *(f"{name} {value}" for name, value in self._shown.items())]))
        self._draw(state.step, {"loss": loss, "rate": rate, "tokens/s": speed})

    def validated(
        self, state: TrainingState, result: Validation, judge: Judge, *, better: bool, averaged: int | None = None
    ) -> None:
        """Report the weights at this step, or their mean over so many validations."""
        loss, metric = result.scores["loss"], judge.metric
        metrics = {} if metric == "loss" else {judge.label: result.scores[metric]}
        scores = ", ".join([f"loss {loss:.3f}", *map(judge.show, metrics.values())])
        best = "" if state.best is None else f" (best {judge.show(state.best[metric])})"
        self._shown["validation"] = scores + best
        which = f"step {state.step:,}" if averaged is None else f"the mean of {averaged} validations"
        self.say(f"{which}: validation {scores}" + (" (best so far)" if better else best))
        if result.sample is not None:
            self.say(f"  {result.sample}")
        if averaged is None:
            self._draw(state.step, {"valid loss": loss} | metrics)

    def _draw(self, step: int, numbers: Mapping[str, float]) -> None:
        if self._board is not None:
            for name, value in numbers.items():
                self._board.add_scalar(name, value, step)


class SilentLog(Log):
    """The log of every rank but 0: prints and writes nothing."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, Console(quiet=True, force_terminal=False))

    def truncate_after(self, step: int, *, averaged: bool = False) -> None:
        pass

    def note(self, **numbers: Any) -> None:
        pass


def _place(line: str) -> tuple[int, bool]:
    try:
        entry = parse_json(line)
        return int(entry["step"]), "averaged" in entry
    except (ValueError, KeyError, TypeError):  # a line cut off by a kill
        return sys.maxsize, True


def peak_memory() -> int:
    """The most bytes that this process used: GPU memory if it uses a GPU, else main memory."""
    if "torch" in sys.modules and sys.modules["torch"].cuda.is_initialized():
        return int(sys.modules["torch"].cuda.max_memory_allocated())
    if sys.platform == "win32":
        import psutil

        return int(psutil.Process().memory_info().peak_wset)
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # KiB on Linux, bytes on macOS
    return peak if sys.platform == "darwin" else 1024 * peak
