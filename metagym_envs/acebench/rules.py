"""Scripted stand-ins: one sends the milestones of the data, one calls nothing. They check the scoring and know nothing.

Milestones are no solutions: many of the public data cannot be run as they are written (quotes inside texts are not
escaped), leave a step out, or end elsewhere than the gold state, so on those the first stand-in fails too. Tasks that
differ in their start alone cannot be told apart by what is said; there it sends the longest way of all of them.
"""

from __future__ import annotations

from metagym.chat import ChatModel, Request, scripted
from metagym.seeding import check_seed
from metagym_envs.acebench.entries import KINDS, Entry, entries
from metagym_envs.acebench.users import FINISH, ScriptedUser

STAND_INS = ("milestones", "noop")


def actor(name: str, path: str, seed: int) -> ChatModel:
    """A stand-in for the actor's seat.

    Args:
        name: One of `STAND_INS`.
        path: The checkout whose milestones are sent.
        seed: Not used; >= 0.
    """
    check_seed(seed, "the scripted actor's seed")
    return scripted(
        lambda request: say(request, path) if name == "milestones" else FINISH, id=f"rules:acebench-{name}-1"
    )


def say(request: Request, path: str) -> str:
    """The next milestone of the task that is asked, or the end."""
    heard = [message.content for message in request.messages if message.role == "user"]
    said = [message.content for message in request.messages if message.role == "assistant"]
    ways = [one.milestones[0] for kind in KINDS for one in entries(path, kind) if heard and _asks(one, heard[0], path)]
    way = max(ways, key=len, default=())
    return way[len(said)] if len(said) < len(way) else FINISH


def _asks(entry: Entry, text: str, path: str) -> bool:
    """Whether a first observation is an entry's."""
    request = entry.question if entry.kind == "multi_step" else ScriptedUser(entry.question).say("")
    return f"User: {request}" in text
