# seed: 60
# actions: [5, 8, 0, 12, 9, 30, 7, 3]
# expect_total: 0.09 after 6 steps
"""Sealed-bid auctions driven by a generator coroutine: ``bid = yield observation``."""
import contextlib
import itertools as it
import random


class Timer:
    """Counts entries instead of seconds, to be deterministic."""

    def __init__(self):
        self.enters = self.exits = 0
        self.errors = []

    def __enter__(self):
        self.enters += 1
        return self

    def __exit__(self, exc_type, exc_value, traceback):
        self.exits += 1
        if exc_type is not None and issubclass(exc_type, Overspent):
            self.errors.append(exc_type.__name__)
            return True
        return False


class Overspent(Exception):
    def __init__(self, bid, budget):
        super().__init__(bid, budget)
        self.bid, self.budget = bid, budget


def rivals(rng, n):
    """Yields the highest rival bid and the runner-up, for ever."""
    aggression = [rng.uniform(0.5, 1.1) for _ in range(n)]
    value = yield
    while True:
        bids = sorted((int(value * a + rng.randint(-1, 1)) for a in aggression), reverse=True)
        value = yield bids[0], bids[1]


def auction(rng, budget, rounds):
    """The episode. Yields (obs, reward, done, info); receives bids; returns a summary."""
    house = rivals(rng, 3)
    next(house)
    profit = won = 0
    reward, note = 0.0, "start"
    timer = Timer()
    with contextlib.ExitStack() as stack, contextlib.closing(house):
        stack.callback(lambda: timer.errors.append("closed"))
        for rnd in it.count(1):
            if rnd > rounds:
                break
            value = rng.randint(6, 14)
            obs = f"round {rnd}: item worth {value}, budget {budget} ({note})"
            bid = yield obs, reward, False, {"timer": (timer.enters, timer.exits)}
            top, second = house.send(value)
            reward, note = 0.0, f"top rival bid {top}"
            with timer:
                if bid > budget:
                    raise Overspent(bid, budget)
                if bid > top:
                    price = max(top, second)
                    budget -= price
                    profit += value - price
                    won += 1
                    reward = (value - price) / 10
                    note = f"won at {price}"
                elif bid == 0:
                    reward = -0.01
            if timer.errors:
                timer.errors.clear()
                reward, note = -0.5, "overspent"
    yield f"over: {note}", reward + 0.1 * won, True, {"profit": profit, "log": timer.errors}
    return profit


class AuctionEnv:
    def __init__(self, budget=40, rounds=6):
        self.params = {"budget": budget, "rounds": rounds}
        self._game = None

    def reset(self, seed=None):
        if self._game is not None:
            self._game.close()
        self._game = auction(random.Random(seed), **self.params)
        obs, *_ = next(self._game)
        return obs

    def step(self, action):
        try:
            return self._game.send(action)
        except StopIteration as stop:
            return f"finished with {stop.value}", 0.0, True, {}
