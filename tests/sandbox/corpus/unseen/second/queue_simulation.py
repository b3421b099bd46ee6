# seed: 36
# actions: ["open 1", "hold", "open 1", "hold", "close 1", "open 5", "express on", "hold", "express off", "hold"]
# expect_total: 7.509139696745972 after 10 steps
"""Supermarket checkout simulation with an event queue."""
import heapq
import itertools
import random
from collections import deque


class Simulator:
    def __init__(self, rng, arrival_rate, service_mean):
        self.rng = rng
        self.arrival_rate = arrival_rate
        self.service_mean = service_mean
        self.clock = 0.0
        self.events = []
        self.sequence = itertools.count()
        self.queue = deque()
        self.servers = 1
        self.busy = 0
        self.express = False
        self.waits = []
        self.schedule(self.rng.expovariate(self.arrival_rate), "arrival")

    def schedule(self, delay, kind, payload=None):
        heapq.heappush(self.events, (self.clock + delay, next(self.sequence), kind, payload))

    def run_until(self, t):
        while self.events and self.events[0][0] <= t:
            self.clock, _, kind, payload = heapq.heappop(self.events)
            handler = getattr(self, "on_" + kind)
            handler(payload)
        self.clock = t

    def on_arrival(self, _):
        items = self.rng.randint(1, 30)
        self.queue.append((self.clock, items))
        self.schedule(self.rng.expovariate(self.arrival_rate), "arrival")
        self.dispatch()

    def on_departure(self, _):
        self.busy -= 1
        self.dispatch()

    def dispatch(self):
        while self.queue and self.busy < self.servers:
            if self.express:
                index = min(range(len(self.queue)), key=lambda i: self.queue[i][1])
                self.queue.rotate(-index)
                arrived, items = self.queue.popleft()
                self.queue.rotate(index)
            else:
                arrived, items = self.queue.popleft()
            self.waits.append(self.clock - arrived)
            self.busy += 1
            self.schedule(self.rng.expovariate(1 / self.service_mean) * (0.5 + items / 30), "departure")


class CheckoutEnv:
    def __init__(self, max_servers=5, period=10.0, horizon=10):
        self.max_servers = max_servers
        self.period = period
        self.horizon = horizon

    def reset(self, seed=None):
        rng = random.Random(seed)
        self.sim = Simulator(rng, arrival_rate=rng.uniform(0.8, 1.6), service_mean=1.4)
        self.t = 0
        return self._obs("The shop opens.")

    def _obs(self, msg):
        s = self.sim
        mean_wait = sum(s.waits) / len(s.waits) if s.waits else 0.0
        return (
            f"{msg} t={s.clock:.0f} min, lanes open={s.servers}, busy={s.busy}, "
            f"queue={len(s.queue)}, served={len(s.waits)}, mean wait={mean_wait:.2f} min, express={'on' if s.express else 'off'}"
        )

    def step(self, action):
        msg, penalty = "OK.", 0.0
        cmd, _, arg = action.partition(" ")
        if cmd in ("open", "close") and arg.isdigit():
            delta = int(arg) if cmd == "open" else -int(arg)
            wanted = self.sim.servers + delta
            self.sim.servers = max(1, min(self.max_servers, wanted))
            if wanted != self.sim.servers:
                msg, penalty = "Clamped to the allowed range.", 0.5
            self.sim.dispatch()
        elif cmd == "express":
            self.sim.express = arg == "on"
        elif cmd != "hold":
            msg, penalty = "Unknown command.", 1.0
        already = len(self.sim.waits)
        self.sim.run_until(self.sim.clock + self.period)
        fresh = self.sim.waits[already:]
        cost = sum(fresh) * 0.1 + len(self.sim.queue) * 0.2 + self.sim.servers * 0.5
        reward = 0.3 * len(fresh) - cost - penalty
        self.t += 1
        return self._obs(msg), reward, self.t >= self.horizon, {"served": len(fresh)}
