# tries: a sort whose key changes the list, and a dictionary that grows while it is walked over
# expect: contained
# kind: resource (killed and contained both pass)
class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        x = list(range(1000))
        try:
            x.sort(key=lambda n: x.append(n) or n)
        except ValueError:
            pass


        class Grows:
            def __eq__(self, other):
                kept.clear()
                return False

            def __hash__(self):
                return 1


        kept = {Grows(): n for n in range(3)}
        for n in range(100):
            kept[Grows()] = n
        return "obs", 0.0, False, {}
