# tries: keys and texts of classes whose methods lie or never end
# expect: contained (runs; the built-in parts are what is copied)
class Text(str):
    def __len__(self):
        return 0

    def __iter__(self):
        while True:
            pass

    __str__ = __repr__ = __hash__ = __len__

    def isascii(self):
        while True:
            pass

    def encode(self, *_):
        while True:
            pass


class Number(int):
    def __index__(self):
        while True:
            pass

    __int__ = __float__ = __index__

    def __lt__(self, other):
        while True:
            pass


class Map(dict):
    def items(self):
        while True:
            pass

    keys = values = copy = items

    def __iter__(self):
        while True:
            pass


class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        return Map(a=Text("x")), Number(1), Number(0), Map(b=[Text("y"), Number(3)])
        return "obs", 0.0, False, {}
