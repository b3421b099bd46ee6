# seed: 3
# actions: ["go"]
# expect_total: 1.0 after 1 steps
from collections import UserDict, UserList
class Inventory(UserDict):
    def __missing__(self, key):
        return 0
    def __setitem__(self, key, value):
        super().__setitem__(key.lower(), value)
class Stack(UserList):
    def top(self):
        return self.data[-1]
class Env:
    def reset(self, seed=0):
        self.inv = Inventory(); self.st = Stack([1, 2])
        return "x"
    def step(self, action):
        self.inv["Apple"] += 2
        self.st.append(7)
        shown = f"{dict(self.inv)} {self.st.top()} {self.inv.data} {self.inv['q']}"
        expected = "{'apple': 2} 7 {'apple': 2} 0"
        return shown, float(shown == expected), True
