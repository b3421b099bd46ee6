# seed: 23
# actions: ["{\"tool\": \"list_inbox\", \"params\": {}}", "{\"tool\": \"read\", \"params\": {\"id\": \"m0\"}}", "{\"tool\": \"label\", \"params\": {\"id\": \"m0\", \"label\": \"billing\"}}", "{\"tool\": \"label\", \"params\": {\"id\": \"m1\", \"label\": \"urgent\"}}", "{\"tool\": \"label\", \"params\": {\"id\": \"m2\", \"label\": \"spam\"}}", "{\"tool\": \"label\", \"params\": {\"id\": \"m3\", \"label\": \"nonsense\"}}", "{\"tool\": \"export\", \"params\": {}}", "{\"tool\": \"label\", \"params\": {\"id\": \"m3\", \"label\": \"spam\"}}", "{\"tool\": \"search\", \"params\": {\"query\": \"invoice\"}}", "{\"tool\": \"label\", \"params\": {\"id\": \"m4\", \"label\": \"billing\"}}", "{\"tool\": \"stop\"}"]
# expect_total: -3.12 after 11 steps
"""E-mail triage with tools. Templates are filled in per seed."""
import base64
import csv
import html
import io
import json
import random
import textwrap
import zlib
from string import Template
from typing import Any, Dict, List, Mapping, Optional

TEMPLATES: Dict[str, List[Template]] = {
    "billing": [Template("Dear team, invoice #$num of $$${amount} is still open."), Template("I was charged twice ($$${amount}) on order $num.")],
    "urgent": [Template("Production is DOWN since $hour:00, $name can't log in!"), Template("We need an answer within $hour hours or we cancel.")],
    "spam": [Template("<b>You won</b> $$${amount}! Click & claim code $num"), Template("Cheap watches, $name! Only $$${amount}.")],
}

SCHEMA = {
    "list_inbox": {"type": "object", "properties": {}, "additionalProperties": False},
    "read": {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]},
    "label": {"type": "object", "properties": {"id": {"type": "string"}, "label": {"enum": sorted(TEMPLATES)}}, "required": ["id", "label"]},
    "search": {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]},
    "export": {"type": "object", "properties": {}},
    "stop": {"type": "object", "properties": {}},
}


def validate(schema: Mapping[str, Any], value: Mapping[str, Any]) -> Optional[str]:
    """A very small subset of JSON schema."""
    for name in schema.get("required", ()):
        if name not in value:
            return f"'{name}' is a required property"
    for name, rule in schema["properties"].items():
        if name in value:
            if "enum" in rule and value[name] not in rule["enum"]:
                return f"{value[name]!r} is not one of {rule['enum']}"
            if rule.get("type") == "string" and not isinstance(value[name], str):
                return f"{value[name]!r} is not of type 'string'"
    return None


class EmailTriageEnv:
    def __init__(self, n_mails: int = 5, max_calls: int = 20):
        self.n_mails, self.max_calls = n_mails, max_calls

    def reset(self, seed: Optional[int] = None):
        rng = random.Random(seed)
        self.inbox: Dict[str, Dict[str, Any]] = {}
        for i in range(self.n_mails):
            kind = rng.choice(list(TEMPLATES))
            body = rng.choice(TEMPLATES[kind]).safe_substitute(
                num=rng.randint(1000, 9999), amount=f"{rng.uniform(5, 500):.2f}", hour=rng.randint(1, 23), name=rng.choice(["Kai", "Mia", "Tom"]))
            self.inbox[f"m{i}"] = {"truth": kind, "body": body, "label": None, "checksum": f"{zlib.crc32(body.encode()):08x}"}
        self.calls = 0
        return json.dumps({"instruction": "Label every e-mail, then stop.", "tools": SCHEMA})

    def step(self, action: str):
        self.calls += 1
        done = self.calls >= self.max_calls
        try:
            request = json.loads(action)
            tool, params = request["tool"], request.get("params", {})
        except (ValueError, KeyError, TypeError) as exc:
            return json.dumps({"error": f"malformed call ({exc.__class__.__name__})"}), -0.2, done, {}
        if tool not in SCHEMA:
            return json.dumps({"error": "unknown tool"}), -0.2, done, {}
        problem = validate(SCHEMA[tool], params)
        if problem is None and "id" in params and params["id"] not in self.inbox:
            problem = f"no message {params['id']}"
        if problem:
            return json.dumps({"error": problem}), -0.1, done, {}
        if tool == "stop":
            missing = sum(m["label"] is None for m in self.inbox.values())
            return json.dumps({"unlabelled": missing}), -0.5 * missing, True, {}
        result, reward = getattr(self, f"_{tool}")(**params)
        return json.dumps(result, ensure_ascii=False), reward, done, {"calls": self.calls}

    def _list_inbox(self):
        return [{"id": k, "preview": textwrap.shorten(m["body"], 24, placeholder="…"), "label": m["label"]} for k, m in self.inbox.items()], 0.0

    def _read(self, id):
        m = self.inbox[id]
        return {"html": f"<p>{html.escape(m['body'])}</p>", "attachment": base64.b64encode(m["body"][:12].encode()).decode("ascii"), "crc32": m["checksum"]}, -0.01

    def _label(self, id, label):
        m = self.inbox[id]
        first = m["label"] is None
        m["label"] = label
        correct = label == m["truth"]
        return {"ok": True}, (1.0 if correct else -1.0) if first else (0.2 if correct else -0.2)

    def _search(self, query):
        return [k for k, m in self.inbox.items() if query.casefold() in m["body"].casefold()], -0.01

    def _export(self):
        buf = io.StringIO()
        writer = csv.DictWriter(buf, fieldnames=["id", "label", "crc"], lineterminator="\n")
        writer.writeheader()
        for k, m in self.inbox.items():
            writer.writerow({"id": k, "label": m["label"] or "", "crc": m["checksum"]})
        return buf.getvalue(), 0.0
