"""ToolCalls: the actions of any environment as tools with a JSON schema."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import gymnasium
from gymnasium import spaces

from metagym.chat.tools import ToolParseMessage, parse_tool_arguments
from metagym.checks import flag, shown
from metagym.errors import BadInput
from metagym.spaces import FreeText
from metagym_wrappers.actions import ActionReader, OutOfRange
from metagym_wrappers.base import Answering, Step
from metagym_wrappers.plain import Unfit, from_plain
from metagym_wrappers.wording import describe, schema

_TAGGED = re.compile(r"<tool_call>\s*(.*?)\s*</tool_call>", re.DOTALL)
_TOOL_NAME = re.compile(r"[^A-Za-z0-9_-]+")


class ToolCalls(Answering):
    """Takes an action as one tool call, ``{"name": ..., "arguments": {...}}``, alone or in ``<tool_call>`` tags.

    `tools` holds the tools in the form of chat servers and templates (``{"type": "function", "function": ...}``), and
    so does ``info["tools"]`` of the reset. By default there is one, ``act``, whose argument ``action`` has the action
    space's schema; with ``each=True`` every action of a ``Discrete`` is a tool of its own, without arguments.

    A call that cannot be run is answered, and costs a step that changes nothing (`base.Answering`).

    Args:
        env: Any environment.
        names: Of the actions of a ``Discrete``.
        each: A tool for each action; the names become tool names (letters, digits, ``_``, ``-``).
        tool: Name of the one tool.
        description: What the tool does, for the model; None tells how an action is written.
        out_of_range: ``"reject"`` or ``"clip"``, for numbers.

    Raises:
        BadInput: The action space has no text form, or an argument does not fit it.
    """

    def __init__(
        self,
        env: gymnasium.Env[Any, Any],
        names: Sequence[str] | None = None,
        each: bool = False,
        tool: str = "act",
        description: str | None = None,
        out_of_range: OutOfRange = "reject",
    ) -> None:
        super().__init__(env, names=names, each=each, tool=tool, description=description, out_of_range=out_of_range)
        space = env.action_space
        try:
            self.reader = ActionReader(space, names, None, out_of_range)
        except BadInput as error:
            raise BadInput(f"{self.called}: {error}") from error
        named = self.reader.names
        self._each: dict[str, Any] = {}
        if flag("each", each):
            if named is None:
                raise BadInput(f"each=True needs a Discrete action space of few actions, this one is {shown(space)}")
            self._each = {_tool_name(name): self.reader.exact[name] for name in named}
            if len(self._each) < len(named):
                raise BadInput(f"as tool names, letters, digits, _ and - alone, some of {shown(list(named))} are equal")
        self._tool = _tool_name(tool)
        # Numbers stay numbers: an enumeration of digits would help no model.
        self._names = names if names is None else named
        wanted = f"Takes one action: {describe(space, self._names)}." if description is None else description
        if self._each:
            self.tools = [_tool(name, f"Takes the action {name}.", {}) for name in self._each]
        else:
            self.tools = [_tool(self._tool, wanted, {"action": schema(space, self._names)})]
        self.action_space = FreeText()

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Starts an episode."""
        observation, info = super().reset(seed=seed, options=options)
        return observation, {**info, "tools": self.tools}

    def step(self, action: str) -> Step:
        """Takes one tool call.

        Raises:
            BadInput: It is not text.
        """
        text = self._text(action).strip()
        tagged = _TAGGED.search(text)
        call = parse_tool_arguments(tagged[1] if tagged else text or "{}", ("name",))
        if isinstance(call, ToolParseMessage):
            return self._refused('an action is one tool call, {"name": ..., "arguments": {...}}, and this text is none')
        try:
            return self._taken(self._action(call.values))
        except Unfit as error:
            return self._refused(str(error))

    def _action(self, call: Any) -> Any:
        name = call["name"]
        known = tuple(self._each) or (self._tool,)
        if name not in known:
            raise Unfit(f"there is no tool {shown(name)}; there are {', '.join(known)}")
        raw = call.get("arguments")
        if not (raw is None or isinstance(raw, (str, dict))):
            raise Unfit(f"the arguments of {name} are a JSON object, not {shown(raw)}")
        read = parse_tool_arguments(raw, () if self._each else ("action",))
        if isinstance(read, ToolParseMessage):
            raise Unfit(_sentence(read.message))
        for key in read.values:
            if self._each or key != "action":
                raise Unfit(f"{name} has no argument {shown(key)}")
        if self._each:
            return self._each[name]
        value = read.values["action"]
        if isinstance(self.reader.space, spaces.Discrete) and isinstance(value, str):
            return self.reader.read(value)
        return from_plain(self.reader.space, value, self.reader.clip)


def _tool(name: str, description: str, properties: dict[str, Any]) -> dict[str, Any]:
    parameters = {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}


def _tool_name(name: str) -> str:
    made = _TOOL_NAME.sub("_", name).strip("_")
    if not made:
        raise BadInput(f"{name!r} is no name for a tool: letters, digits, _ and - are")
    return made


def _sentence(message: str) -> str:
    """A message within a sentence of ours."""
    return message[:1].lower() + message[1:].rstrip(".")
