# seed: 10
# actions: ["list", "assign build 0", "assign test 0", "assign lint 1", "assign deploy 1", "assign docs 2", "tick", "assign build 2", "assign test 1", "auto", "submit"]
# expect_total: -0.3 after 11 steps
"""Task scheduling with precedence constraints (graphlib) on parallel machines."""
import heapq
import random
from collections import OrderedDict
from graphlib import CycleError, TopologicalSorter

JOBS = ["build", "test", "lint", "docs", "package", "deploy"]
MACHINES = 3


class SchedulingEnv:
    def __init__(self):
        self.reset(0)

    def reset(self, seed=None):
        rng = random.Random(seed)
        self.duration = OrderedDict((j, rng.randint(1, 6)) for j in JOBS)
        self.deps = {j: set() for j in JOBS}
        order = JOBS[:]
        rng.shuffle(order)
        for i, job in enumerate(order):
            for other in order[:i]:
                if rng.random() < 0.3:
                    self.deps[job].add(other)
        self.finish = {}
        self.free = [0] * MACHINES
        self.steps = 0
        return self.describe()

    def describe(self):
        lines = []
        for job, d in self.duration.items():
            pre = ", ".join(sorted(self.deps[job])) or "nothing"
            state = f"done at {self.finish[job]}" if job in self.finish else "pending"
            lines.append(f"{job}: {d}h, after {pre} [{state}]")
        lines.append("Machines free at: " + ", ".join(str(f) for f in self.free))
        return "\n".join(lines)

    def lower_bound(self):
        longest = {}
        for job in TopologicalSorter(self.deps).static_order():
            longest[job] = self.duration[job] + max((longest[d] for d in self.deps[job]), default=0)
        return max(max(longest.values()), -(-sum(self.duration.values()) // MACHINES))

    def _place(self, job, machine):
        ready = max((self.finish[d] for d in self.deps[job]), default=0)
        start = max(ready, self.free[machine])
        self.finish[job] = self.free[machine] = start + self.duration[job]
        return start

    def _auto(self):
        ts = TopologicalSorter(self.deps)
        try:
            ts.prepare()
        except CycleError:
            return 0
        placed = 0
        heap = []
        while ts.is_active():
            for job in ts.get_ready():
                heapq.heappush(heap, (-self.duration[job], job))
            _, job = heapq.heappop(heap)
            if job not in self.finish:
                self._place(job, min(range(MACHINES), key=self.free.__getitem__))
                placed += 1
            ts.done(job)
        return placed

    def step(self, action):
        self.steps += 1
        words = action.split()
        reward, done = 0.0, self.steps >= 20
        if words[0] == "list":
            obs = self.describe()
        elif words[0] == "assign" and len(words) == 3 and words[1] in self.duration and words[2].isdigit():
            job, m = words[1], int(words[2])
            missing = self.deps[job] - self.finish.keys()
            if job in self.finish or m >= MACHINES:
                obs, reward = "Invalid assignment.", -0.2
            elif missing:
                obs, reward = f"Unmet dependencies: {sorted(missing)}", -0.2
            else:
                start = self._place(job, m)
                obs, reward = f"{job} runs on machine {m} from {start} to {self.finish[job]}.", 0.1
        elif words[0] == "auto":
            n = self._auto()
            obs, reward = f"Scheduled {n} jobs greedily.", -0.1 * n
        elif words[0] == "submit":
            if len(self.finish) < len(JOBS):
                obs, reward = "Not all jobs are scheduled.", -1.0
            else:
                span = max(self.finish.values())
                obs, reward = f"Makespan {span}, bound {self.lower_bound()}.", self.lower_bound() / span
            done = True
        else:
            obs, reward = "Unknown command.", -0.1
        return obs, reward, done, {"scheduled": len(self.finish)}
