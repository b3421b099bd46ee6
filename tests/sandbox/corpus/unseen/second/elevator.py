# seed: 18
# actions: ["open", "up", "up", "open", "up", "down", "open", "wait", "up", "up", "up", "up", "open", "down", "open", "jump", "down", "down", "open"]
# expect_total: -2.6 after 19 steps
import random


class Passenger:
    def __init__(self, origin, destination, spawned):
        self.origin = origin
        self.destination = destination
        self.spawned = spawned

    def __repr__(self):
        return f"Passenger({self.origin}->{self.destination})"


class ElevatorEnv:
    """Control one elevator. Actions: up, down, open, wait."""

    def __init__(self, floors=6, capacity=4, max_steps=40, total_passengers=8):
        self.floors = floors
        self.capacity = capacity
        self.max_steps = max_steps
        self.total_passengers = total_passengers
        self.reset()

    def reset(self, seed=None):
        self.rng = random.Random(seed)
        self.floor = 0
        self.time = 0
        self.waiting = {f: [] for f in range(self.floors)}
        self.inside = []
        self.delivered = 0
        self.spawned = 0
        for _ in range(3):
            self._spawn()
        return self._get_obs()

    def _spawn(self):
        if self.spawned >= self.total_passengers:
            return
        origin, destination = self.rng.sample(range(self.floors), 2)
        self.waiting[origin].append(Passenger(origin, destination, self.time))
        self.spawned += 1

    def _get_obs(self):
        rows = []
        for f in reversed(range(self.floors)):
            marker = "[E]" if f == self.floor else "   "
            rows.append(f"{f} {marker} waiting: {len(self.waiting[f])}")
        inside = sorted(p.destination for p in self.inside)
        rows.append(f"inside: {inside}")
        return "\n".join(rows)

    def step(self, action):
        self.time += 1
        reward = -0.1
        action = action.strip().lower()

        if action == "up":
            if self.floor < self.floors - 1:
                self.floor += 1
            else:
                reward -= 0.5
        elif action == "down":
            if self.floor > 0:
                self.floor -= 1
            else:
                reward -= 0.5
        elif action == "open":
            leaving = [p for p in self.inside if p.destination == self.floor]
            self.inside = [p for p in self.inside if p.destination != self.floor]
            for p in leaving:
                self.delivered += 1
                reward += 2.0 - 0.05 * (self.time - p.spawned)
            while self.waiting[self.floor] and len(self.inside) < self.capacity:
                self.inside.append(self.waiting[self.floor].pop(0))
                reward += 0.2
        elif action == "wait":
            pass
        else:
            reward -= 1.0

        if self.rng.random() < 0.3:
            self._spawn()

        done = self.delivered == self.total_passengers or self.time >= self.max_steps
        info = {"delivered": self.delivered, "time": self.time}
        return self._get_obs(), reward, done, info
