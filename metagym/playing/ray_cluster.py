"""Ray (the extra ``ray``): workers are Ray actors, on this machine or on the nodes of a cluster. Ray Core alone.

Ray carries messages, starts processes and tells which are gone; what is played, and what is played again, is decided by
`metagym.playing.remote`. A Ray that is started here listens on loopback alone, asks for a token that only this process
and its children know, keeps its files and sockets in a folder that is the user's alone and ends with it, shows no
dashboard and reports nothing to anybody.
"""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import shutil
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from metagym.checks import whole as whole_number
from metagym.errors import BadInput, ClusterError, NodeLost
from metagym.extras import require
from metagym.playing.crew import Crew
from metagym.playing.remote import RemotePool
from metagym.playing.station import Station, facts, packed, unpacked

PROBE_SECONDS = 5.0
AT_ONCE = 1000
"""Calls that an actor works on at a time: Ray's own default for asynchronous actors."""
STORE_BYTES = 100 * 2**20
"""Ray's shared memory on this machine; our messages are small, and Ray wants 75 MiB at least."""
LOOPBACK = "127.0.0.1"
LONGEST_TEMP = 32
"""Longest name of a folder for temporary files that leaves room for the names of Ray's sockets (107 characters)."""


class Actor:
    """The Ray actor: a station behind one method."""

    def __init__(self, processes: int) -> None:
        self._station = Station(processes)

    async def answer(self, message: bytes) -> bytes:
        """See `Station.answer`."""
        return await self._station.answer(message)


class RayWorker:
    """An actor as a `metagym.playing.crew.Worker`.

    Attributes:
        name: Its machine and process.
        pid: The process.
    """

    def __init__(self, actor: Any, name: str, pid: int) -> None:
        self.name, self.pid = name, pid
        self._actor = actor

    async def call(self, name: str, *arguments: Any) -> Any:
        """See `Worker`."""
        import ray

        try:
            answer = await self._actor.answer.remote(packed(name, *arguments))
        except ray.exceptions.RayError as error:
            raise NodeLost(f"worker {self.name} is gone: {_first_line(error)}") from error
        return unpacked(answer)

    def end(self) -> None:
        """See `Worker`."""
        _kill(self._actor)


def ray_pool(
    address: str | None = None,
    *,
    workers: int | None = None,
    whole: bool = False,
    deadline: float = 60.0,
    processes: int = 1,
) -> RemotePool:
    """A pool of hosts on Ray; it connects at first use and is closed by its owner.

    Args:
        address: Of a running cluster, ``host:port`` (that of ``ray start --head``) or ``auto`` for the one on this
            machine. None is ``RAY_ADDRESS`` of the environment, else a Ray of our own on this machine. A Ray that the
            process has initialised already is used as it is.
        workers: Worker processes, each with one CPU; None means one for each CPU of the cluster.
        whole: Play whole episodes on the workers, model calls included; see `RemotePool`.
        deadline: Seconds for one open, reset or step of an environment.
        processes: Episodes at a time on a worker whose family needs a process for each.

    Raises:
        MissingExtra: Ray is not installed.
        BadInput: The address is none.
        ClusterError: Nothing answers there.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # read when Ray starts something
    require("ray", "ray")
    connection = _Connection(_checked(address or os.environ.get("RAY_ADDRESS") or None), workers, processes)
    crew = Crew(connection.begin, connection.hire)
    return RemotePool(
        crew, whole=whole, deadline=deadline, processes=whole_number("processes", processes, 1), on_close=connection.end
    )


class _Connection:
    """This process's connection to Ray, and how workers are had over it."""

    def __init__(self, address: str | None, workers: int | None, processes: int) -> None:
        self._address, self._processes = address, processes
        self._workers = None if workers is None else whole_number("workers", workers, 1)
        self._ours, self._folder = False, ""
        self._actor_class: Any = None

    async def begin(self) -> int:
        """Connects; how many workers are wanted."""
        await asyncio.to_thread(self._connect)
        import ray

        self._actor_class = ray.remote(Actor)
        cpus = int(ray.cluster_resources().get("CPU", 0))
        if not self._workers and not cpus:
            raise ClusterError("the cluster has no CPU for a worker")
        return self._workers or cpus

    async def hire(self) -> RayWorker:
        """A new actor, wherever Ray has a CPU for it, once it has shown to be of our versions."""
        import ray

        options = {"num_cpus": 1, "max_concurrency": AT_ONCE, "max_restarts": 0, "scheduling_strategy": "SPREAD"}
        actor = self._actor_class.options(**options).remote(self._processes)
        try:
            told = unpacked(await actor.answer.remote(packed("hello")))
        except ray.exceptions.RayError as error:
            _kill(actor)
            if "ModuleNotFoundError" in str(error) or "No module named" in str(error):
                raise ClusterError(
                    f"a node of the cluster cannot import MetaGym ({_last_line(error)}): install the same version of "
                    "metagym-agents[ray], and the families' extras, on every node"
                ) from error
            if "creation task" in str(error):
                raise ClusterError(f"a worker cannot be started on a node: {_last_line(error)}") from error
            raise NodeLost(f"a worker was lost while it started: {_first_line(error)}") from error
        except BaseException:
            _kill(actor)
            raise
        try:
            check_facts(told)
        except ClusterError:
            _kill(actor)
            raise
        return RayWorker(actor, f"{told['host']}, process {told['pid']}", told["pid"])

    def end(self) -> None:
        """Leaves Ray where it was joined here; a Ray of our own ends with that."""
        import ray

        if self._ours and ray.is_initialized():
            ray.shutdown()
        self._ours = False
        self._swept()

    def _swept(self) -> None:
        """Removes the files of a Ray of our own: logs, and the names of its sockets."""
        if self._folder:
            shutil.rmtree(self._folder, ignore_errors=True)
        self._folder = ""

    def _connect(self) -> None:
        import ray

        if ray.is_initialized():
            return
        quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
        try:
            if self._address is None:
                self._start(quiet)
            else:
                _hold_token(False)
                with _loopback(_is_loopback(self._address)):
                    ray.init(address=self._address, **quiet)
        except ClusterError:
            self._swept()
            raise
        except Exception as error:  # Ray tells of other versions by RuntimeError, of an absent cluster by several
            self._swept()
            where = "a Ray on this machine" if self._address is None else f"the cluster at {self._address}"
            raise ClusterError(f"{where} cannot be used: {_words(error)}") from error
        self._ours = True

    def _start(self, quiet: dict[str, Any]) -> None:
        """A Ray of our own, on loopback, with a token, in a folder that nobody else may enter.

        Ray's own /tmp/ray is open to all users of the machine, and so are the sockets there, which ask for no token.
        """
        import ray

        _hold_token(True)
        room = tempfile.gettempdir()
        self._folder = tempfile.mkdtemp(prefix="metagym-ray-", dir=room if len(room) <= LONGEST_TEMP else "/tmp")
        with _loopback(True):
            ray.init(
                address="local",
                num_cpus=self._workers or os.cpu_count() or 1,
                include_dashboard=False,
                object_store_memory=STORE_BYTES,
                _node_ip_address=LOOPBACK,
                _temp_dir=f"{self._folder}/r",  # inside: Ray opens the folder that it is given to everybody
                **quiet,
            )
        found = [node["NodeManagerAddress"] for node in ray.nodes()]
        if found != [LOOPBACK]:  # this version of Ray does not let itself be held there
            ray.shutdown()
            raise ClusterError(f"Ray {ray.__version__} listens on {', '.join(found)} instead of loopback; it was ended")


def check_facts(told: dict[str, Any], ours: dict[str, str] | None = None) -> None:
    """Refuses a node whose versions differ from the driver's.

    Args:
        told: What the node says of itself.
        ours: What must be equal; this process's by default.

    Raises:
        ClusterError: The first difference, with both versions.
    """
    names = {"python": "Python", "metagym": "MetaGym", "code": "the code of MetaGym (digest)"}
    for name, value in (ours or facts()).items():
        if told.get(name) != value:
            raise ClusterError(
                f"node {told.get('host')} has {names[name]} {told.get(name)}, the driver {value}: records of mixed "
                "versions cannot be trusted; install the same on every node"
            )


def _checked(address: str | None) -> str | None:
    """The address, once something answers there: Ray itself would try for minutes.

    Raises:
        BadInput: It is no address.
        ClusterError: Nothing answers.
    """
    if address is None or address in ("auto", "local"):
        return None if address == "local" else address
    host, _, port = address.rpartition(":")
    if "://" in address or not host or not port.isdigit() or not 0 < int(port) < 65536:
        raise BadInput(
            f"the address of a Ray cluster is host:port (as 'ray start --head' tells it) or auto, got {address!r}"
        )
    try:
        with socket.create_connection((host, int(port)), PROBE_SECONDS) as line:
            grpc = _speaks_grpc(line)
    except OSError as error:
        raise ClusterError(
            f"no cluster answers at {address} ({error.strerror or error}): start one with 'ray start --head', or leave "
            "the address out for a Ray on this machine"
        ) from None
    if not grpc:
        raise ClusterError(
            f"what answers at {address} is no Ray: the address is the one that 'ray start --head' tells for "
            "'ray start --address' (port 6379 unless it was given another), not the dashboard's"
        )
    return address


def _speaks_grpc(line: socket.socket) -> bool:
    """Whether the other side answers as gRPC does, which is what Ray speaks: HTTP/2 (RFC 9113) without a prelude.

    Both sides of HTTP/2 begin with a frame of settings (type 4), the client after a fixed greeting (section 3.4). Ray
    itself, where something else answers, would try for minutes and give no reason.
    """
    nothing_set = bytes((0, 0, 0, 4, 0, 0, 0, 0, 0))  # length 0, type 4, no flags, stream 0
    try:
        line.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + nothing_set)
        head = b""
        while len(head) < 4 and (more := line.recv(9)):
            head += more
    except OSError:  # it hung up, or said nothing for so long
        return False
    return len(head) >= 4 and head[3] == 4


def _is_loopback(address: str) -> bool:
    return address.rpartition(":")[0] in (LOOPBACK, "localhost", "::1")


@contextmanager
def _loopback(held: bool) -> Iterator[None]:
    """Lets Ray take loopback for this machine's address.

    Ray (2.60) replaces 127.0.0.1 by the address that other machines reach, binds its servers to all interfaces then,
    and has no setting against it; where the address is 127.0.0.1 all of its servers bind to loopback alone.
    """
    services: Any = require("ray._private.services", "ray")
    found = services.get_node_ip_address
    if held:
        services.get_node_ip_address = lambda *_, **__: LOOPBACK
    try:
        yield
    finally:
        services.get_node_ip_address = found


_token = ""


def _hold_token(wanted: bool) -> None:
    """Sets the token of the Rays that this process starts, or takes it away again for a cluster of somebody else's.

    One token serves all of them: threads of a Ray that was left a moment ago may still read it.
    """
    global _token
    if wanted and not _token and "RAY_AUTH_MODE" not in os.environ:
        _token = secrets.token_hex(32)
        os.environ.update(RAY_AUTH_MODE="token", RAY_AUTH_TOKEN=_token)
    elif not wanted and _token:
        _token = ""
        del os.environ["RAY_AUTH_MODE"], os.environ["RAY_AUTH_TOKEN"]
    else:
        return
    core = require("ray._raylet", "ray")  # it keeps what the environment said when it was imported
    core.Config.initialize("")
    core.AuthenticationTokenLoader.instance().reset_cache()


def _kill(actor: Any) -> None:
    import ray

    try:
        ray.kill(actor)
    except Exception:  # noqa: BLE001 - it is gone, or Ray is
        return


def _words(error: Exception) -> str:
    return " ".join(str(error).split())[:500] or type(error).__name__


def _first_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0][:300] if lines else type(error).__name__


def _last_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1][:300] if lines else type(error).__name__
