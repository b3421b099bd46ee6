"""The viewer in a real headless Chromium: nothing runs, nothing is fetched from elsewhere, every key works."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from metagym.runs.folder import RunFolder
from metagym.runs.report.text import visible
from metagym.runs.spade_results import load_spade
from metagym.runs.view import Catalogue, ViewServer
from tests.support.browser import Browser, Page
from tests.unit.runs.synthetic import a_manifest, meta_episode, write_run
from tests.unit.runs.test_report_packed import long_run
from tests.unit.runs.view.asking import ids
from tests.unit.runs.view.hostile import PAYLOADS, hostile_ict, hostile_sesa, hostile_spade, names
from tests.unit.runs.view.test_server import addresses

pytestmark = pytest.mark.slow

READY = """
document.readyState === 'complete' && !document.getElementById('reading')
&& [...document.images].every((one) => one.complete)
&& [...document.querySelectorAll('[data-list], [data-figures], [data-notices]')].every(
  (one) => one.dataset.ready === 'yes' || one.querySelector('.notices:not([hidden])'))
"""
FOCUSED = "(document.activeElement.textContent || document.activeElement.name || '').trim()"


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with Browser(tmp_path_factory.mktemp("browser")) as one:
        yield one


@pytest.fixture
def at(browser: Browser) -> Iterator[Callable[..., Page]]:
    """Opens an address of a server in a page of its own; in the end nothing may have run or gone elsewhere."""
    made: list[tuple[Page, str]] = []

    def go(server: ViewServer, target: str, page: Page | None = None) -> Page:
        if page is None:
            made.append((page := browser.page(), server.url))
        page.open(server.url.rstrip("/") + target)
        page.wait(READY)
        return page

    yield go
    for page, url in made:
        assert page.evaluate("pwned") == []
        assert page.complaints == []
        assert page.requests and [one for one in page.requests if not one.startswith(url)] == []
        page.send("Page.close")


def test_the_spies_see_what_they_are_there_to_see(browser: Browser) -> None:
    page = browser.page()
    page.open("data:text/html,<body><img src=http://127.0.0.1:9/x onerror=alert(1)><script>nothing()</script>")
    page.wait("pwned.length === 1")
    assert "http://127.0.0.1:9/x" in page.requests and any("nothing is not defined" in one for one in page.complaints)
    page.send("Page.close")


def test_no_page_complains_or_asks_elsewhere(at, server, folder):
    page = None
    for target in addresses(server, folder):
        if not target.startswith(("/api", "/figure")):
            page = at(server, target, page)
            assert page.evaluate("document.title").endswith(" - MetaGym")


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory, folder: Path) -> Iterator[tuple[ViewServer, Path]]:
    root = tmp_path_factory.mktemp("hostile")
    for number, payload in enumerate(PAYLOADS):
        hostile_ict(root / f"ict-{number}", payload)
    for name in names():
        hostile_ict(root / name, "harmless")
    hostile_spade(root / "spade")
    hostile_sesa(root / "sesa", folder / "sesa")
    with ViewServer(Catalogue(root)) as serving:
        yield serving, root


def test_whatever_a_run_of_ict_holds_is_text(at, hostile):
    server, _ = hostile
    run, page = ids(server.catalogue), None
    for number, payload in enumerate(PAYLOADS):
        id_, shown = run[f"ict-{number}"], visible(payload, 10_000)
        for place in ("", "/episodes", "/episode/0", "/prompts"):
            page = at(server, f"/run/{id_}{place}", page)
            assert page.evaluate("pwned") == [] and page.evaluate("document.querySelectorAll('[onerror]').length") == 0
            if place == "/episode/0":
                texts = page.evaluate("[...document.querySelectorAll('pre')].map((one) => one.textContent)")
                assert texts[:3] == [shown, f"{shown}\n{shown}", shown] and texts.count(shown) >= 4
            elif place == "/episodes":
                assert page.evaluate("document.querySelector('tbody th a').textContent") == f"{shown}id"
                options = page.evaluate(
                    "[...document.querySelector('select[name=type]').options].map((one) => one.value)"
                )
                assert options == ["", shown]
                assert (
                    page.evaluate("document.querySelector('tbody th a').getAttribute('href')")
                    == f"/run/{id_}/episode/0"
                )
        page = at(server, f"/diff?a={id_}:0&b={id_}:1", page)
        page = at(server, f"/compare?runs={id_}", page)


def test_names_of_runs_are_text(at, hostile):
    server, _ = hostile
    page = at(server, "/")
    shown = set(page.evaluate("[...document.querySelectorAll('tbody th a')].map((one) => one.textContent)"))
    assert set(names()) <= shown
    at(server, f"/compare?runs={','.join(ids(server.catalogue)[name] for name in names())}", page)


def test_whatever_designers_and_questions_hold_is_text(at, hostile):
    server, root = hostile
    run = ids(server.catalogue)
    page = at(server, f"/run/{run['spade']}/lineage")
    programs = load_spade(root / "spade").environments
    assert programs
    for one in programs:
        at(server, f"/run/{run['spade']}/program/{one.digest}", page)
        assert visible(one.design.program.title, 120) in page.evaluate("document.querySelector('h1').textContent")
        assert one.design.program.source.strip() in page.evaluate(
            "[...document.querySelectorAll('pre')].map((one) => one.textContent).join('\\n')"
        )
    at(server, f"/run/{run['spade']}/refused", page)
    for href in page.evaluate("[...document.querySelectorAll('tbody th a')].map((one) => one.getAttribute('href'))"):
        at(server, href, page)
    at(server, f"/run/{run['sesa']}/skills", page)
    cards = page.evaluate(
        "[...document.querySelectorAll('tbody th a')].map((one) => [one.textContent, one.getAttribute('href')])"
    )
    assert {" ".join(payload.split()) for payload in PAYLOADS[:8]} <= {title for title, _ in cards}
    for title, href in cards:
        at(server, href, page)
        assert title in page.evaluate("document.body.textContent")
    for place in ("", "/episodes", "/episode/0", "/episode/30"):
        at(server, f"/run/{run['sesa']}{place}", page)


def test_the_browser_itself_refuses_markup_and_other_addresses(browser, server):
    page = browser.page()
    page.open(server.url)
    page.wait(READY)
    tried = """(() => {
      try { document.body.innerHTML = '<img src=x onerror=alert(1)>'; return 'done' }
      catch (error) { return error.name }
    })()"""
    assert page.evaluate(tried) == "TypeError"  # Trusted Types
    assert page.evaluate("fetch('http://127.0.0.1:9/').then(() => 'done', (error) => error.name)") == "TypeError"
    page.wait("true")
    assert any("Content Security Policy" in one and "connect-src" in one for one in page.complaints)
    page.send("Page.close")


# --- keys


def names_of_controls(page: Page) -> list[tuple[str, str]]:
    """Role and name of everything that can be used, as assistive technology is told."""
    nodes = page.send("Accessibility.getFullAXTree")["nodes"]
    roles = {"link", "button", "checkbox", "combobox", "searchbox", "textbox", "disclosuretriangle"}
    found = []
    for node in nodes:
        role = str(node.get("role", {}).get("value", "")).lower()
        if role in roles and not node.get("ignored"):
            found.append((role, str(node.get("name", {}).get("value", ""))))
    return found


def walked(page: Page, most: int = 400) -> list[Any]:
    """What Tab reaches from the top of the page, each with whether its focus can be seen."""
    page.evaluate("document.activeElement.blur(); window.scrollTo(0, 0)")
    reached, code = (
        [],
        """(() => {
      const one = document.activeElement;
      if (one === document.body) return null;
      one.dataset.reached = 'yes';
      const style = getComputedStyle(one);
      return style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 1;
    })()""",
    )
    for _ in range(most):
        page.press("Tab")
        seen = page.evaluate(code)
        if seen is None:
            break
        reached.append(seen)
    return reached


def test_everything_is_reached_and_named_and_its_focus_is_seen(at, server, folder):
    page = None
    for target in addresses(server, folder):
        if target.startswith(("/api", "/figure")) or "/episodes" in target:
            continue
        page = at(server, target, page)
        seen = walked(page)
        assert seen and all(seen), (target, seen)
        left = """[...document.querySelectorAll('a[href], button:not(:disabled), input, select, summary')]
          .filter((one) => !one.dataset.reached && one.checkVisibility()).map((one) => one.outerHTML)"""
        assert page.evaluate(left) == [], target
        assert all(name.strip() for _, name in names_of_controls(page)), (target, names_of_controls(page))
        assert page.evaluate("document.querySelectorAll('main, h1').length") == 2
        assert page.evaluate("[...document.images].every((one) => one.alt)")


def test_runs_are_found_and_compared_by_keys_alone(at, server):
    page = at(server, "/")
    page.press("/")
    assert page.evaluate("document.activeElement.name") == "q"
    page.type("toy rules")  # family and model
    page.wait("document.querySelector('.count').textContent.startsWith('1 to 3')")
    page.press("ArrowDown")
    assert page.evaluate(FOCUSED) == "arms"
    page.press("ArrowDown")
    page.press("ArrowDown")
    assert page.evaluate(FOCUSED) == "one"
    page.press("ArrowUp")
    assert page.evaluate(FOCUSED) == "deep/er/two"
    page.press("Tab", shift=True)
    page.press(" ")
    page.press("ArrowDown")
    page.press(" ")
    assert page.evaluate("document.getElementById('chosen').textContent") == "2 chosen"
    while page.evaluate(FOCUSED) != "Compare curves":
        page.press("Tab", shift=True)
    page.press("Enter")
    page.wait("location.pathname === '/compare' && " + READY)
    assert page.evaluate("document.querySelectorAll('figure img').length") == 1  # they mean the same
    page.evaluate("history.back()")
    page.wait("location.pathname === '/' && document.querySelector('.count').textContent.startsWith('1 to 3')")


def test_an_episode_is_opened_and_turned_by_keys_alone(at, server):
    run = ids(server.catalogue)["one"]
    page = at(server, f"/run/{run}/episodes")
    page.press("/")
    page.press("Escape")
    page.press("ArrowDown")
    page.press("ArrowDown")
    page.press("Enter")
    page.wait(f"location.pathname === '/run/{run}/episode/1' && " + READY)
    page.press("ArrowRight")
    page.wait(f"location.pathname === '/run/{run}/episode/2' && " + READY)
    page.press("ArrowLeft")
    page.wait(f"location.pathname === '/run/{run}/episode/1' && " + READY)


def test_prompts_are_compared_by_keys_alone(at, server):
    run = ids(server.catalogue)
    page = at(server, "/diff")
    while page.evaluate("document.activeElement.name") != "a":
        page.press("Tab")
    page.type("one, turn 4")  # a select takes the option whose text begins so
    page.press("Tab")
    page.type("one, turn 1")
    page.press("Tab")
    page.press("Enter")
    page.wait(f"location.search.includes('a={run['one']}%3A4') && " + READY)
    assert page.evaluate("document.querySelectorAll('.diff .del').length") == 3


# --- a run of ten thousand episodes, and one that grows


def test_ten_thousand_episodes_come_a_hundred_at_a_time(at, tmp_path):
    write_run(tmp_path / "big", long_run(turns=20, eval_tasks=495, steps=2))
    with ViewServer(Catalogue(tmp_path)) as server:
        run = ids(server.catalogue)["big"]
        page = at(server, f"/run/{run}/episodes")
        assert page.evaluate("document.querySelector('.count').textContent") == "1 to 100 of 10,000"
        assert page.evaluate("document.querySelectorAll('tbody tr').length") == 100
        sizes = "performance.getEntriesByType('resource').map((one) => one.transferSize)"
        assert 0 < max(page.evaluate(sizes)) < 200_000
        page.press("ArrowDown")
        page.press("PageDown")
        page.wait("document.querySelector('.count').textContent === '101 to 200 of 10,000'")
        page.wait("document.activeElement.closest('tr')?.dataset.id === '100'")
        page.press("ArrowLeft")
        page.wait("document.querySelector('.count').textContent === '1 to 100 of 10,000'")
        page.evaluate("""(() => {
          const select = document.querySelector('select[name=turn]');
          select.value = '19';
          select.dispatchEvent(new Event('input', { bubbles: true }));
        })()""")
        page.wait("document.querySelector('.count').textContent === '1 to 100 of 500 (of 10,000)'")
        assert page.evaluate("location.search") == "?turn=19"
        at(server, f"/run/{run}/episodes?turn=19&offset=400", page)
        assert page.evaluate("document.querySelector('.count').textContent") == "401 to 500 of 500 (of 10,000)"
        at(server, f"/run/{run}/episode/9999", page)
        at(server, f"/run/{run}", page)
        assert "10,000" in page.evaluate("document.querySelector('dl.facts').textContent")


def test_pages_follow_a_run_that_goes_on(at, tmp_path):
    rows = meta_episode(turns=2)
    with RunFolder.create(tmp_path / "run", a_manifest()) as folder, ViewServer(Catalogue(tmp_path)) as server:
        run = ids(server.catalogue)["run"]
        folder.records.append_many(rows[:35])
        lists, episodes, overview = at(server, "/"), at(server, f"/run/{run}/episodes"), at(server, f"/run/{run}")
        episodes.press("ArrowDown")
        assert episodes.evaluate("document.querySelector('.count').textContent") == "1 to 33 of 33"
        assert overview.evaluate("document.getElementById('news').hidden")
        folder.records.append_many(rows[35:])
        episodes.wait("document.querySelector('.count').textContent === '1 to 87 of 87'")
        assert (
            episodes.evaluate("document.activeElement.closest('tr').dataset.id") == "0"
        )  # the reader stays where he was
        lists.wait("document.querySelector('.status').textContent === 'ended'")
        overview.wait(
            "!document.getElementById('news').hidden && document.getElementById('status').textContent === 'ended'"
        )
        before = overview.evaluate("document.querySelector('.tiles').textContent")
        while overview.evaluate(FOCUSED) != "Show them":
            overview.press("Tab")
        overview.press("Enter")
        overview.wait(f"document.querySelector('.tiles').textContent !== {before!r} && " + READY)
        offline = {"offline": True, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
        episodes.send("Network.emulateNetworkConditions", offline)
        episodes.wait("!document.querySelector('.trouble').hidden")
        assert "does not answer" in episodes.evaluate("document.querySelector('.trouble').textContent")
        assert all("ERR_INTERNET_DISCONNECTED" in one for one in episodes.complaints)  # that much the browser says
        episodes.complaints.clear()


def test_damage_is_told_in_the_list_and_in_the_run(at, tmp_path):
    path = write_run(tmp_path / "edited")
    raw = (path / "records.jsonl").read_bytes()
    (path / "records.jsonl").write_bytes(raw.replace(b"cabinet 1", b"cabinet 2", 1))
    write_run(tmp_path / "good")
    with ViewServer(Catalogue(tmp_path)) as server:
        page = at(server, "/")
        assert "line 1: the record is damaged" in page.evaluate("document.querySelector('tr.bad').textContent")
        assert page.evaluate("document.querySelectorAll('tr.bad').length") == 1
        page = at(server, f"/run/{ids(server.catalogue)['edited']}", page)
        assert page.evaluate("document.querySelectorAll('.tiles, figure').length") == 0
