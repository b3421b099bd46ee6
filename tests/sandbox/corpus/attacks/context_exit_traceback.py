# tries: the frames of the traceback that a context manager is handed
# expect: contained
class Sees:
    def __enter__(self):
        return self

    def __exit__(self, kind, error, traceback):
        self.traceback = traceback
        return True


class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        with Sees() as seen:
            1 / 0
        for name in ("tb_frame", "tb_next", "__class__"):
            found = getattr(seen.traceback, name, None)
            if found is not None and name != "__class__":
                return "LEAK", 1.0, True, {}
        frame = getattr(seen.traceback, "tb_" + "frame")
        return "LEAK", 1.0, True, {}
        return "obs", 0.0, False, {}
