"""Layers of the system: the filter's logic on both architectures, and that a missing or broken layer stops the pool."""

from __future__ import annotations

import struct
import sys

import pytest

from metagym.errors import SandboxUnavailable
from metagym.sandbox import SandboxPool
from metagym.sandbox.confine import LAYERS, LayerMissing, confine, landlock, libc, rlimits, seccomp, selftest
from metagym.sandbox.limits import Limits
from metagym.sandbox.pool import Switches
from tests.support.sandbox import env


def run_filter(code: bytes, number: int, architecture: int, third: int = 0) -> int:
    """What the kernel would make of a system call: the classic BPF machine, as far as the filter uses it."""
    data = struct.pack("<IIQ6Q", number, architecture, 0, 0, 0, third, 0, 0, 0)
    lines = [struct.unpack("HBBI", code[at : at + 8]) for at in range(0, len(code), 8)]
    at = accumulator = 0
    while True:
        what, true, false, k = lines[at]
        at += 1
        if what == 0x20:
            (accumulator,) = struct.unpack_from("<I", data, k)
        elif what == 0x06:
            return k
        else:
            holds = {0x15: accumulator == k, 0x35: accumulator >= k, 0x45: bool(accumulator & k)}[what]
            at += true if holds else false


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_the_filter_allows_its_list_and_nothing_else(machine: str) -> None:
    column, code = list(seccomp.ARCHITECTURES).index(machine), seccomp.program(machine)
    architecture = seccomp.ARCHITECTURES[machine]

    def numbers(table: dict[str, tuple[int | None, int | None]]) -> set[int]:
        return {number for row in table.values() if (number := row[column]) is not None}

    allowed, checked, failing = map(numbers, (seccomp.ALLOWED, seccomp.WITHOUT_EXEC, seccomp.FAILING))
    assert not allowed & failing and not checked & (allowed | failing)
    for number in range(600):
        found = run_filter(code, number, architecture)
        wanted = seccomp.ALLOW if number in allowed | checked else seccomp.FAIL if number in failing else seccomp.KILL
        assert found == wanted, number
        assert run_filter(code, number, architecture ^ 1) == seccomp.KILL
    for number in checked:
        assert run_filter(code, number, architecture, 3) == seccomp.ALLOW
        assert run_filter(code, number, architecture, 4) == seccomp.KILL
        assert run_filter(code, number, architecture, 7) == seccomp.KILL


def test_numbers_of_the_x32_range_end_the_process() -> None:
    code, architecture = seccomp.program("x86_64"), seccomp.ARCHITECTURES["x86_64"]
    for number in (0, 1, 9, 59, 513):
        assert run_filter(code, seccomp.X32_BIT | number, architecture) == seccomp.KILL


def test_no_dangerous_call_is_on_a_list() -> None:
    named = {*seccomp.ALLOWED, *seccomp.WITHOUT_EXEC}
    for name in "execve clone clone3 fork vfork socket connect kill tgkill ptrace prctl prlimit64 dup2 sendmsg".split():
        assert name not in named and name not in seccomp.FAILING
    assert not named & set(seccomp.FAILING)


def test_an_unknown_architecture_has_no_filter() -> None:
    with pytest.raises(LayerMissing, match="no table of system calls for riscv64"):
        seccomp.program("riscv64")


def test_a_system_that_is_not_linux_has_no_layer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    assert set(confine(Limits(), 0).values()) == {"not on darwin: the sandbox needs Linux"}
    with pytest.raises(SandboxUnavailable, match="fork: the sandbox needs Linux, and this is darwin"):
        SandboxPool().start()


@pytest.mark.parametrize("layer", LAYERS)
def test_a_required_layer_that_is_not_there_stops_the_pool_which_names_it(layer: str) -> None:
    broken = SandboxPool(numpy=False, switches=Switches(language=False, without=(layer,)))
    with pytest.raises(SandboxUnavailable, match=f"^{layer}: switched off") as caught:
        broken.start()
    assert caught.value.layer == layer
    assert broken.zygote_pid is None
    with pytest.raises(SandboxUnavailable):
        broken.load(env("pass"))
    broken.close()


@pytest.mark.parametrize("layer", LAYERS)
def test_a_shortened_list_runs_without_that_layer_and_says_what_held(layer: str) -> None:
    kept = [name for name in LAYERS if name != layer]
    switches = Switches(language=False, without=(layer,))
    with SandboxPool(numpy=False, required=kept, switches=switches) as pool, pool.load(env("pass")) as program:
        assert program.describe().layers == tuple(kept)
        assert pool.layers[layer].startswith("switched off") and not any(pool.layers[name] for name in kept)
        assert program.reset()[0] == "start"


def test_a_worker_without_a_required_layer_runs_nothing() -> None:
    """The pool's own check aside: each worker refuses before it reads a program."""
    switches = Switches(language=False, without=("landlock",))
    with SandboxPool(numpy=False, required=["seccomp"], switches=switches) as pool:
        pool._workers._required = LAYERS  # the parent's side only: what the worker says is judged again
        with pytest.raises(SandboxUnavailable, match="landlock: switched off"):
            pool.load(env("pass"))


@pytest.mark.parametrize(("attempt", "layer"), [("file", "seccomp"), ("socket", "seccomp"), ("fork", "seccomp")])
def test_a_layer_that_is_applied_and_does_not_hold_is_found(
    attempt: str, layer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The self-test's worker has no layer that would stop it, and says of all that they hold."""
    from metagym.sandbox import channel

    monkeypatch.setattr(selftest, "TRIES", {attempt: selftest.TRIES[attempt]})
    monkeypatch.setattr("metagym.sandbox.workers.TRIES", selftest.TRIES)
    greeting = channel.Talk._greeting

    def lie(talk: channel.Talk, message: dict) -> None:
        greeting(talk, {"layers": dict.fromkeys(message["layers"], "")})

    monkeypatch.setattr(channel.Talk, "_greeting", lie)
    switches = Switches(language=False, without=("seccomp", "landlock", "rlimit"))
    pool = SandboxPool(numpy=False, required=[], switches=switches)
    with pytest.raises(SandboxUnavailable, match="it is applied, and yet a confined worker could") as caught:
        pool.start()
    assert caught.value.layer == layer


def test_checks_notice_that_this_process_is_not_confined() -> None:
    with pytest.raises(LayerMissing, match="a folder could be opened"):
        landlock.check()
    with pytest.raises(LayerMissing, match="went through"):
        seccomp.check()
    with pytest.raises(LayerMissing, match="resource limit"):
        rlimits.check(Limits(), 0)
    assert selftest.attempt("file") and selftest.attempt("socket")


def test_a_kernel_without_landlock_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*arguments: object) -> int:
        raise OSError(38, "Function not implemented")

    monkeypatch.setattr(libc, "syscall", missing)
    with pytest.raises(LayerMissing, match="not in this kernel"):
        landlock.install()


def test_a_parent_that_is_gone_already_is_noticed() -> None:
    with pytest.raises(LayerMissing, match="the parent is gone"):
        try:
            libc.die_with(1 if __import__("os").getppid() != 1 else 2)
        finally:
            libc.prctl(libc.PR_SET_PDEATHSIG, 0)


def test_hard_limits_of_the_user_that_are_lower_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    import resource

    done = {}
    monkeypatch.setattr(resource, "getrlimit", lambda name: (5, 5) if name == resource.RLIMIT_CPU else (-1, -1))
    monkeypatch.setattr(resource, "setrlimit", lambda name, pair: done.__setitem__(name, pair))
    rlimits.install(Limits(cpu_s=9.5, memory_mb=16), 2**20)
    assert done[resource.RLIMIT_CPU] == (5, 5)
    assert done[resource.RLIMIT_AS] == (17 * 2**20, 17 * 2**20)
