# seed: 4
# actions: [{"speak": "What size would you like?"}, {"speak": "Which toppings?"}, {"tool": "add_pizza", "size": "medium", "toppings": ["mushroom"]}, {"speak": "Where should we deliver?"}, {"tool": "set_address", "address": "12 Oak Street"}, {"tool": "apply_coupon", "code": "SAVE10"}, {"speak": "Your total is ready, shall I place it?"}, {"tool": "checkout"}]
# expect_total: 0.45 after 7 steps
import random
from collections import ChainMap
from decimal import ROUND_HALF_UP, Decimal
from types import SimpleNamespace
from typing import Any, Dict, List, Literal, Optional, TypedDict, Union

Size = Literal["small", "medium", "large"]


class Speak(TypedDict):
    speak: str


class ToolCall(TypedDict, total=False):
    tool: str
    size: Size
    toppings: List[str]
    address: str
    code: str


BASE_PRICES: Dict[str, Decimal] = {"small": Decimal("7.50"), "medium": Decimal("9.90"), "large": Decimal("12.40")}
TOPPING_PRICES: Dict[str, Decimal] = {"mushroom": Decimal("1.20"), "olive": Decimal("0.95"), "ham": Decimal("1.75"), "basil": Decimal("0.50")}
PRICES = ChainMap(BASE_PRICES, TOPPING_PRICES)
CENT = Decimal("0.01")


class PizzaOrderingEnv:
    """Multi-turn ordering: find out what the user wants, then place the order."""

    def reset(self, seed: Optional[int] = None):
        rng = random.Random(seed)
        self.user = SimpleNamespace(
            size=rng.choice(list(BASE_PRICES)),
            toppings=sorted(rng.sample(list(TOPPING_PRICES), rng.randint(1, 3))),
            address=f"{rng.randint(1, 40)} {rng.choice(['Oak', 'Elm', 'Pine'])} Street",
            patience=rng.randint(6, 10),
            coupon=rng.choice(["SAVE10", "FREEBASIL", None]),
        )
        self.order: Dict[str, Any] = {"size": None, "toppings": [], "address": None, "discount": Decimal(0)}
        self.asked: set = set()
        return "User: Hi, I'd like to order a pizza please.", {"tools": ["add_pizza", "set_address", "apply_coupon", "checkout"]}

    def total(self) -> Decimal:
        if self.order["size"] is None:
            return Decimal(0)
        amount = PRICES[self.order["size"]] + sum((PRICES[t] for t in self.order["toppings"]), Decimal(0))
        return (amount * (1 - self.order["discount"])).quantize(CENT, rounding=ROUND_HALF_UP)

    def _reply(self, text: str):
        t = text.lower()
        answers = {
            "size": f"A {self.user.size} one.",
            "topping": "With " + " and ".join(self.user.toppings) + ".",
            "deliver": f"To {self.user.address}.",
            "coupon": f"I have {self.user.coupon}." if self.user.coupon else "I have no coupon.",
        }
        for topic, answer in answers.items():
            if topic in t:
                fresh = topic not in self.asked
                self.asked.add(topic)
                return answer, 0.1 if fresh else -0.1
        return "Sure.", -0.05

    def step(self, action: Union[Speak, ToolCall]):
        self.user.patience -= 1
        out_of_patience = self.user.patience <= 0
        if "speak" in action:
            text, reward = self._reply(action["speak"])
            return "User: " + text, reward, out_of_patience, {"asked": sorted(self.asked)}
        tool = action.get("tool")
        if tool == "add_pizza":
            toppings = action.get("toppings", [])
            unknown = [t for t in toppings if t not in TOPPING_PRICES]
            if action.get("size") not in BASE_PRICES or unknown:
                return f"Tool error: invalid size or toppings {unknown}", -0.2, out_of_patience, {}
            self.order.update(size=action["size"], toppings=sorted(toppings))
            return f"Tool: added, total {self.total()}", 0.0, out_of_patience, {}
        if tool == "set_address":
            self.order["address"] = action["address"]
            return "Tool: address saved", 0.0, out_of_patience, {}
        if tool == "apply_coupon":
            if action.get("code") == self.user.coupon == "SAVE10":
                self.order["discount"] = Decimal("0.10")
                return f"Tool: 10% off, total {self.total()}", 0.2, out_of_patience, {}
            return "Tool error: coupon not valid", -0.1, out_of_patience, {}
        if tool == "checkout":
            wanted = vars(self.user)
            correct = sum(self.order[k] == wanted[k] for k in ("size", "toppings", "address"))
            reward = float(Decimal(correct) / 3)
            return f"Tool: order placed for {self.total()}", reward, True, {"correct": correct}
        return f"Tool error: unknown tool {tool!r}", -0.2, out_of_patience, {}
