"""Each check finds the fault that it is for, and says what to do; sound families pass all of them."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.envs.registration import registry

import metagym
from metagym import Family, FreeText, Task, TaskSet, families
from metagym.chat import scripted
from metagym.conformance import CHECKS, Finding, Report, check_family
from metagym.errors import BadInput, MissingExtra, UnknownName
from metagym.registration import BUNDLED, plugins

COLOURS = ("red", "green", "blue", "grey")


class Colours(gymnasium.Env[str, str]):
    """A sound environment.

    ## Description
    Name the colour that is seen.

    ## Observation
    Text.

    ## Actions
    Text.

    ## Rewards
    1.0 for the right colour.

    ## Episode end
    Terminated by the right colour.

    ## Arguments
    None.

    ## Source
    Made for tests.
    """

    def __init__(self) -> None:
        self.observation_space = FreeText()
        self.action_space = FreeText()
        self.left: list[str] = []

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        super().reset(seed=seed)
        self.left = [COLOURS[int(self.np_random.integers(len(COLOURS)))] for _ in range(4)]
        return self.see(), self.info()

    def step(self, action: str) -> Any:
        if self.left and action == self.left[0]:
            self.left.pop(0)
        done = not self.left
        return self.see(), float(done), done, False, self.info()

    def see(self) -> str:
        return f"You see {self.left[0]}." if self.left else "Nothing is left."

    def info(self) -> dict[str, Any]:
        return {"admissible": COLOURS, "success": not self.left}


def tasks(split: str) -> TaskSet:
    first = {"train": 0, "valid": 100}[split]
    return TaskSet((Task("Colours", f"{split}/{n}", "", split, seed=first + n) for n in range(20)), f"Colours/{split}")


def colours(env: Callable[[], Any] = Colours, **fields: Any) -> Family:
    given = {"tasks": tasks, "host": "inline", "instructions": "Name what you see.", "max_steps": 12, **fields}
    return Family("Colours", open=lambda task: env(), **given)


def sentence(family: Family, check: str) -> str:
    """What one check says of a family in which it finds a fault."""
    (finding,) = check_family(family, only=[check], tasks=3).findings
    assert not finding.ok and finding.check == check, finding
    return finding.said


def env(**methods: Any) -> Family:
    return colours(type("Faulty", (Colours,), {"__doc__": Colours.__doc__, **methods}))


def reset_with(change: Callable[[Any, str, dict[str, Any]], tuple[Any, Any]]) -> Any:
    def reset(self: Any, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        return change(self, *Colours.reset(self, seed=seed, options=options))

    return reset


def step_with(change: Callable[..., Any]) -> Any:
    def step(self: Any, action: str) -> Any:
        return change(self, action, *Colours.step(self, action))

    return step


def test_a_sound_family_passes_every_check() -> None:
    ids, names = set(registry), families.family_names()
    report = check_family(colours())
    assert report.ok, report
    assert [finding.check for finding in report.findings] == list(CHECKS)
    assert set(registry) == ids and families.family_names() == names  # its ids were lent
    assert all(finding.said and "\n" not in finding.said for finding in report.findings)


BUNDLED_FAMILIES = next(plugin.families for plugin in plugins() if plugin.value == BUNDLED)


@pytest.mark.parametrize(
    "name",
    [
        name if name in ("ALFWorld", "SearchQA") else pytest.param(name, marks=pytest.mark.slow)
        for name in BUNDLED_FAMILIES
    ],
)
def test_every_bundled_family_passes(name: str) -> None:
    try:
        report = check_family(name, tasks=2, steps=6)
    except MissingExtra as missing:
        pytest.skip(str(missing))
    assert report.ok, report


def test_unknown_names_are_refused() -> None:
    with pytest.raises(UnknownName, match="no check 'smell'; there are tasks, api"):
        check_family("ALFWorld", only=["smell"])
    with pytest.raises(UnknownName, match="no family 'Nowhere'"):
        check_family("Nowhere")
    with pytest.raises(BadInput, match="tasks is at least 1"):
        check_family("ALFWorld", tasks=0)


def test_a_report_is_one_line_per_check() -> None:
    report = Report("Toy", (Finding("docs", True, "fine"), Finding("text", False, "task x holds a bell: remove it")))
    assert str(report).splitlines() == [
        "family Toy",
        "ok     docs       fine",
        "FAILED text       task x holds a bell: remove it",
    ]
    assert not report.ok and [one.check for one in report.failures] == ["text"]


def test_options_reach_a_registered_family() -> None:
    seen: list[Any] = []

    def build(colour: str = "red") -> Family:
        seen.append(colour)
        return colours()

    metagym.register_family("Colours", build, namespace="Tests")
    try:
        report = check_family("Tests/Colours", options={"colour": "blue"}, only=["api", "spec"])
        assert report.ok and report.findings[0].said.startswith("Tests/Colours-v0"), report
        assert set(seen) == {"blue"}
    finally:
        families.drop_factory("Tests/Colours")
        for id_ in ("Tests/Colours-v0", "Tests/ICT-Colours-v0"):
            registry.pop(id_)


def other_each_time(split: str) -> TaskSet:
    return TaskSet([Task("Colours", f"{split}/{random.random()}", "", split)])


def at(where: str, **fields: Any) -> TaskSet:
    return TaskSet([Task(**{"family": "Colours", "id": where, "split": where, **fields})])


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (other_each_time, "holds other tasks when it is asked for again"),
        (lambda split: at(split, family="Colors"), "is of 'Colors': write 'Colours'"),
        (lambda split: at(split, split="test"), "is of split 'test': write 'train'"),
        (lambda split: at(split, id=f"/data/{split}"), "a path of this machine"),
        (lambda split: at(split, params={"x": {1, 2}}), "no JSON"),
        (lambda split: at(split, params={"x": (1, 2)}), "another one after a trip through JSON"),
        (lambda split: at(split, id="same"), "shares games with .*same is same"),
        (
            lambda split: TaskSet(Task("Colours", f"{split}{n}", "", split, seed=n) for n in range(9)),
            "plays the games of .* under other ids, e.g. valid0 is train0",
        ),
    ],
)
def test_task_sets_that_are_no_identity_are_found(make: Any, said: str) -> None:
    with pytest.raises(AssertionError, match=said):
        raise AssertionError(sentence(colours(tasks=make), "tasks"))


def global_draw(self: Any, text: str, info: dict[str, Any]) -> Any:
    self.left[0] = random.choice(COLOURS)
    self.left[1] = COLOURS[np.random.randint(4)]
    return self.see(), info


def test_s04_a_seed_that_does_not_reach_the_game_is_found() -> None:
    assert "draw everything from self.np_random" in sentence(env(reset=reset_with(global_draw)), "seeds")


def test_s06_what_survives_a_reset_is_found() -> None:
    def tired(self: Any, action: str, *result: Any) -> Any:
        self.moves = getattr(self, "moves", 0) + 1
        return (f"Move {self.moves}.", *result[1:])

    assert "same instance after another reset" in sentence(env(step=step_with(tired)), "seeds")

    def insulted(self: Any, action: str, *result: Any) -> Any:
        self.bad = getattr(self, "bad", 0) + (action not in COLOURS)
        return ("Go away." if self.bad > 3 else result[0], *result[1:])

    assert "let reset clear counters" in sentence(env(step=step_with(insulted)), "actions")


def test_a_family_whose_tasks_are_all_alike_is_told_of() -> None:
    def red(self: Any, text: str, info: Any) -> Any:
        self.left = ["red"]
        return self.see(), self.info()

    (finding,) = check_family(env(see=lambda self: "Fog.", reset=reset_with(red)), only=["seeds"]).findings
    assert finding.ok and "all of them play alike" in finding.said


def test_s07_state_that_instances_share_is_found() -> None:
    shared: list[str] = []

    def won(self: Any, action: str, *result: Any) -> Any:
        shared.append(action)
        return (f"{len(set(shared))} colours were named.", *result[1:])

    def forget(self: Any, text: str, info: Any) -> Any:
        shared.clear()
        return text, info

    family = env(step=step_with(won), reset=reset_with(forget))
    assert check_family(family, only=["seeds"]).ok  # one after the other, nobody notices
    assert "keep what changes in the instance" in sentence(family, "apart")


def test_what_a_fresh_process_does_otherwise_is_found() -> None:
    def hashed(self: Any, text: str, info: Any) -> Any:
        return f"{text} ({hash(text) % 1000})", info

    assert "plays otherwise in a fresh process" in sentence(env(reset=reset_with(hashed)), "processes")
    lock = threading.Lock()
    said = sentence(colours(lambda: Colours() if lock else None), "processes")
    assert "family Colours" in said and "'open'" in said


@pytest.mark.parametrize(
    ("family", "said"),
    [
        (env(step=step_with(lambda s, a, o, r, t, u, i: (o, r, int(t), u, i))), "terminated is of type int"),
        (env(info=lambda self: {"success": True}), "solved before the first action"),
        (colours(success=lambda info, ret, terminated: "no"), "success is 'no': it is True, False or None"),
    ],
)
def test_ends_that_run_into_each_other_are_found(family: Family, said: str) -> None:
    assert said in sentence(family, "ends")


def test_unknown_success_is_counted_and_not_a_fault() -> None:
    report = check_family(colours(success=lambda info, ret, terminated: None), only=["ends"])
    assert report.ok and "4 unknown" in report.findings[0].said


def strict_step(self: Any, action: str, *result: Any) -> Any:
    if action not in COLOURS:
        raise ValueError(action)
    return result


def test_commands_that_raise_are_found() -> None:
    said = sentence(env(step=step_with(strict_step)), "actions")
    assert "'xyzzy' raised ValueError (xyzzy): answer what the environment does not know" in said


@pytest.mark.parametrize(
    ("family", "said"),
    [
        (env(see=lambda self: "\x1b[31mred\x1b[0m"), "control character '\\x1b' at position 0"),
        (env(see=lambda self: f"{object()}"), "the repr of an object"),
        (env(see=lambda self: "x" * 30_000), "has 30,000 characters"),
        (env(see=lambda self: " "), "begins with an empty text"),
        (env(info=lambda self: {"admissible": ("red", "red")}), "holds 'red' twice"),
        (env(info=lambda self: {"admissible": ("open\ndoor",)}), "an action is one line"),
        (env(info=lambda self: {"admissible": {"red": 1}}), "make it a tuple"),
        (colours(clean=lambda c, legal: families.Cleaned(c.upper(), metagym.episodes.Repair.EXACT)), "cleaning rule"),
        (colours(instructions="Use \x00."), "the instructions of family Colours holds the control character"),
        (
            colours(type("Mute", (Colours,), {"info": lambda self: {}}), instructions=""),
            "neither instructions nor info['admissible']",
        ),
    ],
)
def test_unclean_texts_are_found(family: Family, said: str) -> None:
    assert said in sentence(family, "text")


def test_stand_ins_that_do_not_play_are_found() -> None:
    def broken(request: Any) -> str:
        raise RuntimeError("no idea")

    said = sentence(colours(stand_ins={"actor": lambda seed: scripted(broken)}), "stand-ins")
    assert "stand-in of the actor fails" in said and "no idea" in said
    silent = {"reflector": lambda seed: scripted(lambda request: "Well done.")}
    assert "writes no prompt (no-section" in sentence(colours(stand_ins=silent), "stand-ins")


def test_missing_headings_are_named() -> None:
    short = (Colours.__doc__ or "").replace("## Rewards", "## Payment")
    said = sentence(colours(type("Undocumented", (Colours,), {"__doc__": short})), "docs")
    assert said == "the docstring of Undocumented lacks Rewards: write each as '## Heading'"


def test_what_gymnasium_refuses_is_said_in_its_words() -> None:
    said = sentence(env(reset=lambda self, *, seed=None, options=None: ("You see red.", {})), "api")
    assert said.startswith("gymnasium's check_env refuses the environment of task Colours/train/")
    assert "super().reset(seed=seed)" in said and "\x1b" not in said


def test_a_family_that_breaks_fails_its_checks_and_stops_none() -> None:
    class Broken(Colours):
        def reset(self, **more: Any) -> Any:
            raise SystemExit("engine gone")

    report = check_family(colours(Broken))
    assert {one.check for one in report.failures} >= {"api", "seeds", "processes", "ends", "actions", "text"}
    assert all("engine gone" in one.said for one in report.failures if one.check in ("seeds", "ends", "text"))
