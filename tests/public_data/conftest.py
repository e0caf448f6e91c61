"""A web server for the tests of downloads."""

from collections.abc import Iterator

import pytest
from loopback import Web, serve


@pytest.fixture
def web(monkeypatch: pytest.MonkeyPatch) -> Iterator[Web]:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with serve() as started:
        yield started
