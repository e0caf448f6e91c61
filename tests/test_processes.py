"""Processes with one thread each, which end with the block that started them."""

import time

import pytest
import torch

from saccade.processes import single_threaded_processes


def test_processes_have_one_thread_each() -> None:
    with single_threaded_processes(2) as pool:
        threads = [pool.submit(torch.get_num_threads) for _ in range(4)]
        assert [future.result() for future in threads] == [1] * 4


def test_an_error_ends_them_at_once() -> None:
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt), single_threaded_processes(1) as pool:
        running = pool.submit(time.sleep, 60)
        while not running.running():
            time.sleep(0.01)
        raise KeyboardInterrupt
    assert time.monotonic() - began < 30
