"""Scripted stand-ins: one plays the benchmark's own answers, one calls nothing.

They prove that the scoring works, 200 of 200 and 0 of 200 in each category, and nothing else: the oracle finds its entry by the
user's words and copies the answer. Entries of two categories may share all words and differ in what the tools return; then
the oracle looks once, with a call that changes nothing, and goes by what it sees.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

from metagym.chat import ChatModel, Request, scripted
from metagym.seeding import check_seed
from metagym_envs.bfcl import text
from metagym_envs.bfcl.calls import Call, read_calls, written
from metagym_envs.bfcl.data import Entry, entries
from metagym_envs.bfcl.env import ToolConversation

DONE = "That is all for this turn."
LOOKS = {
    "GorillaFileSystem": Call("ls", kwargs={"a": True}),
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
    first = heard[0][heard[0].find(text.TOOLS) :] if heard else ""
    meant: Sequence[Entry] = _openings(categories).get(first, ())
    turn = sum(not read_calls(reply) for reply in said)
    since = said[::-1].index(DONE) if DONE in said else len(said)  # replies of ours within this turn
    meant = [entry for entry in meant if _fits(entry, said, heard)] if len(meant) > 1 else meant
    if not meant or turn >= len(meant[0].truth):
        return DONE
    truths = list(dict.fromkeys(written(entry.truth[turn]) for entry in meant))
    if len(truths) > 1 and not since:
        return written((next(LOOKS[name] for name in meant[0].classes if name in LOOKS),))
    looked = since and said[-since] != truths[0]
    return DONE if since > bool(looked) or truths[0] == "[]" else truths[0]


def _fits(entry: Entry, said: Iterable[str], heard: Sequence[str]) -> bool:
    """Whether an entry answers our replies with what we have heard."""
    env = ToolConversation(entry)
    env.reset()
    for number, reply in enumerate(said, 1):
        if len(env.played) > len(entry.turns) or env.step(reply)[0] != heard[number]:
            return False
    return True


@lru_cache(maxsize=8)
def _openings(categories: tuple[str, ...]) -> dict[str, tuple[Entry, ...]]:
    """Entries by their first observation."""
    found: dict[str, tuple[Entry, ...]] = {}
    for category in categories:
        for entry in entries(category).values():
            first = text.opening(entry.tools, entry.turns[0])
            found[first] = (*found.get(first, ()), entry)
    return found
