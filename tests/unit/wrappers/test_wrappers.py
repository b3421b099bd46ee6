"""Each wrapper by itself, and what they all keep: the checker's rules, `spec`, pickling, vectors."""

from __future__ import annotations

import copy
import json
import pickle
import re
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.envs.registration import EnvSpec, WrapperSpec
from gymnasium.utils.env_checker import check_env

from metagym.errors import BadInput
from metagym.spaces import FreeText
from metagym_wrappers import (
    ChoiceList,
    HistoryWindow,
    StepBudget,
    SuccessFrom,
    TaskDescription,
    TextAction,
    TextObservation,
    ToolCalls,
    parse_predicate,
)


def call_text(name: str, **arguments: Any) -> str:
    return json.dumps({"name": name, "arguments": arguments})


LAKE_NAMES = ["left", "down", "right", "up"]


def lake(**arguments: Any) -> gymnasium.Env[Any, Any]:
    return gymnasium.make("FrozenLake-v1", is_slippery=False, **arguments)


def text_lake() -> gymnasium.Env[Any, Any]:
    return TextAction(TextObservation(lake()), LAKE_NAMES)


class Counter(gymnasium.Env[Any, Any]):
    """Says the number of its steps; the action is anything of a space of the caller's."""

    def __init__(self, action_space: Any = None, observation_space: Any = None) -> None:
        self.action_space = action_space or FreeText()
        self.observation_space = observation_space or FreeText()
        self.taken: list[Any] = []

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.taken = []
        return "start", {"admissible": ("go on", "stop here")}

    def step(self, action: Any) -> Any:
        self.taken.append(action)
        info = {"admissible": ("go on",), "score": len(self.taken)}
        return f"step {len(self.taken)}", 1.0, action == "stop here", False, info


STACKS: dict[str, Any] = {
    "TextObservation": lambda: TextObservation(lake(), names=None, max_items=8),
    "TextObservation ansi": lambda: TextObservation(lake(render_mode="ansi"), ansi="also"),
    "TextAction": lambda: TextAction(lake(), LAKE_NAMES, {"l": "left"}),
    "TextAction box": lambda: TextAction(gymnasium.make("Pendulum-v1"), out_of_range="clip"),
    "TaskDescription": lambda: TaskDescription(text_lake(), "Reach {goal} %s.", always=True),
    "HistoryWindow": lambda: HistoryWindow(text_lake(), 3),
    "ToolCalls": lambda: ToolCalls(TextObservation(lake()), LAKE_NAMES),
    "ToolCalls each": lambda: ToolCalls(TextObservation(lake()), LAKE_NAMES, each=True),
    "StepBudget": lambda: StepBudget(text_lake(), 3, tell=True),
    "StepBudget raw": lambda: StepBudget(lake(), 3),
    "SuccessFrom": lambda: SuccessFrom(lake(), "return > 0"),
    "ChoiceList": lambda: ChoiceList(text_lake()),
    "all": lambda: ChoiceList(HistoryWindow(StepBudget(SuccessFrom(text_lake(), "return > 0"), 9), 2)),
}


@pytest.fixture(params=STACKS.values(), ids=STACKS)
def stack(request: pytest.FixtureRequest) -> gymnasium.Env[Any, Any]:
    return request.param()


@pytest.mark.filterwarnings("ignore:.*different from the unwrapped version")  # it is, that is its purpose
def test_the_checker_accepts_it(stack: gymnasium.Env[Any, Any]) -> None:
    check_env(stack, skip_render_check=True)


def rollout(env: gymnasium.Env[Any, Any]) -> str:
    env.action_space.seed(1)
    out: list[Any] = [str(env.reset(seed=3)[0])]
    for _ in range(6):
        action = "2" if isinstance(env.action_space, FreeText) else env.action_space.sample()
        observation, reward, terminated, truncated, info = env.step(action)
        out.append([str(observation), float(reward), terminated, truncated, info.get("success")])
    return json.dumps(out)


def test_it_pickles_in_the_middle_of_an_episode(stack: gymnasium.Env[Any, Any]) -> None:
    stack.reset(seed=0)
    stack.step("2" if isinstance(stack.action_space, FreeText) else 2)
    other = pickle.loads(pickle.dumps(stack))
    action = "1" if isinstance(stack.action_space, FreeText) else 1
    assert str(other.step(action)) == str(stack.step(action))


def test_the_spec_builds_it_again(stack: gymnasium.Env[Any, Any]) -> None:
    assert stack.spec is not None
    again = gymnasium.make(EnvSpec.from_json(stack.spec.to_json()))
    assert [type(layer) for layer in layers(again)] == [type(layer) for layer in layers(stack)]
    assert rollout(again) == rollout(stack)


def layers(env: Any) -> Any:
    while isinstance(env, gymnasium.Wrapper):
        yield env
        env = env.env


def test_make_takes_them_as_wrapper_specs() -> None:
    wanted = (
        WrapperSpec("TextObservation", "metagym_wrappers:TextObservation", {}),
        WrapperSpec("TextAction", "metagym_wrappers:TextAction", {"names": LAKE_NAMES}),
    )
    spec = copy.deepcopy(gymnasium.spec("FrozenLake-v1"))
    spec.additional_wrappers = wanted
    env = gymnasium.make(spec)
    assert env.reset(seed=0)[0] == "0" and env.step("down")[0] in ("0", "1", "4")


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_vectors(mode: str) -> None:
    arguments = {} if mode == "sync" else {"shared_memory": False}
    envs = gymnasium.make_vec(
        "FrozenLake-v1",
        num_envs=2,
        vectorization_mode=mode,
        wrappers=(TextObservation, TextAction),
        vector_kwargs=arguments,
        is_slippery=False,
    )
    assert tuple(envs.reset(seed=0)[0]) == ("0", "0")
    assert tuple(envs.step(("1", "2"))[0]) == ("4", "1")
    envs.close()


# --- one by one


def test_text_observation_takes_a_function_or_its_name() -> None:
    env = TextObservation(lake(), text=f"{__name__}:seen")
    assert env.reset(seed=0)[0] == "cell 0 of 16"
    assert pickle.loads(pickle.dumps(env)).step(1)[0] == "cell 4 of 16"
    assert TextObservation(lake(), text=seen).reset(seed=0)[0] == "cell 0 of 16"


def seen(observation: Any, env: Any) -> str:
    return f"cell {observation} of {env.observation_space.n}"


def test_text_observation_shows_what_is_rendered() -> None:
    only = TextObservation(lake(render_mode="ansi"), ansi="only")
    assert only.reset(seed=0)[0].splitlines()[0] == "[S]FFF"
    also = TextObservation(lake(render_mode="ansi"), ansi="also")
    also.reset(seed=0)
    assert also.step(1)[0].splitlines() == ["4", "  (Down)", "SFFF", "[F]HFH", "FFFH", "HFFG"]


class Blob(spaces.Space[object]):
    """A space that nobody can describe."""

    def sample(self, mask: Any = None, probability: Any = None) -> object:
        return object()

    def contains(self, x: Any) -> bool:
        return True


def test_an_environment_that_cannot_be_told_in_text_says_the_way_out() -> None:
    env = Counter(observation_space=Blob(None, None))
    with pytest.raises(BadInput, match=r"Counter: the space .*Blob.* has no text form; give text='module:function'$"):
        TextObservation(env)
    env.metadata = {"render_modes": ["ansi"]}
    with pytest.raises(BadInput, match="or ansi='only'$"):
        TextObservation(env)
    with pytest.raises(BadInput, match="Counter: the action space is .*Blob.* no JSON form"):
        TextAction(Counter(action_space=Blob(None, None)))


@pytest.mark.parametrize(
    "arguments, words",
    [
        ({"ansi": "yes"}, "no, also, only"),
        ({"ansi": "only"}, "render_mode='ansi'"),
        ({"text": "nothing"}, "module:function"),
        ({"text": "no.such:thing"}, "cannot be imported"),
        ({"text": 5}, "module:function"),
        ({"max_items": 0}, "max_items is at least 1"),
        ({"digits": "a"}, "digits"),
        ({"names": ["a"]}, "16 values"),
    ],
)
def test_bad_settings_of_text_observation(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(BadInput, match=words):
        TextObservation(lake(), **arguments)


def test_a_text_function_that_returns_something_else() -> None:
    with pytest.raises(BadInput, match="returned int, not text"):
        TextObservation(lake(), text=lambda observation, env: observation).reset(seed=0)


def test_an_action_that_parses_to_nothing_is_answered_and_changes_nothing() -> None:
    env = text_lake()
    env.reset(seed=0)
    env.step("down")
    observation, reward, terminated, truncated, info = env.step("jump")
    assert observation.startswith("Nothing was done: 'jump' is no action; an action is one of: left, down, right, up")
    assert observation.endswith("\n4") and (reward, terminated, truncated) == (0.0, False, False)
    assert info["action_error"].startswith("'jump'") and info["admissible"] == tuple(LAKE_NAMES)
    assert "action_error" not in env.step("down")[4]
    assert env.step("")[4]["action_error"].startswith("there is no action in the text")


def test_text_action_can_raise_instead() -> None:
    env = TextAction(lake(), LAKE_NAMES, invalid="raise")
    env.reset(seed=0)
    with pytest.raises(BadInput, match="'jump' is no action"):
        env.step("jump")
    with pytest.raises(BadInput, match="answer, raise"):
        TextAction(lake(), invalid="ignore")  # type: ignore[arg-type]
    with pytest.raises(BadInput, match="an action of FrozenLake-v1 is text, got int"):
        env.step(3)  # type: ignore[arg-type]


def test_a_bad_action_after_the_end_does_not_open_the_episode_again() -> None:
    env = text_lake()
    env.reset(seed=0)
    for action in ("down", "right"):
        *_, terminated, _, _ = env.step(action)
    assert terminated and env.step("jump")[2]


def test_a_step_before_the_reset_is_an_error() -> None:
    with pytest.raises(BadInput, match="call reset before step"):
        TextAction(Counter(spaces.Discrete(2))).step("jump")


def test_a_mask_shortens_the_list_of_actions() -> None:
    taxi = "Taxi-v4" if "Taxi-v4" in gymnasium.registry else "Taxi-v3"
    env = TextAction(gymnasium.make(taxi), ["south", "north", "east", "west", "pick up", "drop off"])
    info = env.reset(seed=0)[1]
    mask = env.env.reset(seed=0)[1]["action_mask"]
    legal = [name for name, allowed in zip(env.reader.names or (), mask, strict=True) if allowed]
    assert info["admissible"] == tuple(legal) and len(legal) < 6 and "action_mask" not in info


def test_task_description_is_data_and_comes_first() -> None:
    env = TaskDescription(text_lake(), "Find {it} %s\n")
    assert env.reset(seed=0)[0] == "Find {it} %s\n\n0" and env.step("down")[0] == "4"
    assert TaskDescription(text_lake(), "Go.", always=True).reset(seed=0)[0] == "Go.\n\n0"
    for text in ("", "  ", None):
        with pytest.raises(BadInput, match="is a text"):
            TaskDescription(text_lake(), text)  # type: ignore[arg-type]
    with pytest.raises(BadInput, match="TextObservation around it first"):
        TaskDescription(lake(), "Go.")


def test_the_history_is_cleared_by_reset_and_bounded() -> None:
    env = HistoryWindow(Counter(), 2)
    assert env.reset()[0] == "start"
    assert env.step("a")[0] == "start\n> a\nstep 1"
    assert env.step("b")[0] == "start\n> a\nstep 1\n> b\nstep 2"
    assert env.step("c")[0] == "[1 earlier turns not shown]\nstep 1\n> b\nstep 2\n> c\nstep 3"
    assert env.reset()[0] == "start"
    assert env.step("d")[0] == "start\n> d\nstep 1"
    with pytest.raises(BadInput, match="turns is at least 0"):
        HistoryWindow(Counter(), -1)


def test_a_long_episode_costs_in_proportion_to_its_length() -> None:
    env = HistoryWindow(Counter(), 4)
    for _ in range(3):
        env.reset()
        longest = max(len(env.step("x")[0]) for _ in range(3000))
        assert longest < 200 and len(env._past) == 4


def test_tool_calls_describe_and_take_actions() -> None:
    env = ToolCalls(TextObservation(lake()), LAKE_NAMES)
    _, info = env.reset(seed=0)
    function = info["tools"][0]["function"]
    assert function["name"] == "act" and function["parameters"]["properties"]["action"]["enum"] == LAKE_NAMES
    assert env.step(call_text("act", action="down"))[0] == "4"
    assert env.step('<tool_call>\n{"name": "act", "arguments": {"action": 1}}\n</tool_call>')[0] == "8"
    assert env.step('{"name": "act", "arguments": "{\\"action\\": \\"right\\"}"}')[0] == "9"


def test_tool_calls_one_for_each_action() -> None:
    env = ToolCalls(TextObservation(lake()), ["go left", "go down", "go right", "go up"], each=True)
    _, info = env.reset(seed=0)
    assert [tool["function"]["name"] for tool in info["tools"]] == ["go_left", "go_down", "go_right", "go_up"]
    assert env.step('{"name": "go_down"}')[0] == "4"
    assert "has no argument 'far'" in env.step('{"name": "go_down", "arguments": {"far": true}}')[4]["action_error"]


@pytest.mark.parametrize(
    "text, words",
    [
        ("go left", "an action is one tool call"),
        ("", "an action is one tool call"),
        ('{"name": "fly", "arguments": {}}', "no tool 'fly'; there are act"),
        ('{"name": ["act"]}', "no tool"),
        ('{"name": "act"}', "Required: action|required: action|holds no arguments"),
        ('{"name": "act", "arguments": [1]}', "are a JSON object"),
        ('{"name": "act", "arguments": {"action": "sideways"}}', "'sideways' is no action"),
        ('{"name": "act", "arguments": {"action": 9}}', "out of range"),
        ('{"name": "act", "arguments": {"action": 0, "speed": 2}}', "no argument 'speed'"),
    ],
)
def test_tool_calls_that_cannot_be_run_are_answered(text: str, words: str) -> None:
    env = ToolCalls(TextObservation(lake()), LAKE_NAMES)
    env.reset(seed=0)
    observation, reward, terminated, truncated, info = env.step(text)
    assert observation.startswith("Nothing was done: ") and observation.endswith("\n0")
    assert re.search(words, info["action_error"]) and (reward, terminated) == (0.0, False)


def test_tool_calls_over_other_spaces() -> None:
    space = spaces.Dict({"push": spaces.Box(-1, 1, (2,)), "say": spaces.Text(9)})
    env = ToolCalls(Counter(space))
    env.reset()
    env.step(call_text("act", action={"push": [0.5, -1], "say": "hi"}))
    (taken,) = env.unwrapped.taken  # type: ignore[attr-defined]
    assert taken["say"] == "hi" and taken["push"].dtype == np.float32
    with pytest.raises(BadInput, match="each=True needs a Discrete"):
        ToolCalls(Counter(space), each=True)
    with pytest.raises(BadInput, match="no name for a tool"):
        ToolCalls(lake(), tool="!!")
    with pytest.raises(BadInput, match="some of .* are equal"):
        ToolCalls(lake(), ["go", "go!", "a", "b"], each=True)


def test_the_budget_counts_what_was_no_action_too() -> None:
    env = StepBudget(text_lake(), 3, tell=True)
    observation, info = env.reset(seed=0)
    assert observation == "0\nSteps left: 3" and info["steps_left"] == 3
    assert env.step("down")[3] is False and env.step("jump")[3] is False
    observation, _, terminated, truncated, info = env.step("up")
    assert (terminated, truncated, info["steps_left"]) == (False, True, 0) and observation.endswith("Steps left: 0")
    ends = StepBudget(text_lake(), 2)
    ends.reset(seed=0)
    ends.step("down")
    assert ends.step("right")[2:4] == (True, False)  # ended by its own rules: nothing was cut
    with pytest.raises(BadInput, match="steps is at least 1"):
        StepBudget(lake(), 0)


def test_success_is_a_predicate_and_no_positive_reward() -> None:
    env = SuccessFrom(Counter(), "info.score >= 2 and not terminated")
    assert env.reset()[1]["success"] is None  # nothing is known of the score yet
    assert env.step("go on")[4]["success"] is False
    assert env.step("go on")[4]["success"] is True
    assert env.step("stop here")[4]["success"] is False
    own = SuccessFrom(Counter(), lambda info, ret, terminated: ret >= 2)
    own.reset()
    assert [own.step("go on")[4]["success"] for _ in range(2)] == [False, True]
    own.reset()
    assert own.step("go on")[4]["success"] is False  # the return starts anew
    with pytest.raises(BadInput, match="function, got 5"):
        SuccessFrom(Counter(), 5)  # type: ignore[arg-type]


def judge(text: str, **changed: Any) -> bool | None:
    facts = {"ret": 1.0, "reward": 0.5, "steps": 7, "terminated": True, "truncated": False}
    info = {"won": True, "deep": {"score": np.int64(3)}, "name": "key", "one": np.array([2]), "many": np.zeros(3)}
    return parse_predicate(text)(**{**facts, "info": info, **changed})


@pytest.mark.parametrize(
    "text, verdict",
    [
        ("return>0", True),
        ("return > 1e0", False),
        ("-1 < reward", True),
        ("steps <= 7 and terminated and not truncated", True),
        ("truncated or (return >= 1 and steps != 6)", True),
        ("not (terminated)", False),
        ("info.won", True),
        ("info.deep.score == 3", True),
        ("info.one == 2", True),
        ("info.name == 'key'", True),
        ('info.name != "door"', True),
        ("info.name == 3", False),
        ("info.name > 3", None),
        ("info.lost", None),
        ("info.many", None),
        ("info.deep", None),
        ("info.lost == 1", None),
        ("not info.lost", None),
        ("info.lost or terminated", True),
        ("info.lost and terminated", None),
        ("info.lost and truncated", False),
        ("true", True),
        ("terminated == true", True),
    ],
)
def test_predicates(text: str, verdict: bool | None) -> None:
    assert judge(text) is verdict


@pytest.mark.parametrize(
    "text, place",
    [
        ("", "such as 'return > 0'"),
        ("return", "at its end: a comparison of 'return'"),
        ("return and terminated", "at 'and terminated': a comparison of 'return'"),
        ("return >", "at its end"),
        ("return > 0 and", "at its end"),
        ("(return > 0", "')'"),
        ("return > 0)", "at ')'"),
        ("return >> 0", "at '> 0'"),
        ("1 < return < 3", "at '< 3'"),
        ("score > 1", "at 'score > 1'"),
        ("__import__('os').system('x')", 'at "__import__'),
        ("return > 0; exit", "at '; exit'"),
        ("info", "at 'info'"),
        ("lambda: 1", "at 'lambda"),
        ("(" * 400 + "true", "nested deeper"),
        ("not " * 100 + "true", "nested deeper"),
        ("x" * 501, "at most 500"),
    ],
)
def test_predicates_that_cannot_be_read(text: str, place: str) -> None:
    with pytest.raises(BadInput, match=re.escape(place)):
        parse_predicate(text)


def test_choices_by_number_and_text() -> None:
    env = ChoiceList(Counter(), title="You may:")
    observation, _ = env.reset()
    assert observation == "start\nYou may:\n1. go on\n2. stop here"
    assert env.step("1")[0] == "step 1\nYou may:\n1. go on"
    observation, reward, terminated, _, info = env.step("2")
    assert observation.startswith("Nothing was done: '2' is none of the choices.\nstep 1\n") and reward == 0.0
    assert observation.endswith("1. go on") and info["action_error"]
    env.step("Go on.")
    assert env.unwrapped.taken == ["go on", "go on"]  # type: ignore[attr-defined]


def test_choices_that_are_numbers_come_before_places() -> None:
    env = ChoiceList(TextAction(TextObservation(lake())))
    env.reset(seed=0)
    assert env.step("1")[0].startswith("4\n")  # the action called 1, which is the second of the list


def test_nothing_of_the_last_episode_is_left(stack: gymnasium.Env[Any, Any]) -> None:
    first = rollout(stack)
    assert rollout(stack) == first
