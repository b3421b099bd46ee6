"""Whatever is killed, no process and no descriptor is left; nothing is forked from the caller's process."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from metagym.errors import ProgramKilled, SandboxError, SandboxUnavailable
from metagym.sandbox import Limits, SandboxPool, processes
from metagym.sandbox.pool import Switches
from tests.support.sandbox import alive, children, descriptors, env, gone

HANG = env("while True: pass")
BARE = Switches(language=False)


def pool(**more: object) -> SandboxPool:
    return SandboxPool(numpy=False, switches=BARE, **more)  # type: ignore[arg-type]


def worker_pid(program: object) -> int:
    return program._channel._talk.worker.pid  # type: ignore[attr-defined]


PARENT = """
import sys, threading, time
from metagym.sandbox import SandboxPool
from metagym.sandbox.pool import Switches
pool = SandboxPool(numpy=False, switches=Switches(language=False))
idle, busy = pool.load(sys.argv[1]), pool.load(sys.argv[1])
idle.reset(); busy.reset()
threading.Thread(target=busy.step, args=("go",), daemon=True).start()
time.sleep(0.1)
print(pool.zygote_pid, idle._channel._talk.worker.pid, busy._channel._talk.worker.pid, flush=True)
time.sleep(60)
"""


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_parent_that_is_killed_takes_everything_with_it(how: signal.Signals) -> None:
    parent = subprocess.Popen([sys.executable, "-c", PARENT, HANG], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert parent.stdout is not None
    pids = [int(text) for text in parent.stdout.readline().split()]
    assert len(pids) == 3 and all(map(alive, pids))
    parent.send_signal(how)
    parent.wait()
    parent.stdout.close()
    assert [pid for pid in pids if not gone(pid)] == []


def test_a_zygote_that_is_killed_takes_its_workers_with_it_and_is_replaced() -> None:
    with pool() as sandbox:
        program, first = sandbox.load(HANG), sandbox.zygote_pid
        program.reset()
        assert first is not None
        os.kill(first, signal.SIGKILL)
        assert gone(worker_pid(program))
        with pytest.raises(ProgramKilled) as caught:
            program.step("go")
        assert caught.value.limit == "died"
        with sandbox.load(env("pass")) as again:
            assert again.reset()[0] == "start"
        assert sandbox.zygote_pid != first
    assert gone(first)


def test_a_step_does_not_wait_for_a_zygote_that_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "STATUS_S", 0.2)
    with pool() as sandbox, sandbox.load(env("pass")) as program:
        program.reset()
        assert sandbox.zygote_pid is not None
        os.kill(sandbox.zygote_pid, signal.SIGSTOP)
        try:
            os.kill(worker_pid(program), signal.SIGKILL)
            with pytest.raises(ProgramKilled, match="ended from outside"):
                program.step("go")
        finally:
            os.kill(sandbox.zygote_pid, signal.SIGCONT)
        with sandbox.load(env("pass")) as again:  # the late answer is not taken for that to a later question
            assert again.reset()[0] == "start"


def test_a_worker_that_is_killed_is_told_and_the_others_live_on() -> None:
    with pool() as sandbox, sandbox.load(env("pass")) as one, sandbox.load(env("pass")) as other:
        one.reset(), other.reset()
        os.kill(worker_pid(one), signal.SIGKILL)
        with pytest.raises(ProgramKilled) as caught:
            one.step("go")
        assert caught.value.limit == "died"
        assert other.step("go")[0] == "obs"
        assert sandbox.zygote_pid is not None
        one.close()
        assert [pid for pid in children(sandbox.zygote_pid) if pid != worker_pid(other)] == []


def test_a_pool_made_in_a_thread_outlives_that_thread() -> None:
    """A parent-death signal would be sent when the thread ends that started the zygote."""
    made: list[SandboxPool] = []
    thread = threading.Thread(target=lambda: made.append(pool().start()))
    thread.start()
    thread.join()
    with made[0] as sandbox, sandbox.load(env("pass")) as program:
        time.sleep(0.05)
        assert program.reset()[0] == "start"


def test_s26_timed_out_programs_leave_no_zombie_and_no_descriptor() -> None:
    before, had = descriptors(), set(children())
    sandbox = pool(limits=Limits(call_s=0.05))
    workers = []
    for _ in range(20):
        program = sandbox.load(HANG)
        program.reset()
        workers.append(worker_pid(program))
        started = time.monotonic()
        with pytest.raises(ProgramKilled) as caught:
            program.step("go")
        assert caught.value.limit == "wall" and time.monotonic() - started < 1.05
        program.close()
    assert all(map(gone, workers))
    assert sandbox.zygote_pid is not None and [pid for pid in children(sandbox.zygote_pid) if alive(pid)] == []
    with sandbox.load(env("pass")) as good:
        assert good.reset()[0] == "start" and good.step("go")[0] == "obs"
    sandbox.close()
    assert descriptors() == before and set(children()) == had


def test_signals_that_keep_coming_do_not_put_off_a_calls_limit() -> None:
    """A profiler's timer, say: after each signal the kernel would begin to count a wait anew."""
    before = signal.signal(signal.SIGALRM, lambda *_: None)
    try:
        with pool(limits=Limits(call_s=0.3, cpu_s=3.0)) as sandbox, sandbox.load(HANG) as program:
            program.reset()
            signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)
            with pytest.raises(ProgramKilled) as caught:
                program.step("go")
            assert caught.value.limit == "wall"
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def test_s36_workers_start_beside_a_thread_that_keeps_taking_locks() -> None:
    """The parent has threads and locks of its own; nothing that it holds can be held in a worker."""
    stop, lock = threading.Event(), threading.Lock()

    def grab() -> None:
        import logging

        while not stop.is_set():
            with lock:
                logging.getLogger(f"mg{time.monotonic_ns() % 7}").isEnabledFor(10)

    threads = [threading.Thread(target=grab) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        with pool(limits=Limits(call_s=5.0, load_s=10.0)) as sandbox:
            programs = [sandbox.load(env("return seed, 1.0, True, {}".replace("seed", "action"))) for _ in range(4)]
            for episode in range(5):
                for program in programs:
                    program.reset(seed=episode)
                    assert program.step(episode)[0] == episode
            hung = sandbox.load(HANG, limits=Limits(call_s=0.1))
            hung.reset()
            with pytest.raises(ProgramKilled, match="ran past its limit"):
                hung.step("go")
            assert programs[0].reset(seed=9)[0] == "start"  # the batch goes on
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def test_a_forked_child_of_the_caller_cannot_use_or_end_its_pool() -> None:
    with pool() as sandbox, sandbox.load(env("pass")) as program:
        child = os.fork()
        if child == 0:
            status = 1
            try:
                sandbox.load(env("pass"))
            except SandboxError as error:
                sandbox.close()
                program.close()
                del program
                gc.collect()
                status = 0 if "process that forked this one" in str(error) else 2
            finally:
                os._exit(status)
        assert os.waitpid(child, 0)[1] == 0
        assert program.reset()[0] == "start"


def test_an_interpreter_that_does_not_start_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    gc.collect()  # what earlier tests left in cycles would be counted before and gone after
    before = descriptors()
    monkeypatch.setattr(sys, "executable", str(tmp_path / "no-python"))
    with pytest.raises(SandboxUnavailable, match="fork: the zygote cannot be started"):
        pool().start()
    monkeypatch.setattr(sys, "executable", "/bin/true")
    with pytest.raises(SandboxUnavailable, match="the zygote is gone"):
        pool().start()
    assert descriptors() == before


def test_a_language_layer_that_cannot_be_loaded_is_told_as_the_policy(monkeypatch: pytest.MonkeyPatch) -> None:
    import metagym.sandbox as room
    from metagym.sandbox import processes

    monkeypatch.setattr(
        processes,
        "_BOOT",
        processes._BOOT.replace("from metagym", "sys.modules['RestrictedPython'] = None\nfrom metagym"),
    )
    with pytest.raises(SandboxUnavailable) as caught:
        room.SandboxPool(numpy=False).start()
    assert caught.value.layer == "policy" and "RestrictedPython" in str(caught.value)


@pytest.mark.slow
def test_a_thousand_programs_leave_nothing_behind() -> None:
    before, had = descriptors(), set(children())
    with pool(limits=Limits(call_s=0.05)) as sandbox:
        for number in range(1_000):
            program = sandbox.load(HANG)
            program.reset()
            if number % 10 == 0:
                with pytest.raises(ProgramKilled):
                    program.step("go")
            elif number % 3 == 0:  # not after that: the worker is gone, and its number may be another process's
                os.kill(worker_pid(program), signal.SIGKILL)
            program.close()
        assert sandbox.zygote_pid is not None
        until = time.monotonic() + 5.0
        while children(sandbox.zygote_pid) and time.monotonic() < until:
            time.sleep(0.01)
        assert children(sandbox.zygote_pid) == []
        assert descriptors() == before + 1 + 0  # the control socket
    assert descriptors() == before and set(children()) == had
