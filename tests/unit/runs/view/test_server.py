"""The viewer's server: every page and list, who is answered, what is never reached, what is never written."""

from __future__ import annotations

import http.client
import json
import os
import re
import shutil
import socket
import time
from pathlib import Path

import pytest

from metagym.errors import BadInput, RunError, StoreError
from metagym.evaluation.run import Entrant
from metagym.runs.elo import elo_ratings
from metagym.runs.evals import EvalConfig, run_eval_sync
from metagym.runs.evals_results import load_evals
from metagym.runs.folder import RECORDS, RunFolder
from metagym.runs.report.evals import render_evals
from metagym.runs.results import load_results
from metagym.runs.sesa_results import load_sesa
from metagym.runs.spade_results import load_spade
from metagym.runs.view import Catalogue, ViewServer, facts, lists, pages, records
from metagym.runs.view.curves import charts
from metagym.runs.view.server import HEADERS, MAX_LINES
from metagym.stats import Estimate
from tests.unit.runs.synthetic import a_manifest, meta_episode, write_run
from tests.unit.runs.view.asking import data, ids, page, raw
from tests.unit.runs.view.hostile import hostile_spade


def addresses(server: ViewServer, folder: Path) -> list[str]:
    """Every page, list and figure that the fixture's runs have."""
    run = ids(server.catalogue)
    program = load_spade(folder / "spade").environments[0].digest
    card = load_sesa(folder / "sesa").cards[0].id
    found = ["/", "/api/runs", "/diff", f"/diff?a={run['one']}:0&b={run['deep/er/two']}:2"]
    found += [f"/compare?runs={','.join(run.values())}", f"/figure/compare/0.svg?runs={run['one']}"]
    for name, id_ in run.items():
        found += [f"/run/{id_}", f"/run/{id_}/episodes", f"/run/{id_}/episode/0", f"/api/run/{id_}/episodes"]
        found += [f"/api/run/{id_}/state", f"/api/run/{id_}/notices", f"/api/run/{id_}/figures"]
        found.append(f"/figure/{id_}/0.svg")
        if name in ("one", "deep/er/two", "arms"):
            found.append(f"/run/{id_}/prompts")
    found += [f"/run/{run['spade']}/{rest}" for rest in ("lineage", "refused", f"program/{program}")]
    found += [f"/api/run/{run['spade']}/{rest}" for rest in ("programs", "refused")]
    found += [f"/run/{run['sesa']}/skills", f"/run/{run['sesa']}/skill/{card}", f"/api/run/{run['sesa']}/skills"]
    return found


def listing(folder: Path) -> dict[str, tuple[int, int]]:
    return {
        str(path): (path.stat().st_mtime_ns, path.stat().st_size)
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_every_page_is_there_and_none_of_them_writes(server, folder):
    before = listing(folder)
    for target in addresses(server, folder):
        status, headers, body = raw(server, target)
        assert status == 200 and body, (target, status, body[:1000])
        for name, value in HEADERS.items():
            assert headers[name] == value
        if headers["Content-Type"].startswith("text/html"):
            text = body.decode("utf-8")
            # Nothing stands in the markup that the policy would refuse, and nothing is fetched from elsewhere.
            assert not re.search(
                r"<style|\sstyle=|\son[a-z]+=|<script(?! src=\"/assets/view.js\" defer></script>)", text
            )
            assert not re.search(r"(?:src|href|action)=\"(?!/|#)", text), target
    assert listing(folder) == before


def test_the_policy_lets_nothing_in_but_our_own_files():
    policy = HEADERS["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; ") and "unsafe" not in policy and "http" not in policy
    told = dict(part.split(" ", 1) for part in policy.split("; "))
    assert told["script-src"] == told["style-src"] == told["connect-src"] == told["img-src"] == "'self'"
    assert told["frame-ancestors"] == "'none'" and told["require-trusted-types-for"] == "'script'"


def test_only_this_machine_by_its_name_is_answered(server):
    port = server.port
    for good in (f"127.0.0.1:{port}", f"localhost:{port}"):
        assert raw(server, "/", Host=good)[0] == 200
    for bad in (
        "evil.example",
        f"evil.example:{port}",
        f"127.0.0.1:{port}.evil.example",
        "127.0.0.1",
        "",
        f"[::1]:{port}",
    ):
        status, headers, body = raw(server, "/api/runs", Host=bad)
        assert status == 421 and b"runs" not in body and headers["Content-Security-Policy"]
    with socket.create_connection(("127.0.0.1", port)) as line:  # two names, or none
        line.sendall(f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nHost: evil.example\r\n\r\n".encode())
        assert b" 421 " in line.recv(100)
    assert server.url == f"http://127.0.0.1:{port}/" and server._http.server_address[0] == "127.0.0.1"


def test_nothing_but_reading_is_known(server):
    for method in ("POST", "PUT", "DELETE", "PATCH", "OPTIONS"):
        status, headers, body = raw(server, "/", method)
        assert status == 501 and HEADERS.items() <= headers.items() and headers["Connection"] == "close"
        assert headers["Content-Type"].startswith("text/plain") and method.encode() in body
    status, headers, body = raw(server, "/", "HEAD")
    assert status == 200 and body == b"" and int(headers["Content-Length"]) > 1000


@pytest.mark.parametrize(
    "target",
    [
        "/../manifest.json", "/..%2f..%2fetc/passwd", "/assets/../server.py", "/assets/%2e%2e/server.py", "/assets/",
        "/run/../../etc/passwd", "/run/ID/../../manifest.json", "/run/ID/manifest.json", "/run/ID/episode/../../x",
        "/run/ID/skill/..%2f..%2f..%2fetc", "/run/ID/program/../../x", "/run/ID/attempt/0-0-0%00", "//etc/passwd",
        "/run/%00", "/run/ID%00", "/run/ID/episode/99999999", "/run/ID/episode/-1", "/run/ID/episode/1e3",
        "/run/ID/episode/%D9%A3", "/run/" + "f" * 12, "/api/run/ID/records", "/figure/ID/999.svg",
        "/run/ID/episode/" + "9" * 5000,
        "/" + "%41" * 3000, "/%ff%fe", "/run/ID/skill/" + "0" * 16, "/run/ID/program/" + "0" * 64, "*", "/compare",
        "/compare?runs=../..", "/diff?a=ID", "/diff?a=ID:x", "/diff?a=ID:99&b=ID:0", "/run/ID/episode/0?from=x",
        "/api/run/ID/episodes?offset=-1", "/api/run/ID/episodes?limit=many",
    ],
)  # fmt: skip
def test_no_address_reaches_anything_else(server, target):
    target = target.replace("ID", ids(server.catalogue)["one"])
    status, _, body = raw(server, target)
    assert status in (400, 404, 409, 414), (status, body[:500])
    assert b"root:" not in body and b'"format"' not in body and b"import " not in body


def test_whoever_takes_every_connection_is_turned_away_and_the_others_are_answered_after(view, tmp_path):
    write_run(tmp_path / "a")
    server = view(tmp_path)
    held = [socket.create_connection(("127.0.0.1", server.port), timeout=60) for _ in range(MAX_LINES)]
    late = socket.create_connection(("127.0.0.1", server.port), timeout=60)
    assert late.recv(1) == b""  # closed at once
    for line in [*held, late]:
        line.close()
    for _ in range(1000):
        try:
            assert "Runs" in page(server, "/")
            break
        except (http.client.HTTPException, ConnectionError):
            time.sleep(0.01)  # their threads are ending
    else:
        raise AssertionError("nobody is answered any more")


# --- lists


def test_the_runs_are_listed_with_what_they_are(server):
    told = data(server, "/api/runs")
    rows = {row["cells"][0]["t"]: row for row in told["rows"]}
    assert set(rows) == {"one", "deep/er/two", "arms", "spade", "sesa", "sesa-eval", "eval"} and told["reading"] is None
    assert [cell if isinstance(cell, str) else cell["t"] for cell in rows["one"]["cells"][1:]] == [
        "ict", "ended", "Toy", "rules", "145", load_results_point(server, "one")
    ]  # fmt: skip
    assert rows["arms"]["cells"][6] == {"t": "-", "s": "2 arms"}  # no mean over arms
    assert rows["spade"]["cells"][1] == "spade" and "round 3" in rows["spade"]["cells"][6]["s"]
    assert rows["one"]["href"] == f"/run/{rows['one']['id']}"


def load_results_point(server: ViewServer, name: str) -> str:
    path = next(run.path for run in server.catalogue.runs() if run.name == name)
    return load_results(path).curve().points[-1].success.point()


def test_runs_are_filtered_by_kind_status_family_model_and_text(server):
    def names(query: str) -> set[str]:
        return {row["cells"][0]["t"] for row in data(server, f"/api/runs?{query}")["rows"]}

    assert names("kind=ict") == {"one", "deep/er/two", "arms"} and names("kind=sesa%20eval") == {"sesa-eval"}
    assert names("model=openai:other-model") == {"deep/er/two"} and names("family=Program") == {"spade"}
    assert names("status=ended") == names("") and names("status=damaged") == set()
    assert names("q=TWO+other") == {"deep/er/two"} and names("q=nothing+like+it") == set()
    facets = data(server, "/api/runs?kind=ict")["facets"]
    assert dict(facets["kind"])["spade"] == 1  # what another choice of the same filter would give
    assert dict(facets["family"]) == {"Toy": 3}


def test_lists_come_in_parts(server):
    base = f"/api/run/{ids(server.catalogue)['one']}/episodes"
    first, second = data(server, f"{base}?limit=60"), data(server, f"{base}?limit=60&offset=120")
    assert (len(first["rows"]), first["total"], first["all"], first["offset"]) == (60, 145, 145, 0)
    assert len(second["rows"]) == 25 and second["rows"][0]["id"] == "120"
    assert len(data(server, base)["rows"]) == 100 and len(data(server, f"{base}?limit=99999")["rows"]) == 145
    assert data(server, f"{base}?offset=5000")["offset"] == 100  # the last part
    won = data(server, f"{base}?result=won&phase=eval&turn=4&limit=500")
    results = load_results(server.catalogue.run(ids(server.catalogue)["one"]).path)
    assert won["total"] == sum(episode.success is True for episode in results.episodes("", 4, "eval"))
    assert data(server, f"{base}?version={first['version']}") == {"same": True}


def test_an_episode_shows_all_of_each_turn(server, folder):
    text = page(server, f"/run/{ids(server.catalogue)['one']}/episode/3")
    for part in ("Looking around you, you see a cabinet 1", "Thought: the fridge is closed.\nAction: open fridge 1"):
        assert part in text
    assert re.search(r'<pre class="act" dir="auto">\nopen fridge 1</pre>', text)
    assert "reward +0.00" in text and 'class="tag repaired">repaired' in text and "You pick up the mug 1." in text


def test_long_episodes_come_in_parts(view, tmp_path):
    from metagym.episodes import Turn
    from tests.unit.runs.synthetic import a_task, an_episode, episode_records

    story = tuple(Turn(f"seen {i}", "go", "go", 0.0, False, i == 449) for i in range(450))
    write_run(tmp_path / "long", episode_records("", 0, "eval", [an_episode(a_task(0), False, turns=story)]))
    server = view(tmp_path)
    base = f"/run/{ids(server.catalogue)['long']}/episode/0"
    text = page(server, base)
    assert "seen 199<" in text and "seen 200<" not in text and f'{base}?from=200"' in text
    assert "seen 449<" in page(server, f"{base}?from=400") and "seen 449<" in page(server, f"{base}?from=9999")


def test_prompts_are_compared_between_turns_and_between_runs(server):
    run = ids(server.catalogue)
    text = page(server, f"/run/{run['one']}/prompts")
    assert text.count('class="add" data-op="+"') == 4 and "starting prompt" in text
    text = page(server, f"/diff?a={run['one']}:4&b={run['deep/er/two']}:1")
    assert text.count('data-op="-"') == 3 and "0 lines added, 3 removed" in text
    assert "the same prompt" in page(server, f"/diff?a={run['one']}:2&b={run['deep/er/two']}:2")
    assert "You play household games." in page(server, f"/diff?a={run['one']}:0")


def test_the_overview_tells_the_figures_of_the_report(server):
    run = ids(server.catalogue)
    point = load_results(server.catalogue.run(run["one"]).path).curve().points[-1].success
    text = page(server, f"/run/{run['one']}")
    assert f"<b>{point.point()}</b><small>{point.interval()} n={point.n}" in text and "McNemar" in text
    assert "2,250" not in text and "reflector" in text and "8,000" in text  # four reflections of 2,000 tokens
    figures = data(server, f"/api/run/{run['one']}/figures")["figures"]
    assert len(figures) == 1 and "Wilson" in figures[0]["caption"]
    status, headers, svg = raw(server, figures[0]["src"])
    assert status == 200 and headers["Content-Type"] == "image/svg+xml" and b"<script" not in svg
    assert b"prefers-color-scheme: dark" in svg and b"xmlns=" in svg.split(b">")[0]
    assert "Scripted stand-ins" in data(server, f"/api/run/{run['one']}/notices")["notices"][0]


def test_an_evaluation_tells_models_against_benchmarks_and_leads_to_their_episodes(server, folder):
    results, run = load_evals(folder / "eval"), ids(server.catalogue)["eval"]
    text = page(server, f"/run/{run}")
    for score in results.scores:
        query = f"arm={score.entrant.name}&phase={score.benchmark.name}"
        assert f'href="/run/{run}/episodes?{query.replace("&", "&amp;")}">{score.measures.avg.point()}</a>' in text
        assert data(server, f"/api/run/{run}/episodes?{query}")["total"] == len(score.episodes) > 0
    assert data(server, f"/api/run/{run}/notices")["notices"] == list(results.notices)
    listed = {row["cells"][0]["t"]: row["cells"] for row in data(server, "/api/runs?kind=eval")["rows"]}
    assert listed["eval"][6] == {"t": "-", "s": "2 models"}
    assert "it is an evaluation, measured once" in page(server, f"/compare?runs={run}")


def test_an_evaluation_shows_every_table_and_figure_of_its_report(server, folder):
    run, report = ids(server.catalogue)["eval"], render_evals(load_evals(folder / "eval"), "eval")
    drawn = re.findall(r"<table>.*?</table>", report, re.DOTALL)
    text = page(server, f"/run/{run}")
    assert len(drawn) >= 3 and all(table in text for table in drawn)
    figures = data(server, f"/api/run/{run}/figures")["figures"]
    assert len(figures) == len(load_evals(folder / "eval").benchmarks) and figures[0]["caption"] in report
    assert raw(server, figures[0]["src"])[0] == 200


def test_games_have_their_ratings(view, tmp_path):
    pytest.importorskip("textarena", reason="TextArena is not installed (extra games)")
    options = {"games": "TicTacToe", "puzzles": "", "opponents": "random", "size": 2}
    run_eval_sync(EvalConfig("games", (Entrant("mine", "random"),), options), tmp_path / "games")
    server = view(tmp_path)
    text = page(server, f"/run/{ids(server.catalogue)['games']}")
    (found, _) = elo_ratings(load_evals(tmp_path / "games"))
    assert "Elo: Bradley-Terry over 4 games of 2 starts" in text and len(found) == 2
    for one in found:
        assert f"{one.elo:.0f} [{one.low:.0f}, {one.high:.0f}]" in text
        assert f"{one.wins} / {one.draws} / {one.losses}" in text


def test_cards_tell_versions_uses_and_events(server, folder):
    results, run = load_sesa(folder / "sesa"), ids(server.catalogue)["sesa"]
    listed = data(server, f"/api/run/{run}/skills")
    assert [row["id"] for row in listed["rows"]] == [card.id for card in results.cards]
    learnt = next(card for card in results.cards if card.source == "failure")
    text = page(server, f"/run/{run}/skill/{learnt.id}")
    assert "added to the bank" in text and text.count("used in step") == results.entries[learnt.id].uses
    assert 'aria-label="Uses"' in text and "Versions" in text


def test_lineage_can_be_walked_both_ways(server, folder):
    results, run = load_spade(folder / "spade"), ids(server.catalogue)["spade"]
    child = next(one for one in results.environments if one.design.program.parents)
    (parent,) = child.design.program.parents
    text = page(server, f"/run/{run}/program/{child.digest}")
    assert f'href="/run/{run}/program/{parent}"' in text and "in use" in text
    assert "class NumberLockEnv" in text and child.first.estimate.p0.interval() in text
    assert f'href="/run/{run}/program/{child.digest}"' in page(server, f"/run/{run}/program/{parent}")
    assert f'href="/run/{run}/program/{child.digest}"' in page(server, f"/run/{run}/lineage")


def test_refused_attempts_tell_their_code_and_what_was_judged(view, tmp_path):
    path = hostile_spade(tmp_path / "spade")
    server = view(tmp_path)
    results, run = load_spade(path), ids(server.catalogue)["spade"]
    listed = data(server, f"/api/run/{run}/refused")
    codes = results.statistics["designs"]["codes"]
    assert dict(listed["facets"]["code"]) == codes and listed["total"] == sum(codes.values()) > 0
    for row in listed["rows"]:
        text = page(server, row["href"])
        assert f"Refused: {row['cells'][0]['t']}" in text and "What was judged" in text
    assert data(server, f"/api/run/{run}/refused?code=no_code")["total"] == codes["no_code"]


# --- a run that goes on


def test_a_run_is_followed_while_it_is_written(view, tmp_path):
    rows = meta_episode(turns=2)
    with RunFolder.create(tmp_path / "run", a_manifest()) as folder:
        server = view(tmp_path)
        run = ids(server.catalogue)["run"]
        assert data(server, f"/api/run/{run}/episodes")["total"] == 0
        assert "nothing" not in page(server, f"/run/{run}") and "going on" in page(server, f"/run/{run}")
        folder.records.append_many(rows[:40])
        seen = data(server, f"/api/run/{run}/episodes")
        state = data(server, f"/api/run/{run}/state")
        assert seen["total"] == state["episodes"] == 38 and state["status"] == "going on"
        assert data(server, f"/api/run/{run}/episodes?version={seen['version']}") == {"same": True}
        folder.records.append_many(rows[40:])
        after = data(server, f"/api/run/{run}/episodes?version={seen['version']}")
        assert after["total"] == 87 and data(server, f"/api/run/{run}/state")["status"] == "ended"


def test_runs_that_come_and_go_are_seen(view, tmp_path, monkeypatch):
    from metagym.runs.view import catalogue

    monkeypatch.setattr(catalogue, "_LOOK_AGAIN", 0.0)
    write_run(tmp_path / "a")
    server = view(tmp_path)
    gone = ids(server.catalogue)["a"]
    write_run(tmp_path / "b")
    assert data(server, "/api/runs")["total"] == 2
    shutil.rmtree(tmp_path / "a")
    assert [row["cells"][0]["t"] for row in data(server, "/api/runs")["rows"]] == ["b"]
    assert "no such run" in page(server, f"/run/{gone}", 404)


def test_of_many_runs_some_are_read_at_a_time_and_the_others_are_called_unread(tmp_path):
    for name in "abc":
        write_run(tmp_path / name)
    runs = Catalogue(tmp_path)
    assert runs.refresh(0) == pytest.approx(1 / 3) and [run.status for run in runs.runs()] == ["ended", *["unread"] * 2]
    told = lists.runs_list(runs, {"limit": "3"})
    assert told["total"] == 3
    while runs.refresh(0) is not None:
        pass
    assert [run.status for run in runs.runs()] == ["ended"] * 3 and lists.runs_list(runs, {})["reading"] is None


def test_what_is_still_being_read_gives_no_figure_of_a_part(tmp_path, monkeypatch):
    write_run(tmp_path / "a")
    monkeypatch.setattr(records, "_CHUNK", 20_000)
    runs = Catalogue(tmp_path)
    (run,) = runs.runs()
    while not run.records.rows:
        run.refresh(1e-9)
    assert run.records.reading is not None and run.latest == (Estimate(None, None, None, 0), "being read")
    for asked in (run.results, lambda: facts.figures_of(run, {}), lambda: facts.notices_of(run, {})):
        with pytest.raises(StoreError, match="still being read"):
            asked()
    made, without = charts([run])
    assert made == [] and "a: the records of this run are still being read" in without[0]
    assert "are still being read" in pages.render("diff", page_title="", a=None, b=None, lines=None, offered=[],
                                                  chosen=("", ""), reading=0.4)  # fmt: skip


def test_a_filter_of_very_many_words_is_refused(server):
    assert "has 21 words" in data(server, "/api/runs?q=" + "+".join(map(str, range(21))), 400)["error"]
    assert data(server, "/api/runs?q=" + "+one" * 10_000)["total"] == 1


def test_runs_of_another_kind_have_no_page_of_skills_or_programs(server):
    run = ids(server.catalogue)
    for name, pages_of in (("one", "lineage"), ("sesa", "lineage"), ("one", "skill/" + "0" * 16)):
        assert "it has no such page" in page(server, f"/run/{run[name]}/{pages_of}", 404)
    for name, listed in (("one", "skills"), ("spade", "skills"), ("eval", "programs"), ("sesa", "refused")):
        assert "it has no such page" in data(server, f"/api/run/{run[name]}/{listed}", 404)["error"]


# --- bad input


def test_damaged_runs_are_named_and_show_no_figure_while_the_others_do(view, tmp_path):
    for name in ("good", "edited", "other-layout", "no-records", "no-json", "torn"):
        write_run(tmp_path / name)
    for name in ("other-layout", "no-json"):
        text = (tmp_path / name / "manifest.json").read_text()
        text = text.replace('"format": 1', '"format": 7') if name == "other-layout" else text[:-20]
        (tmp_path / name / "manifest.json").write_text(text)
    (tmp_path / "no-records" / RECORDS).unlink()
    lines = (tmp_path / "edited" / RECORDS).read_bytes().splitlines(keepends=True)
    lines[9] = lines[9].replace(b'"success":false', b'"success":true', 1)
    (tmp_path / "edited" / RECORDS).write_bytes(b"".join(lines))
    whole = (tmp_path / "torn" / RECORDS).read_bytes()
    (tmp_path / "torn" / RECORDS).write_bytes(whole[:-30])
    os.utime(tmp_path / "torn" / RECORDS, (1, 1))
    server = view(tmp_path)
    run = ids(server.catalogue)
    listed = {row["cells"][0]["t"]: row["cells"] for row in data(server, "/api/runs")["rows"]}
    assert {name: cells[2]["t"] for name, cells in listed.items()} == {
        "good": "ended", "edited": "damaged", "other-layout": "unreadable", "no-records": "unreadable",
        "no-json": "unreadable", "torn": "stopped",
    }  # fmt: skip
    assert listed["edited"][0]["s"] == (
        "records.jsonl, line 10: the record is damaged (checksum does not fit); restore it from a copy"
    )
    assert listed["edited"][6]["t"] == "-" and listed["good"][6]["t"] == "0.83"
    assert "has layout 7, and this MetaGym reads layout 1" in page(server, f"/run/{run['other-layout']}")
    assert "records.jsonl cannot be read: No such file" in page(server, f"/run/{run['no-records']}")
    assert "manifest.json is damaged" in page(server, f"/run/{run['no-json']}")
    assert "was cut short" in page(server, f"/run/{run['torn']}")
    text = page(server, f"/run/{run['edited']}")
    assert "line 10: the record is damaged" in text and "No figure" in text and "Results" not in text
    assert data(server, f"/api/run/{run['edited']}/episodes")["total"] == 144  # the sound ones can be read
    assert "1 of 151 records of this run are damaged" in data(server, f"/api/run/{run['edited']}/figures", 409)["error"]
    both = page(server, f"/compare?runs={run['good']},{run['edited']}")
    assert "edited: 1 of 151 records" in both and both.count("<img") == 1 and ">edited<" not in both
    for text in (both, page(server, f"/run/{run['no-records']}")):
        assert str(tmp_path) not in text.replace("&#39;", "'")


def test_an_episode_whose_record_was_changed_meanwhile_is_refused_by_name(view, tmp_path):
    path = write_run(tmp_path / "run")
    server = view(tmp_path)
    run = ids(server.catalogue)["run"]
    page(server, f"/run/{run}/episode/0")
    stamp = (path / RECORDS).stat()
    raw_bytes = (path / RECORDS).read_bytes()
    (path / RECORDS).write_bytes(raw_bytes.replace(b"cabinet 1", b"cabinet 9", 1))
    os.utime(path / RECORDS, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))  # as if nothing had happened
    assert "record &#39;turn/0/batch/0&#39;: the record is damaged" in page(server, f"/run/{run}/episode/0", 409)


@pytest.mark.parametrize("changes", [
    {"config": "text"}, {"config": None}, {"versions": 5}, {"command": ["a"]}, {"command": "spade run", "config": {}},
    {"command": "sesa run"}, {"command": "sesa eval"}, {"command": "eval"}, {"command": "eval", "entrants": 3},
    {"environment": 7, "metagym": None}, {"command": "spade run", "config": {"interval": "x"}},
])  # fmt: skip
def test_manifests_that_mean_nothing_are_told_and_break_nothing(view, tmp_path, changes):
    write_run(tmp_path / "odd", **changes)
    server = view(tmp_path)
    run = ids(server.catalogue)["odd"]
    assert data(server, "/api/runs")["total"] == 1
    for target in ("", "/episodes", "/episode/0"):
        page(server, f"/run/{run}{target}")
    status, _, body = raw(server, f"/api/run/{run}/figures")
    assert status in (200, 409) and json.loads(body)
    page(server, f"/compare?runs={run}")


def test_curves_that_do_not_mean_the_same_are_drawn_apart(view, tmp_path):
    write_run(tmp_path / "a")
    write_run(tmp_path / "b", meta_episode(seed=1))
    write_run(tmp_path / "c", meta_episode(eval_tasks=12))
    write_run(tmp_path / "d", config={**a_manifest()["config"], "max_steps": 99}, metagym="0.0.9")
    half = meta_episode(turns=2)
    write_run(tmp_path / "half", half[: next(i for i, (key, _) in enumerate(half) if key == "turn/2/eval/5")])
    server = view(tmp_path)
    run = ids(server.catalogue)
    text = page(server, f"/compare?runs={','.join(run.values())}")
    assert text.count("<img") == 3 and text.count("Drawn apart") == 2
    assert "held-out tasks is" in text and "config.max_steps is 30 in a and 99 in d" in text
    assert "different versions of MetaGym: 0.0.9, " in text
    assert "half: turn 2 holds 5 of 24 episodes, so its point is of a part of the tasks." in text
    for number in range(3):
        assert raw(server, f"/figure/compare/{number}.svg?runs={','.join(run.values())}")[0] == 200
    assert "choose 1 to 24 runs" in page(server, "/compare?runs=", 400)


def test_folders_without_runs_are_one_sentence(tmp_path):
    for path, words in (
        (tmp_path / "absent", "is no folder"), (tmp_path, "holds no run"), (Path("\0"), "is no folder"),
    ):  # fmt: skip
        with pytest.raises(RunError, match=words):
            Catalogue(path)
    (tmp_path / "file").write_text("x")
    with pytest.raises(RunError, match="is no folder"):
        Catalogue(tmp_path / "file")
    deep = tmp_path / "/".join("abcdefg")
    write_run(deep)
    with pytest.raises(RunError, match="holds no run"):
        Catalogue(tmp_path)  # seven levels down
    assert [run.name for run in Catalogue(tmp_path / "a").runs()] == ["b/c/d/e/f/g"]


def test_links_are_not_followed_and_runs_are_not_looked_into(tmp_path):
    write_run(tmp_path / "in" / "run")
    write_run(tmp_path / "in" / "run" / "bank" / "inner")
    write_run(tmp_path / "out" / "secret")
    (tmp_path / "in" / "link").symlink_to(tmp_path / "out")
    (tmp_path / "in" / "loop").symlink_to(tmp_path / "in")
    assert [run.name for run in Catalogue(tmp_path / "in").runs()] == ["run"]
    assert [run.name for run in Catalogue(tmp_path / "in" / "run").runs()] == ["run"]


def test_a_port_that_is_taken_is_one_sentence(server, folder):
    with pytest.raises(BadInput, match=f"cannot listen on 127.0.0.1:{server.port}"):
        ViewServer(Catalogue(folder), server.port)
    with pytest.raises(BadInput, match="cannot listen|port"):
        ViewServer(Catalogue(folder), 70_000)
