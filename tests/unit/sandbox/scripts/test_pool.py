"""Scripts in confined workers: how they may read and write, what stops them, and that no verdict can be forged."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from metagym.errors import BadInput, ProgramError, ProgramKilled, SandboxUnavailable
from metagym.sandbox.pool import Switches
from metagym.sandbox.scripts import SCRIPT_LIMITS, ScriptPool
from metagym.sandbox.scripts.asking import fed

LIMITS = replace(SCRIPT_LIMITS, cpu_s=1.0, call_s=10.0, memory_mb=256)

PREPARED = """
def double(value):
    return value * 2

def lost():
    while True:
        pass

def warm_up():
    double(1)
"""


@pytest.fixture(scope="module")
def pool() -> Iterator[ScriptPool]:
    with ScriptPool(LIMITS, prepared=PREPARED) as found:
        assert found.layers == ("rlimit", "seccomp", "landlock")
        yield found


@pytest.mark.parametrize(
    ("source", "given", "output"),
    [
        ("print(int(input()) + 1)", "41\n", "42\n"),
        ("import sys\nprint(sum(map(int, sys.stdin.read().split())))", "1 2\n3", "6\n"),
        ("import sys\nfor line in sys.stdin: print(line.strip()[::-1])", "ab\ncd\n", "ba\ndc\n"),
        ("import sys\nsys.stdout.buffer.write(sys.stdin.buffer.readline())", "raw\n", "raw\n"),
        ("print(open(0).read().upper(), end='')", "abc", "ABC"),
        ("import os\nos.write(1, os.read(0, os.fstat(0).st_size))", "xyz", "xyz"),
        ("import sys\nprint('a')\nsys.exit(0)\nprint('b')", "", "a\n"),
        ("print('a'); exit()", "", "a\n"),
        ("import atexit\natexit.register(lambda: print('late'))", "", "late\n"),
        ("print(len(input()))", "é" * 3_000_000, "3000000\n"),
        ("if __name__ == '__main__': print(__name__)", "", "__main__\n"),
        ("from dataclasses import dataclass\n@dataclass\nclass A:\n    x: 'int'\nprint(A(1))", "", "A(x=1)\n"),
        ("import sys\nsys.stdout = open('/dev/stdout', 'w')\nprint(1)", "", "1\n"),
        (
            "import sys, threading\nsys.setrecursionlimit(10**6)\ndef deep(n): return n and 1 + deep(n - 1)\n"
            "t = threading.Thread(target=lambda: print(deep(50_000)))\nt.start()\nt.join()", "", "50000\n",
        ),
        ("import heapq, bisect, numpy as np\nprint(np.arange(4).sum())", "", "6\n"),
        # what the library imports only when it is first used
        ("import datetime\nprint(datetime.datetime.strptime('1 Jan 2024', '%d %b %Y').date())", "", "2024-01-01\n"),
        ("import time\nprint(time.strptime('2024', '%Y').tm_year)", "", "2024\n"),
        ("print(*(len('a'.encode(name)) for name in 'latin-1 utf-16-le utf-32-be cp437'.split()))", "", "1 2 4 1\n"),
        ("import codecs\nprint(codecs.encode('ab', 'rot_13'), codecs.encode(b'a', 'hex'))", "", "no b'61'\n"),
        ("import sys\nsys.set_int_max_str_digits(0)\nprint(len(str(int('7' * 50_000))))", "", "50000\n"),
        ("import numpy as np\nprint(np.random.default_rng(0).integers(1), np.random.randint(1))", "", "0 0\n"),
        ("import numpy as np\nprint(np.fft.fft([1, 0]).real, np.ma.array([1]).sum())", "", "[1. 1.] 1\n"),
        ("import numpy as np\nprint(np.char.upper('a'), np.polynomial.Polynomial([2])(1))", "", "A 2.0\n"),
    ],
)  # fmt: skip
def test_scripts_read_and_write_as_they_are_used_to(pool: ScriptPool, source: str, given: str, output: str) -> None:
    ran = pool.run([source], given)
    assert (ran.verdict, ran.output) == ("passed", output), ran.detail


@pytest.mark.parametrize(
    ("source", "verdict", "words"),
    [
        ("while True: pass", "timeout", "CPU time"),
        ("x = [0] * 10**9", "killed", "MiB"),
        ("a = []\nwhile True: a.append(bytes(10**6))", "killed", "MiB"),
        ("while True: print('x' * 100_000)", "killed", "printed more"),
        ("try:\n    while True: print('x' * 100_000)\nexcept BaseException: pass", "killed", "printed more"),
        ("import os\nos.fork()", "killed", "system call"),
        ("import subprocess\nsubprocess.run(['true'])", "killed", "system call"),
        ("import socket\nsocket.socket()", "killed", "system call"),
        ("import os, signal\nos.kill(os.getppid(), signal.SIGKILL)", "killed", "system call"),
        ("open('/etc/passwd')", "error", "PermissionError"),
        ("open('mark', 'w')", "error", "PermissionError"),
        ("import ctypes\nctypes.string_at(0)", "killed", "SIGSEGV"),
        ("import os\nos._exit(0)", "killed", "exit code 0"),
        ("import sys\nsys.exit(3)", "error", "SystemExit: 3"),
        ("1 / 0", "error", "ZeroDivisionError"),
        ("raise KeyboardInterrupt", "error", "KeyboardInterrupt"),
        ("def f(:", "error", "SyntaxError"),
        ("\x00", "error", "source code string cannot contain null bytes"),
        ("(" * 20_000, "error", "SyntaxError"),
        ("#" + "x" * 70_000, "error", "at most 65,536"),
        ("import http.client", "error", "ModuleNotFoundError"),
        ("import os\nos.close(3)", "killed", ""),
        ('import os\nos.write(3, b\'\\0\\0\\0\\x12[[["ok",["x",1]]]]\')', "killed", ""),
    ],
)
def test_what_a_script_must_not_do_is_a_verdict(pool: ScriptPool, source: str, verdict: str, words: str) -> None:
    ran = pool.run([source])
    assert ran.verdict == verdict and words in ran.detail and ran.output == ""


def test_a_script_that_hangs_without_using_the_processor_meets_the_clock(pool: ScriptPool) -> None:
    waits = "import threading\nthreading.Lock().acquire()\nlock = threading.Lock()\nlock.acquire()\nlock.acquire()"
    assert pool.run([waits], limits=replace(LIMITS, call_s=0.3)).verdict == "timeout"


def test_runs_share_nothing(pool: ScriptPool) -> None:
    assert pool.run(["import builtins, random\nbuiltins.mark = 1\nprint(random.random())"]).verdict == "passed"
    first, second = (pool.run(["import random\nprint(random.random(), 'mark' in dir(__builtins__))"]) for _ in "ab")
    assert first == second and "False" in first.output


def test_a_function_is_called_with_values_of_their_own_types(pool: ScriptPool) -> None:
    source = "class Solution:\n    def swap(self, a, b): return (b, a)\ndef echo(x): return x"
    assert pool.call([source], "Solution.swap", [1, {2: {3}}])[1] == ({2: {3}}, 1)
    long = list(range(400_000))
    assert pool.call([source], "echo", [long])[1] == long
    assert pool.call([source], "missing", [1])[0].verdict == "error"
    assert pool.call(["def f(): return lambda: 1"], "f", [])[0].verdict == "error"
    with pytest.raises(BadInput, match="cannot be carried over"):
        pool.call([source], "echo", [object()])


def test_functions_live_on_between_calls_and_not_beyond(pool: ScriptPool) -> None:
    counter = "seen = []\ndef add(x):\n    seen.append(x)\n    return list(seen)\ndef fail(): raise ValueError('no')"
    first, second = pool.open([counter]), pool.open([counter])
    assert first.call("add", 1) == [1] and first.call("add", (2,)) == [1, (2,)] and second.call("add", 3) == [3]
    with pytest.raises(ProgramError, match="ValueError: no"):
        first.call("fail")
    assert first.call("add", 4) == [1, (2,), 4]
    first.close()
    with pytest.raises(ProgramKilled, match="closed"):
        first.call("add", 5)
    with pytest.raises(ProgramError, match="ZeroDivisionError"):
        pool.open(["1 / 0"])
    with pytest.raises(ProgramError, match="at most 65,536"):
        pool.open(["#" * 70_000])


TEST = ("def helper(x): return x + 1", "def check(candidate):\n    assert candidate(1) == helper(1)\n"
        "    assert candidate([1, 2]) == [2, 1]\n    assert double_it(3) == 6")  # fmt: skip
RIGHT = "def double_it(x): return {1: 2, 3: 6}[x] if type(x) is int else x[::-1]"


def test_the_right_function_passes_in_all_its_calls(pool: ScriptPool) -> None:
    judged = pool.check([RIGHT], TEST, "double_it")
    assert (judged.verdict, judged.calls) == ("passed", 3)


CHEATS = {
    "wrong value": "def double_it(x): return 2",
    "a class equal to everything": "class E:\n    def __eq__(s, o): return True\ndef double_it(x): return E()",
    "a number equal to everything": "class E(int):\n    def __eq__(s, o): return True\ndef double_it(x): return E()",
    "leaves at once": "import sys\nsys.exit(0)",
    "leaves in the call": "import sys\ndef double_it(x): sys.exit(0)",
    "ends the process": "import os\ndef double_it(x): os._exit(0)",
    "no assertion": "import builtins\nbuiltins.AssertionError = ValueError\ndef double_it(x): return None",
    "a check of its own": "def check(f): return True\ndef double_it(x): return None\ncheck(double_it)",
    "reads the frames": (
        "import sys, gc\n"
        "def double_it(x):\n"
        "    frame = sys._getframe()\n"
        "    while frame:\n"
        "        if 'candidate' in frame.f_locals or 'check' in frame.f_globals: return 2\n"
        "        frame = frame.f_back\n"
        "    found = [o for o in gc.get_objects() if type(o) is str and 'candidate(1)' in o]\n"
        "    found += [o for o in gc.get_objects() if type(o) is dict and 'helper' in o]\n"
        "    raise LookupError('nothing to read')\n"
    ),
    "writes the verdict": (
        "import os, json, struct\n"
        "text = json.dumps([[['ok', ['passed', '']]]]).encode()\n"
        "def double_it(x):\n"
        "    for _ in range(50): os.write(3, struct.pack('>I', len(text)) + text)\n"
        "    return 2\n"
    ),
    "answers for the calls to come": (
        "import os, json, struct\n"
        "text = json.dumps([[['ok', 2], ['ok', ['list', 2, 1]], ['ok', ['passed', '']]]]).encode()\n"
        "def double_it(x):\n"
        "    os.write(3, struct.pack('>I', len(text)) + text)\n"
        "    return 2\n"
    ),
    "an endless value": "def double_it(x):\n    a = []\n    for _ in range(10**6): a = [a]\n    return a",
    "a long value": "def double_it(x): return 'x' * 10**6",
    "an endless loop": "def double_it(x):\n    while True: pass",
    "an error": "def double_it(x): raise AssertionError",
    "nothing": "",
    "a number of many digits": "def double_it(x): return 10**100_000",
}


@pytest.mark.parametrize("name", CHEATS)
def test_no_trick_passes_a_test(pool: ScriptPool, name: str) -> None:
    judged = pool.check([CHEATS[name]], TEST, "double_it")
    assert judged.verdict != "passed"
    if name == "reads the frames":
        assert "nothing to read" in judged.detail
    assert "[2, 1]" not in judged.detail and "helper" not in judged.detail


SAYS = (
    "import os, struct, threading\n"
    "def say(text):\n"
    "    data = struct.pack('>I', len(text)) + text\n"
    "    os.write(3, data)\n"
    "    lock = threading.Lock()\n"
    "    lock.acquire()\n"
    "    lock.acquire()\n"  # for ever: what was said is the only answer
)
FORGED = {
    "blames the caller": b'[[["input","nope"]]]',
    "blames the machine": b'[[["unavailable","seccomp","nope"]]]',
    "a number without end": b'[[["ok",1e999]]]',
    "one within a list": b'[[["ok",["list",1,["complex",1e999,0.0]]]]]',
    "half a character": b'[[["error","\\ud800"]]]',
    "half a character as a value": b'[[["ok","\\ud800"]]]',
    "a run with half a character": b'[[["ok",["\\ud800",true,""]]]]',
    "a run that is too long": b'[[["ok",["' + b"x" * 3_000 + b'",true,""]]]]',
    "nothing": b"[[]]",
    "nothing in words": b'[[],""]',
}


@pytest.mark.parametrize("name", FORGED)
def test_what_a_worker_forges_is_a_verdict_and_no_error_of_the_callers(pool: ScriptPool, name: str) -> None:
    says = f"say({FORGED[name]!r})\n"
    limits = replace(LIMITS, call_s=0.3, output_chars=2_000)
    ran = [pool.run([SAYS + says], limits=limits), pool.run([SAYS + says], "input" * 20_000, limits)]
    ran.append(pool.call([f"{SAYS}def f(x):\n    {says}"], "f", [1], limits)[0])
    judged = [pool.check([f"{SAYS}def f(x):\n    {says}"], TEST, "f", limits=limits)]
    judged.append(pool.check([f"{SAYS}{says}"], TEST, "f", limits=limits))
    if name != "a run with half a character":
        assert all(one.verdict != "passed" for one in ran[:2])
    assert all(one.verdict != "passed" for one in judged)
    for one in (*ran, *judged):
        one.detail.encode("utf-8")
    for one in ran:
        one.output.encode("utf-8")


def test_all_that_a_script_is_asked_shares_the_time_that_is_left(pool: ScriptPool) -> None:
    waits = (
        "import threading, sys\n"
        "def wait(seconds):\n"
        "    lock = threading.Lock()\n    lock.acquire()\n    lock.acquire(timeout=seconds)\n"
    )
    feeds = waits + (
        "frame = sys._getframe()\n"
        "while '_operations' not in vars(frame.f_locals.get('self', sys)): frame = frame.f_back\n"
        "frame.f_locals['self']._operations['feed'] = lambda text: wait(0.5)\n"  # it answers for its input itself
        "def f(x): return x\n"
    )
    long = ["x" * 1_000_000]
    assert len(fed(long[0])) == 20
    ran, _ = pool.call([feeds], "f", long, replace(LIMITS, call_s=3.0))
    assert ran.verdict == "timeout" and "left for all of it" in ran.detail  # without, each piece has 3 s: 10 s in all
    asked = [
        pool.call([waits + "def f(x): wait(99)"], "f", [1], seconds=1.0)[0],
        pool.run([waits + "wait(99)"], seconds=1.0),
        pool.check([waits + "wait(99)"], ["def check(c): assert c(1)"], "f", seconds=1.0),
        pool.check([waits + "def f(x): wait(99)"], ["def check(c): assert c(1)"], "f", seconds=1.0),
        pool.check(["def f(x): return x"], [waits, "def check(c):\n    c(1)\n    wait(99)"], "f", seconds=1.0),
    ]
    for one in asked:  # without, each would meet its limit of 10 s
        assert one.verdict == "timeout" and "left for all of it" in one.detail, one


def test_a_test_may_not_be_made_to_ask_for_more_than_can_be_sent(pool: ScriptPool) -> None:
    grows = "def check(c):\n    text = c(1)\n    while True: text = c(text + text)"
    judged = pool.check(["def f(x): return x if type(x) is str else 'x' * 400_000"], [grows], "f")
    assert judged.verdict == "error" and judged.calls == 3
    with pytest.raises(BadInput, match="too long"):
        pool.check(["def f(x): return x"], ["def check(c): c('x' * 2_000_000)"], "f")


def test_a_test_that_never_asks_is_no_test(pool: ScriptPool) -> None:
    for test in ("def check(f): pass", "def check(f): assert False", "def check(f): 1 / 0", "check = ("):
        with pytest.raises(BadInput, match="never calls the function"):
            pool.check([RIGHT], [test], "double_it")


def test_a_test_has_limits_of_its_own(pool: ScriptPool) -> None:
    endless = ["def check(f):\n    while True: f(1)"]
    assert pool.check([RIGHT], endless, "double_it", calls=20).verdict == "timeout"
    assert pool.check([RIGHT], ["def check(f):\n    f(1)\n    while True: pass"], "double_it").verdict == "timeout"


def test_prepared_functions_run_in_workers_under_the_limits(pool: ScriptPool) -> None:
    assert pool.call_prepared("double", [(1, 2)]) == (1, 2, 1, 2)
    with pytest.raises(ProgramError, match="TypeError"):
        pool.call_prepared("double", [None])
    with pytest.raises(ProgramKilled, match="CPU"):
        pool.call_prepared("lost", [])


@pytest.mark.parametrize("layer", ["seccomp", "landlock", "rlimit"])
def test_without_a_layer_nothing_runs(layer: str) -> None:
    with pytest.raises(SandboxUnavailable, match=layer):
        ScriptPool(switches=Switches(without=(layer,)), libraries=False).run(["print(1)"])


def test_a_preparation_that_fails_is_told() -> None:
    with pytest.raises(SandboxUnavailable, match="no_such_module"):
        ScriptPool(prepared="import no_such_module", libraries=False).start()
