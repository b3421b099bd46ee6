# seed: 13
# actions: [{"name": "list_events", "args": {"day": "2024-03-05"}}, {"name": "find_free_slot", "args": {"day": "2024-03-05", "minutes": 60}}, {"name": "create_event", "args": {"title": "Review", "start": "2024-03-05T09:00", "minutes": 60}}, {"name": "create_event", "args": {"title": "Review", "start": "2024-03-05T16:00", "minutes": 60}}, {"name": "create_event", "args": {"title": "Oops", "start": "tomorrow", "minutes": 30}}, {"name": "delete_event", "args": {"event_id": 1}}, {"name": "submit", "args": {}}]
# expect_total: 0.4 after 7 steps
from dataclasses import asdict, dataclass
from datetime import date, datetime, time, timedelta
import random
from typing import Any, Dict, List, Optional


@dataclass(order=True)
class Event:
    start: datetime
    minutes: int
    title: str
    event_id: int

    @property
    def end(self) -> datetime:
        return self.start + timedelta(minutes=self.minutes)

    def overlaps(self, other: "Event") -> bool:
        return self.start < other.end and other.start < self.end

    def to_json(self) -> Dict[str, Any]:
        data = asdict(self)
        data["start"] = self.start.isoformat(timespec="minutes")
        return data


class CalendarEnv:
    """Schedule a 60 minute 'Review' on the given day without conflicts."""

    DAY = date(2024, 3, 5)
    OPEN, CLOSE = time(9, 0), time(18, 0)

    def __init__(self):
        self.events: List[Event] = []
        self.next_id = 1
        self.calls = 0

    def reset(self, seed: Optional[int] = None):
        rng = random.Random(seed)
        self.events, self.next_id, self.calls = [], 1, 0
        for title in ("Standup", "1:1", "Lunch", "Planning", "Gym"):
            start = datetime.combine(self.DAY, self.OPEN) + timedelta(minutes=30 * rng.randrange(0, 14))
            event = Event(start, rng.choice([30, 60]), title, self.next_id)
            if not any(event.overlaps(e) for e in self.events):
                self.events.append(event)
                self.next_id += 1
        self.events.sort()
        self.initial_ids = {e.event_id for e in self.events}
        return f"Schedule a 60-minute event called 'Review' on {self.DAY.isoformat()} between 09:00 and 18:00."

    def list_events(self, day: str):
        wanted = date.fromisoformat(day)
        return [e.to_json() for e in self.events if e.start.date() == wanted]

    def find_free_slot(self, day: str, minutes: int):
        cursor = datetime.combine(date.fromisoformat(day), self.OPEN)
        limit = datetime.combine(date.fromisoformat(day), self.CLOSE)
        while cursor + timedelta(minutes=minutes) <= limit:
            probe = Event(cursor, minutes, "probe", 0)
            if not any(probe.overlaps(e) for e in self.events):
                return {"start": cursor.strftime("%Y-%m-%dT%H:%M")}
            cursor += timedelta(minutes=30)
        return {"start": None}

    def create_event(self, title: str, start: str, minutes: int):
        event = Event(datetime.strptime(start, "%Y-%m-%dT%H:%M"), int(minutes), title, self.next_id)
        clash = next((e for e in self.events if e.overlaps(event)), None)
        if clash:
            return {"error": f"conflicts with '{clash.title}'"}
        self.next_id += 1
        self.events.append(event)
        self.events.sort()
        return event.to_json()

    def delete_event(self, event_id: int):
        before = len(self.events)
        self.events = [e for e in self.events if e.event_id != event_id]
        return {"deleted": before - len(self.events)}

    def submit(self):
        kept = self.initial_ids <= {e.event_id for e in self.events}
        has = any(e.title == "Review" and e.minutes == 60 and e.start.date() == self.DAY for e in self.events)
        return {"scheduled": has, "kept_all": kept, "score": 1.0 * has - 0.5 * (not kept)}

    def step(self, action):
        self.calls += 1
        tools = {f.__name__: f for f in (self.list_events, self.find_free_slot, self.create_event, self.delete_event, self.submit)}
        name = action.get("name")
        if name not in tools:
            return {"error": f"unknown tool {name}"}, -0.1, False, False, {}
        try:
            result = tools[name](**action.get("args", {}))
        except (TypeError, ValueError) as e:
            return {"error": f"{type(e).__name__}: {e}"}, -0.1, False, False, {}
        if name == "submit":
            return result, result["score"], True, False, {}
        reward = -0.1 if isinstance(result, dict) and "error" in result else 0.0
        return result, reward, False, self.calls >= 20, {}
