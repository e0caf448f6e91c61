"""Download one file by HTTP(S), so that an interrupted download continues where it stopped.

`FILE.part` grows while data arrives, and `FILE.part.json` holds its address and what the server calls this version of
the file (ETag or Last-Modified). The next attempt asks for the rest, on the condition that the version is the same
(If-Range); a server that ignores ranges, or has another version by now, sends the whole file, and the download starts
again. Only a complete file gets its name.
"""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPException, HTTPMessage, HTTPResponse, IncompleteRead
from pathlib import Path
from typing import IO, Any
from urllib import request
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit

from saccade import __version__
from saccade.errors import Progress, UserError
from saccade.files import explain_unwritable, parse_json, sync, write_json

_CHUNK = 1 << 16  # bytes
_ATTEMPTS = 5  # connections for one file, as long as each brings some data
_LONGEST_RECORD = 1 << 16  # bytes of FILE.part.json
_RANGE_NOT_SATISFIABLE = 416
_PARTIAL = 206
_CONTENT_RANGE = re.compile(r"bytes (\d+)-(\d+)/(\d+)")


@dataclass(frozen=True, kw_only=True)
class WantedFile:
    url: str
    most: int  # bytes
    size: int | None = None  # bytes, where it is known
    sha256: str | None = None  # where it is known


class _ConnectionCutError(Exception):
    """The connection ended before the file did."""


def check_web_address(url: str, name: str) -> None:
    """Refuse what is no plain http or https address; `name` says where it was given."""
    try:
        parts = urlsplit(url)
        valid = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        valid = False
    if not valid or not url.isascii() or not url.isprintable() or " " in url:
        raise UserError(f"{name} {url!r}: expected an address that begins with https:// or http://")
    if parts.username is not None or parts.query or parts.fragment:
        raise UserError(f"{name} {url!r}: expected an address without a user name, ? or #")


def download(wanted: WantedFile, place: Path, *, timeout: float, progress: Progress | None = None) -> None:
    """Write the file to `place`, which must not exist; `progress` gets (bytes so far, bytes in all)."""
    check_web_address(wanted.url, "address")
    partial = PartialFile(place, wanted)
    if partial.is_complete:
        partial.finish()
        return
    for attempt in range(1, _ATTEMPTS + 1):
        partial.drop_unless_continuable()
        before = partial.size
        try:
            with explain_unwritable(partial.path):
                _receive(partial, timeout, progress)
            break
        except _ConnectionCutError as cut:
            if attempt == _ATTEMPTS or partial.size <= before:
                then = "continue" if partial.can_continue else "start again"
                raise UserError(f"{wanted.url}: {cut}; run the same command again to {then}") from cut
    partial.finish()


class PartialFile:
    """What has arrived so far, and which version of the file it belongs to."""

    def __init__(self, place: Path, wanted: WantedFile) -> None:
        self.place, self.wanted = place, wanted
        self.path = place.with_name(f"{place.name}.part")
        self._record = self.path.with_name(f"{self.path.name}.json")
        self.version: str | None = None
        self.total: int | None = None
        self._recall()

    @property
    def size(self) -> int:
        return self.path.stat().st_size if self.path.exists() else 0

    @property
    def is_complete(self) -> bool:
        """Whether an earlier run ended after the last byte, before it could give the file its name."""
        return self.path.exists() and self.total == self.size

    def _recall(self) -> None:
        try:
            known = parse_json(self._record.read_bytes()[:_LONGEST_RECORD])
            url, self.version, self.total = known["url"], known["version"], known["total"]
        except (OSError, ValueError, KeyError, TypeError):
            url = None
        texts = self.version is None or isinstance(self.version, str)
        if url != self.wanted.url or not texts or not isinstance(self.total, int | None):
            self.discard()
        self.drop_unless_continuable()

    def drop_unless_continuable(self) -> None:
        if not self.can_continue:
            self.discard()

    @property
    def can_continue(self) -> bool:
        """Without the name of the version, only a checksum can tell whether two halves belong together."""
        whole = self.wanted.size if self.total is None else self.total
        return (self.version or self.wanted.sha256) is not None and (whole is None or self.size <= whole)

    def discard(self) -> None:
        for leftover in (self.path, self._record):
            leftover.unlink(missing_ok=True)
        self.version = self.total = None

    def begin(self, version: str | None, total: int | None) -> None:
        self.discard()
        self.version, self.total = version, total
        write_json(self._record, {"url": self.wanted.url, "version": version, "total": total})

    def finish(self) -> None:
        sync(self.path)
        self.path.replace(self.place)
        self._record.unlink(missing_ok=True)
        sync(self.place.parent)


def _receive(partial: PartialFile, timeout: float, progress: Progress | None) -> None:
    """Append what one connection brings. Raises _ConnectionCutError if that is not the rest of the file."""
    with _open(partial, timeout) as reply:
        start, total = _agree(partial, reply)
        wanted = partial.wanted
        if reply.will_close and reply.length is not None:
            reply.length = None  # read to the end of the connection, so that a longer reply is noticed
        with partial.path.open("ab") as stream:
            received = start
            while data := _read(reply, partial.wanted.url, timeout):
                received += len(data)
                if total is not None and received > total:
                    stream.close()
                    partial.discard()
                    raise UserError(f"{wanted.url}: the reply is longer than the {total:,} bytes that were announced")
                _refuse_large(wanted, received)
                stream.write(data)
                if progress is not None:
                    progress(received, total)
    if total is not None and received < total:
        raise _ConnectionCutError(f"the connection ended after {received:,} of {total:,} bytes")


def _agree(partial: PartialFile, reply: HTTPResponse) -> tuple[int, int | None]:
    """The byte at which the reply starts, and the size of the whole file, if the server gives it."""
    wanted, headers = partial.wanted, reply.headers
    start, length = 0, _number(headers.get("Content-Length"))
    total = length
    if reply.status == _PARTIAL:
        match = _CONTENT_RANGE.fullmatch(headers.get("Content-Range", ""))
        start, last, total = map(int, match.groups()) if match else (-1, -1, 0)
        is_rest = start == partial.size and last == total - 1 and total == (partial.total or total)
        if not is_rest or (partial.size and _version(headers) not in (None, partial.version)):
            partial.discard()
            raise UserError(f"{wanted.url}: the server sent another part than requested; run the same command again")
    if total is not None:
        _refuse_large(wanted, total)
        if wanted.size not in (None, total):
            raise UserError(f"{wanted.url}: {total:,} bytes; expected {wanted.size:,}: this is another file")
    if start == 0:
        partial.begin(_version(headers), total)
    return start, total


@contextmanager
def _open(partial: PartialFile, timeout: float) -> Iterator[HTTPResponse]:
    url, headers = partial.wanted.url, _headers(partial)
    try:
        reply = _opener().open(request.Request(url, headers=headers), timeout=timeout)
    except HTTPError as error:
        error.close()
        if error.code == _RANGE_NOT_SATISFIABLE and partial.size:
            partial.discard()
            with _open(partial, timeout) as whole:
                yield whole
            return
        raise UserError(f"{url}: {_advise(error.code, error.reason)}") from error
    except TimeoutError as error:
        raise _silence(url, timeout) from error
    except (URLError, HTTPException, OSError) as error:
        reason = getattr(error, "reason", None) or error
        if isinstance(reason, TimeoutError):
            raise _silence(url, timeout) from error
        problem = getattr(reason, "strerror", None) or str(reason) or type(reason).__name__
        raise UserError(
            f"{url}: cannot be reached: {problem}; check the connection, or name a mirror by --mirror URL"
        ) from error
    with reply:
        yield reply


def _headers(partial: PartialFile) -> Mapping[str, str]:
    headers = {"User-Agent": f"saccade/{__version__}", "Accept-Encoding": "identity"}
    if partial.size:
        headers["Range"] = f"bytes={partial.size}-"
        if partial.version is not None:
            headers["If-Range"] = partial.version
    return headers


def _read(reply: HTTPResponse, url: str, timeout: float) -> bytes:
    try:
        return reply.read(_CHUNK)
    except TimeoutError as error:
        raise _silence(url, timeout) from error
    except IncompleteRead as error:
        raise _ConnectionCutError("the connection ended too early") from error
    except (HTTPException, OSError) as error:
        raise _ConnectionCutError(f"the connection was lost ({error})") from error


def _silence(url: str, timeout: float) -> UserError:
    return UserError(
        f"{url}: no data for {timeout:g} seconds; what has arrived is kept: run the same command again to continue, "
        "or wait longer by --timeout SECONDS"
    )


def _advise(code: int, reason: object) -> str:
    if 300 <= code < 400:
        return "the server redirects in circles, or to no web address; name a mirror by --mirror URL"
    problem = f"the server answers {code} {str(reason)[:80]}"
    if code in (404, 410):
        return f"{problem}: the file is not there (any more); check the name, or name a mirror by --mirror URL"
    if code in (401, 403):
        return f"{problem}: it refuses this file; name a mirror by --mirror URL"
    return f"{problem}; try again later, or name a mirror by --mirror URL"


def _refuse_large(wanted: WantedFile, size: int) -> None:
    if size > wanted.most:
        gigabytes = size / 1e9
        raise UserError(
            f"{wanted.url}: {gigabytes:.3g} GB or more; expected at most {wanted.most / 1e9:g} GB: allow more by "
            f"--max-gb {gigabytes + 1:.0f}"
        )


def _version(headers: HTTPMessage) -> str | None:
    """What If-Range may name: a strong ETag, or else the date."""
    tag = headers.get("ETag")
    version = tag if tag and not tag.startswith("W/") else headers.get("Last-Modified")
    return version if version and version.isascii() and version.isprintable() else None


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and text.isascii() and text.isdigit() else None


class _WebRedirects(request.HTTPRedirectHandler):
    """Follow redirections to web addresses alone, and none from https to http."""

    def redirect_request(
        self, req: request.Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> request.Request | None:
        parts = urlsplit(newurl)
        if parts.scheme not in ("http", "https") or (req.type == "https" and parts.scheme == "http"):
            fp.close()
            raise UserError(f"{req.full_url}: redirected to {newurl}, which is not followed; expected https")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _opener() -> Any:
    """As `urllib.request.build_opener`, without files, FTP and data: addresses."""
    opener = request.OpenerDirector()
    for handler in (
        request.ProxyHandler(),
        request.UnknownHandler(),
        request.HTTPHandler(),
        request.HTTPSHandler(),
        request.HTTPDefaultErrorHandler(),
        _WebRedirects(),
        request.HTTPErrorProcessor(),
    ):
        opener.add_handler(handler)
    return opener
