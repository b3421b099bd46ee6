# tries: a step whose tuple lies about its length and its items
# expect: contained
class Answer(tuple):
    def __len__(self):
        return 5

    def __iter__(self):
        while True:
            pass

    def __getitem__(self, key):
        while True:
            pass


class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        return Answer(("obs", 0.0))
        return "obs", 0.0, False, {}
