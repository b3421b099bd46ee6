# seed: 13
# actions: ["show", "route 0 5", "path 0-2-5", "ping 3", "path 0-1-3-5", "fail 1", "path 0-2-4-5"]
# expect_total: 0.2 after 7 steps
"""Network routing environment: links fail while packets are routed."""
from __future__ import annotations

import heapq
import ipaddress
import math
import random
from collections import defaultdict, deque
from typing import DefaultDict, Iterator


class Graph:
    def __init__(self) -> None:
        self.adj: DefaultDict[int, dict[int, int]] = defaultdict(dict)

    def connect(self, a: int, b: int, w: int) -> None:
        self.adj[a][b] = w
        self.adj[b][a] = w

    def cut(self, a: int, b: int) -> None:
        self.adj[a].pop(b, None)
        self.adj[b].pop(a, None)

    def edges(self) -> Iterator[tuple[int, int, int]]:
        for a in sorted(self.adj):
            for b, w in sorted(self.adj[a].items()):
                if a < b:
                    yield a, b, w

    def dijkstra(self, src: int) -> dict[int, float]:
        dist: dict[int, float] = {src: 0}
        pq: list[tuple[float, int]] = [(0, src)]
        while pq:
            d, u = heapq.heappop(pq)
            if d > dist.get(u, math.inf):
                continue
            for v, w in self.adj[u].items():
                nd = d + w
                if nd < dist.get(v, math.inf):
                    dist[v] = nd
                    heapq.heappush(pq, (nd, v))
        return dist

    def reachable(self, src: int) -> set[int]:
        seen, q = {src}, deque([src])
        while q:
            for v in self.adj[q.popleft()]:
                if v not in seen:
                    seen.add(v)
                    q.append(v)
        return seen


class NetworkRoutingEnv:
    N = 6

    def reset(self, *, seed: int | None = None) -> tuple[str, dict]:
        self.rng = random.Random(seed)
        self.graph = Graph()
        subnet = ipaddress.ip_network(f"10.{self.rng.randrange(256)}.0.0/29")
        self.hosts = [str(h) for h in subnet.hosts()]
        for v in range(1, self.N):
            self.graph.connect(v, self.rng.randrange(v), self.rng.randint(1, 9))
        for _ in range(5):
            a, b = self.rng.sample(range(self.N), 2)
            self.graph.connect(a, b, self.rng.randint(1, 9))
        self.delivered = 0
        self.t = 0
        return self._table(), {}

    def _table(self) -> str:
        links = "\n".join(f"  {a}<->{b} cost {w}" for a, b, w in self.graph.edges())
        return f"Routers: {', '.join(f'{i}={h}' for i, h in enumerate(self.hosts))}\nLinks:\n{links}\nDeliver a packet from 0 to {self.N - 1}."

    def step(self, action: str) -> tuple[str, float, bool, bool, dict]:
        self.t += 1
        cmd, *args = action.split() or [""]
        reward = 0.0
        try:
            if cmd == "show":
                obs = self._table()
            elif cmd == "ping":
                node = int(args[0])
                ok = node in self.graph.reachable(0)
                obs = f"{self.hosts[node]} is {'up' if ok else 'unreachable'}"
            elif cmd == "route":
                d = self.graph.dijkstra(int(args[0])).get(int(args[1]), math.inf)
                obs, reward = f"Best cost: {d}", -0.3
            elif cmd == "path":
                hops = [int(x) for x in args[0].split("-")]
                cost = sum(self.graph.adj[a][b] for a, b in zip(hops, hops[1:]))
                if hops[0] != 0 or hops[-1] != self.N - 1:
                    raise ValueError("path must go from 0 to 5")
                best = self.graph.dijkstra(0)[self.N - 1]
                reward = best / cost
                self.delivered += 1
                a, b = self.rng.choice(list(zip(hops, hops[1:])))
                self.graph.cut(a, b)
                obs = f"Delivered at cost {cost}. Link {a}<->{b} has failed!"
            else:
                obs, reward = f"unknown command {cmd!r}", -0.1
        except (KeyError, IndexError, ValueError) as exc:
            obs, reward = f"error: {type(exc).__name__}: {exc}", -0.2
        lost = self.N - 1 not in self.graph.reachable(0)
        return obs, reward, lost or self.delivered >= 3, self.t >= 15, {"delivered": self.delivered}
