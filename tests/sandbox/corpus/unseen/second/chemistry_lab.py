# seed: 3
# actions: ["inspect", "test litmus", "add HCl 10", "add NaOH 5", "test litmus", "test flame", "heat 20", "add NaOH 4", "add unobtainium 3", "stir", "measure", "report 7.0"]
# expect_total: -0.24689579724434355 after 12 steps
import math
import random

INDICATORS = {
    "litmus": [(4.5, "red"), (8.3, "purple"), (14.1, "blue")],
    "phenolphthalein": [(8.2, "colourless"), (14.1, "pink")],
    "methyl_orange": [(3.1, "red"), (4.4, "orange"), (14.1, "yellow")],
}


class Solution:
    def __init__(self, volume_ml, h_moles, oh_moles, temperature=25.0):
        self.volume_ml = volume_ml
        self.h_moles = h_moles
        self.oh_moles = oh_moles
        self.temperature = temperature

    def ph(self):
        litres = self.volume_ml / 1000
        net = (self.h_moles - self.oh_moles) / litres
        kw_root = 1e-7 * (1 + 0.02 * (self.temperature - 25))
        # exact: [H] = (net + sqrt(net^2 + 4Kw)) / 2
        h = (net + math.sqrt(net * net + 4 * kw_root**2)) / 2
        h = max(h, 1e-14)
        return min(14.0, max(0.0, -math.log10(h)))


class ChemistryLabEnv:
    """Titrate an unknown solution to pH 7 and report the pH."""

    CONCENTRATION = {"HCl": ("h", 0.10), "HNO3": ("h", 0.05), "NaOH": ("oh", 0.10), "KOH": ("oh", 0.05)}

    def reset(self, seed=None):
        rng = random.Random(seed)
        self.noise = rng
        strength = rng.uniform(0.0005, 0.0015)
        self.acidic = rng.random() < 0.5
        self.flask = Solution(100.0, strength if self.acidic else 0.0, 0.0 if self.acidic else strength)
        self.actions_left = 15
        self.mixed = True
        return "A flask holds 100 ml of an unknown clear solution. Bring it to pH 7, then 'report <pH>'."

    def _cmd_add(self, reagent, amount):
        ml = float(amount)
        if ml <= 0 or ml > 25:
            raise ValueError("use between 0 and 25 ml")
        kind, conc = self.CONCENTRATION[reagent]
        moles = ml / 1000 * conc
        if kind == "h":
            self.flask.h_moles += moles
        else:
            self.flask.oh_moles += moles
        self.flask.volume_ml += ml
        self.mixed = False
        return f"Added {ml:.1f} ml of {reagent}. Volume is {self.flask.volume_ml:.1f} ml."

    def _cmd_test(self, indicator):
        ph = self.flask.ph()
        for limit, colour in INDICATORS[indicator]:
            if ph < limit:
                return f"{indicator} turns {colour}."

    def _cmd_heat(self, degrees):
        self.flask.temperature += float(degrees)
        return f"Temperature: {self.flask.temperature:.1f} C"

    def _cmd_stir(self):
        self.mixed = True
        return "The solution swirls."

    def _cmd_inspect(self):
        return f"Clear liquid, {self.flask.volume_ml:.1f} ml at {self.flask.temperature:.1f} C."

    def _cmd_measure(self):
        error = self.noise.gauss(0, 0.05 if self.mixed else 0.8)
        return f"The pH meter reads {self.flask.ph() + error:.2f}."

    def step(self, action):
        self.actions_left -= 1
        name, *args = action.split()
        if name == "report":
            try:
                claimed = float(args[0])
            except (IndexError, ValueError):
                return "Report a number.", -0.5, False, {}
            actual = self.flask.ph()
            reward = max(0, 1 - abs(actual - 7) / 3) + max(0, 0.5 - abs(actual - claimed))
            return f"Actual pH was {actual:.2f}.", reward, True, {"ph": actual}
        before = abs(self.flask.ph() - 7)
        method = getattr(self, f"_cmd_{name}", None)
        if method is None:
            return "The lab manual has no such procedure.", -0.1, self.actions_left <= 0, {}
        try:
            text = method(*args)
        except KeyError as e:
            return f"The cupboard has no {e}.", -0.1, self.actions_left <= 0, {}
        except (TypeError, ValueError) as e:
            return f"Mistake: {e}", -0.1, self.actions_left <= 0, {}
        reward = 0.1 * (before - abs(self.flask.ph() - 7)) - 0.01
        return text, reward, self.actions_left <= 0, {}
