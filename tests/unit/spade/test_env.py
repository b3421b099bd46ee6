"""The designer's environment: refusals as text, rewards of the preset, nothing private in what is shown."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import gymnasium
import pytest

import metagym  # noqa: F401 - registers the ids
from metagym.chat import scripted
from metagym.errors import BadInput, ChatError, NoTasks, StoreCorrupt, TooManyFailures, UnknownName
from metagym.spade.env import DesignerEnv
from metagym.spade.memory import EnvMemory
from metagym.spade.stand_ins.programs import adversaries, noisy_door, number_lock
from tests.unit.spade.programs import SHOP
from tests.unit.spade.running import config, inside, run

CANARY = "xylophone"


def made(**settings: Any) -> DesignerEnv:
    """An environment whose trusted programs run in this process."""
    defaults: dict[str, Any] = {"designs": 4, "corpus": "frozen", "seeds": 6, "validation": {"seeds": 3}}
    env = DesignerEnv(**{**defaults, **settings})
    env.workshop.pools = inside()
    return env


def test_a_good_program_is_paid_and_a_bad_one_comes_back_with_its_reason() -> None:
    env = made(agent="scripted:skill?theta=4", reward="spade_regret", repeats=1)
    observation, info = env.reset(seed=1)
    assert "=== document" in observation and info["skill"] in observation and "SyntheticEnv" in info["instructions"]
    observation, reward, terminated, truncated, info = env.step(f"Here it is:\n```python\n{number_lock(4)}```")
    assert 0 < reward <= 1 and not terminated and not truncated and info["scored"]
    assert info["report"]["ok"] and info["regret"]["regret"]["value"] == reward
    assert "was accepted" in observation and "without the hint" in observation
    observation, reward, *_, info = env.step(adversaries()["crash"])
    assert reward == 0.0 and info["report"]["code"] == "step_crash" and info["regret"] is None
    assert "step_crash" in observation and "KeyError" in observation
    *_, info = env.step("no program at all")
    assert info["report"]["code"] == "no_code"
    *_, truncated, info = env.step(number_lock(4))
    assert truncated and info["report"]["code"] == "duplicate_exact"  # the memory of the meta-episode
    with pytest.raises(BadInput, match="ended after 4 designs"):
        env.step("x")
    env.close()


def test_equal_seeds_give_equal_meta_episodes() -> None:
    def once(env: DesignerEnv) -> str:
        out: list[Any] = [env.reset(seed=5)]
        out += [env.step(program) for program in (number_lock(3), noisy_door(0.5), number_lock(3, ["ledger", "drift"]))]
        return json.dumps(out, default=repr)

    env = made()
    first = once(env)
    assert first == once(env) == once(made())  # and no memory of the first one is left
    env.reset(seed=6)
    assert json.dumps([env.reset(seed=6)]) != json.dumps([env.reset(seed=7)])


def test_neither_solution_nor_hint_stands_in_observations_or_infos() -> None:
    """Canaries: the program's own hint, and the pins of its plays, never come through."""
    source = number_lock(3).replace("[strategy: halve]", f"[strategy: {CANARY}]").replace("turn {pin}", "turn  {pin}")
    for hint in ("program", "self"):
        env = made(
            hint=hint, hinter=scripted(lambda request: f"HINT: {CANARY}"), designs=2, agent="scripted:hint_reader"
        )
        out = [env.reset(seed=2), env.step(source)]
        told = json.dumps(out[1:], default=repr)
        assert out[1][4]["report"]["ok"] and CANARY not in told
        assert "turn  " not in told.replace(source, "")


def test_what_could_not_be_measured_is_nan_and_never_zero() -> None:
    env = made(hint="none", reward="spade_regret")
    env.reset(seed=0)
    _, reward, *_, info = env.step(number_lock(3))
    assert math.isnan(reward) and info["scored"] is False and info["breakdown"]["total"] is None
    leaking = made(hint="self", hinter=scripted(lambda request: "HINT: " + ", ".join(map(str, range(60)))), designs=1)
    leaking.reset(seed=0)
    observation, reward, *_, info = leaking.step(number_lock(3))
    assert math.isnan(reward) and "could not be scored" in observation


def test_a_failing_agent_model_is_an_error_and_the_step_can_be_tried_again() -> None:
    def down(request: Any) -> str:
        raise ChatError("no server")

    env = made(agent=scripted(down), hinter="rules", auditor="rules")
    env.reset(seed=0)
    with pytest.raises(TooManyFailures, match="the agent failed"):
        env.step(number_lock(3))
    assert env.turn == 0


def test_a_memory_file_is_read_and_never_written(tmp_path: Path) -> None:
    file = tmp_path / "memory.jsonl"
    with EnvMemory.open(file, "w") as memory:
        loop, _, _ = run(config(rounds=1, programs=4, skills=("Optimization",)), memory=memory)
    raw = file.read_bytes()
    env = made(memory=str(file), skills=["Optimization"], agent="scripted:skill?theta=3")
    env.reset(seed=0)
    known = loop.slots[0][0].design.last.source
    *_, info = env.step(known)
    assert info["report"]["code"] == "duplicate_exact"
    env.step(number_lock(5, ["mirror", "ledger", "fatigue"]))
    assert file.read_bytes() == raw
    assert len(made(memory=file)._known) == len(made(memory=str(file))._known) > 0  # a Path is a file too
    file.write_bytes(b"\x00\x01")
    with pytest.raises(StoreCorrupt, match="no environment memory"):
        made(memory=str(file))
    assert file.read_bytes() == b"\x00\x01"


def test_skills_go_in_turn_or_one_is_asked_for() -> None:
    env = made(skills=["A", "B"], corpus=None)
    _, info = env.reset(seed=0)
    assert info["skill"] == "A" and info["document"] is None
    *_, info = env.step("x")
    assert info["skill"] == "B"
    observation, info = env.reset(options={"skill": "Chess"})
    assert info["skill"] == "Chess" and "Chess" in observation


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"setting": "chess"}, "setting is one of"),
        ({"reward": "gold"}, "there is no reward"),
        ({"designs": 0}, "designs is at least 1"),
        ({"render_mode": "human"}, "render_mode is None or 'ansi'"),
        ({"speed": 3}, "unusable settings"),
        ({"corpus": "nowhere"}, "unknown corpus"),
        ({"corpus": "jsonl:/no/such/file"}, "does not exist"),
        ({"agent": "scripted:nobody"}, "no scripted agent"),
        ({"validation": {"seeds": 1}}, "seeds is at least 3"),
        ({"rounds": 3, "pool": "x"}, "unusable settings of the designer's environment: pool, rounds;"),
        ({"memory": 5}, "memory is True, False or the file"),
        ({"memory": None}, "memory is True, False or the file"),
        ({"skills": "Chess"}, "skills are a list of names"),
    ],
)
def test_unusable_settings_are_one_sentence_when_it_is_made(settings: dict[str, Any], words: str) -> None:
    with pytest.raises((BadInput, UnknownName, NoTasks), match=words):
        made(**settings)


def test_unusable_calls_are_one_sentence() -> None:
    env = made(render_mode="ansi")
    with pytest.raises(BadInput, match="call reset"):
        env.step("x")
    with pytest.raises(BadInput, match="reset knows the option skill"):
        env.reset(options={"level": 3})
    observation, _ = env.reset(seed=0)
    assert env.render() == observation
    with pytest.raises(BadInput, match="is the source of a program"):
        env.step(3)  # type: ignore[arg-type]


def test_tool_use_asks_for_tools() -> None:
    env = made(setting="tool_use")
    _, info = env.reset(seed=0)
    assert (
        "ToolEnv" in info["instructions"]
        and "tool_call" in info["instructions"]
        and info["skill"] == "API Orchestration"
    )


@pytest.mark.parametrize(("setting", "other"), [("tool_use", number_lock(3)), ("games", SHOP)])
def test_a_program_of_the_other_setting_is_refused_and_told_why(setting: str, other: str) -> None:
    env = made(setting=setting)
    env.reset(seed=0)
    observation, reward, *_, info = env.step(other)
    assert info["report"]["code"] == "metadata_missing" and reward < 0
    assert f"in the setting {setting}" in observation


def test_the_registered_id_has_json_settings() -> None:
    env = gymnasium.make("MetaGym/SPADE-Designer-v0", agent="scripted:oracle", designs=1, corpus="frozen")
    assert env.spec is not None and "scripted:oracle" in env.spec.to_json()
    env.close()
