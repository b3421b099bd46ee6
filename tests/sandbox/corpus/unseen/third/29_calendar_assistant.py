# seed: 11
# actions: ["{\"tool\": \"list\", \"day\": \"mon\"}", "{\"tool\": \"list\", \"day\": \"tue\"}", "{\"tool\": \"list\", \"day\": \"wed\"}", "{\"tool\": \"add\", \"title\": \"sync with Ana\", \"day\": \"mon\", \"start\": 10, \"end\": 11}", "{\"tool\": \"add\", \"title\": \"sync with Ana\", \"day\": \"mon\", \"start\": 9, \"end\": 10}", "book the demo please", "{\"tool\": \"add\", \"title\": \"budget talk\", \"day\": \"mon\", \"start\": 13, \"end\": 14}", "{\"tool\": \"add\", \"title\": \"demo\", \"day\": \"sun\", \"start\": 13, \"end\": 14}", "{\"tool\": \"add\", \"title\": \"demo\", \"day\": \"tue\", \"start\": 9, \"end\": 11}", "{\"tool\": \"finish\"}"]
# expect_total: 2.0 after 10 steps
"""Calendar tool use: schedule requested meetings through JSON tool calls without conflicts."""
import json
import random
from dataclasses import dataclass, asdict
from enum import Enum
from typing import Any, Callable, Dict, List, NamedTuple, Tuple


class Day(Enum):
    MON = "mon"
    TUE = "tue"
    WED = "wed"


@dataclass(order=True)
class Event:
    day: str
    start: int
    end: int
    title: str

    def overlaps(self, other: "Event") -> bool:
        return self.day == other.day and self.start < other.end and other.start < self.end


class Request(NamedTuple):
    title: str
    hours: int
    earliest: int
    latest: int
    days: Tuple[str, ...]

    def describe(self) -> str:
        days = " or ".join(self.days)
        return f"'{self.title}': {self.hours}h on {days}, between {self.earliest}:00 and {self.latest}:00"


class Calendar:
    def __init__(self):
        self.events: List[Event] = []

    def on(self, day):
        return sorted(e for e in self.events if e.day == day)

    def add(self, event):
        clash = next((e for e in self.events if e.overlaps(event)), None)
        if clash is not None:
            raise ValueError(f"conflicts with {clash.title} ({clash.start}-{clash.end})")
        self.events.append(event)

    def remove(self, title):
        before = len(self.events)
        self.events = [e for e in self.events if e.title != title]
        return before - len(self.events)


class Env:
    def __init__(self):
        self.tools: Dict[str, Callable[..., Any]] = {
            "list": self.tool_list,
            "add": self.tool_add,
            "cancel": self.tool_cancel,
            "finish": self.tool_finish,
        }
        self.max_steps = 12

    def reset(self, seed=None):
        rng = random.Random(seed)
        self.cal = Calendar()
        self.t = 0
        self.finished = False
        days = [d.value for d in Day]
        titles = ["standup", "lunch", "review", "dentist", "gym", "call"]
        rng.shuffle(titles)
        for i in range(6):
            start = rng.randint(8, 15)
            try:
                self.cal.add(Event(rng.choice(days), start, start + rng.randint(1, 2), titles[i]))
            except ValueError:
                pass
        self.fixed = {e.title for e in self.cal.events}
        self.requests = []
        for name in ("sync with Ana", "budget talk", "demo"):
            hours = rng.choice([1, 1, 2])
            earliest = rng.randint(8, 11)
            self.requests.append(
                Request(name, hours, earliest, earliest + hours + rng.randint(2, 4), tuple(sorted(rng.sample(days, 2))))
            )
        lines = "\n".join(f"- {r.describe()}" for r in self.requests)
        obs = (
            "Book these meetings. Tools: list(day), add(title, day, start, end), cancel(title), finish().\n"
            f"Reply with JSON like {json.dumps({'tool': 'list', 'day': 'mon'})}.\n{lines}"
        )
        return obs, {"tools": sorted(self.tools)}

    def tool_list(self, day):
        return [asdict(e) for e in self.cal.on(Day(day).value)]

    def tool_add(self, title, day, start, end):
        if not (isinstance(start, int) and isinstance(end, int)):
            raise TypeError("start and end must be integers")
        if not 0 <= start < end <= 24:
            raise ValueError("bad time range")
        self.cal.add(Event(Day(day).value, start, end, title))
        return {"ok": True}

    def tool_cancel(self, title):
        return {"removed": self.cal.remove(title)}

    def tool_finish(self):
        self.finished = True
        return {"satisfied": sum(map(self._satisfied, self.requests)), "of": len(self.requests)}

    def _satisfied(self, req):
        return any(
            e.title == req.title
            and e.day in req.days
            and e.end - e.start == req.hours
            and req.earliest <= e.start
            and e.end <= req.latest
            for e in self.cal.events
        )

    def step(self, action):
        self.t += 1
        before = sum(self._satisfied(r) for r in self.requests)
        reward = -0.01
        try:
            call = json.loads(action)
            tool = self.tools[call.pop("tool")]
            result = tool(**call)
        except json.JSONDecodeError as e:
            result = {"error": f"invalid JSON at position {e.pos}: {e.msg}"}
            reward -= 0.2
        except (KeyError, AttributeError):
            result = {"error": "unknown or missing tool"}
            reward -= 0.2
        except (TypeError, ValueError) as e:
            result = {"error": str(e)}
            reward -= 0.1
        after = sum(self._satisfied(r) for r in self.requests)
        reward += 0.5 * (after - before)
        if self.finished:
            kept = len(self.fixed & {e.title for e in self.cal.events}) == len(self.fixed)
            reward += 1.0 if after == len(self.requests) and kept else -0.5
        return json.dumps(result, indent=None, sort_keys=True), round(reward, 4), self.finished, self.t >= self.max_steps, {"booked": after}
