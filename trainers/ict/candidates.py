"""From a completion to the candidate prompt, by the same rule as in the loop (`metagym.ict.reflector`).

What the loop would not use as a prompt is no candidate here either: a policy must not be paid for an answer that would
change nothing when it is deployed.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from metagym.chat.types import Reply
from metagym.ict.reflector import Outcome, reflection_of


class Candidate(NamedTuple):
    """What a completion says.

    Attributes:
        prompt: The new system prompt; None where the completion has none that could be used.
        outcome: As in `metagym.ict.reflector.Reflection`.
        cause: Why there is no prompt.
    """

    prompt: str | None
    outcome: Outcome
    cause: str = ""


def text_of(completion: Any) -> str:
    """The text of a completion, which TRL gives as a string or as a list of messages.

    A message's content may be text or a list of blocks, of which those of type ``text`` count.
    """
    if isinstance(completion, str):
        return completion
    if type(completion) is list and len(completion) == 1 and type(completion[0]) is dict:  # as TRL gives it
        said = completion[0].get("content")
        if type(said) is str:
            return said
    if isinstance(completion, Mapping):
        completion = [completion]
    if not isinstance(completion, Sequence):
        return ""
    parts = []
    for message in completion:
        content = message.get("content") if isinstance(message, Mapping) else None
        if isinstance(content, str):
            parts.append(content)
        elif isinstance(content, Sequence):
            parts += [block["text"] for block in content if isinstance(block, Mapping) and block.get("type") == "text"]
    return "".join(parts)


def candidate_of(
    completion: Any, current: str, ids: Sequence[int] | None = None, ends: Collection[int] | None = None
) -> Candidate:
    """Reads a completion.

    Args:
        completion: Text or messages.
        current: The prompt in force.
        ids: Its token ids.
        ends: Ids that end an answer (`GRPOTrainer.eos_token_ids`: a model may have several). A completion that ends on
            another one was cut at the token limit, and a prompt cut in the middle is not used. None: not looked at.
    """
    text = text_of(completion)
    cut = bool(ends) and bool(ids) and ids[-1] not in ends  # type: ignore[index, operator]
    reply = Reply(text, cut=cut) if text else Reply(None, absence="length" if cut else "empty")
    read = reflection_of(reply, current)
    usable = read.outcome in ("improved", "unchanged")
    return Candidate(read.prompt if usable else None, read.outcome, read.cause)
