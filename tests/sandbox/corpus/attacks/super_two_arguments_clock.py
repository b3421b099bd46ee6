# tries: the clock of the class behind a facade's datetime
# expect: contained
import datetime


class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        now = super(datetime.datetime, datetime.datetime).now()
        if now.year != 2025 or now.microsecond:
            return "LEAK", 1.0, True, {}
        return "obs", 0.0, False, {}
