"""Whatever a run holds is text in the page: the markup is the same for every text, and the text is all there."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from metagym.runs.report.text import visible
from metagym.runs.view import Catalogue, ViewServer
from tests.unit.runs.test_report import Page
from tests.unit.runs.view.hostile import PAYLOADS, hostile_ict, names

PAGES = ("", "/episodes", "/episode/0", "/prompts")
LISTS = ("/episodes", "/notices", "/figures", "/state")
texts = st.lists(st.one_of(st.sampled_from(PAYLOADS), st.text(max_size=20)), min_size=1, max_size=4).map(
    lambda parts: "x" + "".join(parts)
)


def pages_of(root: Path, drawing: bool = True) -> Iterator[tuple[str, Page]]:
    """Every page of a hostile run, parsed; closing tags must match. Figures take longest, and hold no text."""
    server = ViewServer(Catalogue(root))
    try:
        (run,) = server.catalogue.runs()
        for target in ("/", "/diff", f"/diff?a={run.id}:0&b={run.id}:1", f"/compare?runs={run.id}"):
            yield target.replace(run.id, "ID"), parsed(server, target)
        for place in PAGES:
            yield place, parsed(server, f"/run/{run.id}{place}")
        for place in LISTS if drawing else LISTS[:1]:
            status, kind, body = server.answer(f"/api/run/{run.id}{place}")
            assert status == 200 and kind.startswith("application/json") and json.loads(body)
    finally:
        server._http.server_close()


def parsed(server: ViewServer, target: str) -> Page:
    status, _, body = server.answer(target)
    assert status == 200, body
    text = body.decode("utf-8")
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]", text)
    page = Page(text)
    for name, value in page.attributes:
        assert not name.startswith("on") and name not in ("style", "srcdoc", "http-equiv"), name
        if name in ("href", "src", "action"):
            assert value is not None and re.fullmatch(r"/[\w/.:?=&;,%-]*|#main", value), value
    return page


def tags(page: Page) -> Counter[str]:
    """How often each element stands in a page, but for the places at which a name may be broken."""
    return Counter(tag for tag in page.tags if tag != "wbr")


@pytest.fixture(scope="module")
def fair(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Counter[str]]:
    root = tmp_path_factory.mktemp("fair")
    hostile_ict(root / "run", "xharmless")
    return {place: tags(page) for place, page in pages_of(root)}


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=texts)
def test_any_text_leaves_the_markup_as_it_is(fair, tmp_path_factory, text):
    root = tmp_path_factory.mktemp("any")
    hostile_ict(root / "run", text)
    shown = " ".join(visible(text, 20_000).split())
    for place, page in pages_of(root, drawing=False):
        if place not in ("/prompts", "/diff?a=ID:0&b=ID:1"):  # a prompt of several lines has several elements
            assert tags(page) == fair[place], place
        else:
            assert set(page.tags) <= set(fair[place]) | {"mark", "ins", "del", "wbr"}, place
        if place == "/episode/0":
            assert page.text.count(shown) >= 5


@pytest.mark.parametrize("payload", PAYLOADS)
def test_every_attack_is_shown_as_it_was_written(fair, tmp_path, payload):
    hostile_ict(tmp_path / "run", f"x{payload}")
    for place, page in pages_of(tmp_path):
        if place in ("", "/episode/0"):
            assert tags(page) == fair[place]
            assert " ".join(visible(payload, 20_000).split()) in page.text


def test_names_of_folders_are_text_too(tmp_path):
    for name in names():
        hostile_ict(tmp_path / name, "xharmless")
    server = ViewServer(Catalogue(tmp_path))
    try:
        listed = json.loads(server.answer("/api/runs?limit=500")[2])
        assert {row["cells"][0]["t"] for row in listed["rows"]} == set(names()) and len(names()) >= 10
        for row in listed["rows"]:
            assert row["cells"][0]["t"] in parsed(server, row["href"]).text or "  " in row["cells"][0]["t"]
        everything = ",".join(row["id"] for row in listed["rows"][:24])
        parsed(server, f"/compare?runs={everything}"), parsed(server, "/diff")
    finally:
        server._http.server_close()
