"""The scripted actor: it does what the rules in its system prompt ask for, and otherwise wanders.

It has no skill of its own: without rules every listed command is as good as any other. Each rule it can read
(`intents.TABLE`) makes some commands better and some worse, given what the conversation tells of the game, and the
command is drawn from a softmax over that. It is stateless: everything comes from the request.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import accumulate

from metagym.chat import ChatModel, Request, scripted
from metagym.seeding import check_seed, derive
from metagym_envs.alfworld.rules.actor import SHARPNESS
from metagym_envs.alfworld.rules.formats import conversation
from metagym_envs.alfworld.rules.reader import read
from metagym_envs.minihack.commands import CANCEL, DIRECTIONS, MOVES
from metagym_envs.minihack.rules.intents import TABLE
from metagym_envs.minihack.rules.view import PLACES, View

_WANDERS = "no rule applies, so I wander"
_WHY = {
    "goal": "the staircase is in sight",
    "search": "I have not been there yet",
    "take": "this is what the task names",
    "use": "this is what the task asks for",
    "open": "a closed door is to be opened",
    "force": "the door is locked",
    "fight": "a creature is beside me",
}
_read = lru_cache(maxsize=256)(lambda prompt: read(prompt, TABLE))
_MOVES = tuple(f"{word} {way}" for word in MOVES for way in DIRECTIONS)

Proposal = tuple[str, str, float]
"""(rule, command, value)"""


def proposals(rules: Mapping[str, bool], view: View) -> Iterator[Proposal]:
    """What the rules say of commands: do what the task asks (5), take (4), walk there (3), open (2), explore (1)."""
    doors, wet = bool(rules.get("open")), not rules.get("danger")
    if rules.get("fight"):
        for way in view.creatures():
            yield "fight", f"step {way}", 4.0
    if not wet:
        for way, spot in view.around():
            if view.lava(spot):
                yield "danger", f"step {way}", -6.0
                yield "danger", f"run {way}", -6.0
    if rules.get("force") and view.locked:
        yield from _force(view)
    if rules.get("use"):
        yield from _use(view, doors, wet)
    if rules.get("take") and view.noun and view.verb not in PLACES and not view.carried:
        if view.here:
            yield "take", "pickup", 4.0
        way, _ = view.way_to(view.wanted(), doors, wet)
        if way:
            yield "take", f"step {way}", 3.0
    if rules.get("goal") and not view.noun:
        way, _ = view.way_to(view.stairs(), doors, wet)
        if way:
            yield "goal", f"step {way}", 3.0
    if rules.get("open"):
        way, length = view.way_to(view.doors(), doors=False, wet=wet)
        if length == 1:
            yield "open", f"open {way}", 2.2
        if way:
            yield "open", f"step {way}", 2.0
    if rules.get("search"):
        way = view.unexplored(doors, wet)
        yield "search", f"step {way}" if way else "search", 1.0


def _force(view: View) -> Iterator[Proposal]:
    """Kicking a locked door that is straight beside the player, or opening it with what may be a key."""
    for way, spot in view.around():
        if view.known.get(spot) != "closed door":
            continue
        for letter, name in view.now.items:
            if "key" in name or "lock pick" in name:
                yield "force", f"apply {letter} {way}", 3.5
        if len(way) <= 5:  # not a diagonal one
            yield "force", f"kick {way}", 3.2


def _use(view: View, doors: bool, wet: bool) -> Iterator[Proposal]:
    if view.carried:
        yield "use", f"{view.verb} {view.carried}", 5.0
    elif view.verb in PLACES:
        if view.here:
            yield "use", view.verb, 5.0
        else:
            way, _ = view.way_to(view.wanted(), doors, wet)
            if way:
                yield "use", f"step {way}", 3.0


def fold(observations: Sequence[str]) -> View:
    """The view after some observations."""
    view = View()
    for observation in observations:
        view.add(observation)
    return view


def choose(request: Request, seed: int = 0) -> tuple[str, str]:
    """The command for a request and the name of the rule behind it ("" where the actor wanders).

    Args:
        request: A conversation of the actor's seat.
        seed: The actor's own seed; the request's seed and sample come on top.
    """
    heading = conversation(request.messages)
    commands = request.choices or heading.admissible or _MOVES
    if CANCEL in commands:  # the game asks: yes, or the newest thing
        return ("y" if "y" in commands else commands[-2]), ""
    rules = _read(heading.prompt) if heading.prompt else {}
    value: dict[str, float] = {}
    why: dict[str, str] = {}
    if rules:
        view = fold((heading.opening, *heading.observations))
        for rule, command, worth in proposals(rules, view):
            if worth < 0 or worth > value.get(command, 0.0):
                value[command] = min(worth, value.get(command, 0.0)) if worth < 0 else worth
                why[command] = rule
    scores = [value.get(command, 0.0) for command in commands]
    top = max(scores)
    steps = list(accumulate(math.exp(SHARPNESS * (score - top)) for score in scores))
    last = request.messages[-1].content if request.messages else ""
    point = derive(seed, "actor", request.seed or 0, request.sample, len(heading.observations), last) / 2**63
    at = bisect_right(steps, point * steps[-1], hi=len(steps) - 1)
    return commands[at], why.get(commands[at], "") if scores[at] > 0 else ""


def actor(seed: int) -> ChatModel:
    """The scripted actor for MiniHack.

    Args:
        seed: Seed of its own choices, >= 0. Equal requests get equal replies; the request's seed and sample index
            tell samples apart. The request's temperature is ignored.

    Returns:
        A chat model that answers the actor seat's requests with a thought and an action, or with the bare action
        where the request restricts the answer to `choices`.
    """
    check_seed(seed, "the scripted actor's seed")

    def answer(request: Request) -> str:
        command, rule = choose(request, seed)
        if request.choices:
            return command
        return f"Thought: {_WHY.get(rule, _WANDERS)}.\nAction: {command}"

    return scripted(answer, id=f"rules:minihack-actor-1:{seed}")
