"""Episodes that do not fit as plain HTML are packed, all of them, and neither their text nor the script can do harm."""

import base64
import json
import re
import zlib

import pytest

from metagym.episodes import Repair, Status, Turn
from metagym.runs.folder import RunFolder
from metagym.runs.report import episodes, page, write_report
from metagym.runs.report.turns import KINDS, MAX_TURNS, content, pack, pieces, plain
from metagym.runs.results import load_results
from metagym.seeding import rng
from tests.unit.runs.synthetic import a_task, an_episode, episode_records
from tests.unit.runs.test_report import HOSTILE, report, run_browser

BREAKING = (
    "</template></script><!-- <script>alert(1)</script> ]]> \u2028\u2029 \x00 \ud800 \\u0000 &amp; '\" " + HOSTILE
)


def unpacked(text: str) -> dict[str, list[dict]]:
    """What stands in the packs of a page, by the name of the pack."""
    found = {}
    for name, packed in re.findall(r'<template id="(p\d+)">([A-Za-z0-9+/=]+)</template>', text):
        found[name] = json.loads(zlib.decompress(base64.b64decode(packed, validate=True), -zlib.MAX_WBITS))
    assert len(found) == text.count("<template")
    return found


def packed_places(text: str) -> list[tuple[str, int]]:
    return [(f"p{number}", int(place)) for number, place in re.findall(r'id="e(\d+)-(\d+)" data-packed', text)]


def long_run(turns: int, eval_tasks: int, steps: int) -> list:
    """A run like a real one, of long episodes whose turns differ."""
    rows = []
    for turn in range(turns):
        for phase, count in (("batch", 5), ("eval", eval_tasks)):
            played = []
            for index in range(count):
                dice = rng(turn, phase, str(index))
                places = [dice.randrange(1, 400) for _ in range(steps)]
                story = tuple(
                    Turn(f"You arrive at shelf {n}. On the shelf {n}, you see a mug {n + 1} and a pen {n * 7}.",
                         f"Thought: shelf {n} <has> no & lamp.\nAction: go to shelf {n + 3}", f"go to shelf {n + 3}",
                         0.0, False, step == steps - 1)
                    for step, n in enumerate(places)
                )  # fmt: skip
                task = a_task(index if phase == "eval" else turn * count + index, phase)
                played.append(an_episode(task, index % 10 < turn, Status.OK, story))
            rows += episode_records("", turn, phase, played)
    return rows


# --- what a turn costs and says


def test_the_usual_two_lines_give_the_thought_and_the_action_once():
    turn = Turn("a <b>", "Thought: x\nAction: go", "go", 0.0, False, False)
    assert plain([pieces(turn)]) == "<li>a &lt;b&gt;<q>x</q><kbd>go</kbd>"
    assert plain([pieces(turn._replace(reply="go"))]) == "<li>a &lt;b&gt;<kbd>go</kbd>"


@pytest.mark.parametrize(
    "reply",
    [
        "Thought: x\nAction: go to y",  # another action than what was sent
        "Thought: x\nAction: GO",
        "Thought: \nAction: go",
        "Thought: x\nAction: go\nAction: stay",
        "I think\nThought: x\nAction: go",
        "Action: go",
        "",
    ],
)
def test_any_other_reply_is_shown_raw(reply):
    assert pieces(Turn("a", reply, "go", 0.0, False, False))[1:3] == [KINDS.index("pre"), reply]


def test_a_thought_is_empty_only_where_the_turn_before_had_it():
    def said(thought):
        return Turn("a", f"Thought: {thought}\nAction: go", "go", 0.0, False, False)

    story = (said("x"), said("x"), said("y"), said("x"), said("x")._replace(reply="go"), said("x"), said("x"))
    shown = [turn[2] if turn[1] == 0 else None for turn in content(an_episode(a_task(0), True, turns=story))["turns"]]
    assert shown == ["x", "", "y", "x", None, "x", ""]


def test_long_episodes_tell_how_much_more_there_is():
    story = (Turn("a", "go", "go", 0.0, False, False),) * (MAX_TURNS + 7)
    shown = content(an_episode(a_task(0), True, turns=story, last_observation=""))
    assert len(shown["turns"]) == MAX_TURNS and shown["more"] == "7 more turns" and shown["last"] == "(empty)"


# --- everything is there


def test_a_run_over_the_plain_limit_shows_every_episode(make_run):
    path = make_run(rows=long_run(turns=9, eval_tasks=60, steps=70))
    text, parsed = report(path, packed=True)
    plainly, places = parsed.tags.count("ol"), packed_places(text)
    assert plainly + len(places) == 9 * 65 and plainly > 200 and len(places) > 50
    assert "without their turns" not in parsed.text and f"the turns of {len(places)} of 585 episodes are packed" in text
    packs = unpacked(text)
    assert sorted(places) == sorted((name, place) for name, items in packs.items() for place in range(len(items)))
    assert text.count("<li>") + sum(len(item["turns"]) for items in packs.values() for item in items) == 9 * 65 * 70


def test_a_run_that_fits_holds_no_script(make_run):
    text, parsed = report(make_run())
    assert "no script." in parsed.text and "script-src" not in text and not unpacked(text)


def squeeze(monkeypatch, path, share: float) -> None:
    """Sets a limit that leaves the given share of what the turns take as plain HTML."""
    full = len(write_report(path).read_bytes())
    monkeypatch.setattr(page, "_ROOM", 1)
    bare = len(write_report(path).read_bytes())
    monkeypatch.setattr(page, "_ROOM", int(bare + (full - bare) * share))


def test_the_oldest_evaluations_are_packed_first(make_run, monkeypatch):
    monkeypatch.setattr(episodes, "PACK_EPISODES", 10)
    path = make_run(rows=long_run(turns=4, eval_tasks=40, steps=30))
    squeeze(monkeypatch, path, 0.7)
    text, parsed = report(path, packed=True)
    assert len(text.encode()) <= page._ROOM
    parts = text.split('<details class="group">')[1:]  # batch 0, eval 0, batch 1, eval 1, ...
    turns = [part.count("<ol>") for part in parts]
    assert turns[0::2] == [5, 5, 5, 5]
    assert turns[1] < 40 and turns[7] == 40 and turns[1::2] == sorted(turns[1::2])
    packed = [part.count("data-packed>") for part in parts]
    assert [a + b for a, b in zip(turns, packed, strict=True)] == [5, 40] * 4
    assert "without their turns" not in parsed.text


def test_where_not_even_packs_fit_the_oldest_evaluations_stay_lines(make_run, monkeypatch):
    monkeypatch.setattr(episodes, "PACK_EPISODES", 10)
    path = make_run(rows=long_run(turns=4, eval_tasks=40, steps=30))
    squeeze(monkeypatch, path, 0.13)
    text, parsed = report(path, packed=True)
    assert len(text.encode()) <= page._ROOM
    parts = text.split('<details class="group">')[1:]
    shown = [part.count("<ol>") + part.count("data-packed>") for part in parts]
    assert shown[0::2] == [5, 5, 5, 5]
    assert shown[1] < 40 and shown[7] == 40 and shown[1::2] == sorted(shown[1::2])
    assert f"{180 - sum(shown)} of 180 episodes are shown without their turns" in parsed.text
    assert all(part.count("pill") == size for part, size in zip(parts, [5, 40] * 4, strict=True))


def test_packs_hold_what_plain_pages_show_byte_for_byte(make_run, monkeypatch):
    path = make_run(rows=long_run(turns=3, eval_tasks=20, steps=20))
    told = [content(item.episode) for item in load_results_of(path)]
    squeeze(monkeypatch, path, 0.35)
    text, _ = report(path, packed=True)
    packs = unpacked(text)
    shown = [packs[name][place] for name, place in packed_places(text)]
    assert len(shown) > 20
    dumped = [json.dumps(item) for item in told]
    assert all(json.dumps(item) in dumped for item in shown)
    heads = re.findall(r'id="e\d+-\d+" data-packed><summary>.*?<span class="id" dir="auto">(.*?)</span>', text)
    names = {json.dumps(content(item.episode)): item.episode.task.id for item in load_results_of(path)}
    assert [names[json.dumps(item)] for item in shown] == heads  # each opens to its own turns


def load_results_of(path):
    with RunFolder.open(path) as folder:
        return load_results(folder).played


# --- hostile content


def hostile_run() -> list:
    story = (
        Turn(BREAKING, f"Thought: {BREAKING.strip()}\nAction: {BREAKING.strip()}", BREAKING.strip(), 0.5, False, False),
        Turn("b" + BREAKING, BREAKING, "__proto__", 0.0, False, True, Repair.INVALID),
        Turn("c", None, "", 0.0, False, True, Repair.ABSENT, BREAKING),
    )
    rows = []
    for turn in range(2):
        many = [an_episode(a_task(i), True, turns=story, last_observation=BREAKING, cause=BREAKING) for i in range(60)]
        rows += episode_records("", turn, "eval", many)
    return rows


def test_hostile_text_stays_in_its_pack(make_run, monkeypatch):
    path = make_run(rows=hostile_run())
    squeeze(monkeypatch, path, 0.6)
    text, parsed = report(path, packed=True)  # one script, by its hash, and the tags match
    packs = unpacked(text)
    places = packed_places(text)
    assert places and parsed.tags.count("template") == len(packs)
    first = packs[places[0][0]][places[0][1]]["turns"]
    assert first[0][0].startswith("</template></script><!-- <script>alert(1)</script> ]]> ⟨U+2028⟩⟨U+2029⟩ ␀")
    assert "⟨U+D800⟩" in first[0][0] and first[2][2].startswith("no action: the model gave no answer (</template>")


def test_packs_hold_only_what_base64_holds():
    text = pack([content(an_episode(a_task(0), True, last_observation=BREAKING * 50))])
    assert re.fullmatch(r"[A-Za-z0-9+/]+={0,2}", text)


def test_the_script_writes_text_nodes_and_reads_no_network():
    source = page._script()["source"]
    for word in ("innerHTML", "outerHTML", "insertAdjacent", "document.write", "eval", "Function", "fetch", "XMLHttp",
                 "import", "setAttribute", "</", "<!--"):  # fmt: skip
        assert word not in source
    assert json.loads(re.search(r"const KINDS = (\[.*?\]);", source)[1]) == list(KINDS)


# --- a real browser


def body(dom: str, name: str) -> str:
    """The opened episode of a name, up to its end."""
    start = dom.index(f'<details class="ep" id="{name}"')
    return dom[start : dom.index("</details>", start)]


@pytest.mark.slow
@pytest.mark.parametrize("hostile", [False, True])
def test_a_real_browser_unpacks_an_episode_from_disk(make_run, tmp_path, monkeypatch, hostile):
    path = make_run(rows=hostile_run() if hostile else long_run(turns=3, eval_tasks=20, steps=20))
    squeeze(monkeypatch, path, 0.6 if hostile else 0.35)
    address = write_report(path).as_uri()
    text = (path / "report.html").read_text("utf-8")
    name, place = packed_places(text)[-1]
    told = unpacked(text)[name][place]
    episode = f"e{name[1:]}-{place}"
    flags = ("--virtual-time-budget=10000", "--dump-dom")
    dom = run_browser(tmp_path, *flags, f"{address}#{episode}").stdout.decode("utf-8")
    shown = body(dom, episode)
    assert "data-packed" not in shown and ' open=""' in shown.split(">")[0]
    assert [turn.split("</li>")[0] for turn in shown.split("<li>")[1:]] == [
        re.sub("<pre>\n", "<pre>", plain([turn]).removeprefix("<li>")) for turn in told["turns"]
    ]
    assert "last observation</span> " in shown and told["note"] in shown
    assert dom.count("data-packed=") == len(packed_places(text)) - 1  # the others wait
    assert "<title>run - MetaGym report</title>" in dom and "pwned" not in dom.split("<body>")[0]
    assert dom.count("<script") == 1


@pytest.mark.slow
def test_without_the_script_the_page_says_where_the_turns_are(make_run, tmp_path, monkeypatch):
    path = make_run(rows=long_run(turns=3, eval_tasks=20, steps=20))
    squeeze(monkeypatch, path, 0.35)
    file = write_report(path)
    text = file.read_text("utf-8")
    name, place = packed_places(text)[-1]
    changed = text.replace('"use strict";', '"use strict"; ')  # no longer the script that the policy names
    file.write_text(changed, "utf-8")
    episode = f"e{name[1:]}-{place}"
    flags = ("--virtual-time-budget=10000", "--dump-dom")
    dom = run_browser(tmp_path, *flags, f"{file.as_uri()}#{episode}", console="Content Security Policy").stdout.decode()
    assert "records.jsonl" in body(dom, episode) and "<ol>" not in body(dom, episode)
