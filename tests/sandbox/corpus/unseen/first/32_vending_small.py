# seed: 1
# actions: ["insert 50", "select B", "insert 100", "select B", "select Z", "return", "insert 20", "select A", "kick", "insert 100", "select C"]
# expect_total: 1.5 after 11 steps
import random

class VendingMachine:
    def __init__(self):
        self.state = {}

    def reset(self, seed=None):
        if seed is not None:
            random.seed(seed)
        self.state = {
            "credit": 0,
            "stock": {"A": random.randint(0, 3), "B": random.randint(0, 3), "C": random.randint(0, 3)},
            "price": {"A": 50, "B": 80, "C": 120},
            "bought": []
        }
        return "Vending machine ready. Items: A (50), B (80), C (120). Buy 2 items."

    def step(self, action):
        parts = action.split()
        s = self.state
        if parts[0] == "insert":
            coin = int(parts[1])
            if coin in [10, 20, 50, 100]:
                s["credit"] += coin
                return f"Credit: {s['credit']}", 0, False, {}
            else:
                return "Coin rejected", -1, False, {}
        if parts[0] == "select":
            item = parts[1]
            if item not in s["stock"]:
                return "No such item", -1, False, {}
            if s["stock"][item] == 0:
                return "Sold out", -0.5, False, {}
            if s["credit"] < s["price"][item]:
                return "Not enough credit", -0.5, False, {}
            s["credit"] -= s["price"][item]
            s["stock"][item] -= 1
            s["bought"].append(item)
            done = len(s["bought"]) == 2
            return "You got " + item, 5, done, {"bought": s["bought"]}
        if parts[0] == "return":
            c = s["credit"]
            s["credit"] = 0
            return "Returned " + str(c), 0, False, {}
        return "Unknown action", -1, False, {}
