"""A web server on this machine, whose replies tests decide."""

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread


@dataclass(kw_only=True)
class Reply:
    content: bytes = b""
    status: int = 200
    etag: str | None = '"one"'
    ranges: bool = True  # False: the server ignores Range
    cuts: list[int] = field(default_factory=list)  # bytes after which the first connections end
    announced: int | None = None  # Content-Length, where it is not the truth
    silent: bool = False  # sends its head, and then nothing
    headers: dict[str, str] = field(default_factory=dict)


class Web:
    """`web.replies["/a.txt"] = Reply(content=b"…")`; `web.requests` lists (path, Range) of what was asked for."""

    def __init__(self) -> None:
        self.replies: dict[str, Reply] = {}
        self.requests: list[tuple[str, str | None]] = []
        self.ending = Event()
        self.url = ""

    def put(self, path: str, content: bytes, **options: object) -> Reply:
        reply = self.replies[path] = Reply(content=content, **options)  # type: ignore[arg-type]
        return reply


@contextmanager
def serve() -> Iterator[Web]:
    web = Web()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            web.requests.append((self.path, self.headers["Range"]))
            reply = web.replies.get(self.path, Reply(status=404))
            with suppress(ConnectionError):
                self.answer(reply)

        def answer(self, reply: Reply) -> None:
            body, status, headers = reply.content, reply.status, dict(reply.headers)
            asked = re.fullmatch(r"bytes=(\d+)-", self.headers["Range"] or "")
            if asked and status == 200 and reply.ranges and self.headers["If-Range"] in (None, reply.etag):
                start = int(asked[1])
                status, body = (206, body[start:]) if start < len(body) else (416, b"")
                headers.setdefault("Content-Range", f"bytes {start}-{len(reply.content) - 1}/{len(reply.content)}")
            self.send_response(status)
            headers.setdefault("Content-Length", str(len(body) if reply.announced is None else reply.announced))
            if reply.etag is not None:
                headers.setdefault("ETag", reply.etag)
            for name, value in headers.items():
                if value:
                    self.send_header(name, value)
            self.end_headers()
            if reply.silent:
                web.ending.wait()
                return
            self.wfile.write(body[: reply.cuts.pop(0)] if reply.cuts else body)

        def log_message(self, format: str, *arguments: object) -> None:
            """Keep the output of tests clean."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    web.url = f"http://127.0.0.1:{server.server_port}"
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield web
    finally:
        web.ending.set()
        server.shutdown()
        server.server_close()
        thread.join()
