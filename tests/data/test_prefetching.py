"""Prefetched windows are the same as without prefetching, whatever happens to the processes."""

import os
import signal
import threading
import time
from collections.abc import Iterator
from itertools import chain, islice, repeat
from pathlib import Path
from typing import Any

import pytest
import torch
from test_streaming import VOCABULARIES, seen, stream_of

from saccade.data import PairFiles, Selection, Stream
from saccade.data.batching import Batch, Batches
from saccade.data.prefetching import choose_processes, prefetch_windows
from saccade.errors import UserError


def repeat_epochs(batches: Batches) -> Iterator[Batch]:
    return chain.from_iterable(repeat(batches))


def children() -> set[int]:
    """The processes of this one that still run."""
    listed = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text()
    return {int(pid) for pid in listed.split()}


@pytest.fixture(autouse=True)
def no_process_is_left() -> Iterator[None]:
    before = children()
    yield
    deadline = time.monotonic() + 30
    while children() - before and time.monotonic() < deadline:
        time.sleep(0.05)
    assert children() <= before


@pytest.mark.parametrize("processes", [1, 3])
def test_prefetched_batches_and_positions_are_the_same(processes: int) -> None:
    """Seven windows of sampled tokens per epoch, over three epochs."""
    alone, ahead = (Batches(stream_of(buffer=7, sampling=0.2), tokens=60, seed=2) for _ in range(2))
    state = torch.get_rng_state()
    with prefetch_windows(ahead, processes):
        for one, other in zip(islice(repeat_epochs(alone), 60), repeat_epochs(ahead)):
            assert seen([one]) == seen([other])
            assert alone.state() == ahead.state() and alone.epochs == ahead.epochs
        assert ahead.epoch >= 3
        position = ahead.state()
        next(repeat_epochs(ahead))
        ahead.restore(position)  # as a resumed run does
        assert seen([next(repeat_epochs(alone))]) == seen([next(repeat_epochs(ahead))])
        ahead.restore({"epoch": 1, "window": 2, "index": 0})  # a window that is not expected
        alone.restore(ahead.state())
        assert seen(list(islice(repeat_epochs(alone), 9))) == seen(list(islice(repeat_epochs(ahead), 9)))
    assert ahead.draw == ahead.pairs.window
    assert torch.equal(state, torch.get_rng_state())


def test_prefetching_continues_after_a_window_that_is_drawn_already() -> None:
    alone, ahead = (Batches(stream_of(buffer=7), tokens=60, seed=2) for _ in range(2))
    assert seen([next(iter(alone))]) == seen([next(iter(ahead))])
    assert ahead.next_window() == (1, 1)
    with prefetch_windows(ahead, 1):
        assert seen(list(islice(repeat_epochs(alone), 20))) == seen(list(islice(repeat_epochs(ahead), 20)))


def test_processes_share_no_position_in_a_file(tmp_path: Path) -> None:
    path = tmp_path / "pairs.tsv"
    path.write_text("".join(f"the dog {n}\tle chien {n}\n" for n in range(300)), encoding="utf-8")
    selection = Selection.of(PairFiles(str(path))).drop_long(VOCABULARIES, 60)
    alone, ahead = (Batches(Stream([selection], VOCABULARIES, buffer=20), tokens=100) for _ in range(2))
    first = [seen([next(iter(batches))]) for batches in (alone, ahead)]  # opens the file here
    assert first[0] == first[1]
    with prefetch_windows(ahead, 3):
        assert seen(list(islice(repeat_epochs(alone), 120))) == seen(list(islice(repeat_epochs(ahead), 120)))


def test_an_error_in_a_process_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "pairs.tsv"
    path.write_text("".join(f"the dog {n}\tle chien {n}\n" for n in range(30)), encoding="utf-8")
    selection = Selection.of(PairFiles(str(path))).drop_long(VOCABULARIES, 60)
    path.write_text("the dog 0\tle chien 0\n", encoding="utf-8")
    batches = Batches(Stream([selection], VOCABULARIES, buffer=10), tokens=100)
    with prefetch_windows(batches, 1), pytest.raises(UserError, match="has become shorter") as raised:
        list(batches)
    assert "\n" not in str(raised.value) and "Traceback" not in str(raised.value)


def test_a_killed_process_is_reported_in_one_line() -> None:
    batches = Batches(stream_of(buffer=7), tokens=60)
    before = children()
    with prefetch_windows(batches, 1), pytest.raises(UserError, match=r"was killed.*--set data\.processes=0") as raised:
        (drawing,) = children() - before
        os.kill(drawing, signal.SIGKILL)
        list(islice(repeat_epochs(batches), 60))
    assert "\n" not in str(raised.value)


def test_a_killed_process_is_noticed_while_the_run_does_something_else() -> None:
    batches = Batches(stream_of(buffer=7), tokens=60)
    before = children()
    with pytest.raises(UserError, match="was killed"), prefetch_windows(batches, 1):
        (drawing,) = children() - before
        os.kill(drawing, signal.SIGKILL)
        for _ in range(300):
            time.sleep(0.1)
    with pytest.raises(RuntimeError, match="something else"), prefetch_windows(batches, 1):
        raise RuntimeError("something else")


def test_ctrl_c_does_not_end_the_processes() -> None:
    alone, ahead = (Batches(stream_of(buffer=7), tokens=60) for _ in range(2))
    before = children()
    with prefetch_windows(ahead, 1):
        next(repeat_epochs(ahead))
        (drawing,) = children() - before
        os.kill(drawing, signal.SIGINT)
        next(repeat_epochs(alone))
        assert seen(list(islice(repeat_epochs(alone), 40))) == seen(list(islice(repeat_epochs(ahead), 40)))


def test_ctrl_c_takes_effect_after_the_processes_have_ended() -> None:
    ended: list[str] = []
    usual = signal.signal(signal.SIGINT, signal.default_int_handler)  # a run in the background ignores Ctrl-C
    waiting = threading.Event()
    other = threading.Thread(target=waiting.wait, daemon=True)  # a thread that may receive the signal
    other.start()

    received, sent = os.pipe()
    os.set_blocking(sent, False)
    before = signal.set_wakeup_fd(sent)  # Python writes the number of each signal there

    class Ending:
        def __del__(self) -> None:
            assert other.ident is not None
            signal.pthread_kill(other.ident, signal.SIGINT)
            while os.read(received, 1)[0] != signal.SIGINT:  # until the other thread has received it
                continue  # SIGCHLD
            ended.append("all of it")

    batches = Batches(stream_of(buffer=7), tokens=60)
    with pytest.raises(KeyboardInterrupt), prefetch_windows(batches, 1):
        prefetcher: Any = batches.draw
        prefetcher.__self__._windows = Ending()
    signal.set_wakeup_fd(before)
    signal.signal(signal.SIGINT, usual)
    os.close(received)
    os.close(sent)
    waiting.set()
    other.join()
    assert ended == ["all of it"] and batches.draw == batches.pairs.window


def test_the_number_of_processes_follows_the_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = stream_of()
    for cores, neighbours, expected in ((1, 1, 0), (2, 1, 1), (16, 1, 8), (16, 4, 3)):
        monkeypatch.setattr(os, "sched_getaffinity", lambda _, cores=cores: set(range(cores)), raising=False)
        assert choose_processes(stream, "auto", neighbours) == expected
    assert choose_processes(stream, 0) == 0 and choose_processes(stream, 5) == 5
    in_memory: Any = object()
    assert choose_processes(in_memory, 5) == 0
