# seed: 12
# actions: [{"name": "list_events", "arguments": {"day": "2025-03-03"}}, {"name": "create_event", "arguments": {"title": "1:1 with Priya", "day": "2025-03-03", "start": "09:00", "minutes": 30}}, {"name": "find_free", "arguments": {"day": "2025-03-04", "minutes": 60}}, {"name": "create_event", "arguments": {"title": "Design review", "day": "2025-03-04", "start": "16:30", "minutes": 60}}, {"name": "create_event", "arguments": {"title": "Gym", "day": "2025-02-30", "start": "10:00", "minutes": 60}}, {"name": "month", "arguments": {}}, {"name": "cancel_event", "arguments": {"event_id": "ev_2"}}, {"name": "reply", "arguments": {"text": "Both are booked."}}]
# expect_total: 0.15 after 8 steps
"""Calendar assistant: JSON-schema tools, multi-turn user, verifiable end state."""
import calendar
import json
import random
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import Any, Callable, Dict, List, Optional

DAY_START, DAY_END = time(9, 0), time(18, 0)


@dataclass
class Event:
    event_id: str
    title: str
    start: datetime
    end: datetime

    def overlaps(self, other_start: datetime, other_end: datetime) -> bool:
        return self.start < other_end and other_start < self.end

    def to_json(self) -> Dict[str, str]:
        return {"id": self.event_id, "title": self.title, "start": self.start.isoformat(timespec="minutes"), "end": self.end.isoformat(timespec="minutes")}


@dataclass
class Goal:
    utterance: str
    title: str
    day: date
    minutes: int


class CalendarAssistantEnv:
    def __init__(self, start: date = date(2025, 3, 3), max_turns: int = 16) -> None:
        self.monday = start - timedelta(days=start.weekday())
        self.max_turns = max_turns
        self._handlers: Dict[str, Callable[..., Dict[str, Any]]] = {
            "list_events": self._list, "find_free": self._find_free, "create_event": self._create,
            "cancel_event": self._cancel, "month": self._month,
        }

    @property
    def tool_schemas(self) -> List[Dict[str, Any]]:
        string = {"type": "string"}
        return [
            {"name": "list_events", "input_schema": {"type": "object", "properties": {"day": string}, "required": ["day"]}},
            {"name": "find_free", "input_schema": {"type": "object", "properties": {"day": string, "minutes": {"type": "integer", "minimum": 15}}}},
            {"name": "create_event", "input_schema": {"type": "object", "properties": {"title": string, "day": string, "start": string, "minutes": {"type": "integer"}}}},
            {"name": "cancel_event", "input_schema": {"type": "object", "properties": {"event_id": string}}},
            {"name": "month", "input_schema": {"type": "object", "properties": {}}},
            {"name": "reply", "input_schema": {"type": "object", "properties": {"text": string}}},
        ]

    def reset(self, seed: Optional[int] = None):
        self.rng = random.Random(seed)
        self.events: List[Event] = []
        for n in range(8):
            day = self.monday + timedelta(days=self.rng.randrange(5))
            start = datetime.combine(day, time(self.rng.randint(9, 16), self.rng.choice([0, 30])))
            end = start + timedelta(minutes=self.rng.choice([30, 60, 90]))
            if not any(e.overlaps(start, end) for e in self.events):
                self.events.append(Event(f"ev_{n}", self.rng.choice(["Standup", "Lunch", "Focus", "Interview"]), start, end))
        self.goals = [
            Goal("Please book '1:1 with Priya' for 30 minutes on Monday.", "1:1 with Priya", self.monday, 30),
            Goal("Also a 'Design review', one hour, on Tuesday.", "Design review", self.monday + timedelta(days=1), 60),
        ]
        self.original = {e.event_id for e in self.events}
        self.turn, self.said = 0, 1
        return json.dumps({"user": self.goals[0].utterance, "today": self.monday.isoformat(), "tools": self.tool_schemas}), {}

    def step(self, action: Dict[str, Any]):
        self.turn += 1
        truncated = self.turn >= self.max_turns
        name, args = action.get("name"), action.get("arguments") or {}
        if name == "reply":
            done_now = [self._satisfied(g) for g in self.goals[: self.said]]
            if all(done_now) and self.said < len(self.goals):
                self.said += 1
                return json.dumps({"user": self.goals[self.said - 1].utterance}), 0.25, False, truncated, {}
            lost = len(self.original - {e.event_id for e in self.events})
            reward = sum(self._satisfied(g) for g in self.goals) / len(self.goals) - 0.5 * lost
            return json.dumps({"user": "Thanks, bye!"}), reward, True, truncated, {"lost": lost}
        handler = self._handlers.get(name)
        if handler is None:
            return json.dumps({"error": f"no tool named {name}"}), -0.1, False, truncated, {}
        try:
            return json.dumps(handler(**args)), 0.0, False, truncated, {}
        except (ValueError, TypeError, LookupError) as e:
            return json.dumps({"error": str(e)}), -0.1, False, truncated, {}

    def _satisfied(self, goal: Goal) -> bool:
        return any(e.title == goal.title and e.start.date() == goal.day and e.end - e.start == timedelta(minutes=goal.minutes) for e in self.events)

    def _on(self, day: str) -> List[Event]:
        d = date.fromisoformat(day)
        return sorted((e for e in self.events if e.start.date() == d), key=lambda e: e.start)

    def _list(self, day: str):
        return {"weekday": calendar.day_name[date.fromisoformat(day).weekday()], "events": [e.to_json() for e in self._on(day)]}

    def _find_free(self, day: str, minutes: int):
        cursor = datetime.combine(date.fromisoformat(day), DAY_START)
        slots = []
        for e in self._on(day):
            if e.start - cursor >= timedelta(minutes=minutes):
                slots.append([cursor.strftime("%H:%M"), e.start.strftime("%H:%M")])
            cursor = max(cursor, e.end)
        if datetime.combine(cursor.date(), DAY_END) - cursor >= timedelta(minutes=minutes):
            slots.append([cursor.strftime("%H:%M"), DAY_END.strftime("%H:%M")])
        return {"free": slots}

    def _create(self, title: str, day: str, start: str, minutes: int):
        begin = datetime.strptime(f"{day} {start}", "%Y-%m-%d %H:%M")
        end = begin + timedelta(minutes=minutes)
        clash = next((e for e in self.events if e.overlaps(begin, end)), None)
        if clash:
            raise ValueError(f"conflicts with {clash.title} ({clash.event_id})")
        if begin.time() < DAY_START or end.time() > DAY_END:
            raise ValueError("outside working hours")
        event = Event(f"ev_{100 + len(self.events)}", title, begin, end)
        self.events.append(event)
        return {"created": event.to_json()}

    def _cancel(self, event_id: str):
        for i, e in enumerate(self.events):
            if e.event_id == event_id:
                return {"cancelled": self.events.pop(i).to_json()}
        raise LookupError(f"unknown event {event_id}")

    def _month(self):
        return {"text": calendar.TextCalendar().formatmonth(self.monday.year, self.monday.month)}
