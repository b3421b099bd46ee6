"""Faults that other sandboxes had in the field."""

from __future__ import annotations

import gc
import json
import socket
from pathlib import Path

import pytest

from metagym.errors import BadOutput, ProgramError, ProgramKilled, ProgramRejected
from metagym.sandbox import SandboxPool
from tests.support.sandbox import env

HOOKS = """
class Trap({base}):
    def __del__(self): open({marker!r}, 'w').close()
    def __eq__(self, other): open({marker!r}, 'w').close(); return True
    def __hash__(self): return 1
    def __repr__(self): open({marker!r}, 'w').close(); return 'x'
    __str__ = __reduce_ex__ = __getstate__ = __format__ = __bool__ = __repr__
"""


@pytest.mark.parametrize("base", ["", "str", "dict", "float"])
def test_s23_hooks_of_a_programs_classes_never_run_in_the_host(
    bare_pool: SandboxPool, tmp_path: Path, base: str
) -> None:
    """With the language layer off: only plain data crosses, whatever class it was of in the worker."""
    marker = tmp_path / "marker"
    source = env(
        "return self.state, 0.0, False, {'state': self.state}",
        head=HOOKS.format(marker=str(marker), base=base),
        reset="self.state = Trap()\nreturn self.state",
    )
    program = bare_pool.load(source)
    try:
        seen = [program.reset(), program.step("go")]
    except (BadOutput, ProgramError) as error:
        seen = [str(error)]
    assert seen == seen[:] and json.dumps(seen) and repr(seen)
    program.close()
    del program, seen
    gc.collect()
    assert not marker.exists()


@pytest.mark.parametrize("hook", ["__del__", "__reduce__", "__getattribute__", "__setstate__"])
def test_s23_hooks_that_run_by_themselves_are_refused_by_line(pool: SandboxPool, hook: str) -> None:
    with pytest.raises(ProgramRejected) as caught:
        pool.load(f"class Trap:\n    def {hook}(self, *rest):\n        return 1\n{env('pass')}")
    assert caught.value.line == 2 and hook in caught.value.message


@pytest.mark.parametrize(
    "line",
    [
        "import ctypes",
        "import importlib",
        "from importlib import import_module",
        "import socket",
        "import subprocess",
        "import threading",
        "import _thread",
        "import os, sys",
        "found = ().__class__.__base__.__subclasses__()",
        "found = __import__('os')",
    ],
)
def test_s24_what_is_not_on_the_list_is_refused_by_line(pool: SandboxPool, line: str) -> None:
    with pytest.raises(ProgramRejected) as caught:
        pool.load(f"import math\n\n{line}\n{env('pass')}")
    assert caught.value.line == 3 and caught.value.code


def test_s24_run_anyway_a_write_and_a_connection_fail_in_the_worker(bare_pool: SandboxPool, tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        for body in (
            f"open({str(tmp_path / 'out')!r}, 'w')",
            f"import ctypes\nif ctypes.CDLL(None).open({str(tmp_path / 'out')!r}.encode(), 65, 511) < 0: raise OSError",
            f"import socket\nsocket.create_connection(('127.0.0.1', {port}), 1)",
            "import subprocess\nsubprocess.run(['true'])",
            "import threading\nthreading.Thread(target=len, args=('',)).start()",
        ):
            with bare_pool.load(env(f"{body}\nreturn 'LEAK', 0.0, True, {{}}")) as program:
                program.reset()
                with pytest.raises((ProgramError, ProgramKilled)):
                    program.step("go")
        server.settimeout(0.05)
        with pytest.raises(TimeoutError):
            server.accept()
    assert list(tmp_path.iterdir()) == []
