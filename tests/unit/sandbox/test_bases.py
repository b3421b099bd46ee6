"""The base classes, by themselves: trusted code, run in this process."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metagym.chat.tools import ToolParseMessage, parse_tool_arguments
from metagym.sandbox.bases import MAX_CALLS, SyntheticEnv, ToolEnv, read_arguments


class Dice(SyntheticEnv):
    def __init__(self, sides: int = 6) -> None:
        self.sides = sides
        self.at_birth = self.rng.random()

    def reset(self, seed: int, **_: Any) -> tuple[str, dict[str, Any]]:
        return str([self.rng.randrange(self.sides) for _ in range(8)]), {}

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        return str(self.rng.random()), 0.0, False, False, {}


class LoadedDice(Dice):
    def reset(self, seed: int, **more: Any) -> tuple[str, dict[str, Any]]:
        self.first = self.rng.random()
        return super().reset(seed, **more)


def test_the_seed_is_the_whole_of_an_episodes_chance() -> None:
    dice, other = Dice(), Dice(sides=6)
    assert dice.reset(3) == other.reset(seed=3) != dice.reset(4)
    dice.step("roll")
    assert dice.reset(3) == other.reset(3)
    assert dice.step("roll") == other.step("roll")
    assert dice.at_birth == other.at_birth


def test_a_reset_that_calls_its_parents_goes_on_drawing() -> None:
    loaded = LoadedDice()
    drawn = loaded.reset(3)
    generator = random.Random(3)
    assert loaded.first == generator.random()
    assert drawn[0] == str([generator.randrange(6) for _ in range(8)])


def test_the_generator_is_whole_after_a_reset_that_failed() -> None:
    class Fragile(Dice):
        def reset(self, seed: int, **_: Any) -> tuple[str, dict[str, Any]]:
            if seed == 1:
                raise ValueError("no")
            return super().reset(seed)

    env = Fragile()
    with pytest.raises(ValueError):
        env.reset(1)
    assert env.reset(3) == Dice().reset(3)


def test_an_unwritten_method_says_what_to_write() -> None:
    with pytest.raises(NotImplementedError, match="reset"):
        SyntheticEnv().reset(0)
    with pytest.raises(NotImplementedError, match="step"):
        SyntheticEnv(max_steps=3).step("x")
    with pytest.raises(NotImplementedError, match="begin"):
        ToolEnv().reset(0)


# --- tools


class Lamp(ToolEnv):
    max_steps = 6

    def begin(self) -> None:
        self.level = 0
        self.goal = self.rng.randrange(1, 9)
        self.runs = 0

    def turns(self) -> list[Any]:
        return [
            (f"Set the lamp to {self.goal}.", lambda: self.level == self.goal),
            ("Switch it off and say off.", lambda: self.level == 0 and self.answer == "off"),
        ]

    def tool_off(self) -> str:
        """Switches the lamp off."""
        self.runs += 1
        self.level = 0
        return "dark"

    def tool_set(self, level: int, slowly: bool = False) -> dict[str, int]:
        """Sets the level.

        More than anyone needs to know.

        level (int): From 0 to 9.
        """
        self.runs += 1
        if level > 9:
            raise ValueError("too bright")
        self.level = level
        return {"level": level}


def call(name: str, arguments: Any = None) -> str:
    return "<tool_call>" + json.dumps({"name": name, "arguments": arguments}) + "</tool_call>"


def test_the_schema_is_read_from_signature_and_docstring() -> None:
    assert Lamp().tools() == [
        {
            "type": "function",
            "function": {
                "name": "off",
                "description": "Switches the lamp off.",
                "parameters": {"type": "object", "properties": {}, "required": []},
            },
        },
        {
            "type": "function",
            "function": {
                "name": "set",
                "description": "Sets the level.",
                "parameters": {
                    "type": "object",
                    "properties": {
                        "level": {"type": "integer", "description": "From 0 to 9."},
                        "slowly": {"type": "boolean"},
                    },
                    "required": ["level"],
                },
            },
        },
    ]


def test_messages_come_one_by_one_and_each_predicate_pays_its_share() -> None:
    lamp = Lamp()
    first, _ = lamp.reset(5)
    assert first == f"Set the lamp to {lamp.goal}."
    shown, reward, terminated, truncated, _ = lamp.step("I think. " + call("set", {"level": lamp.goal}))
    assert (shown, reward, terminated, truncated) == (
        f'<tool_response>{{"level": {lamp.goal}}}</tool_response>',
        0.0,
        False,
        False,
    )
    shown, reward, terminated, _, info = lamp.step("<answer>done</answer>")
    assert (shown, reward, terminated, info) == ("Switch it off and say off.", 0.5, False, {"turn": 1})
    shown, reward, terminated, truncated, _ = lamp.step(call("off") + "<answer> off </answer>")
    assert "dark" in shown and (reward, terminated, truncated) == (0.5, True, False)
    assert lamp.step(call("off"))[1:4] == (0.0, True, False) and lamp.runs == 2


def test_an_answer_whose_predicate_fails_pays_nothing_and_the_next_message_comes() -> None:
    lamp = Lamp()
    lamp.reset(5)
    assert lamp.step("<answer></answer>")[1:4] == (0.0, False, False)
    assert lamp.step("<answer>off</answer>")[1:4] == (0.5, True, False)


def test_an_episode_is_cut_at_its_last_step_and_stays_over() -> None:
    lamp = Lamp()
    lamp.reset(5)
    flags = [lamp.step("hm")[2:4] for _ in range(8)]
    assert flags == [(False, False)] * 5 + [(False, True)] * 3


@pytest.mark.parametrize("raw", ["MISSING", "", '{"level":1', '{"level":1}{"level":1}', "[]", None, 3, '{"level":NaN}'])
def test_s18_arguments_that_cannot_be_read_run_nothing_and_count_one_step(raw: Any) -> None:
    lamp = Lamp()
    lamp.reset(5)
    body = {"name": "set"} if raw == "MISSING" else {"name": "set", "arguments": raw}
    shown, reward, terminated, truncated, _ = lamp.step(f"<tool_call>{json.dumps(body)}</tool_call>")
    assert shown.startswith("Nothing was run. ") and (reward, terminated, truncated) == (0.0, False, False)
    assert (lamp.level, lamp.runs, lamp.steps) == (0, 0, 1)
    assert "tool_response" in lamp.step(call("set", {"level": 3}))[0] and lamp.level == 3


@pytest.mark.parametrize(
    "body", ['{"name": "off"}', '{"name": "off", "arguments": ""}', '{"name":"off","arguments":"{}"}']
)
def test_s18_absent_arguments_are_none_for_a_tool_that_needs_none(body: str) -> None:
    lamp = Lamp()
    lamp.reset(5)
    assert lamp.step(f"<tool_call>{body}</tool_call>")[0] == "<tool_response>dark</tool_response>"


@pytest.mark.parametrize(
    ("action", "told"),
    [
        ("hello", "Write <tool_call>"),
        ("", "Write <tool_call>"),
        ("<tool_call>{", "not closed"),
        ("<tool_call>{}</tool_call>", "There is no tool"),
        ("<tool_call>nope</tool_call>", "not one valid JSON object"),
        ("<tool_call>[1]</tool_call>", "not one JSON object"),
        ("<tool_call>" + "[" * 100_000 + "</tool_call>", "not one valid JSON object"),
        (call("nope"), "Tools: off, set"),
        (call("set", {"level": "3"}), "must be of type integer"),
        (call("set", {"level": True}), "must be of type integer"),
        (call("set", {"level": 1, "colour": 2}), "There is no argument 'colour'"),
        (call("off") * (MAX_CALLS + 1), "more than"),
        (call("set", {"level": 4}) + call("nope"), "Tools:"),
    ],
)
def test_what_is_wrong_is_told_and_nothing_runs(action: str, told: str) -> None:
    lamp = Lamp()
    lamp.reset(5)
    assert told in lamp.step(action)[0] and lamp.runs == 0 and lamp.level == 0


def test_a_tools_value_error_is_an_answer() -> None:
    lamp = Lamp()
    lamp.reset(5)
    assert lamp.step(call("set", {"level": 99}))[0] == "<tool_response>Error: too bright</tool_response>"


_JSONISH = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=100, deadline=None)
@given(
    st.one_of(
        st.none(), st.text(max_size=20), _JSONISH.map(json.dumps), st.dictionaries(st.text(max_size=3), st.none())
    ),
    st.lists(st.sampled_from("abc"), unique=True),
)
def test_s18_arguments_are_read_by_the_rules_of_the_chat_room(raw: Any, required: list[str]) -> None:
    values, problem = read_arguments(raw, required)
    expected = parse_tool_arguments(raw, required)
    assert bool(problem) == isinstance(expected, ToolParseMessage)
    if not isinstance(expected, ToolParseMessage):
        assert values == expected.values
