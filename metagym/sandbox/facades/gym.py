"""``gymnasium`` (and ``gym``) for programs: the base class, wrappers, spaces, seeding; no registry, no other envs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NoReturn

from metagym.sandbox.facades.facade import Table
from metagym.sandbox.facades.forms import Form
from metagym.sandbox.facades.gym_spaces import plain_spaces, real_spaces
from metagym.sandbox.facades.names import public_name, read, written_by_program
from metagym.sandbox.facades.quiet import nothing
from metagym.sandbox.facades.session import Session


class Env:
    """``gymnasium.Env``: the attributes, methods and seeding of the real class."""

    action_space: Any
    observation_space: Any
    spec: Any = None
    render_mode: str | None = None
    reward_range = (-float("inf"), float("inf"))
    _np_random: Any = None
    _np_random_seed: int | None = None

    def __class_getitem__(cls, item: Any) -> Any:
        """``Env[Observation, Action]`` is the class itself."""
        return cls

    def _seeded(self, seed: int | None) -> tuple[Any, int]:
        raise RuntimeError("np_random needs numpy, which is not offered in this pool; use random.Random(seed)")

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        """Seeds `np_random` where a seed is given."""
        if seed is not None:
            self._begin(seed)

    def _begin(self, seed: int) -> None:
        self._np_random, self._np_random_seed = self._seeded(seed)

    def step(self, action: Any) -> Any:
        """Takes one action; subclasses write it."""
        raise NotImplementedError

    def render(self) -> Any:
        """Shows the state; subclasses write it."""
        raise NotImplementedError

    def close(self) -> None:
        """Does nothing."""

    @property
    def unwrapped(self) -> Any:
        """The env itself."""
        return self

    @property
    def np_random(self) -> Any:
        """The env's generator; seeded by `reset`, or from the session at its first use."""
        if self._np_random is None:
            self._np_random, self._np_random_seed = self._seeded(None)
        return self._np_random

    @np_random.setter
    def np_random(self, value: Any) -> None:
        self._np_random, self._np_random_seed = value, -1

    @property
    def np_random_seed(self) -> int:
        """The seed of `np_random`; -1 where the program set the generator itself."""
        if self._np_random_seed is None:
            self._np_random, self._np_random_seed = self._seeded(None)
        assert self._np_random_seed is not None
        return self._np_random_seed

    def has_wrapper_attr(self, name: str) -> bool:
        """Whether the env has a public attribute of that name."""
        return hasattr(self, public_name(name))

    def get_wrapper_attr(self, name: str) -> Any:
        """A public attribute."""
        return read(self, name)

    def set_wrapper_attr(self, name: str, value: Any, *, force: bool = True) -> bool:
        """Sets a public attribute of an env that the program wrote."""
        if not (isinstance(self, Env) and written_by_program(type(self))):
            raise AttributeError("set_wrapper_attr sets attributes of an env of the program")
        if force or hasattr(self, public_name(name)):
            setattr(self, public_name(name), value)
            return True
        return False

    def __str__(self) -> str:
        """As in Gymnasium."""
        return f"<{type(self).__name__} instance>"

    def __enter__(self) -> Any:
        """The env itself."""
        return self

    def __exit__(self, *_: Any) -> Literal[False]:
        """Closes the env and lets exceptions pass."""
        self.close()
        return False


class Wrapper(Env):
    """``gymnasium.Wrapper``: passes everything on to the env inside."""

    def __init__(self, env: Any) -> None:
        self.env = env

    def __getattr__(self, name: str) -> Any:
        """Public attributes of the env inside."""
        if name == "env" or name.startswith("_"):
            raise AttributeError(name)
        return read(self.env, name)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        """Resets the env inside."""
        return self.env.reset(seed=seed, options=options)

    def step(self, action: Any) -> Any:
        """Steps the env inside."""
        return self.env.step(action)

    def render(self) -> Any:
        """Renders the env inside."""
        return self.env.render()

    def close(self) -> None:
        """Closes the env inside."""
        self.env.close()

    @property
    def unwrapped(self) -> Any:
        """The innermost env."""
        return self.env.unwrapped

    @property
    def np_random(self) -> Any:
        """The generator of the env inside."""
        return self.env.np_random

    @np_random.setter
    def np_random(self, value: Any) -> None:
        self.env.np_random = value


class ObservationWrapper(Wrapper):
    """``gymnasium.ObservationWrapper``: subclasses write ``observation(self, observation)``."""

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        """Resets the env inside."""
        observation, info = self.env.reset(seed=seed, options=options)
        return self.observation(observation), info

    def step(self, action: Any) -> Any:
        """Steps the env inside."""
        observation, *rest = self.env.step(action)
        return (self.observation(observation), *rest)

    def observation(self, observation: Any) -> Any:
        """What is seen instead; subclasses write it."""
        raise NotImplementedError


class ActionWrapper(Wrapper):
    """``gymnasium.ActionWrapper``: subclasses write ``action(self, action)``."""

    def step(self, action: Any) -> Any:
        """Steps the env inside."""
        return self.env.step(self.action(action))

    def action(self, action: Any) -> Any:
        """What is done instead; subclasses write it."""
        raise NotImplementedError


class RewardWrapper(Wrapper):
    """``gymnasium.RewardWrapper``: subclasses write ``reward(self, reward)``."""

    def step(self, action: Any) -> Any:
        """Steps the env inside."""
        observation, reward, *rest = self.env.step(action)
        return (observation, self.reward(reward), *rest)

    def reward(self, reward: Any) -> Any:
        """What is paid instead; subclasses write it."""
        raise NotImplementedError


def _np_random(session: Session) -> Callable[..., tuple[Any, int]]:
    from gymnasium.error import Error

    from metagym.sandbox.facades.array_chance import generator

    def np_random(seed: int | None = None) -> tuple[Any, int]:
        """``gymnasium.utils.seeding.np_random``: a generator and its seed."""
        if seed is None:
            seed = session.entropy()
        if not isinstance(seed, int):
            raise Error(f"Seed must be a python integer, actual type: {type(seed).__name__}")
        if seed < 0:
            raise Error(f"Seed must be greater or equal to zero, actual value: {seed}")
        return generator(seed), seed

    return np_random


def _env(session: Session) -> type[Env]:
    np_random = session.once(_np_random)
    body = {"_seeded": lambda self, seed: np_random(seed), "metadata": {"render_modes": []}, "__module__": "gymnasium"}
    return type("Env", (Env,), body)


def _plain_env(session: Session) -> type[Env]:
    return type("Env", (Env,), {"metadata": {"render_modes": []}, "__module__": "gymnasium"})


def _derived(base: type[Wrapper], inner: Callable[[Session], type[Env]]) -> Callable[[Session], Any]:
    def make(session: Session) -> Any:
        return type(base.__name__, (base, session.once(inner)), {"__module__": "gymnasium"})

    return make


class EzPickle:
    """``gymnasium.utils.EzPickle``: nothing is pickled."""

    def __init__(self, *_: Any, **__: Any) -> None:
        """Keeps nothing."""


def make(*_: Any, **__: Any) -> NoReturn:
    """Refuses: a program is one environment."""
    raise RuntimeError("gymnasium.make is not offered: a program is one environment; make an instance of the class")


def colorize(string: str, color: str, bold: bool = False, highlight: bool = False) -> str:
    """``gymnasium.utils.colorize``, without colours."""
    return string


_ERRORS = (
    "AlreadyPendingCallError ClosedEnvironmentError CustomSpaceError DependencyNotInstalled DeprecatedEnv Error "
    "InvalidAction InvalidBound InvalidMetadata InvalidProbability MissingArgument NameNotFound NamespaceNotFound "
    "NoAsyncCallError RegistrationError ResetNeeded UnregisteredEnv UnsupportedMode VersionNotFound"
)
_INERT = "inert: there is no registry of environments"
_SILENT = "silent: nobody reads warnings"


def tables(numpy: bool) -> tuple[Table, ...]:
    """All tables of ``gymnasium``."""
    env = _env if numpy else _plain_env
    wrapper = _derived(Wrapper, env)
    derived = {kind.__name__: _derived(kind, wrapper) for kind in (ObservationWrapper, ActionWrapper, RewardWrapper)}
    top = (
        Table("gymnasium", real="")
        .lazy("the base class, made per session: its generator hangs on the session", Env=env)
        .lazy("passes on to the env inside", Wrapper=wrapper, **derived)
        .ours(_INERT, register=nothing, make=make, registry=Form("registry"), spec=make)
        .refuse("a program is one environment", "make_vec vector experimental VectorizeMode register_envs")
    )
    if numpy:
        top.lazy("the base class of spaces", Space=_space_base)
    utils = Table("gymnasium.utils", real="").ours("inert", EzPickle=EzPickle, colorize=colorize)
    seeding = Table("gymnasium.utils.seeding", real="")
    if numpy:
        seeding.lazy("a generator of the session", np_random=_np_random)
    else:
        seeding.refuse("numpy is not offered in this pool; use random.Random(seed)", "np_random")
    return (
        top,
        real_spaces() if numpy else plain_spaces(),
        utils,
        seeding,
        Table("gymnasium.error").real("exception classes", _ERRORS).rest("use gymnasium.error.Error"),
        Table("gymnasium.logger", real="").ours(
            _SILENT, warn=nothing, error=nothing, deprecation=nothing, info=nothing
        ),
        Table("gymnasium.core", real="")
        .lazy("as in gymnasium", Env=env, Wrapper=wrapper, **derived)
        .ours("inert: they name types", **{name: Form(name) for name in "ObsType ActType RenderFrame".split()}),
        Table("gymnasium.envs", real="").refuse("a program is one environment", "toy_text classic_control"),
        Table("gymnasium.envs.registration", real="").ours(_INERT, register=nothing, make=make),
        Table("gymnasium.wrappers", real="").refuse(
            "count the steps in the env itself",
            "TimeLimit RecordEpisodeStatistics OrderEnforcing PassiveEnvChecker FlattenObservation",
        ),
    )


def _space_base(session: Session) -> Any:
    return session.modules["gymnasium.spaces"].Space  # type: ignore[attr-defined]
