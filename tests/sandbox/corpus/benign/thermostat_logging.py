# seed: 70
# actions: ["heat 3", "heat 2", "vent", "sleep", "heat eleven", "mode eco", "heat 1", "sleep", "dump", "off"]
# expect_total: -0.8833 after 10 steps
"""Thermostat control. Logs with the logging module; dumps its own __dict__."""
import logging
import random
from collections import deque
from types import SimpleNamespace

logger = logging.getLogger(__name__)
logger.setLevel(logging.WARNING)

DEFAULT_CONFIG = dict(
    target=21.0,
    outside=4.0,
    leak=0.08,
    gain=1.5,
    noise=0.25,
)


class Thermostat(object):
    """
    A room that leaks heat. Keep it within one degree of the target.

    Commands: ``heat N``, ``vent``, ``sleep``, ``mode eco|comfort``, ``dump``, ``off``
    """

    def __init__(self, **overrides):
        cfg = {**DEFAULT_CONFIG, **overrides}
        self.cfg = SimpleNamespace(**cfg)
        self.log = logging.getLogger("%s.%s" % (__name__, type(self).__name__))
        logger.debug("created with %r", cfg)

    def reset(self, seed=None, **kwargs):
        self.rng = random.Random(seed)
        self.temp = round(self.rng.gauss(15.0, 1.0), 2)
        self.mode = "comfort"
        self.history = deque([self.temp], maxlen=5)
        self.hours = 0
        self.log.info("reset with seed %s", seed)
        return "It is %.1f degrees." % self.temp

    def _tick(self, heating=0.0, leak_factor=1.0):
        c = self.cfg
        self.temp += heating * c.gain
        self.temp -= (self.temp - c.outside) * c.leak * leak_factor
        self.temp += self.rng.uniform(-c.noise, c.noise)
        self.hours += 1
        self.history.append(round(self.temp, 2))
        if self.temp > 30:
            self.log.warning("hot: %.1f", self.temp)

    def _comfort(self):
        gap = abs(self.temp - self.cfg.target)
        return 0.5 if gap <= 1 else 0.1 if gap <= 3 else -0.02 * gap

    def _state(self):
        out = {}
        for key, value in self.__dict__.items():
            if key in ("rng", "log"):
                continue
            out[key] = list(value) if isinstance(value, deque) else str(value)
        return out

    def step(self, action):
        cmd, *args = action.split()
        cost = 0.0
        try:
            if cmd == "heat":
                power = int(args[0])
                cost = 0.05 * power * (0.5 if self.mode == "eco" else 1)
                self._tick(power)
            elif cmd == "vent":
                self._tick(leak_factor=3)
            elif cmd == "sleep":
                self._tick(leak_factor=0.5)
            elif cmd == "mode":
                self.mode = args[0]
            elif cmd == "dump":
                return repr(sorted(self._state())), 0.0, False, {"state": self._state()["history"]}
            elif cmd == "off":
                trend = self.history[-1] - self.history[0]
                return "off", round(trend / 10, 3), True, {"hours": self.hours}
        except ValueError:
            self.log.debug("bad command", exc_info=True)
            return "bad command", -0.3, False, {}
        reward = self._comfort() - cost
        return "It is %.1f degrees (%s)." % (self.temp, self.mode), round(reward, 4), self.hours >= 24, {}


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO)
    t = Thermostat(target=19.0)
    print(t.reset(seed=0))
