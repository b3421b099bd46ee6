"""A small world of our own in ACEBench's format, for tests, demos and the conformance checks. It is no benchmark.

Two back ends (a device, reminders), 25 tasks of one request and 13 dialogues. One gold state names its class as the
public data sometimes does (``ReminderAPI``), and one task has two ways.
"""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any

_PLACE = "model_inference/multi_turn/scenariosen/phone_platform"

_BASE = '''class BaseApi:
    """A device that may be offline or locked."""

    def __init__(self):
        self.wifi, self.logged_in = False, True

    def _load_scenario(self, scenario, long_context=False):
        self.wifi = scenario.get("wifi", False)
        self.logged_in = scenario.get("logged_in", True)

    def turn_on_wifi(self):
        self.wifi = True
        return {"status": True, "message": "Wi-Fi is on."}

    def login_device(self):
        self.logged_in = True
        return {"status": True, "message": "The device is unlocked."}
'''

_REMINDER = '''from model_inference.multi_turn.scenariosen.phone_platform.base_api import BaseApi


class ReminderApi(BaseApi):
    """Reminders, of which at most three are kept."""

    def __init__(self):
        super().__init__()
        self.reminder_list = {1: {"title": "Dentist", "time": "2024-07-15 09:30"}}
        self.synced = []

    def view_reminder_by_title(self, title):
        for number, reminder in self.reminder_list.items():
            if reminder["title"] == title:
                return {"status": True, "id": number, "reminder": reminder}
        return {"status": False, "message": "There is no such reminder."}

    def add_reminder(self, title, time):
        if not self.logged_in:
            return {"status": False, "message": "The device is locked."}
        if len(self.reminder_list) >= 3:
            return {"status": False, "message": "There is room for three reminders."}
        self.reminder_list[max(self.reminder_list, default=0) + 1] = {"title": title, "time": time}
        return {"status": True, "message": "The reminder is kept."}

    def delete_reminder(self, reminder_id):
        del self.reminder_list[reminder_id]
        return {"status": True}
'''


def _function(name: str, says: str, **parameters: str) -> dict[str, Any]:
    types = {key: {"type": kind, "description": f"The {key.replace('_', ' ')}."} for key, kind in parameters.items()}
    shape = {"type": "dict", "required": list(parameters), "properties": types}
    return {"name": name, "description": says, "parameters": shape}


FUNCTIONS = [
    _function("turn_on_wifi", "Turns the Wi-Fi on."),
    _function("login_device", "Unlocks the device."),
    _function("view_reminder_by_title", "Shows the reminder of a title.", title="string"),
    _function("add_reminder", "Keeps a reminder.", title="string", time="string"),
    _function("delete_reminder", "Deletes a reminder.", reminder_id="integer"),
]

_DENTIST = {"title": "Dentist", "time": "2024-07-15 09:30"}
_READY = {"wifi": True, "logged_in": True}
_NONE: dict[str, Any] = {"reminder_list": {}}
_LOOK, _DELETE = "[view_reminder_by_title(title='Dentist')]", "[delete_reminder(reminder_id=1)]"
_EVE = "Your name is Eve. You only answer what you are asked."
_TITLES = "Market Cinema Bakery Concert Library Museum Train Football Choir Garden Painter Chess".split()

Told = tuple[str, bool, bool, str, dict[str, Any], list[Any]]
"""Request, whether Wi-Fi and device are on at the start, the reminders' class and state in the end, milestones."""


def _tasks(kind: str) -> list[Told]:
    found: list[Told] = []
    for number, title in enumerate(_TITLES):
        time = f"2024-07-16 {8 + number:02}:00"
        two = {"reminder_list": {"1": _DENTIST, "2": {"title": title, "time": time}}}
        wish, add = f'reminder "{title}" for {time}.', f"[add_reminder(title='{title}', time='{time}')]"
        if kind == "multi_step":
            found += [
                (f"Keep a {wish}", True, True, "ReminderApi" if number else "ReminderAPI", two, [add]),
                (f"My device is locked. Keep a {wish}", True, False, "ReminderApi", two, ["[login_device()]", add]),
            ]
        else:
            found.append((f"{_EVE} You want a {wish}", True, True, "ReminderApi", two, [add]))
    gone = "ReminderApi", _NONE
    if kind == "multi_step":
        ways = [["[turn_on_wifi()]", _LOOK, _DELETE], [_LOOK, _DELETE, "[turn_on_wifi()]"]]
        found.insert(2, ('Turn the Wi-Fi on, and delete my reminder "Dentist".', False, True, *gone, ways))
    else:
        way = ["[login_device()]", _LOOK, _DELETE]
        found.insert(1, (f'{_EVE} You want your reminder "Dentist" to be deleted.', True, False, *gone, way))
    return found


def _rows(kind: str) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Tasks and their answers, as the repository's files hold them."""
    found = []
    for number, (question, wifi, unlocked, name, state, stones) in enumerate(_tasks(kind)):
        id_ = f"agent_{kind}_{number}"
        task = {
            "id": id_,
            "question": question,
            "initial_config": {"BaseApi": {"wifi": wifi, "logged_in": unlocked}},
            "path": [],
            "function": FUNCTIONS,
            "involved_classes": ["BaseApi", "ReminderApi"],
        }
        found.append((task, {"id": id_, "ground_truth": [{"BaseApi": _READY}, {name: state}], "mile_stone": stones}))
    return found


@lru_cache(maxsize=1)
def files() -> dict[str, str]:
    """The files of the sample, by their path in the repository."""
    found = {f"{_PLACE}/base_api.py": _BASE, f"{_PLACE}/reminder.py": _REMINDER}
    for kind in ("multi_step", "multi_turn"):
        rows = _rows(kind)
        found[f"data_all/data_en/data_agent_{kind}.json"] = "\n".join(json.dumps(task) for task, _ in rows)
        found[f"data_all/data_en/possible_answer/data_agent_{kind}.json"] = "\n".join(
            json.dumps(row) for _, row in rows
        )
    return found
