"""Scripted stand-ins: one plays the benchmark's own answers, one calls nothing.

They prove that the scoring works and nothing else: the oracle finds its entry by the user's words and copies the
answer. Entries of two categories may share all words and differ in what the tools return; then the oracle looks once,
with a call that changes nothing, and goes by what it sees. Two entries of miss_param (180 and 195) cannot be told from
those of base even so, although their answers differ: where both categories are in the family, the oracle fails there.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from metagym.chat import ChatModel, Request, scripted
from metagym.seeding import check_seed
from metagym_envs.bfcl import text
from metagym_envs.bfcl.calls import Call, written
from metagym_envs.bfcl.data import Entry, entries
from metagym_envs.bfcl.env import ToolConversation, begin_turn

DONE = "That is all for this turn."
LOOKS = {
    "GorillaFileSystem": Call("du"),
    "TradingBot": Call("get_watchlist"),
    "TravelAPI": Call("get_all_credit_cards"),
}
"""Calls that change nothing and whose results differ between the plain and the long-context category."""


def actor(name: str, categories: Sequence[str], seed: int) -> ChatModel:
    """A stand-in for the actor's seat.

    Args:
        name: ``"oracle"`` or ``"noop"``.
        categories: Where the oracle looks its entry up.
        seed: Not used; >= 0.
    """
    check_seed(seed, "the scripted actor's seed")
    wanted = tuple(categories)
    choose = (lambda request: oracle(request, wanted)) if name == "oracle" else (lambda request: DONE)
    return scripted(choose, id=f"rules:bfcl-{name}-1")


def oracle(request: Request, categories: tuple[str, ...]) -> str:
    """The reply that the benchmark's answer gives at this point of a conversation.

    Args:
        request: The conversation.
        categories: Where the entry is looked up.
    """
    heard = [message.content for message in request.messages if message.role == "user"]
    said = [message.content for message in request.messages if message.role == "assistant"]
    opening = heard[0][heard[0].find(text.TOOLS) :] if heard else ""
    begun = [heard[number] for number, reply in enumerate(said, 1) if reply == DONE]  # what began the later turns
    turn = len(begun)
    meant = [entry for entry in _openings(categories).get(opening, ()) if _said(entry, turn) == begun]
    since = said[len(said) - said[::-1].index(DONE) :] if begun else said  # our replies within this turn
    if not meant:
        return DONE
    answers = {written(entry.truth[turn]) for entry in meant}
    if len(answers) > 1 and not since and (looks := [LOOKS[name] for name in meant[0].classes if name in LOOKS]):
        return written(looks[:1])
    if len(answers) > 1:
        meant = [entry for entry in meant if _fits(entry, said, heard)] or meant
    answer = written(meant[0].truth[turn])
    return DONE if answer in (*since, "[]") else answer


def _said(entry: Entry, turn: int) -> list[str]:
    """How the turns after the first begin, up to one; [] with nothing in it where the entry has fewer."""
    if turn >= len(entry.turns):
        return [""]
    return [begin_turn(entry, number) for number in range(1, turn + 1)]


def _fits(entry: Entry, said: Sequence[str], heard: Sequence[str]) -> bool:
    """Whether an entry answers our replies with what we have heard."""
    env = ToolConversation(entry)
    env.reset()
    return all(env.step(reply)[0] == heard[number] for number, reply in enumerate(said, 1))


@lru_cache(maxsize=8)
def _openings(categories: tuple[str, ...]) -> dict[str, tuple[Entry, ...]]:
    """Entries by their first observation."""
    found: dict[str, tuple[Entry, ...]] = {}
    for category in categories:
        for entry in entries(category).values():
            first = text.opening(entry.tools, entry.turns[0])
            found[first] = (*found.get(first, ()), entry)
    return found
