"""Windows prefetched by other processes while the run trains on the window before.

A window depends on (seed, epoch, number) alone, so it does not matter which process draws it: batches and saved
positions are the same as without prefetching. torch's DataLoader owns the processes, and ends them with the run.
"""

import multiprocessing
import os
import signal
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count, repeat

import torch
from torch.utils.data import DataLoader, Dataset

from saccade.data.batching import Batches
from saccade.data.corpus import PairWindow, Stream, WindowSource
from saccade.errors import UserError

_MOST = 8  # processes for `auto`: they tokenise as fast as a large GPU trains

Key = tuple[int, int]  # the seed, and the window's number over all epochs


def choose_processes(pairs: WindowSource, requested: int | str, neighbours: int = 1) -> int:
    """Choose the number of processes, 0 for none, if `neighbours` runs share this machine.

    A corpus in memory needs none. The processes are forks, which share the run's memory; where forks are not safe
    (macOS) or do not exist (Windows), windows are drawn when they are needed."""
    forks = sys.platform == "linux" and not multiprocessing.current_process().daemon
    if not isinstance(pairs, Stream) or not forks:
        return 0
    if isinstance(requested, int):
        return requested
    return max(0, min(_MOST, len(os.sched_getaffinity(0)) // neighbours - 1))


@contextmanager
def prefetch_windows(batches: Batches, processes: int) -> Iterator[None]:
    """Draw the windows of `batches` by so many processes until the block is left."""
    stream = batches.pairs
    if not processes or not isinstance(stream, Stream):
        yield
        return
    prefetcher = _Prefetcher(stream, processes)
    prefetcher.start(batches.seed, *batches.next_window())
    batches.draw = prefetcher.draw
    try:
        with _explaining_a_killed_process():  # DataLoader raises as soon as one is gone, wherever the run is
            yield
    finally:
        batches.draw = stream.window
        prefetcher.stop()


@contextmanager
def _postponing_ctrl_c() -> Iterator[None]:
    """Let Ctrl-C take effect at the end of the block. Its handler is replaced: if the signal were only blocked in this
    thread, another thread would receive it, and Python would call the handler here all the same."""
    if threading.current_thread() is not threading.main_thread():  # Ctrl-C never takes effect here
        yield
        return
    received: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: received.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if received:
        signal.raise_signal(signal.SIGINT)


@contextmanager
def _explaining_a_killed_process() -> Iterator[None]:
    try:
        yield
    except RuntimeError as error:
        if not str(error).startswith("DataLoader worker"):
            raise
        raise UserError(
            "a process that prefetches pairs was killed, perhaps because memory ran out; what was saved is intact: "
            "continue with --resume and --set data.processes=0"
        ) from error


class _Prefetcher:
    """Draws windows in the expected order. If another window is requested, prefetching starts again from there."""

    def __init__(self, stream: Stream, processes: int) -> None:
        self._stream, self._processes = stream, processes
        self._expected: Key | None = None
        self._windows: Iterator[PairWindow | UserError] = iter(())

    def draw(self, seed: int, epoch: int, number: int) -> PairWindow:
        key = seed, (epoch - 1) * self._stream.windows + number
        if key != self._expected:
            self.start(seed, epoch, number)
        self._expected = key[0], key[1] + 1
        with _explaining_a_killed_process():
            window = next(self._windows)
        if isinstance(window, UserError):
            raise window
        return window

    def start(self, seed: int, epoch: int, number: int) -> None:
        self.stop()
        place = (epoch - 1) * self._stream.windows + number
        self._expected = seed, place
        with warnings.catch_warnings():  # of forks beside threads, whose locks are not used here, and of few cores
            warnings.simplefilter("ignore")
            loader = DataLoader(
                _DrawnWindows(self._stream.with_own_files()),
                sampler=zip(repeat(seed), count(place)),
                batch_size=None,
                num_workers=self._processes,
                prefetch_factor=1,
                collate_fn=lambda window: window,
                worker_init_fn=_ignore_ctrl_c,
                multiprocessing_context="fork",
                generator=torch.Generator(),  # leaves the state of the run's generator as it is
            )
            self._windows = iter(loader)

    def stop(self) -> None:
        """End the processes, by dropping the last reference to their iterator. Ctrl-C waits for that: in the middle of
        it, Python would ignore the exception, with a warning."""
        with _postponing_ctrl_c():
            self._windows = iter(())


class _DrawnWindows(Dataset[PairWindow | UserError]):
    def __init__(self, stream: Stream) -> None:
        self._stream = stream

    def __getitem__(self, key: Key) -> PairWindow | UserError:
        seed, place = key
        try:
            return self._stream.window(seed, place // self._stream.windows + 1, place % self._stream.windows)
        except UserError as error:  # DataLoader would add a traceback to its message
            return error


def _ignore_ctrl_c(_: int) -> None:
    """Ctrl-C reaches all processes of a terminal; only the run itself reacts to it, and ends the others."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
