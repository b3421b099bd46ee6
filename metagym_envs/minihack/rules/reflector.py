"""The scripted reflector: it counts what went wrong in the failed episodes and adds one sentence against it.

It follows each failed game with the same `View` that the actor uses and asks at each turn which of the rules it could
teach would have done something else. Its choice among them is that of the ALFWorld stand-in.
"""

from __future__ import annotations

from collections import Counter
from functools import partial

from metagym.chat import ChatModel
from metagym_envs.alfworld.rules.formats import Played
from metagym_envs.alfworld.rules.reflector import reflect, reflecting
from metagym_envs.minihack.commands import MOVES
from metagym_envs.minihack.rules.actor import proposals
from metagym_envs.minihack.rules.intents import STRAY, TABLE
from metagym_envs.minihack.rules.view import View

_DOING = ("use", "take", "goal", "open", "force", "fight")


def faults(episode: Played) -> Counter[str]:
    """Counts the faults of one episode, by the name of the intent that would mend them."""
    found: Counter[str] = Counter()
    view = View()
    view.add(episode.opening)
    for action, observation in episode.turns:
        asked: dict[str, set[str]] = {}
        for rule in _DOING:
            for _, command, _ in proposals({rule: True, "danger": True}, view):
                if not command.startswith("run "):
                    asked.setdefault(rule, set()).add(command)
            asked.get(rule, set()).difference_update(f"step {way}" for way, spot in view.around() if view.lava(spot))
        wanted = [rule for rule in _DOING if asked.get(rule)]
        done = action.replace("run ", "step ", 1)
        for rule in wanted:
            if not any(done == command or _same(done, command) for command in asked[rule]):
                found[rule] += 1
        if not set(wanted) - {"fight"} and _idles(action, view):
            found["search"] += 1
        found["danger"] += "You have died" in observation and _into_lava(action, view)
        view.add(observation)
    return found


def _same(done: str, command: str) -> bool:
    """Whether two commands use the same verb on a thing ("eat", "eat f")."""
    verb = done.partition(" ")[0]
    return verb not in MOVES and verb == command.partition(" ")[0]


def _idles(action: str, view: View) -> bool:
    """Whether an action neither moves nor leads anywhere new."""
    word, _, way = action.partition(" ")
    if word not in MOVES:
        return True
    spot = dict(view.around()).get(way)
    return spot is None or spot in view.visited or not view.free(spot, True, True)


def _into_lava(action: str, view: View) -> bool:
    word, _, way = action.partition(" ")
    spot = dict(view.around()).get(way)
    return word in MOVES and spot is not None and view.lava(spot)


def reflector(seed: int) -> ChatModel:
    """The scripted reflector for MiniHack.

    Args:
        seed: Seed of its own choices, >= 0. Equal requests get equal replies; the request's seed and sample index
            tell samples apart.

    Returns:
        A chat model that answers the reflector seat's requests with ``ANALYSIS:`` and ``IMPROVED PROMPT:``.
    """
    analyse = partial(reflect, faults=faults, table=TABLE, stray=STRAY)
    return reflecting(analyse, seed, f"rules:minihack-reflector-1:{seed}")
