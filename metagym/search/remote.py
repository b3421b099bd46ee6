"""A client of the Search-R1 retrieval protocol: ``POST /retrieve`` with queries, lists of passages back.

It always asks for scores: without them the stock server unpacks its own result wrongly, answers 500 unless there are
exactly two queries, and then loses the second one's passages. Retries are owned here and nowhere else, by the rule of
verl's client: 500, 502, 503, 504, broken connections and timeouts are tried again, everything else fails at once.
"""

from __future__ import annotations

import hashlib
import json
import math
import time
from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Any
from urllib.parse import urlsplit

from metagym.chat.openai import is_loopback
from metagym.chat.redact import redact
from metagym.checks import number, whole
from metagym.errors import BadInput, SearchError, SearchUnavailable, SpecError
from metagym.extras import require
from metagym.search.ranking import check_k, check_queries
from metagym.search.types import Hit, Passage

RETRIED = frozenset({500, 502, 503, 504})
_SHOWN = 200
_HINT = "is this the address of a Search-R1 retrieval server, and is it up?"


class RemoteSearcher:
    """Passages from a server that speaks the protocol (``metagym serve-search``, Search-R1's own, verl's)."""

    def __init__(
        self,
        url: str,
        *,
        tries: int = 10,
        delay: float = 1.0,
        timeout: float = 30.0,
        check: bool = True,
        sleep: Callable[[float], Any] = time.sleep,
    ) -> None:
        """Prepares the client and asks the server one question, so that a wrong address is found at once.

        Args:
            url: ``http://host:port/retrieve``; without a path, ``/retrieve`` is added.
            tries: Requests for one search at most; >= 1 (verl: 10).
            delay: Seconds before the second try, twice as many before the third, and so on (verl: 1).
            timeout: Seconds for one request (verl: 30).
            check: Ask at once, with one try. Without it the digest stays unknown.
            sleep: Waits between tries.

        Raises:
            MissingExtra: httpx2 is not installed.
            SpecError: The address is none.
            SearchError: The server is down or does not speak the protocol.
        """
        httpx2 = require("httpx2", "openai")
        try:
            parts = urlsplit(url)
            usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        except ValueError:
            usable = False
        if not usable:
            raise SpecError(f"a search server is http://host:port/retrieve, got {redact(url)!r}")
        self._url = url if parts.path.strip("/") else f"{url.rstrip('/')}/retrieve"
        self._host = parts.netloc.rpartition("@")[2]
        self._tries = whole("tries", tries, 1)
        self._delay = number("delay", delay, 0)
        self._sleep = sleep
        self._http = httpx2.Client(
            headers={"User-Agent": "metagym", "Content-Type": "application/json"},
            timeout=number("timeout", timeout, 0, above=True),
            verify=parts.scheme == "https",
            trust_env=not is_loopback(parts.hostname or ""),  # a proxy cannot reach this machine's own loopback
            follow_redirects=False,
        )
        self._name, self._digest = f"search-r1:{self._host}", ""
        if check:
            try:
                self._greet()
            except BaseException:
                self.close()
                raise

    @property
    def name(self) -> str:
        """Host of the server, and its engine where it tells."""
        return self._name

    @property
    def digest(self) -> str:
        """Digest of the corpus where the server tells it (``metagym serve-search`` does), else ""."""
        return self._digest

    def search(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        """See `metagym.search.Searcher`; all queries go in one request, the server's order is kept.

        Raises:
            SearchUnavailable: No answer after the last try.
            SearchError: An answer that is not of the protocol; the message shows its status, type and beginning.
        """
        k, asked = check_k(k), check_queries(queries)
        return self._ask(asked, k, self._tries) if asked else []

    def close(self) -> None:
        """Closes the connections."""
        self._http.close()

    def _greet(self) -> None:
        self._ask(["a"], 1, 1)
        try:
            about = self._http.get(self._url.rsplit("/", 1)[0] + "/health").json()
        except Exception:  # not of the protocol: only our own server has it, and any other may answer anything
            return
        if isinstance(about, dict) and isinstance(about.get("digest"), str) and isinstance(about.get("name"), str):
            self._name, self._digest = f"search-r1:{about['name']}", about["digest"]

    def _ask(self, queries: list[str], k: int, tries: int) -> list[list[Hit]]:
        body = json.dumps({"queries": queries, "topk": k, "return_scores": True}, ensure_ascii=False)
        # Half a surrogate pair, which models do emit, has no UTF-8 form.
        raw = body.encode("utf-8", "surrogatepass").decode("utf-8", "replace").encode("utf-8")
        trouble = ""
        for attempt in range(1, tries + 1):
            if attempt > 1:
                self._sleep(self._delay * (attempt - 1))
            answer, trouble = self._post(raw)
            if answer is not None:
                return [hits[:k] for hits in self._read(answer, len(queries))]
        many = f" after {tries} tries" if tries > 1 else ""
        raise SearchUnavailable(f"the search server {self._host} gave no answer{many}: {trouble}; {_HINT}")

    def _post(self, raw: bytes) -> tuple[Any, str]:
        """The response, or None and what is worth another try."""
        import httpx2

        try:
            response = self._http.post(self._url, content=raw)
        except httpx2.TimeoutException as error:
            return None, f"{type(error).__name__} ({self._http.timeout.read:g} s)"
        except httpx2.TransportError as error:
            return None, f"{type(error).__name__}: {redact(str(error)) or 'no answer'}"
        except (httpx2.DecodingError, httpx2.InvalidURL) as error:
            raise SearchError(f"the search server {self._host}: {redact(str(error))}") from None
        if response.status_code in RETRIED:
            return None, _beginning(response)
        return response, ""

    def _read(self, response: Any, asked: int) -> list[list[Hit]]:
        def wrong(what: str) -> SearchError:
            return SearchError(f"the search server {self._host} {what} ({_beginning(response)}); {_HINT}")

        if response.status_code != 200:
            raise wrong("refused a search")
        try:
            data = json.loads(response.content)
        except (ValueError, RecursionError):
            raise wrong("answered with something else than JSON") from None
        result = data.get("result") if isinstance(data, dict) else None
        if not isinstance(result, list):
            raise wrong("answered without a list 'result'")
        if len(result) != asked or not all(isinstance(one, list) for one in result):
            lists = sum(isinstance(one, list) for one in result)
            raise wrong(
                f"answered {asked} queries with {lists} lists of passages and {len(result) - lists} other items"
            )
        try:
            return [_ordered([_hit(item) for item in one]) for one in result]
        except BadInput as error:
            raise wrong(f"answered with a passage that cannot be read: {error}") from None


def _hit(item: Any) -> Hit:
    """A hit from one item: ``{"document", "score"}``, without a score, or the bare document."""
    document, score = item, None
    if isinstance(item, dict) and "document" in item:
        document, score = item["document"], item.get("score")
    if not isinstance(document, dict):
        raise BadInput("a document is a JSON object")
    contents = document.get("contents")
    if not isinstance(contents, str) and isinstance(document.get("text"), str):
        title = document.get("title")
        contents = f'"{title if isinstance(title, str) else ""}"\n{document["text"]}'
    if not isinstance(contents, str):
        raise BadInput("a document has the text 'contents'")
    if score is not None and (
        isinstance(score, bool) or not isinstance(score, (int, float)) or not math.isfinite(score)
    ):
        raise BadInput("a score is a finite number")
    name = document.get("id")
    if isinstance(name, bool) or not isinstance(name, (str, int)):
        # Search pages have no id; one made of the contents keeps equal passages equal.
        name = hashlib.sha256(contents.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return Hit(Passage(str(name), contents), None if score is None else float(score))


def _ordered(hits: list[Hit]) -> list[Hit]:
    """The server's order, with neighbours of equal score by id."""
    out: list[Hit] = []
    for score, group in groupby(hits, key=lambda hit: hit.score):
        equal = list(group)
        out += equal if score is None else sorted(equal, key=lambda hit: hit.passage.id)
    return out


def _beginning(response: Any) -> str:
    kind = response.headers.get("content-type", "no content type")
    start = " ".join(redact(response.content[:_SHOWN].decode("utf-8", "replace")).split())
    return f"status {response.status_code}, {kind}: {start!r}"
