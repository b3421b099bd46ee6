"""Raw probes with the language layer off: what the system's layers hold alone, as root and as an ordinary user.

Each probe is plain Python with all of its powers. The clock is the one thing that nothing can stop: it is read
without a system call.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from metagym.errors import ProgramError, ProgramKilled
from metagym.sandbox import Limits, SandboxPool
from metagym.sandbox.pool import Switches
from tests.support.sandbox import env, gone

HEAD = "import ctypes, mmap, os, resource, signal, socket, subprocess, threading, time, _thread\n"

PROBES = {
    "file_read": "os.read(os.open('/etc/hostname', os.O_RDONLY), 10)",
    "file_write": "os.open('{folder}/mg_marker', os.O_CREAT | os.O_WRONLY, 0o600)",
    "folder_list": "os.listdir('/')",
    "file_remove": "os.unlink('{folder}/there')",
    "folder_change": "os.chdir('/tmp')",
    "tcp_connect": "socket.create_connection(('127.0.0.1', {port}), 1)",
    "tcp_listen": "socket.create_server(('127.0.0.1', 0))",
    "udp": "socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', {port}))",
    "abstract_socket": "s = socket.socket(socket.AF_UNIX); s.connect('\\0{name}')",
    "fork": "pid = os.fork()\nif pid == 0: os._exit(0)",
    "thread": "_thread.start_new_thread(len, ((),))",
    "exec": "os.execv('/bin/true', ['true'])",
    "signal_parent": "os.kill({parent}, 0)",
    "signal_caller": "os.kill({caller}, 0)",
    "executable_memory": "mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)",
    "lift_limits": "resource.setrlimit(resource.RLIMIT_AS, (-1, -1))",
    "trace_parent": "if ctypes.CDLL(None, use_errno=True).ptrace(16, {parent}, 0, 0) != 0: raise OSError",
    "read_other_memory": "if ctypes.CDLL(None).process_vm_readv({parent}, 0, 0, 0, 0, 0) != 0: raise OSError",
    "new_namespace": "if ctypes.CDLL(None).unshare(0x10000000) != 0: raise OSError",
    "more_descriptors": "os.dup(3)",
    "clock": "time.time()",
}


def held(pool: SandboxPool, probe: str, folder: Path, port: int) -> bool:
    """Whether a probe was stopped, by an error or by the end of its worker."""
    there = folder / "there"
    there.write_text("kept")
    folder.chmod(0o777)
    places = {"folder": folder, "port": port, "parent": pool.zygote_pid, "caller": os.getpid(), "name": "mg_probe"}
    body = PROBES[probe].format(**places) + "\nreturn 'LEAK', 1.0, True, {}"
    with pool.load(env(body, HEAD)) as program:
        program.reset()
        try:
            observation = program.step("go")[0]
        except (ProgramError, ProgramKilled):
            observation = None
    assert there.read_text() == "kept" or observation == "LEAK"
    assert not (folder / "mg_marker").exists() or observation == "LEAK"
    return observation != "LEAK"


@pytest.fixture(scope="module")
def listener() -> Iterator[int]:
    """A local port that would answer."""
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket(socket.AF_UNIX) as abstract:
        abstract.bind("\0mg_probe")
        abstract.listen()
        yield server.getsockname()[1]


@pytest.fixture(scope="module", params=["as nobody", "as the caller"])
def raw_pool(request: pytest.FixtureRequest) -> Iterator[SandboxPool]:
    """Started by root, a zygote becomes an ordinary user before it forks; a switch keeps it root."""
    switches = Switches(language=False, keep_root=request.param == "as the caller")
    with SandboxPool(numpy=False, switches=switches, limits=Limits(call_s=2.0)) as pool:
        assert pool.zygote_pid is not None
        uid = Path(f"/proc/{pool.zygote_pid}/status").read_text().partition("\nUid:\t")[2].split()[0]
        assert int(uid) == (os.getuid() if os.getuid() or switches.keep_root else 65_534)
        yield pool


@pytest.mark.parametrize("probe", PROBES)
def test_a_raw_probe_is_held_by_the_system_alone(
    raw_pool: SandboxPool, probe: str, tmp_path: Path, listener: int
) -> None:
    assert held(raw_pool, probe, tmp_path, listener) is (probe != "clock")


@pytest.mark.parametrize("probe", ["file_read", "file_write", "udp", "fork", "executable_memory"])
def test_probes_do_go_through_without_the_layers(probe: str, tmp_path: Path, listener: int) -> None:
    """A probe that could not succeed anywhere would prove nothing."""
    switches = Switches(language=False, without=("seccomp", "landlock", "rlimit"), keep_root=True)
    with SandboxPool(numpy=False, required=[], switches=switches) as pool:
        assert not held(pool, probe, tmp_path, listener)


def test_landlock_holds_files_and_tcp_where_the_filter_is_off(tmp_path: Path, listener: int) -> None:
    switches = Switches(language=False, without=("seccomp",), keep_root=True)
    with SandboxPool(numpy=False, required=["landlock", "rlimit"], switches=switches) as pool:
        for probe in ("file_read", "file_write", "folder_list", "file_remove"):
            assert held(pool, probe, tmp_path, listener), probe


def test_the_worker_sees_nothing_of_the_callers_environment(
    bare_pool: SandboxPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MG_PROBE_TOKEN", "secret")
    with SandboxPool(numpy=False, switches=Switches(language=False)) as pool:
        with pool.load(env("return sorted(os.environ), 0.0, True, {}", "import os")) as program:
            program.reset()
            names = program.step("go")[0]
    assert "MG_PROBE_TOKEN" not in names
    allowed = "LC_ALL PYTHONHASHSEED PYTHONNOUSERSITE LD_LIBRARY_PATH PYTHONHOME LC_CTYPE"
    assert set(names) <= {*allowed.split(), *(f"{name}_NUM_THREADS" for name in ("OPENBLAS", "OMP", "MKL"))}


def test_the_worker_has_the_null_device_three_times_and_its_socket(bare_pool: SandboxPool) -> None:
    with bare_pool.load(env("pass")) as program:
        program.reset()
        folder = Path(f"/proc/{program._channel._talk.worker.pid}/fd")  # type: ignore[attr-defined]
        if not os.access(folder, os.R_OK):
            pytest.skip("the system does not show another user's descriptors")
        names = sorted(os.readlink(folder / entry.name).partition(":")[0] for entry in folder.iterdir())
    assert names == ["/dev/null", "/dev/null", "/dev/null", "socket"]


@pytest.mark.parametrize(
    ("body", "limit"),
    [
        ("while True: pass", "wall"),
        ("os.fork()", "syscall"),
        ("x = []\nwhile True: x.append('a' * 10**7)", "memory"),
        ("os._exit(3)", "died"),
        ("os.kill(os.getpid(), 9)", "syscall"),
        ("ctypes.string_at(0)", "died"),
        ("os.close(3)", "died"),
    ],
)
def test_the_end_of_a_worker_tells_its_reason(bare_pool: SandboxPool, body: str, limit: str) -> None:
    program = bare_pool.load(env(body, HEAD), limits=Limits(call_s=2.0 if limit == "memory" else 0.4))
    program.reset()
    pid = program._channel._talk.worker.pid  # type: ignore[attr-defined]
    with pytest.raises(ProgramKilled) as caught:
        program.step("go")
    assert caught.value.limit == limit
    with pytest.raises(ProgramKilled):
        program.reset()
    assert gone(pid)


def test_cpu_time_is_told_apart_from_wall_clock_time(bare_pool: SandboxPool) -> None:
    program = bare_pool.load(env("while True: pass"), limits=Limits(call_s=20.0, cpu_s=0.5))
    program.reset()
    with pytest.raises(ProgramKilled, match="0.5 s of CPU time") as caught:
        program.step("go")
    assert caught.value.limit == "cpu"


AS_USER = """
import sys, tempfile
from pathlib import Path
from metagym.sandbox import SandboxPool
from metagym.sandbox.pool import Switches
from tests.unit.sandbox.test_probes import PROBES, held
folder = Path(tempfile.mkdtemp())
with SandboxPool(numpy=False, switches=Switches(language=False)) as pool:
    print(*[name for name in PROBES if not held(pool, name, folder, int(sys.argv[1]))])
"""


def test_an_ordinary_users_own_pool_holds_the_same(listener: int) -> None:
    """The caller itself without any privilege: no root is needed for anything."""
    if os.getuid() != 0:
        pytest.skip("the tests run as an ordinary user already")
    root = Path(__file__).resolve().parents[3]
    variables = {"PYTHONPATH": os.pathsep.join([str(root), *sys.path]), "PYTHONDONTWRITEBYTECODE": "1"}
    for python in (sys.executable, f"/usr/bin/python{sys.version_info[0]}.{sys.version_info[1]}"):
        try:
            done = subprocess.run(
                [python, "-c", AS_USER, str(listener)],
                user=65_534,
                group=65_534,
                extra_groups=[],
                env=variables,
                capture_output=True,
                text=True,
                cwd="/",
            )
        except OSError:
            continue  # an interpreter in root's own folder, say
        if "No module named" in done.stderr:
            continue  # so may its packages be
        assert done.stdout.split() == ["clock"], done.stderr
        return
    pytest.skip("an ordinary user can reach no interpreter of this version with the packages")
