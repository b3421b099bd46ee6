# seed: 3
# actions: ["<tool_call>{\"name\": \"list_events\", \"arguments\": {\"day\": \"2024-03-04\"}}</tool_call>", "I think I should book it now.", "<tool_call>{\"name\": \"create_event\", \"arguments\": {\"title\": \"Review\", \"start\": \"2024-03-04T09:15\", \"minutes\": 60}}</tool_call>", "<tool_call>{\"name\": \"create_event\", \"arguments\": {\"title\": \"Review\", \"start\": \"2024-03-04T13:00\", \"minutes\": 45}}</tool_call>", "<tool_call>{\"name\": \"submit\", \"arguments\": {}}</tool_call>"]
# expect_total: 1.15 after 5 steps
"""Calendar assistant environment.

The agent must schedule a meeting without any conflicts by calling tools.
Tool calls use the ``<tool_call>{...}</tool_call>`` convention.
"""
from __future__ import annotations

import json
import random
import re
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import Any, Callable, Dict, List, Optional, Tuple

TOOL_CALL_RE = re.compile(r"<tool_call>\s*(?P<body>\{.*?\})\s*</tool_call>", re.DOTALL)

TOOLS: List[Dict[str, Any]] = [
    {
        "type": "function",
        "function": {
            "name": "list_events",
            "description": "List all events on a given day.",
            "parameters": {
                "type": "object",
                "properties": {"day": {"type": "string", "description": "ISO date"}},
                "required": ["day"],
            },
        },
    },
    {
        "type": "function",
        "function": {
            "name": "create_event",
            "description": "Create an event.",
            "parameters": {
                "type": "object",
                "properties": {
                    "title": {"type": "string"},
                    "start": {"type": "string", "description": "ISO datetime"},
                    "minutes": {"type": "integer"},
                },
                "required": ["title", "start", "minutes"],
            },
        },
    },
    {
        "type": "function",
        "function": {
            "name": "submit",
            "description": "Finish the task.",
            "parameters": {"type": "object", "properties": {}, "required": []},
        },
    },
]


@dataclass(order=True)
class Event:
    """A calendar entry, ordered by its start time."""

    start: datetime
    duration: timedelta = field(compare=False)
    title: str = field(compare=False, default="(untitled)")

    @property
    def end(self) -> datetime:
        return self.start + self.duration

    def overlaps(self, other: "Event") -> bool:
        return self.start < other.end and other.start < self.end

    def to_dict(self) -> Dict[str, str]:
        return {"title": self.title, "start": self.start.isoformat(), "end": self.end.strftime("%H:%M")}


class CalendarEnv:
    """Book a 45 minute review on Monday."""

    MAX_STEPS = 10

    def __init__(self) -> None:
        self.events: List[Event] = []
        self._handlers: Dict[str, Callable[..., Any]] = {
            "list_events": self._list_events,
            "create_event": self._create_event,
            "submit": self._submit,
        }

    def reset(self, seed: Optional[int] = None) -> Tuple[str, Dict[str, Any]]:
        rng = random.Random(seed)
        base = datetime(2024, 3, 4, 9, 0)
        self.events = sorted(
            Event(base + timedelta(hours=h), timedelta(minutes=rng.choice([30, 60, 90])), t)
            for h, t in ((0, "Standup"), (2, "1:1"), (6, "Retro"))
        )
        self.steps = 0
        self.done = False
        return "Book a 45 minute 'Review' on 2024-03-04 without conflicts.", {"tools": TOOLS}

    def _list_events(self, day: str) -> List[Dict[str, str]]:
        wanted = date.fromisoformat(day)
        return [e.to_dict() for e in self.events if e.start.date() == wanted]

    def _create_event(self, title: str, start: str, minutes: int) -> Dict[str, Any]:
        new = Event(datetime.fromisoformat(start), timedelta(minutes=int(minutes)), title)
        clash = next((e for e in self.events if e.overlaps(new)), None)
        if clash is not None:
            return {"ok": False, "error": f"conflicts with {clash.title!r} until {clash.end:%H:%M}"}
        self.events.append(new)
        self.events.sort()
        return {"ok": True, "event": new.to_dict()}

    def _submit(self) -> str:
        self.done = True
        return "submitted"

    def step(self, action: str) -> Tuple[str, float, bool, bool, Dict[str, Any]]:
        self.steps += 1
        truncated = self.steps >= self.MAX_STEPS
        match = TOOL_CALL_RE.search(action)
        if match is None:
            return "No tool call found.", -0.1, False, truncated, {"error": "format"}
        try:
            call = json.loads(match.group("body"))
            result = self._handlers[call["name"]](**call.get("arguments", {}))
        except json.JSONDecodeError as exc:
            return f"Invalid JSON: {exc.msg}", -0.2, False, truncated, {}
        except (KeyError, TypeError, ValueError) as exc:
            return f"Tool error: {type(exc).__name__}", -0.2, False, truncated, {}
        reward = 0.05
        if isinstance(result, dict):
            reward = 0.25 if result["ok"] else -0.05
        if self.done:
            booked = [e for e in self.events if e.title == "Review" and e.duration == timedelta(minutes=45)]
            reward = 1.0 if booked else 0.0
        return json.dumps(result, indent=None, sort_keys=True), reward, self.done, truncated, {"step": self.steps}
