# tries: a note for the next session in whatever the sessions share
# expect: contained
import decimal
import enum
import math
import re
import textwrap

from metagym.spade import SyntheticEnv

seen = "LEAK" if decimal.getcontext().prec == 7 or getattr(enum.Enum, "note", None) else "start"


class Env:
    def reset(self, seed=None):
        return seen

    def step(self, action):
        decimal.getcontext().prec = 7
        for thing in (enum.Enum, math, re.compile("x"), textwrap.wrap, SyntheticEnv, decimal.Decimal, re.error, print, len):
            try:
                setattr(thing, "note", 1)
            except (AttributeError, TypeError):
                continue
            return "LEAK", 1.0, True, {}
        return "obs", 0.0, False, {}
