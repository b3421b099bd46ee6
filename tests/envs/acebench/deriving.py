"""Calls that reach a gold state, worked out from it and the start, and conversations that are a little wrong.

Nothing of the benchmark is written down here: all values come from the checkout that is looked at.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from metagym_envs.acebench.entries import Entry
from metagym_envs.acebench.world import World
from metagym_envs.bfcl.calls import Call, read_calls, written

State = Mapping[str, Any]


def solution(path: str, entry: Entry) -> list[Call]:
    """Calls after which the state is the gold one, where there are such calls."""
    world = World(path, entry)
    start = world.state()
    world.close()
    gold = entry.gold
    found = [*_device(start, gold)]
    for name, steps in (("FoodPlatform", _food), ("MessageApi", _messages), ("ReminderApi", _reminders)):
        if name in gold:
            found += steps(start[name], gold[name])
    return [*found, *(_travel(start["Travel"], gold["Travel"]) if "Travel" in gold else ())]


def _device(start: State, gold: State) -> Iterator[Call]:
    wanted = gold.get("BaseApi", {})
    for attribute, function in (("logged_in", "login_device"), ("wifi", "turn_on_wifi")):
        if wanted.get(attribute) and not start["BaseApi"][attribute]:
            yield Call(function)


def _food(start: State, gold: State) -> Iterator[Call]:
    for name in gold["logged_in_users"]:
        yield _call("login_food_platform", username=name, password=start["users"][name]["password"])
    for order in gold["orders"]:
        items = [{"product": item["product"], "quantity": item["quantity"]} for item in order["items"]]
        who = {"username": order["user_name"], "merchant_name": order["merchant_name"]}
        yield _call("add_food_delivery_order", **who, items=items)


def _messages(start: State, gold: State) -> Iterator[Call]:
    names = {user["user_id"]: name for name, user in start["user_list"].items()}
    for number in start["inbox"]:
        if number not in gold["inbox"]:
            yield _call("delete_message", message_id=int(number))
    for number, sent in gold["inbox"].items():
        if number not in start["inbox"]:
            who = {"sender_name": names[sent["sender_id"]], "receiver_name": names[sent["receiver_id"]]}
            yield _call("send_message", **who, message=sent["message"])


def _reminders(start: State, gold: State) -> Iterator[Call]:
    before, after = start["reminder_list"], gold["reminder_list"]
    for number in before:
        if before[number] != after.get(number):
            yield _call("delete_reminder", reminder_id=int(number))
    for number, one in after.items():
        if before.get(number) != one:
            yield _call("add_reminder", **{name: one[name] for name in ("title", "description", "time")})


def _travel(start: State, gold: State) -> Iterator[Call]:
    before, after = start["reservations"], gold["reservations"]
    for old, new in zip(before, after, strict=False):
        changes = {
            name: new[key]
            for name, key in (("new_flight_no", "flight_no"), ("new_cabin", "cabin"))
            if old[key] != new[key]
        }
        if new["baggage"] != old["baggage"]:
            changes["add_baggage"] = new["baggage"] - old["baggage"]
        if changes:
            yield _call("modify_flight", user_id=old["user_id"], reservation_id=old["reservation_id"], **changes)
    for new in after[len(before) :]:
        kept = {name: new[name] for name in ("user_id", "flight_no", "cabin", "payment_method")}
        password = start["users"][new["user_id"]]["password"]
        yield _call("reserve_flight", **kept, password=password, baggage_count=new["baggage"])


def _call(name: str, **arguments: Any) -> Call:
    return Call(name, kwargs=arguments)


def sent(calls: Iterable[Call]) -> list[str]:
    """One message a call."""
    return [written([call]) for call in calls]


def milestones(entry: Entry) -> list[list[str]]:
    """The ways of the data, without the blanks around: officially a blank behind a call makes it unreadable."""
    return [[stone.strip() for stone in way] for way in entry.milestones]


def variants(entry: Entry, calls: list[Call], others: list[Call]) -> Iterator[list[str]]:
    """Conversations near a solution: all at once, shuffled, with steps left out, doubled, or another task's.

    Args:
        entry: The task.
        calls: Its solution.
        others: Calls of all tasks, for some of which this one has no function.
    """
    drawn = random.Random(entry.id)
    strange = [
        Call("nothing"),
        Call("__init__"),
        Call("send_message", kwargs={"receiver": "x"}),
        Call("delete_message"),
    ]
    yield [written(calls)]
    for odd in (Call("nothing"), Call(calls[-1].name)):  # one that is not there, and one that fails
        yield [written([*calls[:-1], odd, calls[-1]])]
        yield [written([odd, *calls])]
    for _ in range(2):
        steps = [[call] for call in calls]
        for _ in range(drawn.randint(1, 3)):
            at = drawn.randrange(len(steps) + 1)
            change = drawn.choice(("leave out", "double", "put in", "join", "swap"))
            if change == "put in":
                steps.insert(at, drawn.choices([*others, *strange], k=drawn.randint(1, 3)))
            elif change == "join":
                steps[at - 1 : at] = [[*(steps[at - 1] if steps else ()), drawn.choice([*others, *strange])]]
            elif change == "swap":
                drawn.shuffle(steps)
            elif steps:
                steps[at - 1 : at] = [] if change == "leave out" else [steps[at - 1]] * 2
        yield [written(step) for step in steps]
    way = drawn.choice(milestones(entry))
    yield way[: drawn.randint(0, len(way))]
    yield [written([drawn.choice([*others, *strange])]) for _ in range(4)]


def calls_of(entry: Entry) -> Iterator[Call]:
    """The calls of the milestones that can be read."""
    for way in entry.milestones:
        for stone in way:
            yield from read_calls(stone)
