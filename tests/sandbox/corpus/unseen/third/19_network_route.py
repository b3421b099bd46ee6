# seed: 27
# actions: ["go nowhere", "go Imola", "go Jaen", "go Dover", "go Hull", "go Faro"]
# expect_total: 0.45268110734695277 after 6 steps
"""Graph search: walk a weighted network from a start city to a goal city as cheaply as possible."""
import heapq
import math
import random
from collections import defaultdict


class Graph:
    def __init__(self):
        self._adj = defaultdict(dict)

    def add_edge(self, a, b, w):
        self._adj[a][b] = w
        self._adj[b][a] = w

    def neighbours(self, node):
        return sorted(self._adj[node].items(), key=lambda kv: (kv[1], kv[0]))

    def __getitem__(self, node):
        return self._adj[node]

    def __contains__(self, node):
        return node in self._adj

    def dijkstra(self, source):
        dist = defaultdict(lambda: math.inf)
        dist[source] = 0
        heap = [(0, source)]
        while heap:
            d, u = heapq.heappop(heap)
            if d > dist[u]:
                continue
            for v, w in self._adj[u].items():
                if (nd := d + w) < dist[v]:
                    dist[v] = nd
                    heapq.heappush(heap, (nd, v))
        return dist


CITIES = ("Avon", "Brill", "Corte", "Dover", "Essen", "Faro", "Genoa", "Hull", "Imola", "Jaen")


class Env:
    max_steps = 20

    def reset(self, seed=None):
        rng = random.Random(seed)
        coords = {c: (rng.uniform(0, 100), rng.uniform(0, 100)) for c in CITIES}
        self.graph = Graph()
        cities = list(CITIES)
        rng.shuffle(cities)
        for a, b in zip(cities, cities[1:]):
            self.graph.add_edge(a, b, self._cost(coords[a], coords[b], rng))
        for _ in range(8):
            a, b = rng.sample(cities, 2)
            if b not in self.graph[a]:
                self.graph.add_edge(a, b, self._cost(coords[a], coords[b], rng))
        self.start, self.goal = cities[0], cities[-1]
        self.dist_to_goal = self.graph.dijkstra(self.goal)
        self.optimal = self.dist_to_goal[self.start]
        self.at = self.start
        self.path = [self.start]
        self.cost = 0
        self.steps = 0
        return self._describe(), {"optimal_known": False}

    @staticmethod
    def _cost(p, q, rng):
        return max(1, round(math.dist(p, q) * rng.uniform(0.8, 1.4)))

    def _describe(self):
        roads = ", ".join(f"{c} ({w})" for c, w in self.graph.neighbours(self.at))
        table = "\n".join(
            f"  {c}: " + " ".join(f"{n}={w}" for n, w in self.graph.neighbours(c)) for c in sorted(CITIES)
        )
        return (
            f"Map:\n{table}\n"
            f"You are in {self.at}; destination {self.goal}. Cost so far {self.cost}.\n"
            f"Roads: {roads}\nSay 'go CITY'."
        )

    def step(self, action):
        self.steps += 1
        city = action.removeprefix("go ").strip().title()
        terminated = False
        if city not in self.graph[self.at]:
            reward = -0.1
            obs = f"There is no road to {city} from {self.at}.\n" + self._describe()
        else:
            before = self.dist_to_goal[self.at]
            w = self.graph[self.at][city]
            self.cost += w
            self.at = city
            self.path.append(city)
            # potential-based shaping: zero along a shortest path, negative otherwise
            reward = -(w + self.dist_to_goal[city] - before) / self.optimal
            obs = self._describe()
            if city == self.goal:
                terminated = True
                reward += self.optimal / self.cost
                obs = f"Arrived in {city} by {' > '.join(self.path)} at cost {self.cost} (best possible {self.optimal})."
        truncated = not terminated and self.steps >= self.max_steps
        return obs, reward, terminated, truncated, {"path": tuple(self.path), "cost": self.cost}
