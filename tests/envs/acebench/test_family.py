"""ACEBench as a family: conversations in confined workers, users, scores, stand-ins."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from metagym import PlaySettings, play
from metagym.chat import Request
from metagym.errors import BadInput, ChatError, EngineError, SandboxUnavailable, SpecError
from metagym.families import load_family
from metagym.sandbox.pool import Switches
from metagym.sandbox.scripts import ScriptPool, SharedPool
from metagym_envs.acebench import entries as module
from metagym_envs.acebench import world
from metagym_envs.acebench.entries import entries
from metagym_envs.acebench.env import AgentTask
from metagym_envs.acebench.family import ACEBench
from metagym_envs.acebench.users import FINISH, ScriptedUser
from tests.envs.acebench.conftest import edited
from tests.support.fake_server import FakeServer

APART = "not comparable with published figures"


def opened(kind: str, number: int = 0, path: str = "sample", **settings: Any) -> AgentTask:
    env = AgentTask(path, entries(path, kind)[number], **settings)
    env.reset(seed=0)
    return env


def test_the_stand_ins_find_what_they_should() -> None:
    for stand_in, right in (("milestones", True), ("noop", False)):
        family = ACEBench(stand_in=stand_in)
        episodes = play(list(family.task_set("test")), "rules", family=family)
        assert [(e.status.value, e.success, e.ret) for e in episodes] == [("ok", right, float(right))] * 38
        assert [e.info["scores"]["process"] for e in episodes] == [float(right)] * 38
        assert {e.backend for e in episodes} == {"scripted"}


def test_every_record_tells_who_played_the_user() -> None:
    family = ACEBench()
    episodes = play(list(family.task_set("test")), "rules", family=family)
    assert [APART in e.info["engine"] for e in episodes] == [False] * 25 + [True] * 13
    assert all("confined by rlimit, seccomp, landlock" in e.info["engine"] for e in episodes)
    assert APART in family.versions["user"]
    assert family.versions["renamed_classes"] == {"agent_multi_step_0": {"ReminderAPI": "ReminderApi"}}
    assert family.versions["data"].startswith("sample: written for MetaGym")


def test_records_do_not_depend_on_concurrency_and_episodes_share_nothing() -> None:
    family = ACEBench()
    tasks = list(family.task_set("test"))
    runs = [play(tasks, "rules", family=family, settings=PlaySettings(concurrency=n)) for n in (1, 8)]
    one, many = ([{**e.to_json(), "seconds": None} for e in run] for run in runs)
    assert one == many and all(e.success for e in runs[0])


def test_a_call_reaches_every_back_end_that_has_it_and_results_come_back() -> None:
    env = opened("multi_step", 1)
    assert env.step("[add_reminder(title='Market', time='2024-07-16 08:00')]")[0] == (
        'Results: [{"status": false, "message": "The device is locked."}]'
    )
    env.step("login_device()")
    observation, reward, terminated, truncated, info = env.step(
        '<tool_call>{"name": "add_reminder", "arguments": {"title": "Market", "time": "2024-07-16 08:00"}}</tool_call>'
    )
    assert "kept" in observation and (reward, terminated, truncated, info["success"]) == (0.0, False, False, False)
    assert env.step(FINISH)[1:3] == (1.0, True)
    with pytest.raises(BadInput, match="call reset before step"):
        env.step("x")


@pytest.mark.parametrize(
    ("action", "words"),
    [
        ("__import__('os').system('touch mark')", "a tool is called by its plain name"),
        ("[add_reminder(title=open('/etc/passwd').read(), time='x')]", "arguments are plain values"),
        ("[add_reminder('Market', '2024')]", "arguments are given by name"),
        ("[nothing(a=1)]", "there is no function nothing"),
        ("[_load_scenario(scenario={'wifi': True})]", "there is no function _load_scenario"),
        ("[__init__()]", "there is no function __init__"),
        ("[add_reminder(nope=1)]", "unexpected keyword argument 'nope'"),
        ("[delete_reminder(reminder_id=99)]", "Error during execution: 99"),
        ("[reminder_list()]", "there is no function reminder_list"),
        ("What should I do?", "That is no call"),
        ("{0.__class__} %s", "That is no call"),
    ],
)
def test_nothing_that_an_agent_says_is_evaluated(action: str, words: str) -> None:
    env = opened("multi_step")
    assert words in env.step(action)[0]
    env.step("[add_reminder(title='Market', time='2024-07-16 08:00')]")
    assert env.step(FINISH)[4]["success"]  # and none of it changed anything


def test_a_wrong_end_is_told_by_name_and_the_official_score_beside_it() -> None:
    env = opened("multi_step")
    env.step("[add_reminder(title='Market', time='another day')]")
    info = env.step(FINISH)[4]
    assert info["faults"] == ["ReminderApi.reminder_list.2 is another"] and not info["success"]
    assert info["scores"] == {
        "end_to_end": 0.0, "process": 0.0, "official_end_to_end": 1.0, "official_process": 1.0,
    }  # fmt: skip
    assert opened("multi_step").step(FINISH)[4]["faults"][-1] == "ReminderApi.reminder_list.2 is another"


MARKET = "add_reminder(title='Market', time='2024-07-16 08:00')"
BAD = "delete_reminder(reminder_id=99)"


@pytest.mark.parametrize(
    ("kind", "calls", "reached"),
    [
        ("multi_step", (BAD, MARKET), True), ("multi_turn", (BAD, MARKET), False),
        ("multi_turn", ("nothing()", MARKET), False), ("multi_turn", ("login_device()", "nothing()", MARKET), True),
    ],
)  # fmt: skip
def test_a_call_that_fails_ends_its_message_in_a_dialogue_as_officially(
    kind: str, calls: tuple[str, ...], reached: bool
) -> None:
    env = opened(kind)
    results = env.step(f"[{', '.join(calls)}]")[0]
    assert results.count("Error during execution") == (1 if reached else 2)
    assert ("not called, since a call before it failed" in results) is not reached
    assert env.step(FINISH)[4]["scores"]["end_to_end"] == float(reached)


def test_a_state_counts_officially_where_a_message_ran_through() -> None:
    env = opened("multi_turn")
    env.step(f"[{MARKET}, {BAD}]")
    scores = env.step(FINISH)[4]["scores"]
    assert (scores["end_to_end"], scores["official_end_to_end"], scores["official_process"]) == (1.0, 0.0, 0.0)


def test_the_last_message_cuts_and_is_judged() -> None:
    env = opened("multi_step", turns=4)
    env.step("[turn_on_wifi()]")
    observation, reward, terminated, truncated, info = env.step(
        "[add_reminder(title='Market', time='2024-07-16 08:00')]"
    )
    assert (observation, reward, terminated, truncated, info["success"]) == ("", 1.0, False, True, True)


def test_a_scripted_user_tells_all_repeats_and_ends() -> None:
    user = ScriptedUser("Your name is Eve. You want tea. You will respond to the agent but not proactively.")
    assert user.say("Hello?") == "Your name is Eve. You want tea."
    assert user.say("Which tea?").startswith("I can only repeat myself: Your name is Eve.")
    assert user.say("Done.") == FINISH
    stubborn = ScriptedUser("You want tea.")
    assert [stubborn.say("Which?") for _ in range(6)][-1] == FINISH


def test_a_model_plays_the_user_and_is_named() -> None:
    said: list[Request] = []

    def brain(request: Request) -> str:
        said.append(request)
        return ["I need a reminder.", "Market, 2024-07-16 08:00.", FINISH][len(request.messages) // 2 - 1]

    with FakeServer(brain) as server:
        env = opened("multi_turn", user=server.spec("eve"))
        first = env.reset(seed=0)[0]
        assert first.endswith("User: I need a reminder.")
        assert env.step("What shall it say?")[0] == "Market, 2024-07-16 08:00."
        env.step("[add_reminder(title='Market', time='2024-07-16 08:00')]")
        observation, reward, terminated, _, info = env.step("It is kept. Anything else?")
        assert (observation, reward, terminated) == ("", 1.0, True)
        assert "eve" in info["engine"] and APART not in info["engine"]
        assert env.entry.question in said[-1].messages[0].content
        roles = [message.role for message in said[-1].messages]
        assert roles == ["system", "user", "assistant", "user", "assistant", "user"]
        family = ACEBench(user=server.spec("eve"))
        assert "eve" in family.versions["user"] and APART not in family.versions["user"]
        [episode] = play([list(family.task_set("test", ["multi_turn"]))[0]], "rules", family=family)
        assert episode.status.value == "ok" and "eve" in episode.info["engine"]


@pytest.mark.parametrize(
    ("said", "over"),
    [
        ("Thank you. Finish conversation", True), ("Done!\nfinish conversation", True),
        ("<think>Do I finish conversation? No.</think>Go on.", False), ("Not yet.", False),
    ],
)  # fmt: skip
def test_a_user_ends_the_dialogue_with_the_words_wherever_they_stand(said: str, over: bool) -> None:
    with FakeServer(lambda request: "Hello." if len(request.messages) == 2 else said) as server:
        env = opened("multi_turn", user=server.spec("eve"))
        observation, _, terminated, _, _ = env.step("Is that all?")
        assert terminated is over and "think" not in observation
    env = opened("multi_turn")
    kept = env.step("[add_reminder(title='finish conversation', time='x')]")
    assert not kept[2] and "finish" in env.step("[view_reminder_by_title(title='finish conversation')]")[0]
    assert not env.step("[add_reminder(title='b', time='finish conversation')]")[2]  # an agent's call is one


@pytest.mark.parametrize("fault", ["reasoning-length", "null-content", "refusal", None])
def test_a_user_without_a_word_is_no_failure_of_the_agents(fault: str | None) -> None:
    with FakeServer(lambda request: "<think>Hm.", faults=[fault]) as server:
        env = AgentTask("sample", entries("sample", "multi_turn")[0], user=server.spec("eve"))
        with pytest.raises(ChatError, match="eve.*, which plays the user, gave no text"):
            env.reset(seed=0)
    with FakeServer(lambda request: "Hello.", faults=[None, fault]) as server:
        env = opened("multi_turn", user=server.spec("eve"))
        if fault == "reasoning-length":
            with pytest.raises(ChatError, match="gave no text"):
                env.step("Hello?")
        else:  # what it does not answer to has ended the dialogue
            assert env.step("Hello?")[2] is (fault is not None)
    env.close()


def test_a_user_that_fails_fails_the_episode_and_not_the_agent() -> None:
    with FakeServer(lambda request: "Hello.") as server:
        spec = server.spec("eve")
    family = ACEBench(user=f"{spec}&retries=0" if "?" in spec else spec)
    [episode] = play(
        [list(family.task_set("test", ["multi_turn"]))[0]],
        "rules",
        family=family,
        settings=PlaySettings(max_failures=1.0, env_deadline=5),
    )
    assert episode.status.value == "error" and episode.success is None


def test_settings_are_checked_early() -> None:
    for options, words in (
        ({"path": "/nowhere"}, "a checkout of its public repository"), ({"turns": 1}, "turns is a number"),
        ({"turns": True}, "turns is a number"), ({"stand_in": "x"}, "'milestones' or 'noop'"),
        ({"user_temperature": -1}, "user_temperature"), ({"language": "zh"}, "has no option 'language'"),
    ):  # fmt: skip
        with pytest.raises(BadInput, match=words):
            load_family("ACEBench", **options)
    with pytest.raises(SpecError):
        ACEBench(user="nobody:at all")
    assert load_family("ACEBench", **ACEBench(turns=10).options).options["turns"] == 10


def test_tasks_that_cannot_be_solved_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    assert ACEBench().versions["unreachable"] == {}
    monkeypatch.setattr(module, "UNREACHABLE", {module.identity(entries("sample", "multi_turn")[3])[:16]: "so"})
    assert ACEBench().versions["unreachable"] == {"agent_multi_turn_3": "so"}


def test_of_tasks_that_say_the_same_the_stand_in_sends_the_longest_way(checked_out: Callable[..., str]) -> None:
    question = entries("sample", "multi_step")[1].question
    family = ACEBench(path=checked_out(edited("data_agent_multi_step.json", 0, question=question)))
    assert all(e.success for e in play(list(family.task_set("test"))[:2], "rules", family=family))


# --- a stranger's back ends


def test_back_ends_may_read_dates(checked_out: Callable[..., str]) -> None:
    def change(files: dict[str, str]) -> None:
        path = "model_inference/multi_turn/scenariosen/phone_platform/reminder.py"
        files[path] = "from datetime import datetime\n" + files[path].replace(
            "        if not self.logged_in:", "        datetime.strptime(time, '%Y-%m-%d %H:%M')\n        if False:"
        )

    env = opened("multi_step", path=checked_out(change))
    assert "kept" in env.step(f"[{MARKET}]")[0]  # the library imports what it needs for this at its first use
    assert "does not match format" in env.step("[add_reminder(title='a', time='b')]")[0]


HOSTILE = {
    "reads files": "self.found = open('/etc/passwd').read()",
    "starts a process": "import os; os.fork()",
    "loops": "\n        while True: pass",
    "ends": "import os; os._exit(0)",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_back_ends_of_a_checkout_are_confined(
    name: str, checked_out: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def spoil(files: dict[str, str]) -> None:
        path = "model_inference/multi_turn/scenariosen/phone_platform/base_api.py"
        files[path] = files[path].replace("self.wifi, self.logged_in = False, True", HOSTILE[name])

    from dataclasses import replace

    monkeypatch.setattr(world.pool(), "limits", replace(world.LIMITS, cpu_s=1.0))
    with pytest.raises(EngineError, match=r"the back ends of agent_multi_step_0 .* do not begin"):
        opened("multi_step", path=checked_out(spoil))


def test_a_back_end_that_dies_in_a_call_ends_the_episode_unscored(
    checked_out: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def spoil(files: dict[str, str]) -> None:
        path = "model_inference/multi_turn/scenariosen/phone_platform/reminder.py"
        files[path] = files[path].replace(
            "        if not self.logged_in:", "        import os; os._exit(1)\n        if True:"
        )

    family = ACEBench(path=checked_out(spoil))
    [episode] = play(
        [list(family.task_set("test"))[0]], "rules", family=family, settings=PlaySettings(max_failures=1.0)
    )
    assert episode.status.value == "error" and episode.success is None and "ended in a call" in episode.cause


KEYS = "{" + ",".join(f"{n}:0" for n in range(6_000)) + "}"
LONG = [f"[add_reminder(title='{'x' * 90_000}', time='{n}')]" for n in range(2)]


@pytest.mark.parametrize("said", [[f"[add_reminder(title={KEYS}, time='x')]"], LONG], ids=["keys", "texts"])
def test_an_agent_cannot_take_itself_out_of_the_mean(said: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    from dataclasses import replace

    monkeypatch.setattr(world.pool(), "limits", replace(world.LIMITS, frame_bytes=100_000))
    env = opened("multi_step")
    for one in said:
        assert env.step(one)[1:3] == (0.0, False)
    shown = env.step(said[0].replace("add_reminder", "view_reminder_by_title").replace(", time='x'", ""))[0]
    assert "too long" in shown or "unexpected keyword" in shown
    observation, reward, terminated, _, info = env.step(FINISH)
    assert (reward, terminated, info["success"]) == (0.0, True, False)
    assert len(info["scores"]) == 4 and set(info["scores"].values()) == {0.0}
    assert "cannot be read" in info["faults"][0]


def test_a_call_that_uses_up_the_conversation_ends_it_as_not_reached(
    checked_out: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from dataclasses import replace

    def spoil(files: dict[str, str]) -> None:
        path = "model_inference/multi_turn/scenariosen/phone_platform/reminder.py"
        files[path] = files[path].replace(
            "        if not self.logged_in:", "        while True: pass\n        if True:"
        )

    monkeypatch.setattr(world.pool(), "limits", replace(world.LIMITS, cpu_s=1.0))
    family = ACEBench(path=checked_out(spoil))
    [episode] = play([list(family.task_set("test"))[0]], "rules", family=family)
    assert (episode.status.value, episode.success, episode.ret) == ("ok", False, 0.0)
    scores = episode.info["scores"]
    assert set(scores.values()) <= {0.0, 1.0} and scores["end_to_end"] == scores["official_end_to_end"] == 0.0
    env = opened("multi_step", path=checked_out(spoil))
    info = env.step("[add_reminder(title='a', time='b')]")[4]
    assert "CPU time" in info["faults"][0] and set(info["scores"].values()) == {0.0}


@pytest.mark.parametrize("source", ["not " * 10_000 + "x", "1" + "+1" * 50_000, "a\0", "x" * 1_100_000, "(" * 300])
def test_sources_that_no_parser_takes_are_named(source: str, checked_out: Callable[..., str]) -> None:
    def spoil(files: dict[str, str]) -> None:
        files["model_inference/multi_turn/scenariosen/phone_platform/reminder.py"] = source

    with pytest.raises(BadInput, match=r"reminder.py of the ACEBench checkout .* (is no Python|has more than)"):
        opened("multi_step", path=checked_out(spoil))


def test_a_start_that_cannot_be_handed_over_is_named(checked_out: Callable[..., str]) -> None:
    def spoil(files: dict[str, str]) -> None:
        path = "data_all/data_en/data_agent_multi_step.json"
        files[path] = files[path].replace('"wifi": true', '"wifi": ' + "[" * 80 + "]" * 80, 1)

    with pytest.raises(EngineError, match="agent_multi_step_0 .* do not begin: an argument cannot be carried over"):
        opened("multi_step", path=checked_out(spoil))


def test_without_a_sandbox_no_task_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = ScriptPool(switches=Switches(without=("landlock",)), libraries=False)
    monkeypatch.setattr(world, "_pool", SharedPool(lambda: broken))
    with pytest.raises(SandboxUnavailable, match="landlock"):
        opened("multi_step")
