"""Processes that compute side by side with one thread each, and end with this one."""

import multiprocessing
import os
import signal
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager


@contextmanager
def single_threaded_processes(count: int) -> Iterator[ProcessPoolExecutor]:
    """Within this block, up to `count` processes compute what is submitted. An error or Ctrl-C ends them at once.

    Ctrl-C reaches every process of a terminal. Those started here ignore it, even while they still import: this
    process ends them and prints one message.
    """
    pool = ProcessPoolExecutor(
        count, multiprocessing.get_context("spawn"), initializer=os.putenv, initargs=("OMP_NUM_THREADS", "1")
    )
    with pool:
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            for _ in range(count):  # a process is started when something is submitted and none is idle
                pool.submit(os.getpid)
        finally:
            signal.signal(signal.SIGINT, before)
        try:
            yield pool
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for process in multiprocessing.active_children():
                process.terminate()
            raise
