# seed: 3
# actions: ["go"]
# expect_total: 1.0 after 1 steps
import heapq, itertools
from collections import namedtuple, ChainMap, Counter, deque, OrderedDict
from contextlib import contextmanager, suppress, ExitStack
from abc import ABC, abstractmethod
Event = namedtuple("Event", "time prio type data", defaults=[None])
class Handler(ABC):
    @abstractmethod
    def handle(self, ev): ...
    @classmethod
    def __subclasshook_free(cls): return 1
class Log(Handler):
    def __init__(self): self.lines = []
    def handle(self, ev): self.lines.append(f"{ev.time}:{ev.type}:{ev.data}")
def route(ev):
    match ev:
        case Event(t, _, "tick", d): return f"tick{t}{d}"
        case Event(type="boom"): return "boom"
        case (a, b, c, d): return "tuple"
class Env:
    def reset(self, seed=0):
        self.q = []; self.c = itertools.count(); self.h = Log()
        for t in (3, 1, 2):
            heapq.heappush(self.q, (t, next(self.c), Event(t, 0, "tick", {"n": t})))
        return "x"
    @contextmanager
    def span(self, name):
        self.h.lines.append("<" + name)
        try:
            yield self
        finally:
            self.h.lines.append(name + ">")
    def step(self, action):
        with self.span("s"), suppress(ValueError):
            _, _, ev = heapq.heappop(self.q)
            self.h.handle(ev)
            raise ValueError
        with ExitStack() as st:
            st.callback(self.h.lines.append, "cb")
        try:
            Handler()
        except TypeError as e:
            err = str(e)
        cm = ChainMap({"a": 1}, {"a": 2, "b": 3})
        shown = f"{self.h.lines} {route(ev)} {route(Event(1,1,'boom'))} {cm['b']} {Counter('hello').most_common(1)} {type(ev).__name__} {ev.data}"
        expected = '[\'<s\', "1:tick:{\'n\': 1}", \'s>\', \'cb\'] tick1{\'n\': 1} boom 3 [(\'l\', 2)] Event {\'n\': 1}'
        return shown, float(shown == expected), True
