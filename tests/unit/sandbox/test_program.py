"""Programs in workers, for ordinary code: results, errors, batches, limits, and what a hostile worker may send."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Any

import pytest

import metagym.errors as errors
from metagym.errors import BadInput, BadOutput, ProgramError, ProgramKilled, ProgramRejected, SandboxError
from metagym.sandbox import Ask, Drop, Limits, Play, Reset, SandboxPool, Step, default_pool, load
from metagym.sandbox.pool import Switches
from tests.support.sandbox import descriptors, env

COUNTER = (
    '"""Counts."""\n'
    "class Env:\n"
    "    metadata = {'skills': ['counting']}\n"
    "    def reset(self, seed=None):\n        self.n = 0\n        print('reset')\n        return seed, {'n': 0}\n"
    "    def step(self, action):\n        self.n += 1\n        return [action, self.n], 0.5, self.n == 3, {}\n"
    "    def hint(self, word):\n        return {'hint': word * 2}\n"
)


def test_a_program_is_reset_stepped_asked_and_described(bare_pool: SandboxPool) -> None:
    with bare_pool.load(COUNTER) as program:
        assert program.reset(seed=5) == (5, {"n": 0})
        assert program.step({"move": (1, 2)}) == ([{"move": [1, 2]}, 1], 0.5, False, False, {})
        assert program.ask("hint", "ab") == {"hint": "abab"}
        assert program.play(["x"] * 9, seed=1, session=4)[1][-1] == (["x", 3], 0.5, True, False, {})
        info = program.describe()
        assert (info.class_name, info.doc, info.methods) == ("Env", "Counts.", ("hint", "reset", "step"))
        assert info.metadata == {"skills": ["counting"]} and info.prints == "reset\n" * 2
        assert info.layers == ("rlimit", "seccomp", "landlock") and info.isolation == "process"
        assert len(info.digest) == 64 and info.hash_seed == 0 and info.guards == "off"
        assert info.to_json()["layers"] == ["rlimit", "seccomp", "landlock"]
    with pytest.raises(ProgramKilled, match="the program is closed"):
        program.step("go")
    program.close()


def test_a_batch_gives_a_value_or_an_error_for_each_operation(bare_pool: SandboxPool) -> None:
    source = (
        env("if action == 'bad': raise ValueError('bad')\nif action == 'odd': return 3")
        + "    def hint(self): return 'h'\n"
    )
    with bare_pool.load(source) as program:
        found = program.batch(
            [Reset(1, 0), Reset(2, 1), Step("go"), Step("bad", 1), Step("odd"), Ask("hint"), Drop(1), Step("go", 1)]
            + [Play(["go"], session=7)]
        )
        assert found[:3] == [("start", {}), ("start", {}), ("obs", 0.0, False, False, {})]
        assert isinstance(found[3], ProgramError) and isinstance(found[4], BadOutput)
        assert found[5:7] == ["h", None] and isinstance(found[7], BadInput)
        assert found[8] == (("start", {}), [("obs", 0.0, False, False, {})])
        assert program.batch([]) == []


def test_results_and_requests_larger_than_a_message_are_split(bare_pool: SandboxPool) -> None:
    with bare_pool.load(env("return action, 0.0, False, {}")) as program:
        program.reset()
        text = "é" * 30_000  # 180 KB as JSON: one fits into an answer, and six into a request
        found = program.batch([Step(text) for _ in range(8)])
        assert [step[0] for step in found] == [text] * 8
        with pytest.raises(BadOutput, match="more than 262,144 bytes"):
            program.step("é" * 60_000)
        assert program.step("go")[0] == "go"


def test_a_request_that_cannot_be_sent_is_the_callers_fault(bare_pool: SandboxPool) -> None:
    with bare_pool.load(env("pass"), limits=Limits(output_chars=10**6)) as program:
        program.reset()
        with pytest.raises(BadInput, match="is too long"):
            program.step("é" * 200_000)
        with pytest.raises(BadInput, match="the action holds a object"):
            program.step(object())
        with pytest.raises(BadInput, match="seed must be a non-negative integer"):
            program.reset(seed=-1)
        with pytest.raises(BadInput, match="a session's number"):
            program.reset(session=-1)
        with pytest.raises(BadInput, match="2\\*\\*63"):
            program.reset(seed=2**63)
        with pytest.raises(BadInput, match="asked by its name"):
            program.ask(3)  # type: ignore[arg-type]
        assert program.step("go")[0] == "obs"


def test_unusable_sources_are_typed(bare_pool: SandboxPool) -> None:
    with pytest.raises(BadInput, match="text or bytes"):
        bare_pool.load(3)  # type: ignore[arg-type]
    with pytest.raises(ProgramRejected, match="65,537 characters") as caught:
        bare_pool.load("x" * 65_537)
    assert caught.value.code == "too_long"
    for source in ("", "prose, not a program", "x = 1", b"\xff\xfe", "\0", "\ud800", "é" * 65_536, b"\0" * 65_536):
        with pytest.raises(ProgramRejected):
            bare_pool.load(source)
    with pytest.raises(ProgramError, match="early"):
        bare_pool.load("raise ValueError('early')\nclass Env:\n    def step(self, a): pass")


def test_settings_of_a_pool_are_checked() -> None:
    for wrong, words in (
        ({"required": ["selinux"]}, "no layer that can be required"),
        ({"guards": "none"}, "guards is one of native, full"),
        ({"isolation": "thread"}, "isolation is one of"),
        ({"hash_seed": -1}, "hash_seed"),
        ({"hash_seed": 2**32}, "hash_seed is below"),
        ({"numpy": 1}, "numpy is True or False"),
    ):
        with pytest.raises(BadInput, match=words):
            SandboxPool(**wrong)  # type: ignore[arg-type]
    for wrong, words in (
        ({"call_s": 0}, "call_s is above 0"),
        ({"memory_mb": 1}, "memory_mb is at least 16"),
        ({"depth": 65}, "depth is at most 64"),
        ({"steps": 0}, "steps is at least 1"),
    ):
        with pytest.raises(BadInput, match=words):
            Limits(**wrong)  # type: ignore[arg-type]
    limits = Limits(steps=3)
    assert Limits.checked(limits.to_json()) == limits


def test_a_call_past_its_limit_ends_the_worker_and_names_the_call(bare_pool: SandboxPool) -> None:
    limits = Limits(call_s=0.2, load_s=0.3)
    program = bare_pool.load(env("while action == 'hang': pass"), limits=limits)
    program.reset()
    found = program.batch([Step("go"), Step("hang"), Step("go")])
    assert isinstance(found[1], ProgramKilled) and isinstance(found[2], ProgramKilled)
    assert found[1].limit == found[2].limit == "wall" and found[1] is not found[2]
    with pytest.raises(ProgramKilled, match="ran past its limit of 0.2 s"):
        program.reset()
    with pytest.raises(ProgramKilled, match="loading ran past its limit of 0.3 s"):
        bare_pool.load("while True: pass\nclass Env:\n    def step(self, a): pass", limits=limits)


def test_each_call_of_a_batch_has_the_limit_to_itself(bare_pool: SandboxPool) -> None:
    slow = env("end = time.monotonic() + 0.15\nwhile time.monotonic() < end: pass", "import time")
    with bare_pool.load(slow, limits=Limits(call_s=0.4)) as program:
        found = program.batch([Reset(), *[Step("go")] * 5])
    assert [len(step) for step in found] == [2] + [5] * 5


def test_a_message_is_never_waited_for_longer_by_sending_it_in_pieces(bare_pool: SandboxPool) -> None:
    """A worker that trickles one long message still meets its limit."""
    body = "os.write(3, struct.pack('>I', 200_000))\nwhile True:\n    os.write(3, b' ')\n    for _ in range(300): pass"
    program = bare_pool.load(env(body, "import os, struct"), limits=Limits(call_s=0.3))
    program.reset()
    with pytest.raises(ProgramKilled, match="ran past its limit"):
        program.step("go")


LONG = Limits(call_s=1.0, source_chars=200_000)

FORGED = {
    "oversize": b"\xff\xff\xff\xff",
    "just too long": b"\x00\x04\x00\x01",
    "no json": b"\0\0\0\1{",
    "deep": b"\0\0\xff\xff" + b"[" * 0xFFFF,
    "nan": b'\0\0\0\x1f[[["ok",["o",NaN,true,true,{}]]]',
    "no list": b"\0\0\0\1" + b"3",
    "no results": b"\0\0\0\2{}",
    "empty result": b"\0\0\0\6[[[]]]"[:10],
    "result is text": b'\0\0\0\6[["a"]]'[:10],
    "too many": b'\0\0\0\x1f[[["ok",null],["ok",null],[3]]]'[:35],
    "prints too long": b"\0\0\x40\0" + b'[[],"' + b"x" * (0x4000 - 7) + b'"]',
    "nothing": b"\0\0\0\4[[]]",
    "nothing printed": b'\0\0\0\7[[],""]',
}


@pytest.mark.parametrize("name", FORGED)
def test_a_forged_frame_is_a_typed_error_and_ends_the_worker(bare_pool: SandboxPool, name: str) -> None:
    body = f"data = {FORGED[name]!r}\nwhile data: data = data[os.write(3, data):]\nwhile True: pass"
    program = bare_pool.load(env(body, "import os"), limits=LONG)
    program.reset()
    with pytest.raises(BadOutput, match="worker"):
        program.step("go")
    with pytest.raises(ProgramKilled) as caught:
        program.step("go")
    assert caught.value.limit == "output"


ANSWERS = {
    "step of four": ["ok", ["o", 0.0, True, True]],
    "reward is text": ["ok", ["o", "1", True, True, {}]],
    "reward is infinite": ["ok", ["o", "INF", True, True, {}]],
    "flag is a number": ["ok", ["o", 0.0, 1, True, {}]],
    "info is a list": ["ok", ["o", 0.0, True, True, []]],
    "huge observation": ["ok", ["x" * 70_000, 0.0, True, True, {}]],
    "many items": ["ok", [[0] * 5_000, 0.0, True, True, {}]],
    "deep observation": ["ok", [[[[[[[[[[[[[[[[[[[0]]]]]]]]]]]]]]]]]], 0.0, True, True, {}]],
    "huge number": ["ok", [2**64, 0.0, True, True, {}]],
    "ok alone": ["ok"],
    "unknown": ["what", "x"],
    "rejected of a strange code": ["rejected", "A B", 1, "x"],
    "error of no text": ["error", 3],
    "killed by nobody": ["killed", "me", "x"],
}


@pytest.mark.parametrize("name", ANSWERS)
def test_a_forged_answer_is_a_typed_error(bare_pool: SandboxPool, name: str) -> None:
    answer = f"[[{ANSWERS[name]!r}]]"
    body = (
        f"text = json.dumps({answer}).replace('\"INF\"', '1e999').encode()\n"
        "os.write(3, struct.pack('>I', len(text)) + text)\nwhile True: pass"
    )
    program = bare_pool.load(env(body, "import json, os, struct"), limits=LONG)
    program.reset()
    with pytest.raises(BadOutput):
        program.step("go")
    program.close()


def test_an_answer_that_nobody_asked_for_is_noticed_with_the_next_call(bare_pool: SandboxPool) -> None:
    frame = b'\0\0\0\x22[[["ok",["o",0.0,true,true,{}]]]] '
    body = f"os.write(3, {frame[:36] + b' ' * 0!r} + b'  ')\n"
    program = bare_pool.load(env(body, "import os"))
    program.reset()
    with pytest.raises(SandboxError):
        for _ in range(3):
            program.step("go")
    program.close()


def test_a_worker_killed_in_the_middle_of_a_frame_is_a_typed_error(bare_pool: SandboxPool) -> None:
    program = bare_pool.load(env("os.write(3, b'\\0\\0\\0\\x20[[[')\nos._exit(0)", "import os"))
    program.reset()
    with pytest.raises(ProgramKilled) as caught:
        program.step("go")
    assert caught.value.limit == "died"


def test_threads_share_a_program_and_a_pool(bare_pool: SandboxPool) -> None:
    shared = bare_pool.load(COUNTER)
    wrong: list[Any] = []

    def run(number: int) -> None:
        try:
            with bare_pool.load(COUNTER) as own:
                for seed in range(5):
                    assert own.reset(seed)[0] == seed == shared.reset(seed, session=number)[0]
                    assert own.step(number)[0] == [number, 1] == shared.step(number, session=number)[0]
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    shared.close()
    assert not wrong


def test_an_interrupted_call_leaves_no_answer_behind_for_the_next_one(
    bare_pool: SandboxPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = bare_pool.load(env("pass"))
    program.reset()

    def interrupted(*arguments: Any) -> Any:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("metagym.sandbox.blocking.ProcessChannel._received", interrupted)
        with pytest.raises(KeyboardInterrupt):
            program.step("go")
    with pytest.raises(ProgramKilled, match="interrupted"):
        program.step("go")


def test_the_language_layer_is_on_by_default(pool: SandboxPool) -> None:
    with pytest.raises(ProgramRejected, match="line 1: os is not offered.*forbidden_import"):
        pool.load(env("pass", "import os").strip())
    with pool.load(
        env("return seed_of_session(), 0.0, True, {}", "import random\ndef seed_of_session(): return random.random()")
    ) as program:
        program.reset(seed=3)
        first = program.step("go")[0]
        program.reset(seed=3, session=8)
        assert program.step("go", session=8)[0] == first
        program.reset(seed=4)
        assert program.step("go")[0] != first
        assert program.describe().guards == "native"


def test_the_shared_pool_is_made_once_and_again_after_its_zygote_died() -> None:
    with load(COUNTER, seed=1, limits=Limits(steps=5)) as program:
        assert program.limits.steps == 5 and program.reset(seed=2)[0] == 2
    shared = default_pool()
    assert shared is default_pool() and shared.layers["seccomp"] == ""
    first = shared.zygote_pid
    assert shared._workers._zygote is not None
    shared._workers._zygote._process.kill()
    shared._workers._zygote._process.wait()
    with load(COUNTER) as program:
        assert program.reset(seed=2)[0] == 2
    assert shared.zygote_pid not in (None, first)
    with pytest.raises(BadInput, match="a pool has its own isolation"):
        load(COUNTER, pool=shared, isolation="inprocess")


def test_in_process_runs_warn_once_and_are_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("metagym.sandbox.pool._warned", False)
    with pytest.warns(errors.MetaGymWarning, match="nothing protects it") as caught:
        program = load(COUNTER, isolation="inprocess")
        load(COUNTER, isolation="inprocess").close()
    assert len(caught) == 1
    info = program.describe()
    assert info.isolation == "inprocess" and info.layers == () and info.hash_seed is None
    assert program.reset(seed=4) == (4, {"n": 0}) and program.describe().prints == "reset\n"
    assert program.step("x") == (["x", 1], 0.5, False, False, {})
    program.close()
    with pytest.raises(ProgramKilled, match="closed"):
        program.step("x")


def test_in_process_and_in_a_worker_say_the_same(pool: SandboxPool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("metagym.sandbox.pool._warned", True)
    operations = [Reset(3), Step("a"), Step((1, {"b": 2})), Ask("hint", ["x"]), Step(None), Play(["q"] * 4, session=2)]
    found = []
    for program in (pool.load(COUNTER), load(COUNTER, isolation="inprocess")):
        with program:
            found.append(program.batch(operations))
    assert found[0] == found[1]


def test_a_closed_pool_says_so_and_frees_everything() -> None:
    before = descriptors()
    pool = SandboxPool(numpy=False, switches=Switches(language=False))
    programs = [pool.load(COUNTER) for _ in range(3)]
    pool.close()
    pool.close()
    with pytest.raises(ProgramKilled):
        programs[0].reset()
    with pytest.raises(SandboxError, match="the pool is closed"):
        pool.load(COUNTER)
    for program in programs:
        program.close()
    assert descriptors() == before


def test_a_program_that_nobody_closed_is_ended_with_its_object(bare_pool: SandboxPool) -> None:
    before = descriptors()
    program = bare_pool.load(COUNTER)
    assert descriptors() == before + 2
    del program
    assert descriptors() == before


def test_limits_of_a_load_are_those_of_its_worker(bare_pool: SandboxPool) -> None:
    limits = replace(Limits(), steps=1, output_chars=10)
    with bare_pool.load(env("return 'x' * 11, 0.0, False, {}"), limits=limits) as program:
        program.reset()
        with pytest.raises(BadOutput, match="more than 10 characters"):
            program.step("go")
        with pytest.raises(ProgramKilled, match="past its 1 steps"):
            program.step("go")
