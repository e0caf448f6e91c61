"""Windows drawn ahead, by processes of their own, while the one before is still being learnt from.

A window is decided by (seed, epoch, number) alone, so it does not matter who draws it: batches and saved positions are
the same as without. torch's DataLoader keeps the processes, and ends them with the one that began them.
"""

import multiprocessing
import os
import signal
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any

import torch
from torch.utils.data import DataLoader, Dataset

from saccade.data.batching import Batches
from saccade.data.corpus import PairWindow, WindowSource
from saccade.data.streaming import Stream
from saccade.errors import UserError

_MOST = 8  # processes by `auto`: they cut pieces as fast as a large GPU learns from them

Key = tuple[int, int, int]  # seed, epoch, number


def choose_processes(pairs: WindowSource, asked: int | str, neighbours: int = 1) -> int:
    """How many draw ahead, 0 for none, where `neighbours` runs share this machine.

    A corpus in memory has nothing to draw. The processes are forks, which share its memory; where these are not safe
    (macOS) or not there (Windows), windows are drawn when they are needed."""
    forks = sys.platform == "linux" and not multiprocessing.current_process().daemon
    if not isinstance(pairs, Stream) or not forks:
        return 0
    if isinstance(asked, int):
        return asked
    return max(0, min(_MOST, len(os.sched_getaffinity(0)) // neighbours - 1))


@contextmanager
def prefetch_windows(batches: Batches, processes: int) -> Iterator[None]:
    """While open, the windows of `batches` are drawn by so many processes."""
    alone = batches.pairs
    if not processes or not isinstance(alone, Stream):
        yield
        return
    ahead = _Ahead(alone, batches.seed, processes)
    ahead.begin(batches.next_window())
    batches.pairs = ahead
    try:
        with _naming_the_dead():  # DataLoader hears at once of a process that is gone, whatever goes on here
            yield
    finally:
        batches.pairs = alone
        ahead.end()


@contextmanager
def _postponing_ctrl_c() -> Iterator[None]:
    """Ctrl-C takes effect at the end. Its handler is replaced, since blocking the signal in this thread would not do:
    another thread may take it, and Python then calls the handler here all the same."""
    if threading.current_thread() is not threading.main_thread():  # where it never takes effect
        yield
        return
    came: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: came.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if came:
        signal.raise_signal(signal.SIGINT)


@contextmanager
def _naming_the_dead() -> Iterator[None]:
    try:
        yield
    except RuntimeError as error:
        if not str(error).startswith("DataLoader worker"):
            raise
        raise UserError(
            "a process that reads and cuts pairs ahead was killed, perhaps for want of memory; what was saved is "
            "intact: go on with --resume and --set data.processes=0"
        ) from error


class _Ahead:
    """Windows in the order in which they will be asked for; when others are asked for, it begins anew with these."""

    def __init__(self, pairs: Stream, seed: int, processes: int) -> None:
        self._pairs, self._seed, self._processes = pairs, seed, processes
        self._next: tuple[int, int] | None = None  # epoch, number
        self._coming: Iterator[PairWindow | UserError] = iter(())

    @property
    def longest(self) -> tuple[int, int]:
        return self._pairs.longest

    @property
    def tokens(self) -> int:
        return self._pairs.tokens

    @property
    def windows(self) -> int:
        return self._pairs.windows

    def window(self, seed: int, epoch: int, number: int) -> PairWindow:
        if (seed, (epoch, number)) != (self._seed, self._next):
            self._seed = seed
            self.begin((epoch, number))
        self._next = self._after(epoch, number)
        with _naming_the_dead():
            drawn = next(self._coming)
        if isinstance(drawn, UserError):
            raise drawn
        return drawn

    def begin(self, first: tuple[int, int]) -> None:
        self.end()
        self._next = first
        with warnings.catch_warnings():  # about forks beside threads, whose locks these never take, and few cores
            warnings.simplefilter("ignore")
            loader = DataLoader(
                _Drawn(self._pairs.unread()),
                sampler=_Keys(self._seed, first, self.windows),
                batch_size=None,
                num_workers=self._processes,
                prefetch_factor=1,
                collate_fn=_as_it_is,
                worker_init_fn=_hear_only_the_end,
                multiprocessing_context="fork",
                generator=torch.Generator(),  # its own: the run's would go on from another state
            )
            self._coming = iter(loader)

    def end(self) -> None:
        """The processes end with the last reference to what they make. Ctrl-C waits for that: in the middle of it, it
        would be lost, and told of as an exception that was ignored."""
        with _postponing_ctrl_c():
            self._coming = iter(())

    def _after(self, epoch: int, number: int) -> tuple[int, int]:
        return (epoch, number + 1) if number + 1 < self.windows else (epoch + 1, 0)


class _Keys:
    """Of all windows from the first on."""

    def __init__(self, seed: int, first: tuple[int, int], windows: int) -> None:
        self._seed, self._first, self._windows = seed, first, windows

    def __iter__(self) -> Iterator[Key]:
        epoch, number = self._first
        for place in count((epoch - 1) * self._windows + number):
            yield self._seed, place // self._windows + 1, place % self._windows


class _Drawn(Dataset[PairWindow | UserError]):
    def __init__(self, pairs: Stream) -> None:
        self._pairs = pairs

    def __getitem__(self, key: Key) -> PairWindow | UserError:
        try:
            return self._pairs.window(*key)
        except UserError as mistake:  # DataLoader would add a traceback to what it says
            return mistake


def _as_it_is(window: Any) -> Any:
    return window


def _hear_only_the_end(_: int) -> None:
    """Ctrl-C reaches all processes of a terminal; the run itself decides what comes of it, and ends the others."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
