# tries: attributes of the env inside by names that the wrapper hands on
# expect: contained
import gymnasium as gym


class Inner(gym.Env):
    pass


class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        wrapped = gym.Wrapper(Inner())
        for name in ("__class__", "__dict__", "_np_random", "format"):
            try:
                wrapped.get_wrapper_attr(name)
            except (AttributeError, TypeError):
                continue
            if name != "_np_random":
                return "LEAK", 1.0, True, {}
        for name in ("__array_interface__", "__class__"):
            wrapped.set_wrapper_attr(name, {})
        return "LEAK", 1.0, True, {}
        return "obs", 0.0, False, {}
