"""Ordinary fair programs in several habits of writing pass; how they are played tells what it should."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from metagym.errors import ProgramKilled
from metagym.sandbox import Limits, Program, SandboxPool
from metagym.spade.fingerprint import ast_fingerprint
from metagym.spade.program import OPTIONAL, REQUIRED, SHOWN_INFO, program_in
from metagym.spade.validation import CODES, STAGES, ValidationSettings, validate
from metagym.spade.validation.policies import Form, constant, echo, reader, script, spoiled
from metagym.spade.validation.walks import AT_ONCE, Plan, Step, Walk, play_all, replay
from tests.unit.spade.programs import LOCK, SHOP, changed

FAIR = sorted((Path(__file__).parent / "fair").glob("*.txt"))


@pytest.fixture(scope="module")
def pools() -> Iterator[Sequence[SandboxPool]]:
    limits = Limits(call_s=5.0)  # the machine may be busy; these programs are quick
    with SandboxPool(limits=limits) as one, SandboxPool(hash_seed=7, limits=limits) as two:
        yield one, two


@pytest.fixture
def lock(pools: Sequence[SandboxPool]) -> Iterator[Program]:
    with pools[0].load(LOCK) as program:
        yield program


@pytest.mark.parametrize("path", FAIR, ids=lambda path: path.stem)
def test_s25_ordinary_programs_pass_at_first_try(path: Path, pools: Sequence[SandboxPool]) -> None:
    report = validate(path.read_text("utf-8"), settings=ValidationSettings(seeds=6), pools=pools)
    assert report.ok, report


def test_they_are_novel_to_each_other() -> None:
    found = [ast_fingerprint(path.read_text("utf-8")) for path in FAIR]
    assert len(found) >= 6
    assert max(one.similarity(other) for one in found for other in found if one is not other) < 0.4


# --- walks


def test_many_episodes_in_lockstep_equal_the_same_ones_alone_and_replayed(lock: Program) -> None:
    plans = [
        Plan(f"turn {number}", seed, script([f"turn {number}"], again=True), 12, after=True)
        for seed in range(12)
        for number in range(5, 50, 9)
    ]
    assert len(plans) > AT_ONCE
    together = play_all(lock, plans)
    assert [walk.name for walk in together] == [plan.name for plan in plans]
    assert all(walk.over and walk.after is not None and walk.after.reward == 0 for walk in together)
    for walk, plan in zip(together[::7], plans[::7], strict=True):
        assert play_all(lock, [plan]) == [walk]
    for walk, again in zip(together, replay(lock, together), strict=True):
        assert (walk.steps, walk.error) == (again.steps, again.error)


def test_an_error_ends_its_own_walk_and_a_kill_names_its_call(pools: Sequence[SandboxPool]) -> None:
    source = changed(LOCK, "        if self.over:\n", "        1 / (action != 'bad')\n        if self.over:\n")
    plans = [Plan("bad", 1, script(["x", "bad"]), 12), Plan("good", 1, script(["x", "y"]), 12)]
    with pools[0].load(source) as program:
        bad, good = play_all(program, plans)
        assert bad.error is not None and "ZeroDivisionError" in str(bad.error) and bad.actions == ["x"]
        assert good.error is None and good.actions == ["x", "y"] and not good.over
        assert [walk.error is None for walk in replay(program, [bad, good])] == [True, True]
    hung = changed(LOCK, "        if self.over:\n", "        while action == 'bad': pass\n        if self.over:\n")
    with pools[0].load(hung, limits=Limits(call_s=0.3)) as program:
        with pytest.raises(ProgramKilled, match="step\\('bad'\\)"):
            play_all(program, plans)


# --- policies


def walk(text: str) -> Walk:
    return Walk("some", 1, [Step(None, text)])


@pytest.mark.parametrize(
    ("form", "shown"),
    [("text", "1"), ("boxed", "\\boxed{1}"), ("tool_call", "<answer>1</answer>")],
)
def test_commands_are_wrapped_in_the_programs_format(form: str, shown: str) -> None:
    assert constant(Form(form), "1")(walk("?")) == shown
    assert echo(Form(form))(walk("1")) == shown


def test_the_reader_draws_from_what_is_shown_and_equal_paths_draw_alike() -> None:
    text = "Say 'open sesame' or knock. Doors: red, dark blue"
    drawn = [reader(Form("text"), 0, number)(walk(text)) for number in range(200)]
    assert drawn == [reader(Form("text"), 0, number)(walk(text)) for number in range(200)]
    assert {"open sesame", "dark blue", "red", "knock"} <= set(drawn)
    assert reader(Form("text"), 0)(walk("")) == ""


def test_the_reader_of_a_program_with_tools_calls_them(pools: Sequence[SandboxPool]) -> None:
    with pools[0].load(SHOP) as program:
        tools = program.ask("tools")
        shown = program.reset(3)[0]
        drawn = [reader(Form("tool_call", tools), 0, number)(walk(shown)) for number in range(60)]
    calls = [json.loads(found[11:-12]) for found in map(str, drawn) if found.startswith("<tool_call>")]
    assert {call["name"] for call in calls} == {"look", "put"}
    assert all(isinstance(call["arguments"].get("count", 1), int) for call in calls)


def test_spoiled_actions_keep_their_form_and_lose_their_sense() -> None:
    assert {"turn \u00b2", "turn -1", "turn ", "tu"} <= set(spoiled("turn"[:4] + " 17")) | {"tu"}
    call = '<tool_call>{"name": "put", "arguments": {"name": "fig", "count": 3}}</tool_call>'
    bodies = [
        json.loads(found[11:-12])
        for found in spoiled(call)
        if found.count("tool_call") == 2 and "x y z" not in found and _parses(found[11:-12])
    ]
    assert {"name": "put", "arguments": {}} in bodies
    assert {"name": "put", "arguments": {"name": None, "count": 3}} in bodies
    assert spoiled("go") == ["g", "go go"]


def _parses(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def test_the_programs_of_the_page_are_fair_and_its_table_holds_every_code(pools: Sequence[SandboxPool]) -> None:
    page = (Path(__file__).parents[3] / "docs" / "write_an_environment_program.md").read_text("utf-8")
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert len(blocks) == 2 and program_in(page) == blocks[0]
    for source in blocks:
        report = validate(source, pools=pools)
        assert report.ok, report
    for name in (*CODES, *REQUIRED, *OPTIONAL, *SHOWN_INFO):
        assert f"`{name}`" in page, name
    rows = [row.split(" | ") for row in page.splitlines() if row.startswith(tuple(f"| {stage} |" for stage in STAGES))]
    assert [(row[0].strip("| "), set(re.findall(r"`(\w+)`", row[1]))) for row in rows] == [
        (stage, {code for code in CODES if CODES[code] == stage}) for stage in STAGES
    ]
