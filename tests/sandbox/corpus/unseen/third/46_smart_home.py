# seed: 9
# actions: ["{\"get\": \"bedroom_lamp\"}", "{\"set\": \"bedroom_lamp\", \"switch\": \"off\"}", "{\"set\": \"bedroom_blinds\", \"position\": \"closed\"}", "{\"set\": \"thermostat\", \"target\": 35}", "{\"set\": \"thermostat\", \"target\": 20}", "{\"set\": \"kitchen_lamp\", \"switch\": \"on\", \"brightness\": 80}"]
# expect_total: 1.6 after 6 steps
"""Smart-home assistant: satisfy household goals with JSON device calls, using descriptors for validation."""
import json
import random
from typing import Any


class Validated:
    """Descriptor: a settable device property."""

    def __set_name__(self, owner, name):
        self.name = name
        self.slot = "_" + name
        owner.settable = getattr(owner, "settable", ()) + (name,)

    def __get__(self, obj, objtype=None):
        if obj is None:
            return self
        return getattr(obj, self.slot)

    def __set__(self, obj, value):
        self.validate(value)
        setattr(obj, self.slot, value)

    def validate(self, value):
        raise NotImplementedError


class OneOf(Validated):
    def __init__(self, *options):
        self.options = set(options)

    def validate(self, value):
        if value not in self.options:
            raise ValueError(f"{self.name} must be one of {sorted(self.options)}")


class Range(Validated):
    def __init__(self, lo, hi):
        self.lo, self.hi = lo, hi

    def validate(self, value):
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise TypeError(f"{self.name} must be a number")
        if not self.lo <= value <= self.hi:
            raise ValueError(f"{self.name} must be in [{self.lo}, {self.hi}]")


class Device:
    settable: tuple = ()

    def __init__(self, room, **props):
        self.room = room
        for key, value in props.items():
            setattr(self, key, value)

    def state(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.settable}

    def power(self) -> float:
        return 0


class Lamp(Device):
    switch = OneOf("on", "off")
    brightness = Range(0, 100)

    def power(self):
        return 0.1 * self.brightness if self.switch == "on" else 0


class Thermostat(Device):
    target = Range(10, 28)

    def power(self):
        return 3 * max(0, self.target - 15)


class Blinds(Device):
    position = OneOf("open", "half", "closed")


class Env:
    def reset(self, seed=None):
        rng = random.Random(seed)
        self.devices = {}
        for room in ("kitchen", "bedroom"):
            self.devices[f"{room}_lamp"] = Lamp(room, switch=rng.choice(["on", "off"]), brightness=rng.randint(1, 10) * 10)
            self.devices[f"{room}_blinds"] = Blinds(room, position=rng.choice(["open", "half", "closed"]))
        self.devices["thermostat"] = Thermostat("hall", target=rng.randint(15, 26))
        pool = [
            ("the bedroom is dark", lambda d: d["bedroom_lamp"].switch == "off" and d["bedroom_blinds"].position == "closed"),
            ("the kitchen lamp is on at 80 or brighter", lambda d: d["kitchen_lamp"].switch == "on" and d["kitchen_lamp"].brightness >= 80),
            ("it is between 20 and 22 degrees", lambda d: 20 <= d["thermostat"].target <= 22),
            ("total power is at most 30", lambda d: sum(x.power() for x in d.values()) <= 30),
            ("all blinds are in the same position", lambda d: len({x.position for x in d.values() if isinstance(x, Blinds)}) == 1),
        ]
        self.goals = rng.sample(pool, 4)
        self.n = 0
        text = "\n".join(f"* {g}" for g, _ in self.goals)
        return f'Make all of this true:\n{text}\nCalls: {{"get": DEVICE}} or {{"set": DEVICE, PROP: VALUE, ...}}; devices: {", ".join(self.devices)}', {"met": self._met()}

    def _met(self):
        return sum(bool(test(self.devices)) for _, test in self.goals)

    def _call(self, request):
        if "get" in request:
            return self.devices[request["get"]].state()
        device = self.devices[request.pop("set")]
        for key in request:
            if key not in device.settable:
                raise ValueError(f"{type(device).__name__} has no property {key}")
        for key, value in request.items():
            setattr(device, key, value)
        return {"ok": True, "power": round(sum(d.power() for d in self.devices.values()), 2)}

    def step(self, action):
        self.n += 1
        before, penalty = self._met(), 0.01
        try:
            reply = self._call(json.loads(action))
        except json.JSONDecodeError:
            reply, penalty = {"error": "not JSON"}, 0.2
        except KeyError as e:
            reply, penalty = {"error": f"unknown device or call: {e}"}, 0.1
        except (TypeError, ValueError) as e:
            reply, penalty = {"error": str(e)}, 0.1
        met = self._met()
        done = met == len(self.goals)
        reward = 0.25 * (met - before) - penalty + (1 if done else 0)
        return f"{json.dumps(reply)}\n{met}/{len(self.goals)} goals met", round(reward, 3), done, self.n >= 12, {"met": met}
