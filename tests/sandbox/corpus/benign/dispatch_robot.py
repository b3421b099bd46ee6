# seed: 31
# actions: ["help", "forward 2", "turn left", "grab", "forward 3", "_secret", "turn right", "fly", "forward 1", "grab", "home"]
# expect_total: 0.59 after 11 steps
"""A robot whose commands are methods named ``do_<verb>``."""

import random
import textwrap


class CommandError(Exception):
    pass


class BaseShell:
    """Finds the handler of a command with getattr, like the cmd module does."""

    prefix = "do_"

    def commands(self):
        return sorted(n[len(self.prefix):] for n in dir(self) if n.startswith(self.prefix))

    def dispatch(self, line):
        verb, *args = line.strip().split() or ["help"]
        if not verb.isalpha():
            raise CommandError("commands are made of letters")
        handler = getattr(self, self.prefix + verb, None)
        if handler is None:
            return self.default(verb, args)
        if not callable(handler):
            raise CommandError("not a command")
        try:
            return handler(*args)
        except TypeError as e:
            raise CommandError("wrong arguments for " + handler.__name__) from e

    def default(self, verb, args):
        raise CommandError("unknown command: " + verb)

    def do_help(self):
        """Show this text."""
        lines = []
        for name in self.commands():
            method = getattr(self, self.prefix + name)
            doc = method.__doc__ or "(undocumented)"
            lines.append(name.ljust(8) + textwrap.shorten(doc, width=40, placeholder="..."))
        return textwrap.dedent("\n".join(lines)), 0.0


class RobotEnv(BaseShell):
    HEADINGS = ("north", "east", "south", "west")
    VECTORS = {"north": (0, 1), "east": (1, 0), "south": (0, -1), "west": (-1, 0)}
    battery_cost = 0.05

    def reset(self, seed=None):
        rng = random.Random(seed)
        self.x = self.y = 0
        self.heading = "north"
        self.battery = 1.0
        self.samples = {(0, 2), (-3, 2)} | {(rng.randint(-4, 4), rng.randint(1, 4)) for _ in range(3)}
        self.bag = []
        self.finished = False
        return "Robot ready. Type 'help'."

    def do_forward(self, distance="1"):
        """Drive forward by DISTANCE fields; every field costs battery power."""
        n = int(distance)
        dx, dy = self.VECTORS[self.heading]
        for _ in range(n):
            self.x += dx
            self.y += dy
            self.battery -= self.battery_cost
        return "at (%d, %d)" % (self.x, self.y), -0.01 * n

    def do_turn(self, side):
        """Turn left or right."""
        delta = {"left": -1, "right": 1}[side]
        i = (self.HEADINGS.index(self.heading) + delta) % 4
        self.heading = self.HEADINGS[i]
        return "facing " + self.heading, 0.0

    def do_grab(self):
        if (self.x, self.y) not in self.samples:
            return "nothing here", -0.05
        self.samples.discard((self.x, self.y))
        self.bag.append((self.x, self.y))
        return "sample %d" % len(self.bag), 0.5

    def do_home(self):
        """End the mission."""
        self.finished = True
        far = abs(self.x) + abs(self.y)
        return "mission over", round(len(self.bag) - 0.1 * far, 2)

    def step(self, action):
        try:
            obs, reward = self.dispatch(action)
        except CommandError as e:
            obs, reward = "error: %s" % e, -0.1
        except (KeyError, ValueError):
            obs, reward = "bad argument", -0.1
        done = self.finished or self.battery <= 0
        info = {"cls": type(self).__name__, "battery": round(self.battery, 2), "pos": [self.x, self.y]}
        return obs, reward, done, info
