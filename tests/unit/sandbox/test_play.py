"""The player: sessions, forms of reset and step, private questions, what exceptions may tell."""

from __future__ import annotations

from typing import Any

import pytest

from metagym.sandbox import Limits
from metagym.sandbox.loaders import BareLoader
from metagym.sandbox.play import PlainPlayer
from tests.support.sandbox import env


def player(source: str, seed: int = 0, **limits: Any) -> PlainPlayer:
    found = PlainPlayer(BareLoader(), Limits(**limits))
    assert found.perform(["load", source, False, seed])[0] == "ok"
    return found


def reset(source: str, options: dict[str, Any] | None = None) -> list[Any]:
    return player(source).perform(["reset", 0, 7, options, False])


def step(returned: str, **limits: Any) -> list[Any]:
    playing = player(
        env(f"return {returned}", "from collections import namedtuple\nT = namedtuple('T', 'a b c')"), **limits
    )
    playing.perform(["reset", 0, 0, None, False])
    return playing.perform(["step", 0, "go"])


@pytest.mark.parametrize(
    ("signature", "wanted"),
    [
        ("self", "none"),
        ("self, seed", 7),
        ("self, seed=None", 7),
        ("self, *, seed=None, options=None", 7),
        ("self, options=None, seed=None", 7),
        ("self, number", 7),
        ("self, number=None", "none"),
        ("self, seed=None, /", 7),
        ("self, *rest", "none"),
        ("self, **rest", 7),
    ],
)
def test_a_seed_reaches_every_form_of_reset(signature: str, wanted: Any) -> None:
    value = next((name for name in ("seed", "number") if name in signature), "'none'")
    value = "rest['seed']" if "**rest" in signature else value
    if signature == "self, number=None":
        value = "'none' if number is None else number"
    source = f"class Env:\n    def reset({signature}):\n        return {value}\n    def step(self, a): pass\n"
    assert reset(source) == ["ok", [wanted, {}]]


def test_options_reach_a_reset_that_takes_them_and_are_refused_by_one_that_does_not() -> None:
    takes = (
        "class Env:\n    def reset(self, seed=None, options=None):\n        return options\n    def step(self, a): pass"
    )
    assert reset(takes, {"level": 2}) == ["ok", [{"level": 2}, {}]]
    assert reset(takes) == ["ok", [None, {}]]
    assert reset(env("pass"), {"level": 2}) == ["input", "this program's reset takes no options"]
    assert reset(env("pass"), {}) == ["ok", ["start", {}]]


def test_a_wrapped_reset_is_called_the_gymnasium_way() -> None:
    source = (
        "def deco(f):\n    class Wrapped:\n        def __get__(self, obj, kind): return lambda **more: f(obj, **more)\n"
        "    return Wrapped()\nclass Env:\n    @deco\n    def reset(self, seed): return seed\n"
        "    def step(self, a): pass"
    )
    assert reset(source) == ["ok", [7, {}]]


@pytest.mark.parametrize(
    ("returned", "wanted"),
    [
        ("'start'", ["start", {}]),
        ("('start', {'a': 1})", ["start", {"a": 1}]),
        ("('start', None)", ["start", {}]),
        ("('x', 'y')", [["x", "y"], {}]),
        ("[1, {}]", [[1, {}], {}]),
        ("None", [None, {}]),
    ],
)
def test_reset_gives_an_observation_with_or_without_info(returned: str, wanted: Any) -> None:
    assert reset(env("pass", reset=f"return {returned}")) == ["ok", wanted]


@pytest.mark.parametrize(
    ("returned", "wanted"),
    [
        ("'o', 1.0, True, False, {'a': 1}", ["o", 1.0, True, False, {"a": 1}]),
        ("'o', 1, False, {'a': 1}", ["o", 1.0, False, False, {"a": 1}]),
        ("'o', True, 1", ["o", 1.0, True, False, {}]),
        ("T('o', 0.5, False)", ["o", 0.5, False, False, {}]),
        ("'o', 0.5, False, None", ["o", 0.5, False, False, {}]),
    ],
)
def test_step_is_brought_into_the_form_of_gymnasium(returned: str, wanted: Any) -> None:
    assert step(returned) == ["ok", wanted]


@pytest.mark.parametrize(
    ("returned", "words"),
    [
        ("'o'", "step returned a str; return (observation, reward"),
        ("['o', 0.0, True]", "step returned a list"),
        ("'o', 1.0", "a tuple of 2"),
        ("(1, 2, 3, 4, 5, 6)", "a tuple of 6"),
        ("'o', 'much', True", "the reward is a str; return a number"),
        ("'o', None, True", "the reward is a NoneType"),
        ("'o', float('nan'), True", "the reward holds the number nan"),
        ("'o', 10**400, True", "more than 64 bits"),
        ("'o', 0.0, 'yes'", "terminated is a str; return True or False"),
        ("'o', 0.0, None", "terminated is a NoneType"),
        ("'o', 0.0, False, 2, {}", "truncated is a int"),
        ("'o', 0.0, False, False, 'info'", "the info of step is a str; return a dict"),
        ("object(), 0.0, False", "the observation of step holds a object"),
        ("'o', 0.0, False, {'a': object()}", "the info of step holds a object"),
    ],
)
def test_what_is_no_transition_is_named(returned: str, words: str) -> None:
    kind, message = step(returned)
    assert kind == "output" and words in message


def test_the_module_runs_anew_for_each_session_and_sessions_share_nothing() -> None:
    playing = player(
        "print('body')\ncounts = []\nclass Env:\n    made = []\n    def reset(self):\n        counts.append(1)\n"
        "        self.made.append(1)\n        return [len(counts), len(self.made)]\n    def step(self, a): pass"
    )
    for session in (0, 1, 2):
        assert playing.perform(["reset", session, 0, None, False]) == ["ok", [[1, 1], {}]]
    assert playing.perform(["reset", 1, 0, None, False]) == ["ok", [[2, 2], {}]]
    assert playing.perform(["reset", 1, 0, None, True]) == ["ok", [[1, 1], {}]]
    assert playing.printed() == "body\n" * 4 and playing.printed() == ""


def test_sessions_are_bounded_and_can_be_dropped() -> None:
    playing = player(env("pass"), sessions=2)
    assert playing.perform(["reset", 1, 0, None, False])[0] == "ok"
    assert playing.perform(["reset", 2, 0, None, False]) == [
        "input",
        "2 sessions of this program are open; drop one first",
    ]
    assert playing.perform(["drop", 1]) == playing.perform(["drop", 1]) == ["ok", None]
    assert playing.perform(["reset", 2, 0, None, False])[0] == "ok"
    assert playing.perform(["step", 1, "go"])[0] == "input"


def test_a_step_needs_a_reset() -> None:
    playing = player(env("pass"))
    assert playing.perform(["step", 0, "go"]) == ["input", "session 0 was not reset; call reset before step"]
    assert PlainPlayer(BareLoader(), Limits()).perform(["reset", 0, 0, None, False]) == [
        "input",
        "no program is loaded",
    ]


def test_an_episode_has_a_number_of_steps() -> None:
    playing = player(env("pass"), steps=2)
    for _ in range(2):
        playing.perform(["reset", 0, 0, None, False])
        assert [playing.perform(["step", 0, "go"])[0] for _ in range(2)] == ["ok", "ok"]
    assert playing.perform(["step", 0, "go"])[:2] == ["killed", "steps"]


def test_questions_reach_public_methods_that_the_class_defines_and_nothing_else() -> None:
    playing = player(
        env("pass") + "    def hint(self, n=1):\n        return 'h' * n\n    def _key(self):\n        return 'k'\n"
    )
    assert playing.perform(["ask", 0, "hint", []]) == ["ok", "h"]
    assert playing.perform(["ask", 5, "hint", [3]]) == ["ok", "hhh"]
    for name in ("_key", "__class__", "missing", "__init__"):
        kind, words = playing.perform(["ask", 0, name, []])
        assert kind == "input" and name in words
    assert playing.perform(["ask", 0, "hint", ["x"]])[0] == "error"


def test_a_whole_episode_is_one_operation() -> None:
    playing = player(env("self.n += 1\nreturn self.n, 0.5, self.n == 2, {}", reset="self.n = 0\nreturn seed"))
    assert playing.perform(["play", 3, 9, ["a", "b", "c"]]) == [
        "ok",
        [[9, {}], [1, 0.5, False, False, {}], [2, 0.5, True, False, {}]],
    ]
    assert len(playing.perform(["play", 3, 9, ["a"]])[1]) == 2


def test_prints_are_kept_up_to_the_limit_of_the_whole_life() -> None:
    playing = player(env("print('x' * 30)\nprint('\\ud800')"), prints=50)
    playing.perform(["reset", 0, 0, None, False])
    for _ in range(3):
        playing.perform(["step", 0, "go"])
    text = playing.printed()
    assert len(text) == 50 and text.startswith("x" * 30 + "\n\ufffd\nxx")


def test_the_description_holds_what_the_class_says_of_itself() -> None:
    source = '"""Doc."""\nclass Base:\n    metadata = {"skills": ["a"]}\nclass Env(Base):\n    """Inner."""\n'
    source += (
        "    def reset(self): pass\n    def step(self, a): pass\n    def hint(self): pass\n    def _own(self): pass\n"
    )
    found = PlainPlayer(BareLoader(), Limits()).perform(["load", source, False, 0])[1]
    wanted = {"class_name": "Env", "doc": "Doc.", "methods": ["hint", "reset", "step"], "metadata": {"skills": ["a"]}}
    assert found == wanted
    found = PlainPlayer(BareLoader(), Limits()).perform(["load", source.replace('["a"]', "object()"), False, 0])[1]
    assert found["metadata"] == {}


def test_bytes_are_sources_too() -> None:
    text = env("return 'é', 0.0, True").encode().decode("latin-1")
    playing = PlainPlayer(BareLoader(), Limits())
    assert playing.perform(["load", text, True, 0])[0] == "ok"
    playing.perform(["reset", 0, 0, None, False])
    assert playing.perform(["step", 0, "go"])[1][0] == "é"


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("raise ValueError('no such door')", "ValueError: no such door (line 9)"),
        ("raise SystemExit(3)", "SystemExit: 3 (line 9)"),
        ("raise KeyboardInterrupt", "KeyboardInterrupt (line 9)"),
        ("raise GeneratorExit('x')", "GeneratorExit: x (line 9)"),
        ("raise BaseException('x')", "BaseException: x (line 9)"),
        ("1 / 0", "ZeroDivisionError: division by zero (line 9)"),
        ("{}['key']", "KeyError: key (line 9)"),
        ("open('/no/such')", "FileNotFoundError: 2, No such file or directory (line 9)"),
        ("raise StopIteration", "StopIteration (line 9)"),
        ("raise ValueError(object(), 'x')", "ValueError: x (line 9)"),
        ("raise Loud", "Loud: x (line 9)"),
    ],
)
def test_an_exception_is_told_by_type_text_and_line_without_asking_it(body: str, words: str) -> None:
    head = (
        "class Loud(Exception):\n  def __init__(self): super().__init__('x')\n  __str__ = __repr__ = lambda self: 1 / 0"
    )
    playing = player(env(body, head))
    playing.perform(["reset", 0, 0, None, False])
    kind, message = playing.perform(["step", 0, "go"])
    assert kind == "error"
    assert message == words
    assert playing.perform(["reset", 0, 0, None, False])[0] == "ok"


def test_hostile_text_is_cut() -> None:
    playing = player(env("raise type('N' * 60000, (Exception,), {})('t' * 10**6)"))
    playing.perform(["reset", 0, 0, None, False])
    kind, message = playing.perform(["step", 0, "go"])
    assert kind == "error" and len(message) < 500 and message.startswith("N" * 77 + "...: " + "t" * 100)


def test_a_fault_of_the_sandbox_is_not_taken_for_the_programs() -> None:
    kind, limit, message = player(env("pass")).perform(["reset", "no number", 0])
    assert (kind, limit) == ("killed", "died") and message.startswith("the sandbox itself failed (TypeError")


@pytest.mark.parametrize("where", ["body", "init"])
def test_a_program_that_fails_while_it_is_loaded_says_where(where: str) -> None:
    source = "raise ValueError('early')\n" if where == "body" else ""
    source += "class Env:\n    def __init__(self):\n        raise ValueError('early')\n    def step(self, a): pass\n"
    found = PlainPlayer(BareLoader(), Limits()).perform(["load", source, False, 0])
    assert found == ["error", f"ValueError: early (line {1 if where == 'body' else 3})"]


def test_no_memory_is_told_as_the_limit() -> None:
    playing = player(env("raise MemoryError"))
    playing.perform(["reset", 0, 0, None, False])
    assert playing.perform(["step", 0, "go"])[:2] == ["killed", "memory"]


def test_a_source_above_the_limit_is_not_read() -> None:
    found = PlainPlayer(BareLoader(), Limits(source_chars=100)).perform(["load", "x" * 101, False, 0])
    assert found[:3] == ["rejected", "too_long", 0]
