"""Downloads by HTTP: complete, cut off, continued, refused."""

import hashlib
from collections.abc import Callable
from functools import partial
from http.client import HTTPMessage
from io import BytesIO
from itertools import count
from pathlib import Path
from urllib.request import Request

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from loopback import Web

from saccade.errors import UserError
from saccade.public_data.download import WantedFile, _WebRedirects, check_web_address, download

CONTENT = bytes(range(256)) * 1000  # several chunks
Fetch = Callable[..., bytes]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "file.bin"


@pytest.fixture
def fetch(web: Web, place: Path) -> Fetch:
    """fetch(sha256=…) downloads /file.bin and returns what was written"""

    def fetch(path: str = "/file.bin", *, timeout: float = 10, progress: object = None, **known: object) -> bytes:
        wanted = WantedFile(url=web.url + path, **{"most": 10**9, **known})  # type: ignore[arg-type]
        download(wanted, place, timeout=timeout, progress=progress)  # type: ignore[arg-type]
        return place.read_bytes()

    return fetch


def refused(fetch: Fetch, message: str, **options: object) -> None:
    with pytest.raises(UserError, match=message) as error:
        fetch(**options)
    assert "\n" not in str(error.value)


def ranges(web: Web) -> list[str | None]:
    return [asked for _, asked in web.requests]


def test_a_complete_file_is_written_with_progress(web: Web, fetch: Fetch, place: Path) -> None:
    web.put("/file.bin", CONTENT)
    seen: list[tuple[int, int | None]] = []
    assert fetch(progress=lambda *call: seen.append(call)) == CONTENT
    assert seen[-1] == (len(CONTENT), len(CONTENT)) and [*seen] == sorted(seen)
    assert [path.name for path in place.parent.iterdir()] == [place.name]


def test_a_cut_connection_is_continued_at_once(web: Web, fetch: Fetch) -> None:
    web.put("/file.bin", CONTENT, cuts=[1000, 70_000])
    assert fetch() == CONTENT
    assert ranges(web) == [None, "bytes=1000-", "bytes=71000-"]


def test_the_next_call_continues_where_a_connection_brought_nothing_more(web: Web, fetch: Fetch, place: Path) -> None:
    web.put("/file.bin", CONTENT, cuts=[1000, 0])
    refused(fetch, "ended after 1,000 of 256,000 bytes; run the same command again to continue")
    assert not place.exists() and place.with_name("file.bin.part").stat().st_size == 1000
    assert fetch() == CONTENT and ranges(web)[2] == "bytes=1000-"


def test_ctrl_c_keeps_what_has_arrived(web: Web, fetch: Fetch, place: Path) -> None:
    web.put("/file.bin", CONTENT)
    calls = count(1)

    def interrupt(received: int, total: int | None) -> None:
        if next(calls) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fetch(progress=interrupt)
    kept = place.with_name("file.bin.part").stat().st_size
    assert 0 < kept < len(CONTENT) and not place.exists()
    assert fetch() == CONTENT and ranges(web) == [None, f"bytes={kept}-"]


def test_a_file_whose_last_byte_has_arrived_is_not_fetched_again(web: Web, fetch: Fetch) -> None:
    web.put("/file.bin", CONTENT)

    def interrupt(received: int, total: int | None) -> None:
        if received == total:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fetch(progress=interrupt)
    assert fetch() == CONTENT and len(web.requests) == 1


@pytest.mark.parametrize("change", [{"ranges": False}, {"etag": '"two"'}], ids=["no ranges", "another version"])
def test_a_whole_file_instead_of_a_range_starts_again(web: Web, fetch: Fetch, change: dict[str, object]) -> None:
    web.put("/file.bin", b"old" * 1000, cuts=[100, 0])
    refused(fetch, "run the same command again")
    web.put("/file.bin", CONTENT, **change)
    assert fetch() == CONTENT


@pytest.mark.parametrize(
    ("etag", "sha256", "continued"),
    [(None, None, False), ('W/"weak"', None, False), (None, hashlib.sha256(CONTENT).hexdigest(), True)],
    ids=["no version", "weak version", "known checksum"],
)
def test_halves_of_unknown_versions_are_not_joined(
    web: Web, fetch: Fetch, etag: str | None, sha256: str | None, continued: bool
) -> None:
    web.put("/file.bin", CONTENT, etag=etag, cuts=[1000, 0])
    refused(fetch, f"run the same command again to {'continue' if continued else 'start again'}", sha256=sha256)
    assert ranges(web) == [None, "bytes=1000-" if continued else None]
    assert fetch(sha256=sha256) == CONTENT
    assert ranges(web)[-1] == ("bytes=1000-" if continued else None)


def test_the_date_serves_where_there_is_no_strong_etag(web: Web, fetch: Fetch) -> None:
    date = "Wed, 21 Oct 2015 07:28:00 GMT"
    web.put("/file.bin", CONTENT, etag=date, headers={"ETag": 'W/"weak"', "Last-Modified": date}, cuts=[1000])
    assert fetch() == CONTENT and ranges(web) == [None, "bytes=1000-"]


def test_a_range_that_cannot_be_had_starts_again(web: Web, fetch: Fetch, place: Path) -> None:
    web.put("/file.bin", CONTENT, cuts=[1000, 0])
    refused(fetch, "run the same command again")
    web.put("/file.bin", CONTENT[:900])
    assert fetch() == CONTENT[:900] and ranges(web)[-2:] == ["bytes=1000-", None]


@pytest.mark.parametrize(
    "headers",
    [
        {"Content-Range": "bytes 0-255999/256000"},
        {"Content-Range": "bytes 1000-1999/256000"},
        {"Content-Range": "bytes 1000-1999/2000"},
        {"Content-Range": "bytes 1000-*/*"},
        {"ETag": '"two"'},
    ],
)
def test_another_part_than_requested_is_refused(web: Web, fetch: Fetch, headers: dict[str, str]) -> None:
    web.put("/file.bin", CONTENT, cuts=[1000, 0])
    refused(fetch, "run the same command again to continue")
    web.put("/file.bin", CONTENT, headers=headers)
    refused(fetch, "another part than requested; run the same command again")
    web.put("/file.bin", CONTENT)
    assert fetch() == CONTENT and ranges(web)[-1] is None


def test_chunks_are_joined_and_their_end_is_noticed(web: Web, fetch: Fetch) -> None:
    head = {"Transfer-Encoding": "chunked", "Content-Length": ""}
    body = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in (CONTENT[:1000], CONTENT[1000:], b""))
    web.put("/file.bin", body[:-5], headers=head, ranges=False)
    refused(fetch, "the connection ended too early; run the same command again to continue")
    web.put("/file.bin", body, headers=head, ranges=False)
    assert fetch() == CONTENT


@pytest.mark.parametrize("record", [b"", b"[]", b'{"url": 1}', b"\xff", b'{"url": "x", "version": 1, "total": []}'])
def test_a_damaged_record_of_a_partial_download_starts_again(
    web: Web, fetch: Fetch, place: Path, record: bytes
) -> None:
    place.with_name("file.bin.part").write_bytes(b"something else")
    place.with_name("file.bin.part.json").write_bytes(record)
    web.put("/file.bin", CONTENT)
    assert fetch() == CONTENT and ranges(web) == [None]


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.binary(max_size=3000), st.lists(st.integers(1, 1500), max_size=4))
def test_any_cuts_give_the_same_file(web: Web, fetch: Fetch, place: Path, content: bytes, cuts: list[int]) -> None:
    place.unlink(missing_ok=True)
    web.put("/file.bin", content, cuts=cuts)
    assert fetch() == content


def test_a_silent_server_is_given_up(web: Web, fetch: Fetch) -> None:
    web.put("/file.bin", CONTENT, silent=True)
    refused(fetch, r"no data for 0.05 seconds; .* or wait longer by --timeout SECONDS", timeout=0.05)


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (404, r"404 .*: the file is not there .*; check the name, or name a mirror by --mirror URL"),
        (403, r"403 .*: it refuses this file; name a mirror"),
        (500, r"500 .*; try again later"),
        (503, r"503 .*; try again later"),
    ],
)
def test_an_error_of_the_server_says_what_to_do(web: Web, fetch: Fetch, status: int, message: str) -> None:
    web.put("/file.bin", b"<html>", status=status)
    refused(fetch, message)


def test_redirections_are_followed_to_web_addresses_only(web: Web, fetch: Fetch, place: Path, tmp_path: Path) -> None:
    web.put("/there", CONTENT, cuts=[1000])
    web.put("/file.bin", b"", status=302, headers={"Location": "/there"})
    assert fetch() == CONTENT and web.requests[-1] == ("/there", "bytes=1000-")
    place.unlink()
    (tmp_path / "secret").write_text("secret")
    for target in (f"file://{tmp_path}/secret", "ftp://127.0.0.1/secret", "data:,secret"):
        web.put("/file.bin", b"", status=302, headers={"Location": target})
        refused(fetch, "which is not followed|redirects in circles, or to no web address")
    web.put("/file.bin", b"", status=302, headers={"Location": "/file.bin"})
    refused(fetch, "redirects in circles")
    assert not place.exists()


def test_no_redirection_leads_from_https_to_http() -> None:
    secure = Request("https://host/file")
    follow = partial(_WebRedirects().redirect_request, secure, BytesIO(), 302, "Found", HTTPMessage())
    assert follow("https://elsewhere/file") is not None
    with pytest.raises(UserError, match="redirected to http://host/file, which is not followed; expected https"):
        follow("http://host/file")


def test_a_longer_reply_than_announced_is_refused(web: Web, fetch: Fetch, place: Path) -> None:
    web.put("/file.bin", CONTENT, announced=1000)
    refused(fetch, "the reply is longer than the 1,000 bytes that were announced")
    assert list(place.parent.iterdir()) == []


def test_sizes_are_limited(web: Web, fetch: Fetch, place: Path) -> None:
    web.put("/file.bin", CONTENT)
    refused(fetch, r"0.000256 GB or more; expected at most 1e-06 GB: allow more by --max-gb 1", most=1000)
    refused(fetch, "256,000 bytes; expected 5: this is another file", size=5)
    web.put("/file.bin", CONTENT, headers={"Content-Length": ""})
    refused(fetch, "expected at most 1e-06 GB", most=1000)
    assert fetch() == CONTENT  # without an announced length


def test_an_unreachable_server_is_one_line(fetch: Fetch, web: Web) -> None:
    web.url = "http://127.0.0.1:9"  # the port of the discard protocol, on which nothing listens
    refused(fetch, "cannot be reached: Connection refused; check the connection, or name a mirror")


@pytest.mark.parametrize(
    "url",
    ["ftp://host/a", "file:///etc/passwd", "host/a", "http://", "https://host:99999/", "http://[", "http://a b/", ""],
)
def test_other_addresses_are_refused(url: str) -> None:
    with pytest.raises(UserError, match=r"--mirror .*: expected an address that begins with https:// or http://"):
        check_web_address(url, "--mirror")


@pytest.mark.parametrize("url", ["http://me:word@host/", "http://host/?a=1", "http://host/#a"])
def test_addresses_are_plain(url: str) -> None:
    with pytest.raises(UserError, match=r"without a user name, \? or #"):
        check_web_address(url, "--mirror")
