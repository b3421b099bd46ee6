"""The family as Gymnasium, the runner, the conformance suite and the installation see it."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import gymnasium
import pytest
from gymnasium.utils.env_checker import check_env

import metagym
from metagym.chat import Reply, scripted
from metagym.conformance import check_family
from metagym.errors import BadInput, BrokenExtra
from metagym.tasks import Task
from metagym_envs.bfcl import BFCL, data, package, text
from metagym_envs.bfcl.env import ToolConversation
from tests.envs.bfcl import playing

ROOT = Path(__file__).resolve().parents[3]
HIDDEN = "import sys; sys.modules['bfcl_eval'] = None\n"


def test_four_types_of_200_tasks_and_one_split() -> None:
    family = BFCL()
    tasks = family.task_set("test")
    assert family.splits == ("test",) and tasks.types == data.CATEGORIES and len(tasks) == 800
    assert len(tasks.of_types(["multi_turn_miss_func"])) == 200 == len(BFCL("multi_turn_base").task_set("test"))
    # Tasks of one number share a story: whoever trains on one has seen the others.
    assert len({family.identity(task) for task in tasks}) == 200
    assert {len(one.turns) <= 8 for name in data.CATEGORIES for one in data.entries(name).values()} == {True}


@pytest.mark.parametrize("id_", ["MetaGym/BFCL-MultiTurn-v0", "MetaGym/BFCL-v0"])
def test_the_ids_make_the_same_environment(id_: str) -> None:
    env = gymnasium.make(id_, categories=["multi_turn_long_context"], max_steps=9)
    check_env(env.unwrapped)
    walks = []
    for _ in range(2):
        said = [env.reset(seed=3)[0], env.step("[ls()]")[0], env.step(playing.END)[0]]
        walks.append(said)
    task = env.unwrapped.task
    assert walks[0] == walks[1] and task.type == "multi_turn_long_context"
    assert env.reset(seed=4)[0] != walks[0][0]
    named, info = env.reset(options={"task": "multi_turn_long_context_7"})
    assert info["task"]["id"] == "multi_turn_long_context_7" and json.loads(json.dumps(info)) == info
    env.close()


def test_the_conformance_suite_holds() -> None:
    report = check_family("BFCL", tasks=4)
    assert [f"{one.check}: {one.said}" for one in report.findings if not one.ok] == []


def test_episodes_are_equal_for_any_number_of_workers_and_in_processes() -> None:
    family = BFCL(["multi_turn_long_context", "multi_turn_miss_func"])
    tasks = [*family.task_set("test")[:6], *family.task_set("test")[200:206]]
    alone = metagym.play(tasks, "rules", family=family, concurrency=1)
    for how in ({"concurrency": 8}, {"hosts": "process:2"}):
        assert [e.to_json() for e in metagym.play(tasks, "rules", family=family, **how)] == [e.to_json() for e in alone]  # type: ignore[arg-type]
    assert all(episode.success for episode in alone)


def test_a_family_and_its_parts_survive_a_pickle() -> None:
    family = pickle.loads(pickle.dumps(BFCL(["multi_turn_base"])))
    env = family.open(family.task_set("test")[3])
    assert env.reset()[0] == ToolConversation(playing.entry("multi_turn_base_3")).reset()[0]


def test_an_actor_reads_tools_words_and_results_and_answers_in_tool_calls() -> None:
    heard: list[str] = []

    def actor(request: Any) -> str:
        heard.append(request.messages[-1].content)
        if len(heard) == 1:
            return 'Let me see.\n<tool_call>\n{"name": "pwd", "arguments": {}}\n</tool_call>'
        return "I can do no more."

    family = BFCL()
    (episode,) = metagym.play([family.task_set("test").by_id("multi_turn_base_0")], scripted(actor), family=family)
    assert text.INSTRUCTIONS in heard[0] and text.ASK in heard[0] and "- cd(folder): " in heard[0]
    assert playing.entry("multi_turn_base_0").turns[0] in heard[0] and heard[2].startswith(text.USER)
    assert heard[1] == 'Results:\n1. pwd: {"current_working_directory": "/workspace"}'
    assert episode.success is False and episode.info["scores"]["turn_validity"] == 0.0
    assert episode.turns[-1].terminated and episode.last_observation == text.OVER


def test_a_plain_sentence_is_an_answer_and_an_empty_reply_is_none() -> None:
    assert text.FORM.read(Reply("I am\ndone. "), None) == "I am\ndone."
    assert text.FORM.read(Reply(None, absence="empty"), None) == "" == text.clean(" \n", None).command
    assert text.clean("[ls()]\n\nnow", None).command == "[ls()]\n\nnow"


def test_every_tool_and_parameter_stands_in_the_documents() -> None:
    for category in data.CATEGORIES:
        for one in list(data.entries(category).values())[::20]:
            written = text.documents(one.tools)
            assert len(written) < 12_000
            for tool in one.tools:
                assert f"- {tool['name']}(" in written
                for name, schema in tool["parameters"]["properties"].items():
                    assert f"    {name}: {schema['type']}" in written and schema["description"].strip() in written


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"categories": ["multi_turn"]}, "it has multi_turn_base"),
        ({"categories": []}, "None for all"),
        ({"stand_in": "best"}, "'oracle' or 'noop'"),
    ],
)
def test_a_wrong_setting_is_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises(BadInput, match=message):
        BFCL(**options)


def test_wrong_uses_are_named() -> None:
    env = ToolConversation(playing.entry("multi_turn_base_0"))
    with pytest.raises(BadInput, match="call reset"):
        env.step("[ls()]")
    env.reset()
    with pytest.raises(BadInput, match="is text"):
        env.step(5)  # type: ignore[arg-type]
    with pytest.raises(BadInput, match="knows no option"):
        env.reset(options={"index": 1})
    with pytest.raises(BadInput, match="no entry"):
        BFCL().open(Task("BFCL", "multi_turn_base_900", "multi_turn_base", "test"))
    with pytest.raises(BadInput, match="no entry"):
        BFCL().open(Task("BFCL", "x", "../../etc", "test"))


def test_an_absent_package_is_one_sentence_with_both_commands_needs_no_package() -> None:
    code = HIDDEN + textwrap.dedent(
        """
        import gymnasium, metagym
        from metagym.errors import MissingExtra
        try:
            gymnasium.make("MetaGym/BFCL-MultiTurn-v0")
        except MissingExtra as error:
            print(error)
        """
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.stdout.strip() == f"bfcl_eval is not installed: {package.HOW}", done.stderr
    assert "metagym-agents[bfcl]" in package.HOW and "--no-deps" in package.HOW


def test_the_pin_is_the_same_everywhere_needs_no_package() -> None:
    for name in ("Makefile", "setup.cfg", "docs/bfcl.md"):
        assert package.PIN in (ROOT / name).read_text("utf-8"), name


def test_another_release_whose_checker_is_built_otherwise_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    checker = package.module("bfcl_eval.eval_checker.multi_turn_eval.multi_turn_checker")
    monkeypatch.setattr(checker, "multi_turn_checker", lambda *_: {"valid": True})
    with pytest.raises(BrokenExtra, match="runs calls in another way"):
        playing.play(playing.entry("multi_turn_base_0"), playing.answer)


def test_data_that_do_not_belong_together_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import shutil

    shutil.copytree(package.root() / "data", tmp_path / "data")
    answers = tmp_path / "data" / "possible_answer" / "BFCL_v4_multi_turn_base.json"
    lines = answers.read_text("utf-8").splitlines()
    answers.write_text("\n".join(lines[1:]), encoding="utf-8")
    monkeypatch.setattr(package, "root", lambda: tmp_path)
    with pytest.raises(BrokenExtra, match="other ids"):
        data.entries.__wrapped__("multi_turn_base")
    lines[0] = lines[0].replace("ls(a=True)", "__import__('os')").replace("cd(folder=", "cd(folder=x or ")
    answers.write_text("\n".join(lines), encoding="utf-8")
    with pytest.raises(BrokenExtra, match="cannot be read"):
        data.entries.__wrapped__("multi_turn_base")
