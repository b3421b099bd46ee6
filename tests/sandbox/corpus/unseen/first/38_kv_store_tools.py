# seed: 9
# actions: ["{\"name\": \"get\", \"args\": {\"key\": \"cart\"}}", "{\"name\": \"begin\"}", "{\"name\": \"set\", \"args\": {\"key\": \"cart.count\", \"value\": 3}}", "{\"name\": \"rollback\"}", "{\"name\": \"begin\"}", "{\"name\": \"incr\", \"args\": {\"key\": \"cart.count\", \"by\": 2}}", "not json", "{\"name\": \"merge\", \"args\": {\"key\": \"user\", \"patch\": {\"tier\": \"gold\", \"flags\": {\"beta\": null}}}}", "{\"name\": \"commit\"}", "{\"name\": \"drop\"}", "{\"name\": \"delete\", \"args\": {\"key\": \"tmp\"}}", "{\"name\": \"done\"}"]
# expect_total: 2.7 after 12 steps
"""Stateful key-value store: the agent must bring a document to a target state.

Tools (JSON): get, set, incr, delete, merge (RFC 7396), begin, commit, rollback, done.
"""
import copy
import inspect
import json
import random
from typing import Any, Dict, Optional


def tool(description: str):
    """Mark a method as a tool and attach its description."""

    def decorate(fn):
        fn._tool = True
        fn._description = description
        return fn

    return decorate


class KeyValueEnv:
    def __init__(self, max_calls: int = 20):
        self.max_calls = max_calls
        self.tools = {name: fn for name, fn in inspect.getmembers(self, inspect.ismethod) if getattr(fn, "_tool", False)}

    # ------------------------------------------------------------------ setup
    def reset(self, seed: Optional[int] = None):
        rng = random.Random(seed)
        self.doc: Dict[str, Any] = {
            "user": {"name": rng.choice(["kim", "lee", "sam"]), "tier": "silver", "flags": {"beta": True, "dark": rng.random() < 0.5}},
            "cart": {"count": rng.randint(0, 4), "items": rng.sample(["pen", "mug", "cap", "bag"], 2)},
            "tmp": rng.getrandbits(16),
        }
        self.target = copy.deepcopy(self.doc)
        self.target["user"]["tier"] = "gold"
        del self.target["user"]["flags"]["beta"]
        self.target["cart"]["count"] += 2
        del self.target["tmp"]
        self.stack: list = []
        self.calls = 0
        self.distance = self._distance()
        return json.dumps({"tools": self._signatures(), "state": self.doc, "target": self.target}, indent=1)

    def _signatures(self):
        out = []
        for name in sorted(self.tools):
            sig = inspect.signature(self.tools[name])
            out.append({
                "name": name,
                "description": self.tools[name]._description,
                "parameters": {p: {"required": q.default is inspect.Parameter.empty} for p, q in sig.parameters.items()},
            })
        return out

    def _flat(self, d: Any, prefix: str = "") -> Dict[str, Any]:
        if not isinstance(d, dict):
            return {prefix.rstrip("."): d}
        flat: Dict[str, Any] = {}
        for k, v in d.items():
            flat.update(self._flat(v, f"{prefix}{k}."))
        return flat

    def _distance(self) -> int:
        a, b = self._flat(self.doc), self._flat(self.target)
        return sum(a.get(k, ...) != b.get(k, ...) for k in a.keys() | b.keys())

    def _parent(self, key: str):
        *path, last = key.split(".")
        node = self.doc
        for p in path:
            node = node[p]
        return node, last

    # ------------------------------------------------------------------ tools
    @tool("Read a value by dotted key")
    def get(self, key: str):
        node, last = self._parent(key)
        return node[last]

    @tool("Write a value")
    def set(self, key: str, value: Any):
        node, last = self._parent(key)
        node[last] = value
        return "ok"

    @tool("Increase a number")
    def incr(self, key: str, by: int = 1):
        node, last = self._parent(key)
        node[last] += by
        return node[last]

    @tool("Remove a key")
    def delete(self, key: str):
        node, last = self._parent(key)
        return node.pop(last)

    @tool("JSON merge patch; null removes")
    def merge(self, key: str, patch: dict):
        def apply(target, p):
            for k, v in p.items():
                if v is None:
                    target.pop(k, None)
                elif isinstance(v, dict):
                    apply(target.setdefault(k, {}), v)
                else:
                    target[k] = v
        node, last = self._parent(key)
        apply(node[last], patch)
        return node[last]

    @tool("Open a transaction")
    def begin(self):
        self.stack.append(copy.deepcopy(self.doc))
        return {"depth": len(self.stack)}

    @tool("Commit a transaction")
    def commit(self):
        self.stack.pop()
        return {"depth": len(self.stack)}

    @tool("Abort a transaction")
    def rollback(self):
        self.doc = self.stack.pop()
        return {"depth": len(self.stack)}

    @tool("Finish the episode")
    def done(self):
        return {"remaining": self._distance()}

    # ------------------------------------------------------------------- step
    def step(self, action: str):
        self.calls += 1
        truncated = self.calls >= self.max_calls
        try:
            call = json.loads(action)
            fn = self.tools[call["name"]]
            result = fn(**call.get("args", {}))
            payload, reward = {"result": result}, 0.0
        except json.JSONDecodeError as e:
            return json.dumps({"error": "bad JSON", "pos": e.pos}), -0.2, False, truncated, {}
        except (KeyError, TypeError, IndexError) as e:
            return json.dumps({"error": type(e).__name__, "detail": str(e)}), -0.1, False, truncated, {}
        new = self._distance()
        reward += 0.5 * (self.distance - new)
        self.distance = new
        terminated = call["name"] == "done"
        if terminated:
            reward += 1.0 if new == 0 and not self.stack else -1.0
        return json.dumps(payload), reward, terminated, truncated, {"distance": new}
