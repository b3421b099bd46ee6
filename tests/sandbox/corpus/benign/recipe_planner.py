# seed: 15
# actions: ["start bake", "start boil water", "start chop", "wait 4", "start cook pasta", "start fry", "wait 6", "plan", "start combine", "wait 3", "serve"]
# expect_total: 2.01615385 after 11 steps
"""
Kitchen planning environment
----------------------------
Tasks have prerequisites and durations; there are only two burners and one cook.

>>> env = KitchenEnv()
>>> env.reset(seed=1)[:7]
'Kitchen'
"""
import random
from collections import defaultdict, deque


class CycleError(ValueError):
    """Raised if the recipe has circular prerequisites."""


class Task:
    """One kitchen task."""

    def __init__(self, name, minutes, needs=(), burner=False):
        self.name = name
        self.minutes = minutes
        self.needs = list(needs)
        self.burner = burner
        self.left = minutes
        self.state = "todo"

    def __repr__(self):
        return "{0.__class__.__name__}({0.name!r}, {0.state}, {0.left}/{0.minutes})".format(self)

    def tick(self):
        """One minute passes; tells whether the task has just finished."""
        if self.state != "running":
            return False
        self.left -= 1
        if self.left <= 0:
            self.state = "done"
            return True
        return False


def topological(tasks):
    """Kahn's algorithm."""
    degree = {t.name: len(t.needs) for t in tasks.values()}
    users = defaultdict(list)
    for t in tasks.values():
        for n in t.needs:
            users[n].append(t.name)
    ready = deque(sorted(n for n, d in degree.items() if d == 0))
    order = []
    while ready:
        n = ready.popleft()
        order.append(n)
        for u in users[n]:
            degree[u] -= 1
            if degree[u] == 0:
                ready.append(u)
    if len(order) != len(tasks):
        raise CycleError("cycle among " + ", ".join(sorted(set(tasks) - set(order))))
    return order


def critical_path(tasks):
    finish = {}
    for n in topological(tasks):
        t = tasks[n]
        finish[n] = t.minutes + max((finish[k] for k in t.needs), default=0)
    return max(finish.values()), finish


class KitchenEnv:
    BURNERS = 2
    RECIPE = [
        ("boil water", 4, [], True),
        ("chop", 2, [], False),
        ("cook pasta", 6, ["boil water"], True),
        ("fry", 3, ["chop"], True),
        ("combine", 2, ["cook pasta", "fry"], False),
    ]

    def reset(self, seed=None, options=None):
        rng = random.Random(seed)
        self.tasks = {}
        for name, minutes, needs, burner in self.RECIPE:
            self.tasks[name] = Task(name, max(1, minutes + rng.choice((-1, 0, 0, 1))), needs, burner)
        self.minute = 0
        self.best, _ = critical_path(self.tasks)
        return "Kitchen: " + "; ".join(repr(t) for t in self.tasks.values())

    def _start(self, name):
        task = self.tasks.get(name)
        if not task:
            return "no such task", -0.2
        if task.state != "todo":
            return "already " + task.state, -0.1
        missing = [n for n in task.needs if self.tasks[n].state != "done"]
        if missing:
            return "first: " + ", ".join(missing), -0.1 * len(missing)
        used = sum(t.burner for t in self.tasks.values() if t.state == "running")
        if task.burner and used >= self.BURNERS:
            return "all burners are in use", -0.05
        task.state = "running"
        return "started " + name, 0.1

    def step(self, action):
        verb, _, rest = action.partition(" ")
        done = False
        if verb == "start":
            obs, reward = self._start(rest)
        elif verb == "wait":
            finished = []
            for _ in range(int(rest)):
                self.minute += 1
                finished += [t.name for t in self.tasks.values() if t.tick()]
            reward = 0.2 * len(finished) - 0.01 * int(rest)
            obs = "finished: " + (", ".join(finished) if finished else "nothing")
        elif verb == "plan":
            obs, reward = " -> ".join(topological(self.tasks)), 0.0
        else:
            done = True
            complete = all(t.state == "done" for t in self.tasks.values())
            reward = self.best / self.minute if complete else -1.0
            obs = "served" if complete else "raw!"
        return obs, reward, done, {"minute": self.minute}
