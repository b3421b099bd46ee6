# seed: 30
# actions: [{"function": "get_state", "device": "living_room.thermostat"}, {"function": "set_state", "device": "living_room.thermostat", "attribute": "target", "value": 21}, {"function": "set_state", "device": "bedroom.light", "attribute": "on", "value": false}, {"function": "set_state", "device": "kitchen.light", "attribute": "on", "value": true}, {"function": "fly"}, {"function": "set_state", "device": "hall.lock", "attribute": "locked", "value": true}, {"function": "set_state", "device": "living_room.thermostat", "attribute": "target", "value": "hot"}, {"function": "done"}]
# expect_total: -0.19333400000000006 after 8 steps
"""Smart-home control environment: satisfy a natural-language request using device functions."""
import copy
import json
import random
from typing import Any, Dict, Tuple

SCHEMA = {
    "thermostat": {"target": {"type": "number", "minimum": 10, "maximum": 30}},
    "light": {"on": {"type": "boolean"}, "brightness": {"type": "integer", "minimum": 0, "maximum": 100}},
    "lock": {"locked": {"type": "boolean"}},
}

DEFAULT_HOME = {
    "living_room.thermostat": {"kind": "thermostat", "target": 18},
    "bedroom.light": {"kind": "light", "on": True, "brightness": 80},
    "kitchen.light": {"kind": "light", "on": False, "brightness": 50},
    "hall.lock": {"kind": "lock", "locked": False},
}

TYPES = {"number": (int, float), "boolean": bool, "integer": int}


def validate(value: Any, schema: Dict[str, Any]) -> str:
    """Return an error string, or an empty string if the value is fine."""
    expected = TYPES[schema["type"]]
    if not isinstance(value, expected) or (isinstance(value, bool) and schema["type"] != "boolean"):
        return f"expected {schema['type']}, got {type(value).__name__}"
    if "minimum" in schema and value < schema["minimum"]:
        return f"must be >= {schema['minimum']}"
    if "maximum" in schema and value > schema["maximum"]:
        return f"must be <= {schema['maximum']}"
    return ""


class SmartHomeEnv:
    def __init__(self, max_calls: int = 12):
        self.max_calls = max_calls
        self.home: Dict[str, Dict[str, Any]] = {}
        self.goal: Dict[Tuple[str, str], Any] = {}
        self.calls = 0

    def reset(self, seed: int = None):
        rng = random.Random(seed)
        self.home = copy.deepcopy(DEFAULT_HOME)
        options = [
            (("living_room.thermostat", "target"), rng.randint(20, 23)),
            (("bedroom.light", "on"), False),
            (("kitchen.light", "brightness"), rng.choice([20, 100])),
            (("hall.lock", "locked"), True),
        ]
        self.goal = dict(rng.sample(options, k=3))
        self.calls = 0
        wishes = [f"{dev} {attr} should be {json.dumps(val)}" for (dev, attr), val in self.goal.items()]
        return {"request": "; ".join(wishes), "devices": list(self.home), "schema": SCHEMA}

    def progress(self) -> float:
        met = [self.home[d][a] == v for (d, a), v in self.goal.items()]
        return sum(met) / len(met)

    def step(self, action):
        self.calls += 1
        before = self.progress()
        out: Dict[str, Any] = {"ok": True}
        done = False
        fn = action.get("function")
        device = self.home.get(action.get("device", ""))
        if fn == "done":
            done = True
        elif fn == "get_state" and device is not None:
            out["state"] = {k: v for k, v in device.items() if k != "kind"}
        elif fn == "set_state" and device is not None:
            attr = action.get("attribute")
            schema = SCHEMA[device["kind"]].get(attr)
            error = validate(action.get("value"), schema) if schema else f"no attribute {attr}"
            if error:
                out = {"ok": False, "error": error}
            else:
                device[attr] = action["value"]
        else:
            out = {"ok": False, "error": "unknown function or device"}
        after = self.progress()
        reward = (after - before) - 0.02
        if not out["ok"]:
            reward -= 0.1
        if done:
            reward += 1.0 if after == 1.0 else -0.5
        if self.calls >= self.max_calls:
            done = True
        return json.dumps(out, sort_keys=True), round(reward, 6), done, {"progress": after}
