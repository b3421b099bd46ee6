"""Asks a viewer's server as a browser would, and anything else would."""

from __future__ import annotations

import http.client
import json
from typing import Any

from metagym.runs.view import Catalogue, ViewServer


def raw(server: ViewServer, target: str, method: str = "GET", **headers: str) -> tuple[int, dict[str, str], bytes]:
    """Status, headers and body; the target is sent as it stands, unescaped."""
    line = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    try:
        line.putrequest(method, target, skip_host=True, skip_accept_encoding=True)
        for name, value in ({"Host": f"127.0.0.1:{server.port}"} | headers).items():
            line.putheader(name, value)
        line.endheaders()
        answer = line.getresponse()
        return answer.status, dict(answer.getheaders()), answer.read()
    finally:
        line.close()


def page(server: ViewServer, target: str, status: int = 200) -> str:
    """The text of a page."""
    found, headers, body = raw(server, target)
    assert found == status, (found, body[:2000])
    assert headers["Content-Type"].startswith("text/html")
    return body.decode("utf-8")


def data(server: ViewServer, target: str, status: int = 200) -> Any:
    """What a list or another question answers."""
    found, headers, body = raw(server, target)
    assert found == status, (found, body[:2000])
    assert headers["Content-Type"].startswith("application/json")
    return json.loads(body)


def ids(catalogue: Catalogue) -> dict[str, str]:
    """Name -> id of every run."""
    return {run.name: run.id for run in catalogue.runs()}
