# seed: 3
# actions: ["map", "go B", "go D", "go C", "go E", "go F", "go G", "go H", "go A", "refuel", "go F"]
# expect_total: -1.3735 after 11 steps
from __future__ import annotations

import heapq
import random
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Dict, List, Tuple

Graph = Dict[str, Dict[str, int]]


@dataclass
class Traveller:
    location: str
    fuel: int
    visited: List[str] = field(default_factory=list)


def build_graph(rng: random.Random, names: str) -> Graph:
    graph: Graph = defaultdict(dict)
    order = list(names)
    rng.shuffle(order)
    for a, b in zip(order, order[1:]):
        w = rng.randint(2, 9)
        graph[a][b] = graph[b][a] = w
    extra = len(names)
    while extra:
        a, b = rng.sample(list(names), 2)
        if b not in graph[a]:
            graph[a][b] = graph[b][a] = rng.randint(2, 12)
        extra -= 1
    return dict(graph)


def dijkstra(graph: Graph, start: str) -> Dict[str, float]:
    dist = {node: float("inf") for node in graph}
    dist[start] = 0
    heap: List[Tuple[float, str]] = [(0, start)]
    while heap:
        d, node = heapq.heappop(heap)
        if d > dist[node]:
            continue
        for nb, w in graph[node].items():
            nd = d + w
            if nd < dist[nb]:
                dist[nb] = nd
                heapq.heappush(heap, (nd, nb))
    return dist


class RoutePlanningEnv:
    """Drive from the start to the goal with limited fuel."""

    NODES = "ABCDEFGH"

    def __init__(self, max_steps: int = 25):
        self.max_steps = max_steps

    def reset(self, seed: int | None = None):
        rng = random.Random(seed)
        self.graph = build_graph(rng, self.NODES)
        self.start = "A"
        self.goal = max(dijkstra(self.graph, "A").items(), key=lambda kv: kv[1])[0]
        self.best = dijkstra(self.graph, self.start)[self.goal]
        self.stations = set(rng.sample(self.NODES, 2))
        self.t = Traveller(self.start, fuel=int(self.best * 1.5))
        self.steps = 0
        return self._describe(), {"optimal_cost": self.best}

    def _describe(self) -> str:
        roads = ", ".join(f"{k} ({v} km)" for k, v in sorted(self.graph[self.t.location].items()))
        station = " There is a fuel station here." if self.t.location in self.stations else ""
        return f"You are in {self.t.location}. Goal: {self.goal}. Fuel: {self.t.fuel}. Roads: {roads}.{station}"

    def step(self, action: str):
        self.steps += 1
        verb, _, arg = action.partition(" ")
        terminated, reward, prefix = False, -0.05, ""
        if verb == "go":
            dest = arg.strip().upper()
            cost = self.graph[self.t.location].get(dest)
            if cost is None:
                prefix, reward = "There is no such road. ", -0.2
            elif cost > self.t.fuel:
                prefix, reward, terminated = "You run out of fuel half way. ", -2.0, True
            else:
                before = dijkstra(self.graph, self.t.location)[self.goal]
                self.t.fuel -= cost
                self.t.location = dest
                self.t.visited.append(dest)
                after = dijkstra(self.graph, dest)[self.goal]
                reward = round((before - after) / self.best, 4)
                if dest == self.goal:
                    reward += 1.0
                    terminated = True
        elif verb == "refuel" and self.t.location in self.stations:
            self.t.fuel += 10
            reward = -0.3
        elif verb == "map":
            prefix = "; ".join(f"{a}-{b}:{w}" for a in sorted(self.graph) for b, w in sorted(self.graph[a].items()) if a < b) + "\n"
        else:
            prefix, reward = "Nothing happens. ", -0.1
        return prefix + self._describe(), reward, terminated, self.steps >= self.max_steps, {}
