"""The agent's environment: programs of a pool, a file, a memory; tools and user messages; nothing private shown."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import gymnasium
import pytest

import metagym  # noqa: F401 - registers the ids
from metagym.errors import BadInput, NoTasks, ProgramError, ProgramKilled, StoreCorrupt, UnknownName
from metagym.sandbox import Limits, SandboxPool
from metagym.spade.agent_env import AgentEnv
from metagym.spade.memory import EnvMemory
from metagym.spade.pool import write_pool
from metagym.spade.program import EnvProgram
from metagym.spade.stand_ins.programs import noisy_door, number_lock
from tests.unit.spade.programs import LOCK, SHOP, changed
from tests.unit.spade.running import config, inside, run


def env(**settings: Any) -> AgentEnv:
    return AgentEnv(sandbox=inside()[0], **settings)


def solve(environment: AgentEnv) -> tuple[float, dict[str, Any]]:
    """Plays a lock by halving."""
    low, high, total = 3, 59, 0.0
    while True:
        text, reward, terminated, truncated, info = environment.step(f"turn {(low + high) // 2}")
        total += reward
        if text.startswith("Too low"):
            low = (low + high) // 2 + 1
        elif text.startswith("Too high"):
            high = (low + high) // 2 - 1
        else:
            low, high = 3, 59
        if terminated or truncated:
            return total, info


def test_a_lock_is_opened_and_success_is_a_third_thing() -> None:
    environment = env(source=number_lock(2))
    _, info = environment.reset(seed=1)
    assert info["success"] is None and info["title"] == "Number lock 2" and info["tools"] == []
    total, info = solve(environment)
    assert info["success"] is True and total == pytest.approx(1.0)
    with pytest.raises(BadInput, match="call reset"):
        environment.step("turn 3")
    environment.reset(seed=1)
    *_, info = environment.step("wait")
    assert info["success"] is False and info["repair"] == "exact"


def test_equal_seeds_give_equal_episodes_and_the_cap_truncates() -> None:
    def once(environment: AgentEnv) -> str:
        out: list[Any] = [environment.reset(seed=9)]
        out += [environment.step("turn 30") for _ in range(3)]
        return json.dumps(out)

    environment = env(max_steps=3)
    first = once(environment)
    assert first == once(environment) == once(env(max_steps=3))
    assert json.loads(first)[-1][2:4] == [False, True]
    assert once(env(max_steps=3, skill="Logical Deduction")) == first


def test_a_tool_program_shows_schemas_and_one_user_message_after_the_other() -> None:
    environment = env(source=SHOP)
    observation, info = environment.reset(seed=3)
    assert [tool["function"]["name"] for tool in info["tools"]] == ["look", "put"]
    assert info["tools"][0]["function"]["parameters"]["required"] == ["name"] and "Put half" in observation
    bad, *_, info = environment.step('<tool_call>{"name": "look"}</tool_call>')
    assert "arguments" in bad and info["success"] is False
    fruit = observation.split("all the ")[1].split(" that")[0]
    stock, *_ = environment.step(f'<tool_call>{{"name": "look", "arguments": {{"name": "{fruit}"}}}}</tool_call>')
    half = int("".join(filter(str.isdigit, stock))) // 2
    environment.step(f'<tool_call>{{"name": "put", "arguments": {{"name": "{fruit}", "count": {half}}}}}</tool_call>')
    after, reward, *_ = environment.step("<answer>done</answer>")
    assert reward == 0.5 and "How many are left" in after
    left, *_ = environment.step(f'<tool_call>{{"name": "look", "arguments": {{"name": "{fruit}"}}}}</tool_call>')
    *_, reward, terminated, _, info = environment.step(f"<answer>{''.join(filter(str.isdigit, left))}</answer>")
    assert reward == 0.5 and terminated and info["success"] is True


def test_hints_solutions_and_texts_of_info_never_come_through() -> None:
    telling = changed(
        LOCK, '{"steps": self.steps}', '{"steps": self.steps, "answer": str(self.pins), "pins": self.pins}'
    )
    environment = env(source=telling)
    shown = [environment.reset(seed=2), *[environment.step("turn 1") for _ in range(3)]]
    for item in shown:
        info = item[-1]
        assert "answer" not in info and "pins" not in info and "hint" not in json.dumps(info)
        assert "Halve" not in json.dumps(item)
    assert shown[-1][-1]["steps"] == 3


def test_programs_come_from_a_pool_a_file_or_a_memory(tmp_path: Path) -> None:
    write_pool(tmp_path / "pool", [number_lock(2), noisy_door(0.5)])
    pool = env(pool=str(tmp_path / "pool"))
    assert {program.title for program in pool.programs} == {"Number lock 2", "Noisy door 0.5"}
    digest = EnvProgram.parse(number_lock(2)).digest
    _, info = pool.reset(options={"program": digest[:10], "seed": 4})
    assert info["title"] == "Number lock 2" and info["seed"] == 4
    (tmp_path / "one.py").write_text(number_lock(5), encoding="utf-8")
    assert env(file=str(tmp_path / "one.py")).programs[0].title == "Number lock 5"
    with EnvMemory.open(tmp_path / "memory.jsonl", "w") as memory:
        run(config(rounds=1), memory=memory)
    assert env(memory=str(tmp_path / "memory.jsonl")).programs
    with pytest.raises(UnknownName, match="0 of the 2 programs"):
        pool.reset(options={"program": "feed"})


def test_a_changed_file_of_a_pool_is_named(tmp_path: Path) -> None:
    write_pool(tmp_path / "pool", [number_lock(2)])
    [file] = (tmp_path / "pool" / "programs").iterdir()
    file.write_text(number_lock(3), encoding="utf-8")
    with pytest.raises(StoreCorrupt, match=file.name):
        env(pool=str(tmp_path / "pool"))


def test_a_program_that_fails_raises_a_typed_error_and_the_next_reset_works() -> None:
    broken = changed(LOCK, "        self.steps += 1\n", "        self.steps += 1\n        assert action != 'turn 7'\n")
    environment = env(source=broken)
    environment.reset(seed=0)
    with pytest.raises(ProgramError):
        environment.step("turn 7")
    environment.reset(seed=0)
    environment.step("turn 8")
    hung = changed(LOCK, "        self.steps += 1\n", "        while action == 'hang':\n            pass\n")
    with SandboxPool(limits=Limits(call_s=0.3)) as sandbox:
        environment = AgentEnv(source=hung, sandbox=sandbox)
        environment.reset(seed=0)
        with pytest.raises(ProgramKilled):
            environment.step("hang")
        environment.reset(seed=0)
        assert environment.step("turn 3")[0]
        environment.close()


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"pool": "x", "file": "y"}, "one place"),
        ({"pool": "/no/such/folder"}, "holds no pool.json"),
        ({"file": "/no/such/file.py"}, "cannot be read as a program"),
        ({"source": "prose"}, "no environment program"),
        ({"source": 3}, "source is a text"),
        ({"skill": "Chess"}, "no program of skill 'Chess'"),
        ({"max_steps": 0}, "max_steps is at least 1"),
        ({"render_mode": "human"}, "nothing to render"),
    ],
)
def test_unusable_settings_are_one_sentence(settings: dict[str, Any], words: str) -> None:
    with pytest.raises((BadInput, NoTasks), match=words):
        env(**settings)


def test_unusable_calls_are_one_sentence() -> None:
    environment = env()
    with pytest.raises(BadInput, match="call reset"):
        environment.step("x")
    with pytest.raises(BadInput, match="reset knows the options"):
        environment.reset(options={"level": 1})
    environment.reset(seed=0)
    with pytest.raises(BadInput, match="action is text"):
        environment.step(b"x")  # type: ignore[arg-type]


def test_the_registered_id_plays_in_the_sandbox() -> None:
    environment = gymnasium.make("MetaGym/SPADE-Agent-v0")
    observation, info = environment.reset(seed=0)
    assert "hidden pins" in observation and info["action_format"] == "text"
    environment.close()
