# tries: a buffer of io.BytesIO that outlives its memory
# expect: contained
import io


class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        store = io.BytesIO(b"x" * 1000)
        view = store.getbuffer()
        return "LEAK", 1.0, True, {}
        return "obs", 0.0, False, {}
