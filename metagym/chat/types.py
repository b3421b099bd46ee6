"""The words of a conversation with a model: `Message`, `Request`, `Reply`, `ChatModel`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, Protocol, get_args, runtime_checkable

from metagym.episodes import Usage
from metagym.errors import BadInput

Role = Literal["system", "user", "assistant"]
Backend = Literal["scripted", "local", "server"]
Absence = Literal["length", "refused", "empty", "error"]
Constraint = Literal["none", "enforced", "checked", "ignored"]

_new = object.__new__


class Message(NamedTuple):
    """One message; `content` is data and is never used as a format template."""

    role: Role
    content: str


@dataclass(frozen=True)
class Request:
    """One call of a chat model. Everything but `tag` is part of the cache key.

    Attributes:
        messages: The conversation, oldest first.
        temperature: >= 0; 0 asks for the most likely text.
        max_tokens: Upper bound on completion tokens; >= 1.
        stop: Texts that end the completion; they are cut off on our side too.
        seed: Sampling seed; also tells samples of one prompt apart in the cache.
        sample: Index of the sample among equal requests (0, 1, ...): the cache never merges two. Not sent.
        choices: If given, the reply must be one of these texts (constrained where the server can, always re-checked).
        json_schema: If given, the reply must be JSON of this schema; at most one of `choices` and `json_schema`.
        extra: Further fields for the backend (JSON).
        tag: The seat that asks (``actor``, ``reflector``, ...), for the accounts only.
    """

    messages: tuple[Message, ...]
    temperature: float = 0.0
    max_tokens: int = 512
    stop: tuple[str, ...] = ()
    seed: int | None = None
    sample: int = 0
    choices: tuple[str, ...] | None = None
    json_schema: Mapping[str, Any] | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)
    tag: str = ""

    def __post_init__(self) -> None:
        """Messages may be given as pairs or JSON objects; only the last is looked at first, this runs at every step."""
        if self.messages.__class__ is not tuple or (self.messages and self.messages[-1].__class__ is not Message):
            object.__setattr__(self, "messages", _messages(self.messages))

    def turn(self, messages: tuple[Message, ...], seed: int, choices: tuple[str, ...] | None) -> Request:
        """This request at another turn: `dataclasses.replace` of these fields, at a tenth of its cost."""
        made = _new(Request)
        fields = made.__dict__
        fields.update(self.__dict__)
        fields["messages"] = messages
        fields["seed"] = seed
        fields["choices"] = choices
        return made


def _messages(given: Any) -> tuple[Message, ...]:
    """Messages from pairs ``(role, content)`` or objects with these two keys."""
    made = []
    for item in () if isinstance(given, (str, bytes, Mapping)) or not isinstance(given, Iterable) else given:
        pair = (item.get("role"), item.get("content")) if isinstance(item, Mapping) else item
        if not isinstance(pair, (tuple, list)) or len(pair) != 2 or not all(isinstance(part, str) for part in pair):
            raise BadInput(f"a message is Message(role, content) with two texts, got {item!r:.80}")
        if pair[0] not in get_args(Role):
            raise BadInput(f"a message's role is one of {', '.join(get_args(Role))}, got {pair[0]!r:.80}")
        made.append(Message(*pair))
    if not made:
        raise BadInput("a Request's messages are a non-empty list of Message(role, content), oldest first")
    return tuple(made)


@dataclass(frozen=True, slots=True)
class Reply:
    """Text, or a typed absence of text; never None passed off as text.

    Attributes:
        text: The answer; None exactly where `absence` is set.
        absence: ``length`` (cut before any answer), ``refused``, ``empty``, ``error`` (an unusable body).
        cut: True where `text` is there but ended at the token limit.
        reasoning: Thinking part, kept apart from the text and never fed back.
        usage: Tokens and cost of this call.
        model: The model's own name for itself.
        backend: Kind of model: scripted, local or server.
        constraint: What became of `Request.choices` / `json_schema`.
        cached: Read from the reply cache: nothing was paid.
        attempts: Requests made for it (1 = no retry; 0 = cached).
        seconds: Wall-clock time of the call.
        cause: Explains an absence.
    """

    text: str | None
    absence: Absence | None = None
    cut: bool = False
    reasoning: str = ""
    usage: Usage = Usage()
    model: str = ""
    backend: Backend = "scripted"
    constraint: Constraint = "none"
    cached: bool = False
    attempts: int = 1
    seconds: float = 0.0
    cause: str = ""

    def __post_init__(self) -> None:
        """A reply is text or a typed absence, never both or neither."""
        if (self.text is None) == (self.absence is None):
            raise ValueError("a Reply has either text or an absence")


@runtime_checkable
class ChatModel(Protocol):
    """Anything that answers a `Request`.

    Attributes:
        id: Names model and settings; part of cache keys and manifests. Never holds a key or password.
        backend: ``scripted``, ``local`` or ``server``; carried into every table and plot.

    Error contract of `chat`: a reply without text is a `Reply` with an `absence`; a call that failed for good raises a
    `metagym.errors.ChatError` (`RateLimited`, `ServerUnavailable`, `ContextOverflow`, `BudgetExceeded`, `CacheMiss`).
    `chat` may run many times at once on one event loop.
    """

    @property
    def id(self) -> str:
        """Name of model and settings."""
        ...

    @property
    def backend(self) -> Backend:
        """Kind of model."""
        ...

    async def chat(self, request: Request) -> Reply:
        """Answers one request."""
        ...
