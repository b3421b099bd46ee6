"""The worker: a fork of the zygote that confines itself, then plays one program for the parent until it is ended."""

from __future__ import annotations

import fcntl
import os
import socket
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any, NoReturn, Protocol, TypeAlias

from metagym.errors import BadOutput
from metagym.sandbox import wire
from metagym.sandbox.confine import confine, libc, selftest
from metagym.sandbox.confine.rlimits import SOCKET
from metagym.sandbox.faults import to_wire
from metagym.sandbox.limits import Limits

OUT_OF_MEMORY, UNCONFINED, BROKEN = 77, 78, 79
"""Exit codes: no memory left even to say so; a required layer is missing; the parent's words made no sense."""

FLUSH_S = 0.02
"""Results of a batch are sent off at least this often, so that a call that hangs loses few of the others'."""


PIECE = 16
"""Results of a batch that go off together: the parent reads them while the worker goes on with the rest."""


class Player(Protocol):
    """Does operations on what the worker holds."""

    def perform(self, operation: list[Any]) -> list[Any]:
        """The answer to one operation: ``["ok", value]`` or a typed error as `metagym.sandbox.faults` writes it."""

    def printed(self) -> str:
        """What was printed since the last call."""


MakePlayer: TypeAlias = Callable[[Limits, Callable[[str], None]], Player]
"""Makes a player under limits; the second argument tells the parent what a program was compiled to."""


def main(
    fd: int,
    zygote: int,
    make_player: MakePlayer,
    limits: Limits,
    base_bytes: int,
    required: Sequence[str],
    without: Sequence[str],
    looks: bool,
) -> NoReturn:
    """Runs the worker; never returns.

    Args:
        fd: The socket to the parent.
        zygote: Process id of the zygote.
        make_player: Makes what does the operations; warmed up before the fork.
        limits: Limits of this worker.
        base_bytes: Address space before any program.
        required: Layers without which nothing is run.
        without: Layers that a test switched off.
        looks: Looks for the next request before it sleeps: the parent waits for each answer.
    """
    status = BROKEN
    try:
        libc.die_with(zygote)
        libc.not_dumpable()
        # Above all numbers in use first: fd SOCKET may be one that is still needed, or may be `fd` itself.
        moved = fcntl.fcntl(fd, fcntl.F_DUPFD, 100)
        os.dup2(moved, SOCKET, inheritable=False)
        os.closerange(SOCKET + 1, 65_536)
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM, 0, fileno=SOCKET)  # a call that is not allowed later
        receive = wire.awake(sock) if looks else wire.asleep(SOCKET)
        sys.unraisablehook = lambda unraisable: None  # the default one would print an object of the program
        layers = confine(limits, base_bytes, without)
        wire.write(SOCKET, wire.encode({"layers": dict(layers)}))
        status = UNCONFINED
        if not any(layers[name] for name in required):
            status = _serve(receive, make_player(limits, lambda code: _tell(code, limits)), limits)
    except libc.LayerMissing:
        pass  # the parent's end: nobody is left to be told
    except MemoryError:
        status = OUT_OF_MEMORY
    except BaseException:  # noqa: B902  (whatever it is, a fork must never run on into the zygote's own code)
        status = BROKEN
    finally:
        os._exit(status)


def _serve(receive: Callable[[], bytes], player: Player, limits: Limits) -> int:
    """Answers requests until the parent closes its end; the exit code."""
    requests = wire.Requests(receive)
    while (request := requests.next()) is not None:
        results: list[Any] = []
        sent_at = time.monotonic()
        for operation in request:
            if operation[0] == "try":
                result: list[Any] = ["ok", selftest.attempt(operation[1])]
            else:
                result = player.perform(operation)
            results.append(result)
            if result[0] == "killed":
                _send(results, player, limits)
                return 0
            if (now := time.monotonic()) - sent_at > FLUSH_S or len(results) == PIECE:
                _send(results, player, limits)
                results, sent_at = [], now
        if results:
            _send(results, player, limits)
    return 0


def _tell(code: str, limits: Limits) -> None:
    """Sends the compiled program, or that it is too long, so that nothing of this form is awaited any more."""
    payload = wire.encode({"code": code})
    wire.write(SOCKET, payload if len(payload) <= limits.frame_bytes else wire.encode({"code": ""}))


def _send(results: list[Any], player: Player, limits: Limits) -> None:
    """Sends what was printed, then the results, in as few messages as the limit of one message allows."""
    printed = player.printed()
    room = limits.frame_bytes // 8  # a character takes at most six bytes
    for start in range(0, len(printed), room):
        wire.write(SOCKET, wire.encode([[], printed[start : start + room]]))
    _send_results(results, limits)


def _send_results(results: list[Any], limits: Limits) -> None:
    payload = wire.encode([results])
    if len(payload) <= limits.frame_bytes:
        wire.write(SOCKET, payload)
    elif len(results) > 1:
        half = len(results) // 2
        _send_results(results[:half], limits)
        _send_results(results[half:], limits)
    else:
        error = BadOutput(f"a call returned more than {limits.frame_bytes:,} bytes of data in all")
        wire.write(SOCKET, wire.encode([[to_wire(error)]]))
