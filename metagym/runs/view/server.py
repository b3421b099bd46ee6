"""The viewer's server: HTTP on the loopback alone, reading alone.

What stands between a run and the reader's browser:

* It listens on 127.0.0.1, and answers only requests that name it so (``Host``): a page of another site whose name was
  made to point here ("DNS rebinding") gets nothing.
* It knows GET and HEAD. Addresses are matched against a fixed table; runs are named by digests and things in them by
  numbers, digests or ids that are looked up, so no part of an address ever becomes a path.
* Every answer forbids the browser to load or run anything but our own files (Content-Security-Policy), to guess types,
  to frame the page, and, where the browser knows Trusted Types, to make markup of a text at all.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import resources
from types import TracebackType
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from metagym.checks import whole
from metagym.errors import BadInput, MetaGymError, UnknownName
from metagym.runs.report.frame import templates
from metagym.runs.view import facts, lists, pages
from metagym.runs.view.catalogue import Catalogue, Run
from metagym.runs.view.figures import as_file, drawn

HOST = "127.0.0.1"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; "
    "form-action 'self'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_IDLE_SECONDS = 20.0
MAX_LINES = 64
"""Connections at a time; a browser holds six."""
_HTML, _JSON, _SVG = "text/html; charset=utf-8", "application/json; charset=utf-8", "image/svg+xml"
_RUN = r"/run/(?P<run>[0-9a-f]{12})"

Page = Callable[..., str]

_PAGES: list[tuple[str, Page]] = [
    (r"/", pages.runs_page),
    (r"/diff", pages.diff_page),
    (r"/compare", pages.compare_page),
    (_RUN, pages.run_page),
    (_RUN + r"/episodes", pages.episodes_page),
    (_RUN + r"/episode/(\d{1,9})", pages.episode_page),
    (_RUN + r"/prompts", pages.prompts_page),
    (_RUN + r"/skills", pages.skills_page),
    (_RUN + r"/skill/([0-9a-f]{16})", pages.skill_page),
    (_RUN + r"/lineage", pages.lineage_page),
    (_RUN + r"/program/([0-9a-f]{64})", pages.program_page),
    (_RUN + r"/refused", pages.refused_page),
    (_RUN + r"/attempt/(\d{1,9}-\d{1,9}-\d{1,9})", pages.attempt_page),
]
_LISTS: list[tuple[str, Callable[..., dict[str, Any]]]] = [
    (r"/api/runs", lists.runs_list),
    ("/api" + _RUN + r"/episodes", lists.episodes_list),
    ("/api" + _RUN + r"/skills", lists.cards_list),
    ("/api" + _RUN + r"/programs", lists.programs_list),
    ("/api" + _RUN + r"/refused", lists.refused_list),
    ("/api" + _RUN + r"/state", facts.state),
    ("/api" + _RUN + r"/notices", facts.notices_of),
    ("/api" + _RUN + r"/figures", facts.figures_of),
]
_SECONDS: dict[Any, float] = {pages.run_page: 2.0, pages.episodes_page: 0.1, lists.episodes_list: 1.5}
"""How long a page waits for records to be read: an overview is nothing without them, a list comes after its page."""
_FIGURES: list[tuple[str, Page]] = [
    (r"/figure/compare/(\d{1,3})\.svg", pages.compare_figure),
    (_RUN.replace("/run", "/figure") + r"/(\d{1,3})\.svg", facts.figure),
]


class ViewServer:
    """The server; a context manager that serves from a thread of its own.

    Args:
        catalogue: The runs.
        port: 0 takes a free one.

    Raises:
        BadInput: The port cannot be listened on.
    """

    def __init__(self, catalogue: Catalogue, port: int = 0) -> None:
        self.catalogue = catalogue
        handler = type("Handler", (_Handler,), {"owner": self})
        try:
            self._http = _Server((HOST, whole("port", port, 0)), handler)
        except (OSError, OverflowError) as error:
            raise BadInput(f"cannot listen on {HOST}:{port}: {error}; name another --port") from None
        self._assets = _assets()
        for name in ("runs", "list", "run"):  # compiled now, and not while the first reader waits
            templates().get_template(f"view_{name}.html.j2")
        self._thread: threading.Thread | None = None

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self._http.server_address[1])

    @property
    def url(self) -> str:
        """The address of the first page."""
        return f"http://{HOST}:{self.port}/"

    def serve_forever(self) -> None:
        """Serves in this thread until it is interrupted."""
        try:
            self._http.serve_forever(0.2)
        finally:
            self._http.server_close()

    def __enter__(self) -> ViewServer:
        """Serves from a thread."""
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, at: TracebackType | None) -> None:
        """Stops serving."""
        self._http.shutdown()
        self._http.server_close()
        if self._thread is not None:
            self._thread.join()

    def answer(self, target: str) -> tuple[int, str, bytes]:
        """Status, type and body for the target of a GET request."""
        path, query = _parsed(target)
        if path in self._assets:
            return 200, *self._assets[path]
        run: Run | None = None
        try:
            for table, kind in ((_PAGES, _HTML), (_LISTS, _JSON), (_FIGURES, _SVG)):
                for pattern, make in table:
                    if (place := re.fullmatch(pattern, path)) is None:
                        continue
                    told = place.groupdict()
                    run = self.catalogue.run(told["run"], _SECONDS.get(make, 0.8)) if "run" in told else None
                    rest = [part for part in place.groups()[bool(told) :]]
                    return 200, kind, self._made(kind, make, run, rest, query)
            raise UnknownName("there is no such page")
        except UnknownName as error:
            return self._failed(404, "Not found", error, path, run)
        except BadInput as error:
            return self._failed(400, "Not understood", error, path, run)
        except MetaGymError as error:
            return self._failed(409, "This cannot be shown", error, path, run)

    def _made(self, kind: str, make: Any, run: Run | None, rest: list[str], query: dict[str, str]) -> bytes:
        if kind == _JSON:
            if run is None:
                return _json(make(self.catalogue, query))
            same = query.get("version") == run.version and run.records.reading is None
            return _json(lists.SAME if same else make(run, query))
        if kind == _SVG:
            whose = self.catalogue if run is None else run
            return as_file(drawn(lambda: make(whose, *rest, query)))
        text = make(self.catalogue, query) if run is None else make(self.catalogue, run, *rest, query)
        return str(text).encode("utf-8", "backslashreplace")

    def _failed(
        self, status: int, heading: str, error: MetaGymError, path: str, run: Run | None
    ) -> tuple[int, str, bytes]:
        text = str(error) if run is None else pages.sentence(error, run)
        if path.startswith("/api/"):
            return status, _JSON, _json({"error": lists.visible(text, 600)})
        return status, _HTML, pages.error_page(heading, text, run).encode("utf-8", "backslashreplace")


def _parsed(target: str) -> tuple[str, dict[str, str]]:
    try:
        parts = urlsplit(target)
        return unquote(parts.path, errors="strict"), dict(parse_qsl(parts.query, max_num_fields=20, errors="replace"))
    except (ValueError, UnicodeDecodeError):
        return "", {}


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, allow_nan=False).encode("utf-8", "backslashreplace")


def _assets() -> dict[str, tuple[str, bytes]]:
    """The files of the page, read once: address -> type and content."""
    folder = resources.files("metagym.runs.view") / "assets"
    found = {"/assets/report.css": ("text/css; charset=utf-8", str(templates().globals["css"]).encode())}
    for name, kind in (("view.css", "text/css"), ("view.js", "text/javascript"), ("icon.svg", "image/svg+xml")):
        found[f"/assets/{name}"] = (f"{kind}; charset=utf-8", (folder / name).read_bytes())
    return found


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 64

    def __init__(self, *arguments: Any) -> None:
        self._free = threading.BoundedSemaphore(MAX_LINES)
        super().__init__(*arguments)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answers from a thread; whoever comes while all are taken is turned away, so that files stay openable."""
        if self._free.acquire(blocking=False):
            try:
                return super().process_request(request, client_address)
            except BaseException:
                self._free.release()
                raise
        self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Gives the place of the thread back."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._free.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is no event."""


class _Handler(BaseHTTPRequestHandler):
    owner: ViewServer
    protocol_version = "HTTP/1.1"
    timeout = _IDLE_SECONDS
    disable_nagle_algorithm = True
    wbufsize = -1  # headers and body leave in one packet
    server_version, sys_version = "metagym", ""

    def log_message(self, format: str, *args: Any) -> None:
        """Says nothing."""

    def do_GET(self) -> None:
        """Answers."""
        port = self.owner.port
        if self.headers.get_all("Host", []) not in ([f"{HOST}:{port}"], [f"localhost:{port}"]):
            return self._send(421, "text/plain; charset=utf-8", f"this is http://{HOST}:{port}/ alone\n".encode())
        try:
            answer = self.owner.answer(self.path)
        except Exception as error:  # a fault of ours: the reader is told, and the server goes on
            text = f"the viewer failed: {type(error).__name__}: {error}"
            answer = 500, _HTML, pages.error_page("The viewer failed", text).encode("utf-8", "backslashreplace")
        self._send(*answer)

    do_HEAD = do_GET

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """What is no request, or asks for more than reading, gets a line of text with the headers of every page."""
        self.close_connection = True
        words = str(message or self.responses.get(code, ("error",))[0])
        self._send(code, "text/plain; charset=utf-8", f"{words}\n".encode("utf-8", "backslashreplace"))

    def _send(self, status: int, kind: str, body: bytes) -> None:
        self.send_response(status)
        for name, value in {**HEADERS, "Content-Type": kind, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)
        self.wfile.flush()
