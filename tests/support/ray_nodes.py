"""A Ray cluster of two nodes on loopback, made by a test; a node can be killed as by a power cut."""

from __future__ import annotations

import contextlib
import ipaddress
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from metagym.playing.ray_cluster import _loopback
from metagym.playing.station import code_digest


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    pytest.importorskip("ray", reason="the extra `ray` is not installed")
    code_digest.cache_clear()  # the nodes read the modules anew as well
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    import ray
    from ray.cluster_utils import Cluster

    node = {
        "num_cpus": 1,
        "include_dashboard": False,
        "object_store_memory": 80 * 2**20,
        "node_ip_address": "127.0.0.1",
    }
    quick = {"health_check_initial_delay_ms": 0, "health_check_period_ms": 500, "health_check_failure_threshold": 4}
    with _loopback(True):
        made = Cluster(initialize_head=True, head_node_args={**node, "_system_config": quick})
        made.second = made.add_node(**{name: value for name, value in node.items() if name != "include_dashboard"})
        made.wait_for_nodes()
    try:
        yield made
    finally:
        ray.shutdown()
        made.shutdown()


def children(pid: int) -> list[int]:
    """All descendants of a process."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1]) if entry.name.isdigit() else -1
        except (OSError, ValueError):
            continue
        if parent == pid:
            found += [int(entry.name), *children(int(entry.name))]
    return found


def listening(pid: int) -> set[str]:
    """IP addresses on which a process listens (Linux)."""
    sockets = set()
    for link in Path(f"/proc/{pid}/fd").glob("*"):
        with contextlib.suppress(OSError):
            sockets.add(os.readlink(link))
    found = set()
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/{pid}/net/{table}").read_text("ascii").splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and f"socket:[{fields[9]}]" in sockets:
                words = fields[1].split(":")[0]
                raw = b"".join(bytes.fromhex(words[at : at + 8])[::-1] for at in range(0, len(words), 8))
                address = ipaddress.ip_address(raw)
                found.add(str(getattr(address, "ipv4_mapped", None) or address))
    return found


def raylet_of(node: Any) -> int:
    return node.all_processes["raylet"][0].process.pid


def kill_node(node: Any) -> None:
    """Ends a node as a power cut would: every process at once."""
    raylet = raylet_of(node)
    for pid in (raylet, *children(raylet)):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue
