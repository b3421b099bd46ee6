# seed: 64
# actions: ["assign J0 M0", "assign J1 M0", "assign J1 M1", "assign J2 M1 after=4", "report", "assign J3 M0", "assign J9 M0", "unassign J1", "assign J1 M0", "assign J4 M1", "finish"]
# expect_total: 2.0357 after 11 steps
"""Job-shop scheduling with sorted intervals (bisect) and statistics."""
import random
from bisect import bisect_left, bisect_right, insort
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from heapq import nlargest
from statistics import StatisticsError, mean, median, pstdev, stdev
from typing import Dict, Iterator, List, Optional, Tuple


@dataclass(frozen=True, order=True)
class Slot:
    start: int
    end: int = field(compare=False)
    job: str = field(compare=False)

    def __post_init__(self):
        if self.end <= self.start:
            raise ValueError("empty slot")
        object.__setattr__(self, "length", self.end - self.start)


@dataclass(unsafe_hash=True)
class Job:
    name: str
    duration: int
    due: int = field(hash=False)
    weight: float = field(default=1.0, repr=False, hash=False)


class Machine:
    def __init__(self, name: str) -> None:
        self.name = name
        self.slots: List[Slot] = []

    def gaps(self, after: int = 0) -> Iterator[Tuple[int, Optional[int]]]:
        t = after
        for s in self.slots[bisect_left([s.end for s in self.slots], after) :]:
            if s.start > t:
                yield t, s.start
            t = max(t, s.end)
        yield t, None

    def earliest(self, duration: int, after: int = 0) -> int:
        return next(a for a, b in self.gaps(after) if b is None or b - a >= duration)

    def book(self, job: Job, after: int = 0) -> Slot:
        start = self.earliest(job.duration, after)
        slot = Slot(start, start + job.duration, job.name)
        insort(self.slots, slot)
        return slot

    def busy_at(self, t: int) -> Optional[str]:
        i = bisect_right([s.start for s in self.slots], t) - 1
        return self.slots[i].job if i >= 0 and self.slots[i].end > t else None

    def gantt(self, horizon: int = 20) -> str:
        return self.name + ":" + "".join((self.busy_at(t) or ".")[-1] for t in range(horizon))


@lru_cache(maxsize=None)
def penalty(late: int) -> float:
    return 0.0 if late <= 0 else 0.1 + penalty(late - 1)


class SchedulingEnv:
    def reset(self, seed=None):
        rng = random.Random(seed)
        self.jobs: Dict[str, Job] = {
            (n := f"J{i}"): Job(n, rng.randint(2, 6), rng.randint(5, 14), weight=rng.choice([1.0, 1.5, 2.0]))
            for i in range(5)
        }
        self.machines = {m: Machine(m) for m in ("M0", "M1")}
        try:
            del self.lower_bound  # drop the cached value
        except AttributeError:
            pass
        return self._obs()

    @cached_property
    def lower_bound(self) -> int:
        total = sum(j.duration for j in self.jobs.values())
        return max(-(-total // len(self.machines)), max(j.duration for j in self.jobs.values()))

    @property
    def placed(self) -> Dict[str, Slot]:
        return {s.job: s for m in self.machines.values() for s in m.slots}

    def _obs(self):
        todo = [f"{j.name}({j.duration},due {j.due})" for j in self.jobs.values() if j.name not in self.placed]
        return "\n".join([*(m.gantt() for m in self.machines.values()), "todo: " + ", ".join(todo)])

    def step(self, action):
        verb, *rest = action.split()
        opts = dict(p.split("=") for p in rest if "=" in p)
        pos = [p for p in rest if "=" not in p]
        if verb == "assign":
            job = self.jobs.get(pos[0])
            if job is None or job.name in self.placed:
                return self._obs(), -0.2, False, {"error": f"cannot place {pos[0]}"}
            slot = self.machines[pos[1]].book(job, int(opts.get("after", 0)))
            return self._obs(), 0.3 * job.weight - penalty(slot.end - job.due), False, {"length": slot.length}
        if verb == "unassign":
            for m in self.machines.values():
                m.slots[:] = [s for s in m.slots if s.job != pos[0]]
            return self._obs(), -0.5, False, {}
        ends = [s.end for s in self.placed.values()]
        if verb == "report":
            try:
                spread = {"mean": mean(ends), "median": median(ends), "stdev": round(stdev(ends), 4)}
            except StatisticsError:
                spread = {}
            return self._obs(), 0, False, {**spread, "latest": nlargest(2, ends)}
        makespan = max(ends, default=0)
        score = self.lower_bound / makespan if len(ends) == len(self.jobs) else 0.0
        return self._obs(), round(score, 4), True, {"pstdev": round(pstdev(ends), 3), "lb": self.lower_bound}
