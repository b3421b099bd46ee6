"""The base classes of generated environments: `SyntheticEnv` and, for the use of tools, `ToolEnv`.

Programs name them without an import or by ``from metagym.spade import SyntheticEnv, ToolEnv``. They are trusted code
that lives in the worker beside the program, so this module uses nothing but the standard library.
"""

from __future__ import annotations

import functools
import inspect
import json
import random
import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, ClassVar

EXPORTS = ("SyntheticEnv", "ToolEnv")
"""What ``metagym.spade`` holds for programs."""

MAX_CALLS = 16
"""Most tool calls in one action; more are refused as a whole, so that none is half done."""

MAX_ARGUMENTS = 1_000_000
"""Longest text of one call that is read, in characters."""


class SyntheticEnv:
    """An environment written as a program: text in, text out, one episode per `reset`.

    A subclass writes ``reset(self, seed)`` and ``step(self, action)``, and ``solution(self)`` or
    ``reference_policy(self, observation, state)``; ``hint(self)`` if it has one. It draws all that is random from
    `rng`, which is made anew from the seed before each `reset` runs: the seed is the whole of the episode's chance,
    and nothing of an earlier episode is left in it.

    Attributes:
        rng: The episode's own generator; there before ``__init__`` runs.
        metadata: Free notes of the author; where the class has none, each instance has its own.
    """

    metadata: ClassVar[Mapping[str, Any]] = MappingProxyType({})  # all sessions of a program share this class
    rng: random.Random
    _in_reset = False

    def __new__(cls, *_: Any, **__: Any) -> SyntheticEnv:
        """An instance with a generator, whether or not the subclass calls ``super().__init__``."""
        env = super().__new__(cls)
        env.rng = random.Random(0)
        if cls.metadata is SyntheticEnv.metadata:
            env.__dict__["metadata"] = {}
        return env

    def __init__(self, **_: Any) -> None:
        """Takes any settings, so that ``super().__init__(max_steps=...)`` works."""

    def __init_subclass__(cls, **_: Any) -> None:
        """Lets a `reset` that the subclass writes find its generator seeded."""
        super().__init_subclass__()
        if inspect.isfunction(written := vars(cls).get("reset")):
            cls.reset = _seeded(written)  # type: ignore[method-assign]

    def reset(self, seed: int = 0, **_: Any) -> tuple[str, dict[str, Any]]:
        """Begins an episode; subclasses write it.

        Args:
            seed: The episode's seed.

        Returns:
            The first observation, not empty, and a dict.
        """
        raise NotImplementedError("write reset(self, seed) -> (text, dict)")

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Takes one action; subclasses write it.

        Args:
            action: The agent's command.

        Returns:
            Observation, reward, terminated, truncated, dict.
        """
        raise NotImplementedError("write step(self, action) -> (text, reward, terminated, truncated, dict)")

    def close(self) -> None:
        """Nothing to give back."""


def _seeded(reset: Callable[..., Any]) -> Callable[..., Any]:
    """The reset of a program, which finds `SyntheticEnv.rng` made from its seed."""

    @functools.wraps(reset)
    def seeded(self: SyntheticEnv, *args: Any, **kwargs: Any) -> Any:
        if self._in_reset:  # super().reset(seed) from a subclass: its draws so far stay drawn
            return reset(self, *args, **kwargs)
        seed = kwargs.get("seed", args[0] if args else 0)
        self.rng = _generator(seed)
        self._in_reset = True
        try:
            return reset(self, *args, **kwargs)
        finally:
            self._in_reset = False

    return seeded


def _generator(seed: Any) -> random.Random:
    return random.Random(seed if isinstance(seed, int) else 0)


class ToolEnv(SyntheticEnv):
    """An environment whose actions are tool calls, with one user message after another.

    A subclass writes

    * ``begin(self)``: builds the state, drawing from `rng`;
    * ``turns(self)``: a list of pairs (user message, function without arguments that says whether the state, and
      `answer`, are as the message asks), called once after `begin`;
    * ``tool_<name>(self, ...)`` methods: the tools. The first paragraph of the docstring describes the tool, a line
      ``name (type): text`` an argument (types of JSON Schema: string, integer, number, boolean, array, object). What
      they return is shown to the agent, texts as they are and the rest as JSON. A ``ValueError`` is an answer too.

    An action holds ``<tool_call>{"name": "...", "arguments": {...}}</tool_call>``, once or several times, or
    ``<answer>...</answer>``, or both; other text around them is passed over. Calls run in their order. If one of them
    cannot be read, or its arguments do not fit, none runs, the state stays as it is, the agent is told, and the action
    counts as one step. An answer closes the user message: its predicate is judged, pays 1/n if it holds (n user
    messages), and the next message is shown. After the last one the episode is terminated: a return of 1 means that
    all predicates held.

    Attributes:
        max_steps: Actions until the episode is truncated.
        answer: The text of the last answer; None before the first.
        steps: Actions taken.
    """

    max_steps: int = 20
    answer: str | None = None
    steps: int = 0
    _pairs: tuple[tuple[str, Callable[[], Any]], ...] = ()
    _at = 0

    def begin(self) -> None:
        """Builds the state of an episode; subclasses write it."""
        raise NotImplementedError("write begin(self), which builds the state from self.rng")

    def turns(self) -> list[tuple[str, Callable[[], Any]]]:
        """User messages and their predicates; subclasses write it."""
        raise NotImplementedError("write turns(self) -> list of (user message, predicate)")

    def tools(self) -> list[dict[str, Any]]:
        """The tools as OpenAI-style JSON Schema, read from the ``tool_`` methods, in the order of their names."""
        names = sorted(name for name in dir(type(self)) if name.startswith("tool_"))
        return [_schema(name[len("tool_") :], getattr(self, name)) for name in names]

    def reset(self, seed: int = 0, **_: Any) -> tuple[str, dict[str, Any]]:
        """Builds the state and shows the first user message."""
        if not self._in_reset:
            self.rng = _generator(seed)
        self.answer, self.steps, self._at = None, 0, 0
        self.begin()
        self._pairs = tuple((str(message), predicate) for message, predicate in self.turns())
        if not self._pairs:
            raise ValueError("turns() holds no user message")
        return self._pairs[0][0], {"turn": 0}

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Runs the tool calls of an action, closes the user message if it holds an answer."""
        if self._at >= len(self._pairs) or self.steps >= self.max_steps:
            ended = self._at >= len(self._pairs)
            return "The episode is over.", 0.0, ended, not ended, {"turn": self._at}
        self.steps += 1
        calls, answer, problem = self._read(str(action))
        shown = [f"Nothing was run. {problem}"] if problem else [self._run(*call) for call in calls]
        reward = 0.0
        if answer is not None and not problem:
            reward = self._close_turn(answer)
            shown.append(self._pairs[self._at][0] if self._at < len(self._pairs) else "Thank you, that was all.")
        terminated = self._at >= len(self._pairs)
        truncated = not terminated and self.steps >= self.max_steps
        return "\n".join(shown), reward, terminated, truncated, {"turn": self._at}

    def _close_turn(self, answer: str) -> float:
        self.answer = answer
        _, holds = self._pairs[self._at]
        self._at += 1
        return 1.0 / len(self._pairs) if holds() else 0.0

    def _read(self, action: str) -> tuple[list[tuple[str, dict[str, Any]]], str | None, str]:
        """Calls, answer and what is wrong with the action; nothing is run yet."""
        texts = _CALL.findall(action)
        answers = _ANSWER.findall(action)
        if action.count("<tool_call>") != len(texts) or len(texts) > MAX_CALLS:
            why = f"more than {MAX_CALLS}" if len(texts) > MAX_CALLS else "one is not closed by </tool_call>"
            return [], None, f"The tool calls cannot be read: {why}."
        if not texts and not answers:
            return [], None, 'Write <tool_call>{"name": "...", "arguments": {...}}</tool_call> or <answer>...</answer>.'
        known = {tool["function"]["name"]: tool["function"]["parameters"] for tool in self.tools()}
        calls = []
        for text in texts:
            name, arguments, problem = read_call(text, known)
            if problem:
                return [], None, problem
            calls.append((name, arguments))
        return calls, answers[-1].strip() if answers else None, ""

    def _run(self, name: str, arguments: dict[str, Any]) -> str:
        try:
            result = getattr(self, f"tool_{name}")(**arguments)
        except ValueError as error:
            result = f"Error: {error}"
        shown = result if type(result) is str else json.dumps(result, ensure_ascii=False, allow_nan=False)
        return f"<tool_response>{shown}</tool_response>"


_CALL = re.compile(r"<tool_call>(.*?)</tool_call>", re.DOTALL)
_ANSWER = re.compile(r"<answer>(.*?)</answer>", re.DOTALL)
_ARGUMENT = re.compile(r"^\s*(\w+)\s*\((\w+)\)\s*:\s*(.*)$", re.MULTILINE)
_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
}
_SAME = {"str": "string", "int": "integer", "float": "number", "bool": "boolean", "list": "array", "dict": "object"}


def read_call(text: str, tools: Mapping[str, Any]) -> tuple[str, dict[str, Any], str]:
    """Reads one tool call; text that is cut off, doubled or no object is never repaired.

    Args:
        text: What stands between the tags.
        tools: The JSON Schema of the arguments of each tool.

    Returns:
        Name, arguments, and a message for the agent: empty if the call may be run.
    """
    call, problem = _object(text, "The tool call is")
    if problem:
        return "", {}, problem
    name = call.get("name")
    if not isinstance(name, str) or name not in tools:
        return "", {}, f"There is no tool {str(name)[:80]!r}. Tools: {', '.join(tools) or 'none'}."
    schema = tools[name]
    required = list(schema.get("required", ()))
    arguments, problem = read_arguments(call.get("arguments", call.get("parameters")), required)
    return name, arguments, problem or _unfit(arguments, schema)


def read_arguments(raw: Any, required: list[str]) -> tuple[dict[str, Any], str]:
    """Reads the arguments of a call by the rules of `metagym.chat.tools.parse_tool_arguments`.

    Absent arguments, None or blank text, mean ``{}`` for a tool without required arguments and for no other.

    Args:
        raw: An object, or JSON text of one.
        required: Names that the tool requires.

    Returns:
        The arguments, and a message for the agent: empty if they can be used.
    """
    if raw is None or (isinstance(raw, str) and not raw.strip()):
        return {}, f"The call holds no arguments. Required: {', '.join(required)}." if required else ""
    if isinstance(raw, str):
        raw, problem = _object(raw, "The arguments are")
        if problem:
            return {}, problem
    if not isinstance(raw, dict):
        return {}, f"The arguments must be one JSON object, not {type(raw).__name__}."
    missing = [name for name in required if name not in raw]
    return raw, f"Required arguments are missing: {', '.join(missing)}." if missing else ""


def _object(text: str, what: str) -> tuple[dict[str, Any], str]:
    if len(text) > MAX_ARGUMENTS:
        return {}, f"{what} longer than {MAX_ARGUMENTS} characters."
    try:
        found = json.loads(text, parse_constant=_no_constant, object_pairs_hook=_no_twice)
    except RecursionError:
        return {}, f"{what} not one valid JSON object: it is nested too deeply."
    except ValueError as error:
        return {}, f"{what} not one valid JSON object: {error}."
    return (found, "") if isinstance(found, dict) else ({}, f"{what} not one JSON object.")


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _no_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) != len(pairs):
        raise ValueError("a name is given twice")
    return values


def _unfit(arguments: Mapping[str, Any], schema: Mapping[str, Any]) -> str:
    """What of the arguments the schema does not allow; only names and top-level types are judged."""
    declared = schema.get("properties", {})
    for name, value in arguments.items():
        if name not in declared:
            if schema.get("additionalProperties", False):
                continue
            return f"There is no argument {name[:80]!r}. Arguments: {', '.join(declared) or 'none'}."
        kind = declared[name].get("type")
        if kind in _TYPES and (not isinstance(value, _TYPES[kind]) or (isinstance(value, bool) and kind != "boolean")):
            return f"The argument {name!r} must be of type {kind}."
    return ""


def _schema(name: str, tool: Callable[..., Any]) -> dict[str, Any]:
    text = inspect.getdoc(tool) or ""
    told = {found[1]: (found[2], found[3].strip()) for found in _ARGUMENT.finditer(text)}
    properties: dict[str, dict[str, str]] = {}
    required: list[str] = []
    open_ended = False
    for argument in inspect.signature(tool).parameters.values():
        if argument.kind in (argument.VAR_POSITIONAL, argument.VAR_KEYWORD):
            open_ended |= argument.kind is argument.VAR_KEYWORD
            continue
        kind, about = told.get(argument.name, (type(argument.default).__name__, ""))
        kind = _SAME.get(kind, kind)
        properties[argument.name] = {
            **({"type": kind} if kind in _TYPES else {}),
            **({"description": about} if about else {}),
        }
        if argument.default is argument.empty:
            required.append(argument.name)
    parameters: dict[str, Any] = {"type": "object", "properties": properties, "required": required}
    if open_ended:
        parameters["additionalProperties"] = True
    about = text.split("\n\n")[0].replace("\n", " ").strip()
    return {"type": "function", "function": {"name": name, "description": about, "parameters": parameters}}
