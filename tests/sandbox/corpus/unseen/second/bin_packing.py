# seed: 58
# actions: ["new", "put 1", "put 1", "new", "put 2", "put 1", "peek", "new", "put 3", "put 2", "put 9", "put 3", "new", "put 4", "put 4", "put 2", "put 1", "put 4"]
# expect_total: -3.6957500000000003 after 18 steps
import math
import random


class BinPackingEnv:
    """Online bin packing.

    Items arrive one by one. "new" opens an empty bin, "put k" places the current
    item in bin k (1-based), "peek" shows the next item at a small cost.
    """

    def __init__(self, n_items=10, capacity=100):
        self.n_items = n_items
        self.capacity = capacity
        self.items = []
        self.bins = []

    def reset(self, seed=None):
        rng = random.Random(seed)
        self.items = [max(5, min(80, round(rng.triangular(5, 80, 30)))) for _ in range(self.n_items)]
        self.bins = []
        self.i = 0
        self.lower_bound = math.ceil(sum(self.items) / self.capacity)
        return self.state("Items will arrive one by one.")

    @staticmethod
    def first_fit_decreasing(items, capacity):
        bins = []
        for item in sorted(items, reverse=True):
            for b in bins:
                if sum(b) + item <= capacity:
                    b.append(item)
                    break
            else:
                bins.append([item])
        return len(bins)

    def state(self, message):
        out = [message]
        if self.i < self.n_items:
            out.append("Current item: %d (item %d of %d)" % (self.items[self.i], self.i + 1, self.n_items))
        for k, b in enumerate(self.bins, start=1):
            load = sum(b)
            bar = "=" * (load // 5)
            out.append("Bin %d |%-20s| %3d%%" % (k, bar, 100 * load / self.capacity))
        return "\n".join(out)

    def step(self, action):
        words = action.split()
        reward, done, info = 0.0, False, {}
        if words == ["new"]:
            self.bins.append([])
            reward = -1.0
            message = "Opened bin {}.".format(len(self.bins))
        elif words == ["peek"]:
            reward = -0.1
            nxt = self.items[self.i + 1] if self.i + 1 < self.n_items else None
            message = "The next item is {}.".format(nxt)
        elif len(words) == 2 and words[0] == "put" and words[1].isdigit():
            k = int(words[1]) - 1
            if k < 0 or k >= len(self.bins):
                message, reward = "There is no such bin.", -0.2
            elif sum(self.bins[k]) + self.items[self.i] > self.capacity:
                message, reward = "It does not fit.", -0.2
            else:
                self.bins[k].append(self.items[self.i])
                self.i += 1
                load = sum(self.bins[k]) / self.capacity
                reward = 0.5 * load ** 2
                message = "Placed."
                if self.i == self.n_items:
                    done = True
                    ffd = self.first_fit_decreasing(self.items, self.capacity)
                    reward += 2.0 * ffd / len(self.bins)
                    info = {"bins": len(self.bins), "ffd": ffd, "lower_bound": self.lower_bound}
        else:
            message, reward = "Say 'new', 'peek' or 'put k'.", -0.2
        return self.state(message), reward, done, info
