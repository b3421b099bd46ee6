# seed: 3
# actions: ["go"]
# expect_total: 1.0 after 1 steps
import statistics
from statistics import NormalDist, mean, stdev, quantiles
import numbers, math
class Env:
    def reset(self, seed=0):
        self.nd = NormalDist(mu=10, sigma=2)
        return "x"
    def step(self, action):
        s = self.nd.samples(4, seed=3)
        shown = f"{self.nd.cdf(10)} {NormalDist.from_samples([1,2,3,4]).mean} {(self.nd + 1).mean} {round(stdev([1,2,4]), 3)} {quantiles([1,2,3,4], n=2)} {isinstance(3, numbers.Integral)} {isinstance(2.5, numbers.Real)} {len(s)} {self.nd.zscore(12)}"
        expected = '0.5 2.5 11.0 1.528 [2.5] True True 4 1.0'
        return shown, float(shown == expected), True
