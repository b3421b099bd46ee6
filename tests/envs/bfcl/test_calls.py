"""Calls are read from hostile text: plain values or nothing, and nothing is evaluated."""

from __future__ import annotations

import builtins
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metagym_envs.bfcl.calls import MAX_TEXT, Call, read_calls, written
from metagym_envs.bfcl.data import entries
from metagym_envs.bfcl.env import ToolConversation
from metagym_envs.bfcl.limits import paths
from metagym_envs.bfcl.world import ERROR, World
from tests.envs.bfcl import playing


def one(name: str, **kwargs: Any) -> tuple[Call, ...]:
    return (Call(name, kwargs=kwargs),)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("ls()", one("ls")),
        ("[ls(a=True)]", one("ls", a=True)),
        ("[cd(folder='x'), ls()]", one("cd", folder="x") + one("ls")),
        ("cd('x'), ls()", (Call("cd", ("x",)), Call("ls"))),
        ("```python\n[ls()]\n```", one("ls")),
        ("`ls()`", one("ls")),
        ("f(a=-1, b=2.5, c=None)", one("f", a=-1, b=2.5, c=None)),
        ("f(d=[1, (2, 'x')], e={'k': {}})", one("f", d=[1, (2, "x")], e={"k": {}})),
        (r"f(a='C:\dir \'q\' \n')", one("f", a="C:\\dir 'q' \n")),
        ('{"name": "ls", "arguments": {"a": true}}', one("ls", a=True)),
        ('[{"name": "ls"}, {"name": "cd", "arguments": "{\\"folder\\": \\"x\\"}"}]', one("ls") + one("cd", folder="x")),
        ('{"type": "function", "function": {"name": "ls", "arguments": {}}}', one("ls")),
        ('{"function": "ls", "parameters": {"a": false}}', one("ls", a=False)),
        ('Look:\n<tool_call>\n{"name": "ls"}\n</tool_call> <tool_call>pwd()</tool_call>.', one("ls") + one("pwd")),
        ("<TOOLCALL>[ls()]</TOOLCALL>", one("ls")),
    ],
)  # fmt: skip
def test_every_documented_form_is_read(text: str, wanted: tuple[Call, ...]) -> None:
    assert read_calls(text) == wanted


@pytest.mark.parametrize(
    "text",
    [
        "", "[]", "{}", "null", "Done.", "All files are moved (I think)", "I called ls() and it worked.", "x", "1 + 1",
        "[1, 2]", '["ls()"]', "ls", "lambda: 0", "(", "[" * 300, "{" * 3000, "a" * 5000, '{"answer": 5}', "import os",
        "ls();pwd()", "x = ls()", "\x00", "ls(", "f'{ls()}'", "\ud800", '{"name": 5}', '{"name": ""}', "NaN",
    ],
)  # fmt: skip
def test_everything_else_is_plain_text(text: str) -> None:
    assert read_calls(text) == ()


ATTACKS = [
    "__import__('os').system('touch pwned')",
    "[ls(a=__import__('os').system('touch pwned'))]",
    "ls.__class__.__base__.__subclasses__()",
    "ls(a=ls.__globals__)",
    'ls(a=f\'{open("pwned", "w")}\')',
    "ls(a=(lambda x=open('pwned', 'w'): x)())",
    "ls(a=[x for x in open('pwned', 'w')])",
    "ls(*open('pwned', 'w'))",
    "ls(**{'a': 1})",
    "ls(a=(b := 1))",
    "ls(a=1 if open('pwned', 'w') else 2)",
    "ls(a=1j)",
    "ls(a=b'x')",
    "ls(a={1, 2})",
    "ls(a=...)",
    "ls(a=10**10**10)",
    "ls(a='x' * 10**9)",
    "ls(a=" + "9" * 1_000 + ")",
    "ls(a=1e999)",
    "ls(a=-1e999)",
    "ls(a=" + "[" * 60 + "]" * 60 + ")",
    '{"name": "ls", "arguments": {"a": 1e999}}',
    '{"name": "ls", "arguments": ' + '{"a": ' * 60 + "1" + "}" * 60 + "}",
    '{"name": "ls", "arguments": [1]}',
    '{"name": "ls", "arguments": "not json"}',
    '<tool_call>{"name": "ls", "arguments": {"a": NaN}}</tool_call>',
    '<tool_call>{"name": "ls"',
    "<tool_call></tool_call>",
    "<tool_call>" * 2_000,
    "ls()" + " " * MAX_TEXT,
]


@pytest.mark.parametrize("text", ATTACKS)
def test_what_cannot_be_run_is_answered_and_runs_nothing(
    text: str, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    calls = read_calls(text)
    assert calls and all(call.fault for call in calls)
    env = ToolConversation(playing.entry("multi_turn_base_0"))
    env.reset()
    observation, reward, terminated, truncated, info = env.step(text)
    assert ERROR in observation and (reward, terminated, truncated) == (0.0, False, False)
    assert not list(tmp_path.iterdir())


# Names that would be functions, were the text evaluated where the package evaluates it: literal calls, all of them.
NAMES = [
    "exec('open(\"pwned\", \"w\")')", "eval('1')", "open('pwned', 'w')", "__import__('os')", "exit()", "quit()",
    "globals()", "vars()", "breakpoint()", "input()", "compile('1', '', 'eval')", "_load_scenario({})",
    "__init__()", "_parse_positions('1-99999999999')", "deepcopy(1)", "json(1)", "execute_multi_turn_func_call([])",
]  # fmt: skip


@pytest.mark.parametrize("text", NAMES)
def test_only_tools_have_names(text: str, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    def never(*_: Any, **__: Any) -> Any:
        raise AssertionError("text was evaluated")

    playing.play(playing.entry("multi_turn_base_0"), playing.answer)  # what is imported at first use is imported
    env = ToolConversation(playing.entry("multi_turn_base_0"))
    env.reset()
    with monkeypatch.context() as patched:
        for name in ("eval", "exec"):
            patched.setattr(builtins, name, never)
        observation = env.step(text)[0]
        while True:  # to the verdict, which runs the calls once more
            _, _, terminated, _, info = env.step(playing.END)
            if terminated:
                break
    assert "is not defined" in observation and not info["success"] and not list(tmp_path.iterdir())


def test_the_packages_executor_does_run_such_a_name(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The control: this is what would happen."""
    from metagym_envs.bfcl import package

    monkeypatch.chdir(tmp_path)
    utils = package.module("bfcl_eval.eval_checker.multi_turn_eval.multi_turn_utils")
    utils.execute_multi_turn_func_call(['exec(\'open("pwned", "w").close()\')'], {}, [], "control", "x")
    assert [path.name for path in tmp_path.iterdir()] == ["pwned"]


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**18), 10**18)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
NAME = st.from_regex(r"\A[a-z_]{1,8}\Z").filter(lambda name: not __import__("keyword").iskeyword(name))


@given(st.lists(st.tuples(NAME, st.dictionaries(NAME, VALUES, max_size=3)), min_size=1, max_size=3))
def test_calls_survive_both_notations(found: list[tuple[str, dict[str, Any]]]) -> None:
    calls = tuple(Call(name, kwargs=kwargs) for name, kwargs in found)
    assert read_calls(written(calls)) == calls
    assert read_calls(json.dumps([{"name": c.name, "arguments": c.kwargs} for c in calls])) == calls


@given(st.text() | st.text(alphabet="ls(){}[]=,'\"\\<>/tool_call:.*-1 \n"))
def test_no_text_raises(text: str) -> None:
    for call in read_calls(text):
        assert isinstance(call.name, str)


DEEP = [
    "-" * 50_000 + "1", "not " * 20_000 + "1", "1**" * 30_000 + "1", "1 if 1 else " * 8_000 + "1",
    "x" + "()" * 40_000, "x" + "[0]" * 30_000, "lambda:" * 10_000 + "1",
]  # fmt: skip


@pytest.mark.parametrize("text", DEEP)
def test_deep_expressions_end_neither_the_process_nor_the_episode(text: str) -> None:
    assert read_calls(f"ls(a={text})") in ((), (Call("ls", fault=read_calls("ls(a=1j)")[0].fault),))


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (Call("power", kwargs={"base": 10, "exponent": 10**9}), "exponent is at most"),
        (Call("logarithm", kwargs={"value": 2.0, "base": 10.0, "precision": 10**9}), "precision is at most"),
        (Call("square_root", (2, 10**9)), "precision is at most"),
        (Call("round_number", kwargs={"number": 5, "decimal_places": -(10**9)}), "decimal_places is at most"),
    ],
)
def test_a_computation_without_end_is_refused(call: Call, told: str) -> None:
    math = next(e for e in entries("multi_turn_base").values() if "MathAPI" in e.classes)
    assert told in World(math).call(call)


def test_a_tree_of_folders_that_explodes_is_refused() -> None:
    world = World(playing.entry("multi_turn_base_0"))
    world.call(Call("mkdir", ("a",)))
    assert "error" not in world.call(Call("cp", ("a", "a")))  # the package lets a folder hold itself
    root = world.instances["GorillaFileSystem"].root
    assert paths(root, 500) > 500
    for name in ("ls", "find", "du"):
        assert "holds more than 20,000 paths" in world.call(Call(name))


def test_arguments_are_copied() -> None:
    kwargs = {"numbers": [3, 1, 2]}
    math = next(e for e in entries("multi_turn_base").values() if "MathAPI" in e.classes)
    world = World(math)
    world._methods["mean"] = lambda numbers: numbers.clear()  # a tool that changes what it gets
    world.call(Call("mean", kwargs=kwargs))
    assert kwargs == {"numbers": [3, 1, 2]}
