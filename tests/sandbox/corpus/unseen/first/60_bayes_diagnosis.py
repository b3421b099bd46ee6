# seed: 47
# actions: ["ask fever", "ask cough", "order xray", "order mri", "ask rash", "posterior", "order blood", "ask fever", "diagnose flu", "diagnose measles"]
# expect_total: -2.033036018 after 9 steps
"""
Sequential diagnosis.

Let me first define the generative model:

    D ~ Categorical(prior)
    S_j | D ~ Bernoulli(p[D][j])        (symptoms, free to ask)
    T_k | D ~ Bernoulli(q[D][k])        (tests, cost money)

The agent doesn't see D. The environment keeps the exact posterior, since with
four diseases it's a trivial computation:

    P(D | e) ∝ P(D) * prod_j P(e_j | D)

Work in log space? With at most 8 evidence items there is no underflow, but the
log form makes the information gain easy, so I use it.

Reward design: I want the agent to be rewarded for *informative* questions and
not to be lucky. So: reward of a question = reduction in posterior entropy (may
be negative by chance; the expected value is non-negative) minus cost. Then the
final diagnosis: +2 if right, -2 if wrong.

Hmm, wait. Should asking the same thing twice return the same answer? Yes, the
symptom is a fact about the patient: sample once at reset. And the second ask
must not update the posterior (the evidence isn't independent of itself).
"""
import math
import random
from typing import Dict, Final, Mapping

PRIOR: Final[Mapping[str, float]] = {"cold": 0.4, "flu": 0.3, "measles": 0.1, "pneumonia": 0.2}
SYMPTOMS: Final = {
    "fever": {"cold": 0.2, "flu": 0.9, "measles": 0.9, "pneumonia": 0.8},
    "cough": {"cold": 0.7, "flu": 0.7, "measles": 0.5, "pneumonia": 0.95},
    "rash": {"cold": 0.01, "flu": 0.03, "measles": 0.95, "pneumonia": 0.02},
    "fatigue": {"cold": 0.4, "flu": 0.9, "measles": 0.6, "pneumonia": 0.7},
}
TESTS: Final = {
    "xray": (0.3, {"cold": 0.02, "flu": 0.05, "measles": 0.05, "pneumonia": 0.92}),
    "blood": (0.2, {"cold": 0.3, "flu": 0.4, "measles": 0.5, "pneumonia": 0.85}),
    "swab": (0.15, {"cold": 0.05, "flu": 0.9, "measles": 0.05, "pneumonia": 0.1}),
}


def entropy(p: Mapping[str, float]) -> float:
    return -math.fsum(x * math.log2(x) for x in p.values() if x > 0)


class DiagnosisEnv:
    def reset(self, seed=None):
        rng = random.Random(seed)
        (self.truth,) = rng.choices(list(PRIOR), weights=PRIOR.values())
        self.likelihood = {**SYMPTOMS, **{k: v for k, (_, v) in TESTS.items()}}
        self.facts: Dict[str, bool] = {k: rng.random() < v[self.truth] for k, v in self.likelihood.items()}
        self.logp = {d: math.log(p) for d, p in PRIOR.items()}
        self.known = set()
        self.steps = 0
        return (
            "A patient comes in. Possible: " + ", ".join(f"{d} ({p:.0%})" for d, p in PRIOR.items())
            + ". Actions: ask SYMPTOM, order TEST, posterior, diagnose DISEASE."
        )

    def posterior(self) -> Dict[str, float]:
        # log-sum-exp for normalisation
        m = max(self.logp.values())
        z = m + math.log(sum(math.exp(v - m) for v in self.logp.values()))
        return {d: math.exp(v - z) for d, v in self.logp.items()}

    def _update(self, item: str) -> float:
        if item in self.known:
            return 0.0
        before = entropy(self.posterior())
        self.known.add(item)
        for d in self.logp:
            p = self.likelihood[item][d]
            self.logp[d] += math.log(p if self.facts[item] else 1 - p)
        return before - entropy(self.posterior())

    def step(self, action):
        self.steps += 1
        done = self.steps >= 12
        verb, _, what = action.partition(" ")
        if verb == "ask" and what in SYMPTOMS:
            gain = self._update(what)
            return f"Patient: {'yes' if self.facts[what] else 'no'}, {what}.", gain - 0.02, done, {"bits": gain}
        if verb == "order" and what in TESTS:
            cost = TESTS[what][0]
            gain = self._update(what)
            return f"{what}: {'positive' if self.facts[what] else 'negative'}", gain - cost, done, {"bits": gain}
        if verb == "posterior":
            # this is a big help, so it's expensive
            return ", ".join(f"{d}: {p:.2f}" for d, p in self.posterior().items()), -0.5, done, {}
        if verb == "diagnose" and what in PRIOR:
            right = what == self.truth
            return f"It was {self.truth}.", 2.0 if right else -2.0, True, {"right": right}
        return "Not possible.", -0.1, done, {}
