# seed: 9
# actions: ["assign B M1", "assign A M2", "wait", "assign D M1", "wait", "assign C M2", "wait", "assign F M2", "wait", "assign E M1", "wait", "wait"]
# expect_total: 0.9999999999999999 after 12 steps
import heapq
import itertools
import random
from dataclasses import dataclass, field


@dataclass(order=True)
class Event:
    time: int
    order: int
    job: "Job" = field(compare=False)
    machine: str = field(compare=False, default="")


@dataclass
class Job:
    name: str
    duration: int
    deadline: int
    value: int
    needs: frozenset = frozenset()

    def describe(self):
        after = f", after {'+'.join(sorted(self.needs))}" if self.needs else ""
        return f"{self.name}: {self.duration}h, due at {self.deadline}h, worth {self.value}{after}"


class Env:
    """Schedule jobs with deadlines and precedence on two machines.

    Actions: 'assign JOB MACHINE' puts a job on an idle machine, 'wait' lets time run to the next completion.
    """

    MACHINES = ("M1", "M2")

    def __init__(self):
        self._counter = itertools.count()

    def reset(self, seed=None):
        rng = random.Random(seed)
        self._counter = itertools.count()
        self.jobs = {}
        names = list("ABCDEF")
        for i, name in enumerate(names):
            duration = rng.randint(1, 5)
            needs = frozenset(rng.sample(names[:i], k=1)) if i >= 2 and rng.random() < 0.5 else frozenset()
            slack = rng.randint(1, 6)
            base = max((self.jobs[n].deadline for n in needs), default=0)
            self.jobs[name] = Job(name, duration, base + duration + slack, rng.randint(2, 10), needs)
        self.clock = 0
        self.running = []
        self.idle = set(self.MACHINES)
        self.finished = {}
        self.started = set()
        self.total_value = sum(j.value for j in self.jobs.values())
        self.moves = 0
        return self._text(), {"clock": 0}

    def _ready(self):
        return [j for n, j in self.jobs.items() if n not in self.started and j.needs <= self.finished.keys()]

    def _text(self, note=None):
        out = [] if note is None else [note]
        out.append(f"Time: {self.clock}h")
        out.append("Idle machines: " + (", ".join(sorted(self.idle)) or "none"))
        for ev in sorted(self.running):
            out.append(f"  {ev.machine} runs {ev.job.name} until {ev.time}h")
        pending = [j for n, j in self.jobs.items() if n not in self.started]
        out.append("Pending jobs:" if pending else "All jobs have been started.")
        ready = {j.name for j in self._ready()}
        out += [f"  {'*' if j.name in ready else ' '} {j.describe()}" for j in pending]
        return "\n".join(out)

    def _advance(self):
        """Advance to the next completion; every job that ends at that moment is completed."""
        now = self.running[0].time
        gained = 0.0
        messages = []
        while self.running and self.running[0].time == now:
            ev = heapq.heappop(self.running)
            self.finished[ev.job.name] = now
            self.idle.add(ev.machine)
            late = now > ev.job.deadline
            if not late:
                gained += ev.job.value
            messages.append(f"{ev.job.name} done {'late' if late else 'on time'}")
        self.clock = now
        return gained / self.total_value, "; ".join(messages)

    def step(self, action):
        self.moves += 1
        parts = action.strip().split()
        reward, note = 0.0, None
        if parts[:1] == ["wait"]:
            if self.running:
                reward, note = self._advance()
            else:
                reward, note = -0.05, "Nothing is running, waiting is pointless."
        elif len(parts) == 3 and parts[0] == "assign":
            _, name, machine = parts[0], parts[1].upper(), parts[2].upper()
            job = self.jobs.get(name)
            if job is None or job not in self._ready():
                reward, note = -0.05, f"Job {name} cannot be started."
            elif machine not in self.idle:
                reward, note = -0.05, f"Machine {machine} is not idle."
            else:
                self.idle.remove(machine)
                self.started.add(name)
                heapq.heappush(self.running, Event(self.clock + job.duration, next(self._counter), job, machine))
                note = f"{name} started on {machine}."
        else:
            reward, note = -0.1, "Use 'assign JOB MACHINE' or 'wait'."
        terminated = len(self.finished) == len(self.jobs)
        truncated = self.moves >= 30 and not terminated
        return self._text(note), reward, terminated, truncated, {"clock": self.clock, "done": dict(self.finished)}
