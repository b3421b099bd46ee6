"""Programs are played like any family: forms of actions, hints, failures typed, sessions that share nothing."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from metagym.chat import Request, scripted
from metagym.chat.types import Reply
from metagym.episodes import Episode, Repair
from metagym.errors import ChatError, ProgramKilled
from metagym.families import Cleaned
from metagym.sandbox import Limits
from metagym.spade.hosts import PlayerSettings, ProgramPlayer, Stage, settled, staged
from metagym.spade.outcomes import HINTED, PLAIN, Outcome, pair_seeds
from metagym.spade.program import EnvProgram
from metagym.spade.regret import estimate_regret
from metagym.spade.seats import FORMS, boxed_in, cleaned, instructions_of
from metagym.spade.stand_ins import load_seat
from metagym.spade.stand_ins.programs import number_lock
from tests.unit.spade.programs import LOCK, SHOP, changed
from tests.unit.spade.running import inside


def play(
    source: str,
    agent: Any,
    *,
    hint: str | None = None,
    seeds: list[int] | None = None,
    trusted: bool = True,
    settings: PlayerSettings | None = None,
    limits: Limits | None = None,
) -> tuple[list[Outcome], list[tuple[Episode, str | None]], Stage]:
    """Plays a program on some seeds, all at once."""
    kept: list[tuple[Episode, str | None]] = []

    async def go() -> tuple[list[Outcome], Stage]:
        program = EnvProgram.parse(source)
        async with staged(program, inside()[0] if trusted else None, max_steps=10, limits=limits) as stage:
            player = ProgramPlayer(settings, lambda episode, shown, _: kept.append((episode, shown)))
            plays = [player(stage, seed, hint, agent, 1_000 + seed) for seed in seeds or [1, 2, 3]]
            return list(await asyncio.gather(*plays)), stage

    outcomes, stage = asyncio.run(go())
    return outcomes, kept, stage


def says(text: str) -> Any:
    return scripted(lambda request: text)


def test_the_oracle_wins_every_play_and_a_silent_agent_none() -> None:
    outcomes, kept, _ = play(LOCK, load_seat("scripted:oracle", "agent"))
    assert [(one.success, one.ret, one.steps) for one in outcomes] == [(True, 1.0, 2)] * 3
    assert all(turn.repair is Repair.EXACT for episode, _ in kept for turn in episode.turns)
    lost, _, _ = play(LOCK, load_seat("scripted:noop", "agent"))
    assert [(one.success, one.steps, one.failure) for one in lost] == [(False, 10, None)] * 3


def test_a_tool_program_shows_its_tools_and_takes_several_lines() -> None:
    asked: list[Request] = []

    def agent(request: Request) -> str:
        asked.append(request)
        return 'I look.\n<tool_call>{"name": "look",\n "arguments": {"name": "no fruit"}}</tool_call>\nDone.'

    outcomes, kept, stage = play(SHOP, scripted(agent), seeds=[1])
    first = asked[0].messages[-1].content
    assert '"name": "look"' in first and "JSON Schema" in first and "<answer>" in first
    assert "Action:" not in first  # the two-line form is for lines of text
    assert "there is no no fruit" in kept[0][0].turns[1].observation
    assert outcomes[0].success is False and outcomes[0].steps == 10


def test_boxed_commands_keep_their_box_and_thoughts_stay_behind() -> None:
    source = changed(LOCK, "action_format: text", "action_format: boxed").replace(
        "words = action.split()",
        "words = action[len('\\\\boxed{'):-1].split() if action.startswith('\\\\boxed{') else []",
    )
    outcomes, kept, _ = play(source, says("I try \\boxed{turn 1} first, no: \\boxed{turn 30}"), seeds=[1])
    assert [turn.action for turn in kept[0][0].turns[:1]] == ["\\boxed{turn 30}"]
    assert "Too" in kept[0][0].turns[1].observation or "clicks" in kept[0][0].turns[1].observation
    none, kept, _ = play(source, says("nothing in a box"), seeds=[1])
    assert none[0].invalid == 10 and "\\boxed" in kept[0][0].turns[1].observation


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("\\boxed{a}", "\\boxed{a}"),
        ("\\boxed{a} then \\boxed{b{c}d}", "\\boxed{b{c}d}"),
        ("\\boxed{a} then \\boxed{never closed", "\\boxed{a}"),
        ("\\boxed{", ""),
        ("", ""),
        ("\\boxed{" * 3_000, ""),
    ],
)
def test_the_last_closed_box_is_the_command(text: str, found: str) -> None:
    assert boxed_in(text) == found


def test_actions_of_callers_without_a_conversation_follow_the_same_rule() -> None:
    text, calls = EnvProgram.parse(LOCK), EnvProgram.parse(SHOP)
    assert cleaned(text, " turn 3\nand more") == ("turn 3", Repair.REPAIRED)
    assert cleaned(calls, "<answer>\n4</answer>") == Cleaned("<answer>\n4</answer>", Repair.EXACT)
    assert FORMS["tool_call"].read(Reply("x" * 50_000), None) == "x" * 20_000
    assert "Small shop" in instructions_of(calls) and "stock" not in instructions_of(calls)


def test_the_hint_stands_under_the_first_observation_of_hinted_plays_alone() -> None:
    _, kept, _ = play(LOCK, load_seat("scripted:noop", "agent"), hint="halve it", seeds=[4])
    assert kept[0][0].turns[0].observation.endswith("\n\nHINT: halve it")
    assert "HINT" not in kept[0][0].turns[1].observation
    _, kept, _ = play(LOCK, load_seat("scripted:noop", "agent"), seeds=[4])
    assert "HINT" not in repr(kept)


def test_what_fails_is_typed_and_ends_one_play_alone() -> None:
    broken = changed(LOCK, "        self.steps += 1\n", "        self.steps += 1\n        assert action != 'turn 7'\n")

    def agent(request: Request) -> str:
        return "Action: turn 7" if "between" in request.messages[-1].content else "Action: wait"

    outcomes, _, stage = play(broken, scripted(agent))
    assert [one.failure for one in outcomes] == ["env_error"] * 3 and stage.killed is None

    def down(request: Request) -> str:
        raise ChatError("no server")

    outcomes, _, _ = play(LOCK, scripted(down))
    assert [(one.failure, one.ret, one.success) for one in outcomes] == [("agent_error", None, None)] * 3


def test_a_hung_program_is_ended_and_all_its_plays_fail_alike() -> None:
    hung = changed(
        LOCK,
        "        self.steps += 1\n",
        "        self.steps += 1\n        while action == 'wait':\n            pass\n",
    )
    outcomes, _, stage = play(hung, load_seat("scripted:noop", "agent"), trusted=False, limits=Limits(call_s=0.3))
    assert {one.failure for one in outcomes} == {"timeout"}
    assert isinstance(stage.killed, ProgramKilled) and stage.killed.limit == "wall"
    mixed = [Outcome(1, ret=1.0, success=True, steps=3), Outcome(2, failure="agent_error")]
    assert [one.failure for one in settled(mixed, stage.killed)] == ["timeout", "timeout"]
    assert settled(mixed, None) is mixed


def test_sessions_of_one_worker_share_nothing() -> None:
    """Module, class and instance state of one play never reach another, in whatever order they run."""
    counting = changed(LOCK, "    PINS = 2\n", "    PINS = 2\n    SEEN = []\n").replace(
        "        self.at = 0\n",
        "        self.at = 0\n        self.SEEN.append(seed)\n        assert len(self.SEEN) == 1\n",
        1,
    )
    outcomes, _, _ = play(counting, load_seat("scripted:oracle", "agent"), seeds=list(range(1, 40)), trusted=False)
    assert [one.success for one in outcomes] == [True] * 39


def test_paired_plays_give_known_regret_whatever_else_is_played() -> None:
    """A hint copier wins with a leaking hint alone: regret 1; the oracle has none."""

    async def go(agent: Any, hint: str) -> Any:
        program = EnvProgram.parse(number_lock(2))
        async with staged(program, inside()[0]) as stage:
            seeds = pair_seeds(program.digest, 0, 6)
            found = await estimate_regret(stage, agent, seeds, hint, player=ProgramPlayer())
            secrets = await stage.secrets(seeds)
            return found, secrets

    found, secrets = asyncio.run(go(load_seat("scripted:oracle", "agent"), "think"))
    assert found.regret.value == 0.0 and found.p0.value == 1.0
    assert [len(secret.solution) for secret in secrets] == [2] * 6 and len(secrets[0].others) == 5
    copier = load_seat("scripted:hint_copier", "agent")
    found, _ = asyncio.run(go(copier, " ".join(secrets[0].solution)))
    assert found.plain.win_rate == 0.0 and found.hinted.win_rate == pytest.approx(1 / 6)
    assert {PLAIN, HINTED} == {0, 1}


def test_a_reference_policy_gives_the_stand_ins_their_solution() -> None:
    source = LOCK[: LOCK.index("    def solution(self)")] + (
        "    def state(self):\n        return {'pins': self.pins, 'at': self.at}\n\n"
        "    def reference_policy(self, observation, state):\n        return f\"turn {state['pins'][state['at']]}\"\n"
    )
    outcomes, _, _ = play(source, load_seat("scripted:oracle", "agent"))
    assert [(one.success, one.steps) for one in outcomes] == [(True, 2)] * 3
