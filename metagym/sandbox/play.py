"""The player: loads one program, keeps its sessions, and answers operations with plain data or an error.

The worker runs it behind the other layers; `isolation="inprocess"` runs it in the caller's process. An operation is
a list:

    ["load", source, is_latin, seed, code]  ["reset", session, seed, options, fresh]  ["step", session, action]
    ["ask", session, method, arguments]  ["play", session, seed, actions]  ["drop", session]

and an answer ``["ok", value]`` or a typed error as `faults.to_wire` writes it. A session is a fresh namespace in
which the module's body has run anew, plus one instance of its class: sessions share no state. `is_latin` says that
the source is bytes, sent as the characters of the same numbers; the `seed` of loading is the one of what a program
draws before its first reset; `code` is what another worker compiled of the same source, "" to be told it, or None.
"""

from __future__ import annotations

import base64
import decimal
import gc
from collections.abc import Callable
from contextvars import Context, copy_context
from types import CodeType, FunctionType
from typing import Any

from metagym.errors import BadInput, BadOutput, ProgramError, ProgramKilled, ProgramRejected, SandboxError
from metagym.sandbox.faults import to_wire, told
from metagym.sandbox.limits import Limits
from metagym.sandbox.loaders import Compiled, Loader
from metagym.sandbox.plain import plain, type_name, whole

_DOC, _METHODS = 10_000, 500
"""Characters of a doc string and number of methods that a description keeps."""

_VARKEYWORDS = 0x08
"""Flag of a code object that takes any keyword (inspect.CO_VARKEYWORDS)."""

_DICT_OF_TYPE = type.__dict__["__dict__"].__get__
_MRO = type.__dict__["__mro__"].__get__


class _Session:
    """One instance in one namespace."""

    __slots__ = ("context", "env", "namespace", "started", "steps")

    def __init__(self, namespace: dict[str, Any], env: Any, context: Context) -> None:
        self.namespace, self.env, self.context = namespace, env, context
        self.started, self.steps = False, 0


def _fresh_context() -> Context:
    """A context of a session's own: settings of `decimal` and NumPy live in it, and would else be every session's."""
    context = copy_context()
    context.run(decimal.setcontext, decimal.Context())
    return context


def _stepped(env: Any, action: Any) -> Any:
    return env.step(action)


class PlainPlayer:
    """Plays one program.

    Args:
        loader: Compiles the source and makes namespaces.
        limits: Of these it holds `output_chars`, `items`, `depth`, `prints`, `steps`, `source_chars` and `sessions`.
        tell: Takes the compiled program, as text, before anything of it has run; "" where it cannot be told.
    """

    def __init__(self, loader: Loader, limits: Limits, tell: Callable[[str], None] | None = None) -> None:
        self._loader, self._limits, self._seed, self._tell = loader, limits, 0, tell
        self._compiled: Compiled | None = None
        self._sessions: dict[int, _Session] = {}
        self._printed: list[str] = []
        self._print_room = limits.prints
        self._way_to_reset: tuple[CodeType, tuple[bool, bool, bool]] | None = None
        self._operations: dict[str, Callable[..., Any]] = {
            "step": self._step,
            "reset": self._reset,
            "ask": self._ask,
            "play": self._play,
            "drop": self._drop,
            "load": self._load,
        }

    def perform(self, operation: list[Any]) -> list[Any]:
        """Does one operation; every outcome is an answer."""
        try:
            return ["ok", self._operations[operation[0]](*operation[1:])]
        except (SandboxError, BadInput) as error:
            return to_wire(error)
        except MemoryError:
            return to_wire(self._out_of_memory())
        except Exception as error:  # outside the program's own calls: a fault of ours, which must not look like its own
            fault = told(error, "<program>")
            return to_wire(ProgramKilled("died", f"the sandbox itself failed ({fault}); the worker was ended"))

    def printed(self) -> str:
        """What was printed since the last call, within the limit of the whole life."""
        if not self._printed:
            return ""
        text = "".join(self._printed)
        self._printed.clear()
        return whole(text)

    # --- operations

    def _load(self, source: str, is_latin: bool, seed: int, code: str | None = None) -> dict[str, Any]:
        self._seed = seed
        if len(source) > self._limits.source_chars:
            raise too_long(len(source), self._limits)
        self._compiled = compiled = self._ready(source.encode("latin-1") if is_latin else source, code)
        session = self._open(0)
        metadata = self._metadata(session.env)
        return {
            "class_name": str(compiled.class_name)[:200],
            "doc": str(compiled.doc or "")[:_DOC],
            "methods": sorted(name for name in compiled.methods if not name.startswith("_"))[:_METHODS],
            "metadata": metadata,
        }

    def _ready(self, source: str | bytes, code: str | None) -> Compiled:
        """Compiles, or takes what was compiled before."""
        collects = gc.isenabled()
        gc.disable()  # a tree has no cycles, and looking for them takes a tenth of the time
        try:
            if code:
                return self._loader.unpack(base64.b64decode(code))
            compiled = self._loader.compile(source)
            if code is None or self._tell is None:
                return compiled
            packed = self._loader.pack(compiled)
            self._tell(base64.b64encode(packed).decode("ascii"))
            # Unpacked here too: a constant set may be in another order then, and all workers must have the same.
            return self._loader.unpack(packed) if packed else compiled
        finally:
            if collects:
                gc.enable()

    def _reset(self, number: int, seed: int, options: dict[str, Any] | None, fresh: bool = False) -> list[Any]:
        session = self._open(number) if fresh or number not in self._sessions else self._sessions[number]
        session.started, session.steps = False, 0
        self._loader.reseed(session.namespace, seed)
        by_position, with_seed, with_options = self._reset_takes(session.env)
        if options and not with_options:
            raise BadInput("this program's reset takes no options")
        keywords = {"options": options} if options and with_options else {}
        env = session.env
        if by_position:
            found = self._run(session.context, lambda: env.reset(seed, **keywords))
        elif with_seed:
            found = self._run(session.context, lambda: env.reset(seed=seed, **keywords))
        else:
            found = self._run(session.context, lambda: env.reset(**keywords))
        session.started = True
        info: Any = {}
        if type(found) is not tuple and issubclass(type(found), tuple) and tuple.__len__(found) == 2:
            found = tuple(tuple.__iter__(found))
        if type(found) is tuple and len(found) == 2 and (found[1] is None or issubclass(type(found[1]), dict)):
            found, info = found
        return [plain(found, self._limits, "the observation of reset"), self._info(info, "reset")]

    def _step(self, number: int, action: Any) -> list[Any]:
        session = self._sessions.get(number)
        if session is None or not session.started:
            raise BadInput(f"session {number} was not reset; call reset before step")
        session.steps += 1
        if session.steps > self._limits.steps:
            raise ProgramKilled("steps", f"the episode went past its {self._limits.steps:,} steps and was ended")
        try:
            found = session.context.run(_stepped, session.env, action)
        except BaseException as error:  # SystemExit, KeyboardInterrupt and GeneratorExit are the program's doing too
            raise self._failed(error) from None
        limits = self._limits
        if type(found) is not tuple and issubclass(type(found), tuple):
            found = tuple(tuple.__iter__(found))  # a named tuple, without asking it
        if type(found) is not tuple or not 3 <= len(found) <= 5:
            shape = f"a tuple of {len(found)}" if type(found) is tuple else f"a {type_name(found)}"
            raise BadOutput(f"step returned {shape}; return (observation, reward, terminated, truncated, info)")
        if len(found) == 5:
            observation, reward, terminated, truncated, info = found
        else:
            observation, reward, terminated = found[:3]
            truncated, info = False, found[3] if len(found) == 4 else {}
        if type(reward) is not float or reward - reward != 0.0:
            reward = self._reward(reward)
        if terminated is not True and terminated is not False:
            terminated = self._flag(terminated, "terminated")
        if truncated is not True and truncated is not False:
            truncated = self._flag(truncated, "truncated")
        observation = plain(observation, limits, "the observation of step")
        if type(info) is not dict or info:
            info = self._info(info, "step")
        return [observation, reward, terminated, truncated, info]

    def _ask(self, number: int, method: str, arguments: list[Any]) -> Any:
        if self._compiled is None or method not in self._compiled.methods or method.startswith("_"):
            raise BadInput(f"the program's class defines no public method {method[:80]!r}")
        session = self._sessions.get(number) or self._open(number)
        found = self._run(session.context, lambda: getattr(session.env, method)(*arguments))
        return plain(found, self._limits, f"what {method} returned")

    def _play(self, number: int, seed: int, actions: list[Any]) -> list[Any]:
        """A whole episode from a reset in a fresh session, to its end or to the end of the actions."""
        walk: list[Any] = [self._reset(number, seed, None, True)]
        for action in actions:
            walk.append(self._step(number, action))
            if walk[-1][2] or walk[-1][3]:
                break
        return walk

    def _drop(self, number: int) -> None:
        self._sessions.pop(number, None)

    # --- sessions

    def _open(self, number: int) -> _Session:
        compiled = self._compiled
        if compiled is None:
            raise BadInput("no program is loaded")
        self._sessions.pop(number, None)
        if len(self._sessions) >= self._limits.sessions:
            raise BadInput(f"{self._limits.sessions} sessions of this program are open; drop one first")
        namespace = self._loader.namespace(compiled, self._seed, self._print)

        def make() -> Any:
            exec(compiled.code, namespace)  # noqa: S102  (the purpose of this package)
            return namespace[compiled.class_name]()

        context = _fresh_context()
        session = self._sessions[number] = _Session(namespace, self._run(context, make), context)
        return session

    def _run(self, context: Context, call: Callable[[], Any]) -> Any:
        """Runs code of the program; whatever it raises becomes a typed error."""
        try:
            return context.run(call)
        except BaseException as error:
            raise self._failed(error) from None

    def _failed(self, error: BaseException) -> SandboxError:
        if issubclass(type(error), MemoryError):
            return self._out_of_memory()
        return ProgramError(self._loader.shown(told(error, "<program>")))

    def _out_of_memory(self) -> ProgramKilled:
        return ProgramKilled(
            "memory", f"the program asked for more than its {self._limits.memory_mb} MiB and was ended"
        )

    def _print(self, text: str) -> None:
        if self._print_room > 0:
            text = text[: self._print_room]
            self._print_room -= len(text)
            self._printed.append(text)

    # --- what comes back

    def _info(self, info: Any, where: str) -> dict[str, Any]:
        if info is None:
            return {}
        if not issubclass(type(info), dict):
            raise BadOutput(f"the info of {where} is a {type_name(info)}; return a dict")
        return plain(info, self._limits, f"the info of {where}")

    def _reward(self, reward: Any) -> float:
        found = plain(reward, self._limits, "the reward")
        if type(found) not in (int, float, bool):
            raise BadOutput(f"the reward is a {type_name(reward)}; return a number")
        return float(found)

    def _flag(self, flag: Any, name: str) -> bool:
        found = plain(flag, self._limits, name)
        if type(found) is bool or (type(found) is int and found in (0, 1)):
            return bool(found)
        raise BadOutput(f"{name} is a {type_name(flag)}; return True or False")

    # --- looking at the class without asking it

    def _reset_takes(self, env: Any) -> tuple[bool, bool, bool]:
        """Whether reset takes a seed by position, takes `seed`, takes `options`."""
        function = _found(type(env), "reset")
        if type(function) is not FunctionType:
            return False, True, False  # something that was wrapped: the Gymnasium way is the best guess
        code = function.__code__
        if self._way_to_reset is not None and self._way_to_reset[0] is code:
            return self._way_to_reset[1]
        positional = code.co_varnames[1 : code.co_argcount]
        keywords = code.co_varnames[code.co_posonlyargcount : code.co_argcount + code.co_kwonlyargcount]
        anything = bool(code.co_flags & _VARKEYWORDS)
        needed = len(positional) - len(function.__defaults__ or ())
        with_seed = "seed" in keywords or anything
        by_position = not with_seed and (needed == 1 or "seed" in positional)
        way = by_position, with_seed, "options" in keywords or anything
        self._way_to_reset = code, way
        return way

    def _metadata(self, env: Any) -> dict[str, Any]:
        found = _found(type(env), "metadata")
        try:
            return plain(found, self._limits, "metadata") if type(found) is dict else {}
        except BadOutput:
            return {}  # nobody asked for it: it must not cost the program its life


def _found(kind: type, name: str) -> Any:
    """A class's attribute as it stands in the class or a base; no descriptor and no metaclass is asked."""
    for base in _MRO(kind):
        names = _DICT_OF_TYPE(base)
        if name in names:
            return names[name]
    return None


def too_long(length: int, limits: Limits) -> ProgramRejected:
    """The rejection of a source above the limit."""
    return ProgramRejected(
        "too_long", 0, f"the source has {length:,} characters; at most {limits.source_chars:,} are read"
    )
