# tries: the object behind an AttributeError by the class's own descriptor
# expect: contained
class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        class Named(AttributeError):
            behind = AttributeError.obj


        try:
            raise Named("x", name="n", obj=self)
        except Named as error:
            if error.behind is self:
                return "LEAK", 1.0, True, {}
        return "obs", 0.0, False, {}
