import pytest
import torch

from saccade.decode import find_device
from saccade.errors import UserError


def test_auto_takes_the_fastest_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    for cuda, mps, expected in ((True, True, "cuda"), (False, True, "mps"), (False, False, "cpu")):
        monkeypatch.setattr(torch.cuda, "is_available", lambda there=cuda: there)
        monkeypatch.setattr(torch.backends.mps, "is_available", lambda there=mps: there)
        assert find_device().type == expected


def test_a_device_that_is_not_there_is_refused_in_one_line() -> None:
    assert find_device("cpu") == find_device(torch.device("cpu")) == torch.device("cpu")
    for name in ("gpu", "cuda:99"):
        with pytest.raises(UserError, match="expected auto, cpu, cuda or mps") as raised:
            find_device(name)
        assert "\n" not in str(raised.value)
