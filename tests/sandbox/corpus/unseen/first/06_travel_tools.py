# seed: 21
# actions: [{"tool": "search_flights", "arguments": {"origin": "LIS", "destination": "OSL"}}, {"tool": "search_flights", "arguments": {"origin": "LIS"}}, {"tool": "book_flight", "arguments": {"flight_id": "FL103", "passengers": 2}}, {"tool": "message_user", "arguments": {"text": "Your flight is booked. Anything else?"}}, {"tool": "book_hotel", "arguments": {"city": "OSL", "nights": 3}}, {"tool": "message_user", "arguments": {"text": "Hotel done"}}, {"tool": "finish", "arguments": {}}]
# expect_total: 1.3 after 7 steps
"""
Travel agent tool-use environment.

The assistant receives tool schemas in the first observation, calls tools with
JSON arguments and talks with a simulated user over several turns.
"""
import json
import random
from typing import Any, Dict, List

TOOLS: List[Dict[str, Any]] = [
    {
        "name": "search_flights",
        "description": "Search flights between two airports.",
        "parameters": {
            "type": "object",
            "properties": {"origin": {"type": "string"}, "destination": {"type": "string"}},
            "required": ["origin", "destination"],
        },
    },
    {
        "name": "book_flight",
        "description": "Book seats on a flight.",
        "parameters": {
            "type": "object",
            "properties": {"flight_id": {"type": "string"}, "passengers": {"type": "integer"}},
            "required": ["flight_id", "passengers"],
        },
    },
    {
        "name": "book_hotel",
        "description": "Book a hotel room.",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}, "nights": {"type": "integer"}},
            "required": ["city", "nights"],
        },
    },
    {
        "name": "message_user",
        "description": "Send a message to the user.",
        "parameters": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
    },
    {"name": "finish", "description": "End the conversation.", "parameters": {"type": "object", "properties": {}, "required": []}},
]

TYPE_MAP = {"string": str, "integer": int, "number": (int, float), "boolean": bool, "object": dict, "array": list}


class ToolError(Exception):
    """Raised when a tool call is malformed or fails."""


class Env:
    def __init__(self, max_turns: int = 15):
        self.max_turns = max_turns
        self.tools = {t["name"]: t for t in TOOLS}

    def reset(self, seed: int = 0):
        self.rng = random.Random(seed)
        cities = ["LIS", "OSL", "CDG", "VIE", "PRG"]
        self.flights = {}
        for i in range(12):
            a, b = self.rng.sample(cities, 2)
            self.flights[f"FL{100 + i}"] = {
                "origin": a, "destination": b,
                "price": self.rng.randrange(60, 400, 5), "seats": self.rng.randint(1, 6),
            }
        goal = self.rng.choice(sorted(self.flights))
        self.goal = {"flight": self.flights[goal], "passengers": min(2, self.flights[goal]["seats"]),
                     "nights": self.rng.randint(2, 5)}
        self.bookings: Dict[str, Any] = {"flights": [], "hotels": []}
        self.turn = 0
        self.revealed_hotel = False
        user = (f"Hi, I need to fly from {self.goal['flight']['origin']} to {self.goal['flight']['destination']} "
                f"with {self.goal['passengers']} people.")
        obs = json.dumps({"tools": TOOLS, "user": user}, indent=2)
        return obs, {"tools": list(self.tools)}

    def _validate(self, call: Any) -> None:
        if not isinstance(call, dict) or "tool" not in call:
            raise ToolError("call must be an object with 'tool' and 'arguments'")
        if call["tool"] not in self.tools:
            raise ToolError(f"unknown tool {call['tool']}")
        schema = self.tools[call["tool"]]["parameters"]
        args = call.get("arguments", {})
        for req in schema["required"]:
            if req not in args:
                raise ToolError(f"missing required argument '{req}'")
        for k, v in args.items():
            if k not in schema["properties"]:
                raise ToolError(f"unexpected argument '{k}'")
            if not isinstance(v, TYPE_MAP[schema["properties"][k]["type"]]):
                raise ToolError(f"argument '{k}' must be {schema['properties'][k]['type']}")

    def step(self, action):
        self.turn += 1
        if isinstance(action, str):
            try:
                action = json.loads(action)
            except json.JSONDecodeError as e:
                return json.dumps({"error": f"invalid JSON: {e.msg}"}), -0.1, False, False, {}
        done = False
        try:
            self._validate(action)
            handler = getattr(self, "_tool_" + action["tool"])
            result, reward = handler(**action.get("arguments", {}))
            done = action["tool"] == "finish"
        except ToolError as e:
            result, reward = {"error": str(e)}, -0.1
        return json.dumps(result), reward, done, self.turn >= self.max_turns, {"turn": self.turn}

    def _tool_search_flights(self, origin, destination):
        hits = [{"flight_id": k, **v} for k, v in self.flights.items()
                if v["origin"] == origin and v["destination"] == destination]
        return {"results": sorted(hits, key=lambda h: h["price"])}, 0.0

    def _tool_book_flight(self, flight_id, passengers):
        flight = self.flights.get(flight_id)
        if flight is None:
            raise ToolError("no such flight")
        if flight["seats"] < passengers:
            raise ToolError(f"only {flight['seats']} seats left")
        flight["seats"] -= passengers
        self.bookings["flights"].append((flight_id, passengers))
        return {"status": "confirmed", "total": flight["price"] * passengers}, 0.1

    def _tool_book_hotel(self, city, nights):
        self.bookings["hotels"].append((city, nights))
        return {"status": "confirmed"}, 0.1

    def _tool_message_user(self, text):
        if not self.revealed_hotel and self.bookings["flights"]:
            self.revealed_hotel = True
            return {"user": f"Great. I also need a hotel there for {self.goal['nights']} nights."}, 0.2
        return {"user": "OK, thanks."}, 0.0

    def _tool_finish(self):
        score = 0.0
        want = self.goal["flight"]
        for fid, n in self.bookings["flights"]:
            f = self.flights[fid]
            if (f["origin"], f["destination"]) == (want["origin"], want["destination"]) and n == self.goal["passengers"]:
                score += 1.0
                break
        if (want["destination"], self.goal["nights"]) in self.bookings["hotels"]:
            score += 1.0
        return {"final_score": score}, score
