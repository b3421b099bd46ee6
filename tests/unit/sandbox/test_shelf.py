"""Programs are compiled once; what is kept of that changes nothing for the program and cannot be had by another."""

import json
import struct

import pytest

from metagym.errors import BadOutput, ProgramError, ProgramRejected
from metagym.sandbox import Limits, SandboxPool, language
from metagym.sandbox.channel import Talk
from metagym.sandbox.pool import Switches
from metagym.sandbox.shelf import LONGEST, Shelf
from tests.support.sandbox import env

SETS = """
class Env:
    def reset(self, seed=None):
        return [name for name in {"ab", "cd", "ef", "gh", "ij", "kl", "mn", "op", "qr", "st", "uv", "wx"}]

    def step(self, action):
        return str(action), 1.0, True, False, {"_private": self._of(action)}

    def _of(self, action):
        return "ab" in {"ab", "cd"} and len(action)
"""


def test_a_program_that_was_compiled_before_is_the_same_program():
    with SandboxPool(numpy=False) as pool, SandboxPool(numpy=False, switches=Switches(shelf=False)) as fresh:
        seen = []
        for each in (pool, pool, pool, fresh):
            with each.load(SETS, seed=3) as program:
                about = program.describe().to_json()
                seen.append((program.reset(seed=1), program.step("go"), about))
        assert seen[0] == seen[1] == seen[2]
        assert seen[0][1:] == seen[3][1:]
        assert sorted(seen[0][0][0]) == sorted(seen[3][0][0])
        digest = seen[0][2]["digest"]
        assert pool._shelf.get(digest) and not fresh._shelf.get(digest)


def test_text_and_bytes_of_a_program_share_what_was_compiled():
    with SandboxPool(numpy=False) as pool:
        pool.load(SETS).close()
        kept = pool._shelf.get(pool._prepared(SETS, 0, None)[2])
        assert kept and pool._prepared(SETS.encode(), 0, None)[1].code == kept
        with pool.load(SETS.encode()) as program:
            assert program.describe().class_name == "Env"


def test_a_program_that_is_rejected_or_raises_is_told_alike_each_time():
    with SandboxPool(numpy=False) as pool:
        for _ in range(2):
            with pytest.raises(ProgramRejected, match="open"):
                pool.load("class Env:\n    def step(self, a):\n        open('x')\n")
            with pytest.raises(ProgramError, match="ZeroDivisionError"):
                pool.load(env("pass") + "\n1 / 0\n")
        assert len(pool._shelf._kept) == 1


def test_code_too_long_for_a_message_is_compiled_each_time():
    with SandboxPool(numpy=False, limits=Limits(frame_bytes=1_024)) as pool:
        for _ in range(2):
            with pool.load(SETS) as program:
                assert program.step is not None and len(program.reset(seed=1)[0]) == 12
        assert not pool._shelf._kept


def test_the_oldest_code_goes_first_and_the_first_of_a_source_stays():
    shelf = Shelf(most=10)
    for name in "abc":
        shelf.put(name, name * 4)
    assert (shelf.get("a"), shelf.get("b"), shelf.get("c")) == ("", "bbbb", "cccc")
    shelf.get("b")
    shelf.put("b", "xxxx")
    shelf.put("d", "dd")
    shelf.put("e", "ee")
    assert shelf.get("b") == "bbbb" and not shelf.get("c")
    shelf.put("f", "f" * (LONGEST + 1))
    shelf.put("g", "")
    shelf.put("h", None)
    assert not any(map(shelf.get, "fgh"))


def test_packed_code_is_looked_at_once_more():
    passed = language.compile_program(env("pass"))
    assert language.unpack(language.pack(passed)) == passed
    forged = compile("class Env:\n    def step(self, a):\n        return a.__globals__\n", "<program>", "exec")
    with pytest.raises(ProgramRejected, match="__globals__"):
        language.unpack(language.pack(language.Compiled(forged, "Env", "", frozenset({"step"}))))


class _Worker:
    killed = False

    def kill(self):
        self.killed = True


def _frames(*messages):
    return b"".join(struct.pack(">I", len(raw)) + raw for raw in (json.dumps(one).encode() for one in messages))


HELLO = {"layers": {"seccomp": ""}}


@pytest.mark.parametrize(
    ("asked", "messages"),
    [
        (False, [{"code": "forged"}]),
        (True, [{"code": "real"}, {"code": "forged"}]),
        (True, [[[["ok", None]]], {"code": "forged"}]),
        (True, [{"code": 7}]),
        (True, [{"code": "real", "more": 1}]),
        (True, [{}]),
    ],
)
def test_code_is_taken_once_and_before_anything_else(asked, messages):
    worker = _Worker()
    talk = Talk(worker, Limits(), ["seccomp"])
    talk.awaits_code = asked
    with pytest.raises(BadOutput, match="no answer"):
        talk.feed(_frames(HELLO, *messages), 5)
    assert worker.killed and talk.code in (None, "real")


def test_code_that_was_asked_for_is_kept():
    talk = Talk(_Worker(), Limits(), ["seccomp"])
    talk.awaits_code = True
    assert talk.feed(_frames(HELLO, {"code": "real"}, [[["ok", None]]]), 1) == [["ok", None]]
    assert talk.code == "real"
