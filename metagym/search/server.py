"""A server of the Search-R1 retrieval protocol over any `Searcher`, so that Search-R1 or verl can use our index.

    POST /retrieve  {"queries": [text, ...], "topk": 3 or null, "return_scores": true}
        -> {"result": [[{"document": {"id", "contents"}, "score"}, ...], ...]}    one list per query, in order
    GET  /health    {"name", "digest", "status": "ok"}

Without scores the documents stand bare in their lists (the stock server answers such requests wrongly).
"""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

from metagym.checks import flag, whole
from metagym.errors import BadInput, MetaGymError, SearchError
from metagym.search.types import Hit, Searcher

MOST_BYTES = 8_000_000
MOST_HITS = 1_000
_IDLE_SECONDS = 60.0
"""A connection that says nothing for so long is closed: each holds a thread."""


class SearchServer:
    """The server; a context manager that serves from a thread of its own."""

    def __init__(self, searcher: Searcher, *, host: str = "127.0.0.1", port: int = 0, topk: int = 3) -> None:
        """Takes the port.

        Args:
            searcher: What answers; closed by whoever made it.
            host: Address to listen on. The protocol knows no password: other machines can ask whatever is reachable.
            port: 0 takes a free one.
            topk: Hits for requests that ask for none; >= 1.

        Raises:
            BadInput: The address cannot be listened on.
        """
        self.searcher = searcher
        self.topk = whole("topk", topk, 1)
        server = self

        class Handler(_Handler):
            owner = server

        try:
            self._http = _Server((host, whole("port", port, 0)), Handler)
        except (OSError, OverflowError) as error:
            raise BadInput(f"cannot listen on {host}:{port}: {error}; name another --port or --host") from None
        self._thread: threading.Thread | None = None

    @property
    def url(self) -> str:
        """Where queries go."""
        host, port = self._http.server_address[:2]
        return f"http://{host!s}:{port}/retrieve"

    def serve_forever(self) -> None:
        """Serves in this thread until it is interrupted."""
        try:
            self._http.serve_forever(0.2)
        finally:
            self._http.server_close()

    def __enter__(self) -> SearchServer:
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

    def answer(self, body: Any) -> dict[str, Any]:
        """The answer to one request.

        Raises:
            BadInput: The request is not of the protocol.
        """
        if not isinstance(body, Mapping):
            raise BadInput('a request is {"queries": [...], "topk": 3, "return_scores": true}')
        queries = body.get("queries")
        if not isinstance(queries, list) or not all(isinstance(query, str) for query in queries):
            raise BadInput("queries is a list of texts")
        topk = body.get("topk")
        k = min(whole("topk", topk, 0) if topk is not None else 0, MOST_HITS) or self.topk
        wanted = body.get("return_scores")
        scores = flag("return_scores", False if wanted is None else wanted)
        found = self.searcher.search(queries, k)
        return {"result": [[_item(hit, scores) for hit in hits] for hits in found]}


def _item(hit: Hit, scores: bool) -> dict[str, Any]:
    document = {"id": hit.passage.id, "contents": hit.passage.contents}
    return {"document": document, "score": hit.score} if scores else document


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 256

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is no event."""


class _Handler(BaseHTTPRequestHandler):
    owner: SearchServer
    protocol_version = "HTTP/1.1"
    timeout = _IDLE_SECONDS
    disable_nagle_algorithm = True
    wbufsize = -1  # headers and body leave in one packet
    server_version, sys_version = "metagym", ""

    def log_message(self, format: str, *args: Any) -> None:
        """Says nothing: queries may be private."""

    def handle_expect_100(self) -> bool:
        """Asks for the body at once: the line would stay in the buffer, and the client wait for it."""
        going_on = super().handle_expect_100()
        self.wfile.flush()
        return going_on

    def do_GET(self) -> None:
        """Health."""
        if self._place == "/health":
            searcher = self.owner.searcher
            return self._send(200, {"status": "ok", "name": searcher.name, "digest": searcher.digest})
        self._send(404, {"detail": "POST /retrieve or GET /health"})

    def do_POST(self) -> None:
        """A search."""
        try:
            size = int(self.headers.get("Content-Length", ""))
        except ValueError:
            size = -1
        if not 0 <= size <= MOST_BYTES:
            self.close_connection = True  # what follows in the stream cannot be read as a request
            return self._send(413 if size > 0 else 411, {"detail": f"a body of at most {MOST_BYTES} bytes is needed"})
        raw = self.rfile.read(size)
        if self._place != "/retrieve":
            return self._send(404, {"detail": "POST /retrieve or GET /health"})
        try:
            body = json.loads(raw)
        except (ValueError, RecursionError):
            return self._send(422, {"detail": "the body is no JSON"})
        try:
            self._send(200, self.owner.answer(body))
        except BadInput as error:
            self._send(422, {"detail": str(error)})
        except SearchError as error:  # behind this server is another one
            self._send(502, {"detail": str(error)})
        except MetaGymError as error:
            self._send(500, {"detail": str(error)})

    @property
    def _place(self) -> str:
        return self.path.partition("?")[0].rstrip("/")

    def _send(self, status: int, data: Mapping[str, Any]) -> None:
        raw = json.dumps(data).encode("utf-8")
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(raw)))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(raw)
        self.wfile.flush()
