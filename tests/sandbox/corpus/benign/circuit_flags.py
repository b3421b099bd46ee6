# seed: 33
# actions: ["set POWER", "set LOCK", "xor 0b0110", "set HEAT", "shift 1", "clear POWER", "mask 0x3F", "set POWER", "rotate", "check"]
# expect_total: -0.33333333 after 10 steps
import random
from enum import IntFlag, IntEnum


class Line(IntFlag):
    POWER = 1
    LOCK = 2
    HEAT = 4
    PUMP = 8
    ALARM = 16
    VENT = 32
    SAFE = POWER | VENT
    ALL = 63


class Err(IntEnum):
    NONE = 0
    SHORT = 1
    UNKNOWN = 2


BITS = 6
FORBIDDEN = ((Line.HEAT, Line.ALARM), (Line.PUMP, Line.LOCK))
REPORT = "%-8s reg=%0*o dec=%3d bin=%s [%s]"


def popcount(n):
    c = 0
    while n:
        n &= n - 1
        c += 1
    return c


def rotl(n, k=1, bits=BITS):
    k %= bits
    return ((n << k) | (n >> (bits - k))) & ((1 << bits) - 1)


def names(reg):
    return ",".join(l.name for l in (Line.POWER, Line.LOCK, Line.HEAT, Line.PUMP, Line.ALARM, Line.VENT) if reg & l)


class Env(object):
    def reset(self, seed=None):
        r = random.Random(seed)
        self.target = Line(r.getrandbits(BITS) | 1)
        self.reg = Line(0)
        self.err = Err.NONE
        self.steps = 0
        return "target %s (%d bits), register %#04x" % (names(self.target), popcount(int(self.target)), self.reg)

    def distance(self):
        return popcount(int(self.reg ^ self.target))

    def step(self, action):
        self.steps += 1
        old = self.distance()
        self.err = Err.NONE
        op, *arg = action.split()
        if op == "set":
            self.reg |= Line[arg[0]]
        elif op == "clear":
            self.reg &= ~Line[arg[0]]
        elif op == "xor":
            self.reg ^= Line(int(arg[0], 2))
        elif op == "mask":
            self.reg &= Line(int(arg[0], 16))
        elif op == "shift":
            self.reg = Line((int(self.reg) << int(arg[0])) & Line.ALL)
        elif op == "rotate":
            self.reg = Line(rotl(int(self.reg)))
        elif op != "check":
            self.err = Err.UNKNOWN
        for a, b in FORBIDDEN:
            if self.reg & a and self.reg & b:
                self.err = Err.SHORT
        obs = REPORT % (op, 2, int(self.reg), int(self.reg), format(int(self.reg), "06b"), names(self.reg) or "-")
        reward = (old - self.distance()) / BITS
        if self.err:
            reward -= 0.1 * self.err
        done = op == "check"
        if done:
            reward = 1.0 - self.distance() / BITS
        raw = int(self.reg).to_bytes(1, "big").hex()
        return obs, reward, done, {"err": self.err.name, "raw": raw, "safe": bool(self.reg & Line.SAFE == Line.SAFE)}
