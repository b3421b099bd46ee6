"""The Search-R1 retrieval protocol from both sides."""

from __future__ import annotations

import http.client
import json
import socket
import threading
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metagym.errors import BadInput, MissingExtra, SearchError, SearchUnavailable, SpecError, StoreError
from metagym.search import Corpus, Hit, Passage, Searcher, load_searcher, searcher_of
from metagym.search.remote import RemoteSearcher
from metagym.search.server import MOST_BYTES, SearchServer

DOCUMENT = {"id": "0", "contents": '"Evan Morris"\nEvan Morris was a lobbyist.'}
CORPUS = Corpus([Passage(f"p{n}", f'"Title {n}"\nthe river number{n}') for n in range(8)])


class Stub:
    """A server that gives scripted answers: (status, content type, body); the last one again and again."""

    def __init__(self, *answers: tuple[int, str, bytes] | str) -> None:
        self.answers = list(answers)
        self.bodies: list[dict[str, Any]] = []
        self.closing = threading.Event()
        stub = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, format: str, *args: Any) -> None:
                """Says nothing."""

            def do_GET(self) -> None:
                self._send(404, "application/json", b'{"detail":"Not Found"}')

            def do_POST(self) -> None:
                stub.bodies.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                answer = stub.answers.pop(0) if len(stub.answers) > 1 else stub.answers[0]
                if answer == "hang":
                    stub.closing.wait(20)
                    self.close_connection = True
                elif answer == "drop":
                    self.close_connection = True
                    self.connection.close()
                else:
                    assert not isinstance(answer, str)
                    self._send(*answer)

            def _send(self, status: int, kind: str, raw: bytes) -> None:
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(raw)))
                self.end_headers()
                self.wfile.write(raw)

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            block_on_close = False

            def handle_error(self, request: Any, client_address: Any) -> None:
                """Dropped connections are part of the game."""

        self._http = Server(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)

    def __enter__(self) -> Stub:
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.closing.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}"


def told(result: Any, status: int = 200) -> tuple[int, str, bytes]:
    return status, "application/json", json.dumps({"result": result}).encode()


def asked(stub: Stub, queries: Sequence[str] = ("who",), k: int = 3, **options: Any) -> list[list[Hit]]:
    client = RemoteSearcher(stub.url, check=False, sleep=lambda seconds: None, **options)
    try:
        return client.search(queries, k)
    finally:
        client.close()


@pytest.fixture(autouse=True)
def needs_a_client(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("httpx2")
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")  # nothing listens there: loopback goes around proxies


@pytest.fixture
def served() -> Iterator[SearchServer]:
    with SearchServer(searcher_of("fts5", CORPUS)) as server:
        yield server


# --- the client against every kind of server


def test_scores_and_what_is_sent() -> None:
    with Stub(told([[{"document": DOCUMENT, "score": 1.5}], []])) as stub:
        found = asked(stub, ("who", "\ud800 what"), 7)
        assert stub.bodies == [{"queries": ["who", "\ufffd\ufffd\ufffd what"], "topk": 7, "return_scores": True}]
    assert found == [[Hit(Passage("0", DOCUMENT["contents"]), 1.5)], []]


def test_one_text_is_no_list_of_queries_and_is_not_sent() -> None:
    with Stub(told([[DOCUMENT]])) as stub:
        with pytest.raises(BadInput, match="queries is a list of texts"):
            asked(stub, "who")  # type: ignore[arg-type]
        assert stub.bodies == []


def test_a_title_that_is_none_is_empty() -> None:
    with Stub(told([[{"document": {"title": None, "text": "body"}, "score": 1}]])) as stub:
        [[hit]] = asked(stub)
    assert hit.passage.contents == '""\nbody'


def test_nothing_is_sent_for_no_queries() -> None:
    with Stub(told([])) as stub:
        assert asked(stub, ()) == [] and stub.bodies == []


def test_bare_documents_have_no_score() -> None:
    with Stub(told([[DOCUMENT, {"title": "A", "text": "b"}]])) as stub:
        (found,) = asked(stub)
    assert [hit.score for hit in found] == [None, None]
    assert found[1].passage.contents == '"A"\nb'


def test_a_missing_score_and_a_missing_id_of_a_search_page_server() -> None:
    item = {"document": {"contents": '"A"\nb'}}
    with Stub(told([[item, item, {"document": {"contents": '"C"\nd'}}]])) as stub:
        (found,) = asked(stub)
    assert [hit.score for hit in found] == [None] * 3
    assert found[0].passage == found[1].passage and found[0].passage.id != found[2].passage.id


def test_short_lists_stay_short_and_long_ones_are_cut() -> None:
    many = [{"document": {"id": n, "contents": f"t\n{n}"}, "score": 9 - n} for n in range(6)]
    with Stub(told([many, many[:1]])) as stub:
        assert [len(one) for one in asked(stub, ("a", "b"), 3)] == [3, 1]


def test_equal_scores_are_ordered_by_id_and_the_server_s_order_is_kept() -> None:
    rows = [("b", 2.0), ("a", 2.0), ("z", 1.0), ("y", 3.0)]
    items = [{"document": {"id": name, "contents": "t\nx"}, "score": score} for name, score in rows]
    with Stub(told([items])) as stub:
        assert [hit.passage.id for hit in asked(stub, k=9)[0]] == ["a", "b", "z", "y"]


@pytest.mark.parametrize("trouble", [(500, "text/plain", b"oops"), (503, "text/plain", b""), "drop"])
def test_what_may_pass_is_tried_again(trouble: Any) -> None:
    waits: list[float] = []
    with Stub(trouble, trouble, told([[]])) as stub:
        client = RemoteSearcher(stub.url, check=False, sleep=waits.append)
        assert client.search(["who"], 3) == [[]]
        client.close()
        assert len(stub.bodies) == 3
    assert waits == [1.0, 2.0]


def test_s22_retries_have_one_owner_and_a_limit() -> None:
    waits: list[float] = []
    with Stub((502, "text/html", b"<html>Bad gateway</html>")) as stub:
        client = RemoteSearcher(stub.url, check=False, sleep=waits.append)
        with pytest.raises(SearchUnavailable, match="after 10 tries: status 502, text/html: '<html>Bad gateway"):
            client.search(["who"], 3)
        client.close()
        assert len(stub.bodies) == 10
    assert waits == [float(n) for n in range(1, 10)]


@pytest.mark.parametrize("status", [400, 404, 422, 429, 501])
def test_other_refusals_fail_at_once(status: int) -> None:
    with Stub((status, "application/json", b'{"detail": "no"}')) as stub:
        with pytest.raises(SearchError, match=f"refused a search .status {status}") as raised:
            asked(stub)
        assert not isinstance(raised.value, SearchUnavailable) and len(stub.bodies) == 1


def test_a_web_page_is_shown_with_status_type_and_its_beginning() -> None:
    page = b"<!DOCTYPE html><html>  Sign\nin " + b"x" * 5000
    with Stub((200, "text/html", page)) as stub, pytest.raises(SearchError) as raised:
        asked(stub)
    words = str(raised.value)
    assert "something else than JSON (status 200, text/html: '<!DOCTYPE html><html> Sign in xx" in words
    assert len(words) < 500


def test_a_server_that_hangs_runs_into_the_time_limit() -> None:
    with Stub("hang") as stub, pytest.raises(SearchUnavailable, match=r"after 2 tries: ReadTimeout \(0.05 s\)"):
        asked(stub, tries=2, timeout=0.05)


@pytest.mark.parametrize(
    "result, words",
    [
        ([[]], "answered 2 queries with 1 lists of passages and 0 other items"),
        ([[], [], []], "answered 2 queries with 3 lists of passages and 0 other items"),
        # What the stock server makes of two queries without scores: the first one's documents, flat.
        ([DOCUMENT, DOCUMENT], "answered 2 queries with 0 lists of passages and 2 other items"),
    ],
)
def test_a_wrong_number_of_lists_names_both_counts(result: Any, words: str) -> None:
    with Stub(told(result)) as stub, pytest.raises(SearchError, match=words):
        asked(stub, ("a", "b"))


@pytest.mark.parametrize(
    "body, words",
    [
        (b'{"results": []}', "without a list 'result'"),
        (b"[]", "without a list 'result'"),
        (b"[" * 200_000, "else than JSON"),
        (b"\xff\xfe", "else than JSON"),
        (b'{"result": [[5]]}', "a document is a JSON object"),
        (b'{"result": [[{"document": {}}]]}', "has the text 'contents'"),
        (b'{"result": [[{"document": {"contents": "x"}, "score": NaN}]]}', "finite number"),
        (b'{"result": [[{"document": {"contents": "x"}, "score": "1"}]]}', "finite number"),
    ],
)
def test_answers_that_are_not_of_the_protocol(body: bytes, words: str) -> None:
    with Stub((200, "application/json", body)) as stub, pytest.raises(SearchError, match=words):
        asked(stub)


def test_a_server_that_is_down_is_found_at_once() -> None:
    with Stub(told([[]])) as stub:
        url = stub.url
    with pytest.raises(SearchUnavailable, match="is it up"):
        load_searcher(url)


def test_a_stock_server_tells_no_digest() -> None:
    with Stub(told([[]])) as stub:
        client = load_searcher(f"{stub.url}/retrieve")
        assert isinstance(client, Searcher) and client.digest == "" and client.name == f"search-r1:{stub.url[7:]}"
        client.close()


@pytest.mark.parametrize(
    "url", ["ftp://host/retrieve", "http://", "host:8000", "http:///retrieve", "http://[", "http://h:99999"]
)
def test_addresses_that_are_none(url: str) -> None:
    with pytest.raises(SpecError, match="http://host:port/retrieve"):
        RemoteSearcher(url)


def test_a_password_in_an_address_is_in_no_message() -> None:
    with Stub((400, "text/plain", b"no")) as stub, pytest.raises(SearchError) as raised:
        RemoteSearcher(stub.url.replace("//", "//user:hunter2@"))
    assert "hunter2" not in str(raised.value)


def test_a_missing_client_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "httpx2", None)
    with pytest.raises(MissingExtra, match=r"metagym-agents\[openai\]"):
        RemoteSearcher("http://127.0.0.1:1")


# --- our server


def post(server: SearchServer, body: bytes, path: str = "/retrieve", **headers: str) -> tuple[int, Any]:
    host, port = server.url.removeprefix("http://").split("/")[0].split(":")
    line = http.client.HTTPConnection(host, int(port), timeout=10)
    line.request("POST", path, body, {"Content-Type": "application/json", **headers})
    answer = line.getresponse()
    data = json.loads(answer.read())
    line.close()
    return answer.status, data


def test_client_and_server_give_what_the_index_gives(served: SearchServer) -> None:
    client = load_searcher(served.url)
    queries = ["river", "number3 river", "zebra", 'the "^:- (*', ""]
    assert client.search(queries, 4) == served.searcher.search(queries, 4)
    assert client.digest == CORPUS.digest and client.name == f"search-r1:{served.searcher.name}"
    client.close()


@given(st.lists(st.text(st.characters(exclude_categories=("Cs",)), max_size=40), max_size=4))
@settings(max_examples=30, deadline=None)
def test_any_queries_go_through_the_server(queries: list[str]) -> None:
    server = _shared()
    status, data = post(server, json.dumps({"queries": queries, "topk": 2, "return_scores": True}).encode())
    assert status == 200 and len(data["result"]) == len(queries)


_held: list[SearchServer] = []


def _shared() -> SearchServer:
    if not _held:
        _held.append(SearchServer(searcher_of("fts5", CORPUS)).__enter__())
    return _held[0]


@pytest.fixture(scope="module", autouse=True)
def close_the_shared_server() -> Iterator[None]:
    yield
    while _held:
        _held.pop().__exit__(None, None, None)


def test_the_protocol_to_the_letter(served: SearchServer) -> None:
    status, data = post(served, b'{"queries": ["number1"], "topk": 1, "return_scores": true}')
    (item,) = data["result"][0]
    assert status == 200 and list(data) == ["result"]
    assert item["document"] == {"id": "p1", "contents": '"Title 1"\nthe river number1'} and item["score"] > 0
    status, bare = post(served, b'{"queries": ["number1", "number2", "zebra"]}')
    assert bare == {"result": [[item["document"]], [{"id": "p2", "contents": '"Title 2"\nthe river number2'}], []]}
    for topk, count in ((b"null", 3), (b"0", 3), (b"5", 5), (b"100000000000", 8)):
        data = post(served, b'{"queries": ["river"], "topk": ' + topk + b', "return_scores": null}')[1]
        assert len(data["result"][0]) == count


@pytest.mark.parametrize(
    "body, words",
    [
        (b"", "no JSON"),
        (b"{", "no JSON"),
        (b"[" * 100_000, "no JSON"),
        (b"[]", "a request is"),
        (b"{}", "queries is a list of texts"),
        (b'{"queries": "river"}', "queries is a list of texts"),
        (b'{"queries": ["a", 1]}', "queries is a list of texts"),
        (b'{"queries": ["a"], "topk": -1}', "topk is at least 0"),
        (b'{"queries": ["a"], "topk": "3"}', "topk is a whole number"),
        (b'{"queries": ["a"], "return_scores": 1}', "return_scores is True or False"),
    ],
)
def test_requests_that_are_not_of_the_protocol_get_422(served: SearchServer, body: bytes, words: str) -> None:
    status, data = post(served, body)
    assert status == 422 and words in data["detail"]
    assert post(served, b'{"queries": ["river"]}')[0] == 200


def test_other_addresses_and_sizes(served: SearchServer) -> None:
    assert post(served, b"{}", "/search")[0] == 404
    assert post(served, b"", **{"Content-Length": str(MOST_BYTES + 1)})[0] == 413
    assert post(served, b"", **{"Content-Length": "-5"})[0] == 411


def test_a_client_that_asks_before_it_sends_is_answered_at_once(served: SearchServer) -> None:
    body = json.dumps({"queries": ["river"], "topk": 1}).encode()
    with socket.create_connection(served.url.split("/")[2].split(":"), 10) as sock:
        head = f"POST /retrieve HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: {len(body)}\r\n\r\n"
        sock.sendall(head.encode())
        assert sock.recv(200).startswith(b"HTTP/1.1 100 ")
        sock.sendall(body)
        assert sock.recv(200).startswith(b"HTTP/1.1 200 ")


def test_an_address_may_carry_a_query_string(served: SearchServer) -> None:
    assert post(served, b'{"queries": ["river"]}', "/retrieve?from=here")[0] == 200


def test_failures_behind_the_server_have_their_status() -> None:
    class Broken:
        name, digest = "broken", ""
        error: Exception = SearchError("the next server is down")

        def search(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
            raise self.error

        def close(self) -> None:
            """Nothing to give back."""

    broken = Broken()
    with SearchServer(broken) as server:
        assert post(server, b'{"queries": ["a"]}') == (502, {"detail": "the next server is down"})
        broken.error = StoreError("the index is gone")
        assert post(server, b'{"queries": ["a"]}') == (500, {"detail": "the index is gone"})


def test_an_address_that_is_taken_is_named(served: SearchServer) -> None:
    port = int(served.url.split(":")[2].split("/")[0])
    with pytest.raises(BadInput, match=f"cannot listen on 127.0.0.1:{port}"):
        SearchServer(served.searcher, port=port)
    with pytest.raises(BadInput, match="cannot listen on 127.0.0.1:70000"):
        SearchServer(served.searcher, port=70000)
