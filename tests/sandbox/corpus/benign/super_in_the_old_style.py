# seed: 3
# actions: ["go"]
# expect_total: 1.0 after 1 steps
class Base(object):
    registry = []
    def __init__(self, name):
        self.name = name
    def __repr__(self):
        return "%s(%r)" % (self.__class__.__name__, self.name)
    def __hash__(self): return hash(self.name)
    def __eq__(self, o): return isinstance(o, Base) and self.name == o.name
class Kid(Base):
    def __init__(self, name, age):
        super(Kid, self).__init__(name)
        self.age = age
    @property
    def view(self): return f"<{self.name}>"
    def __str__(self): return "kid " + super(Kid, self).__repr__()
class Frame(dict):
    def __getattr_free(self): return 1
    def clip(self, lo, hi): return {k: max(lo, min(hi, v)) for k, v in self.items()}
class Env:
    def reset(self, seed=0): return "x"
    def step(self, action):
        k = Kid("Al", 3)
        fr = Frame(a=5)
        fr.update(b=-2)
        shown = f"{k} {k!r} {len({k, Kid('Al', 4)})} {k.view} {fr.clip(0, 3)} {sorted(vars(k).items())} {k.__class__.__name__} {hash(k) == hash(Kid('Al', 1))}"
        expected = "kid Kid('Al') Kid('Al') 1 <Al> {'a': 3, 'b': 0} [('age', 3), ('name', 'Al')] Kid True"
        return shown, float(shown == expected), True
