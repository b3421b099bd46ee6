"""The scripted actor: it does what the rules in its system prompt ask for, and otherwise wanders.

It has no skill of its own: without rules every admissible command is as good as any other. Each rule it can read
(`reader.read` on `intents.TABLE`) makes some commands better and some worse, given what the conversation tells of the
game, and the command is drawn from a softmax over that. It is stateless: everything comes from the request.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import accumulate

from metagym.chat import ChatModel, Request, scripted
from metagym.seeding import check_seed, derive
from metagym_envs.alfworld.rules.formats import conversation
from metagym_envs.alfworld.rules.intents import TABLE
from metagym_envs.alfworld.rules.reader import read
from metagym_envs.alfworld.rules.view import View

SHARPNESS = 7.0
"""How surely a rule is followed: a command that one rule asks for is e**7 = 1,100 times as likely as any other."""

_WANDERS = "no rule applies, so I wander"
_WHY = {
    "open": "a closed container is to be opened",
    "search": "I go where I have not been yet",
    "take": "this is what the task names",
    "deliver": "it belongs to the destination",
    "drop": "the task does not ask for what I hold",
    "treat": "first the object needs its treatment",
}
_FORBIDS = (("open", "open"), ("search", "go"), ("take", "take"), ("deliver", "put"))
_IDLE = ("look", "inventory", "help", "examine", "close")

_read = lru_cache(maxsize=256)(lambda prompt: read(prompt, TABLE))


@lru_cache(maxsize=65536)
def split_command(command: str) -> tuple[str, str, str]:
    """``"take mug 1 from desk 2"`` -> ``("take", "mug 1", "desk 2")``; "" for what is absent.

    Both grammar generations are known; "move" and "put" are both ``put``.
    """
    verb, _, rest = command.partition(" ")
    if verb == "go":
        return "go", "", rest.removeprefix("to ")
    if verb in ("move", "put"):
        for joint in (" in/on ", " to "):
            thing, found, place = rest.partition(joint)
            if found:
                return "put", thing, place
        return "put", rest, ""
    if verb in ("open", "close"):
        return verb, "", rest
    for joint in (" from ", " with "):
        thing, found, place = rest.partition(joint)
        if found:
            return verb, thing, place
    return verb, rest, ""


_Proposal = tuple[str, str, str | None, str, float]
"""(rule, verb, thing, place, value); a thing of None makes it speak of every command with that verb."""


def _proposals(rules: Mapping[str, bool], view: View) -> Iterator[_Proposal]:
    """What the rules say of commands.

    The values are levels: use what is at hand (4), go for it (3), open what is closed (2), search (1). One level is
    more than the number of commands that may share the next lower one.
    """
    held, goal = view.held, view.goal
    wanted_held = view.wanted(held)
    need = view.needs(held) if wanted_held else None
    treat = need if need and rules.get(need.name) else None
    seeking_tool = False

    for name, verb in _FORBIDS:
        if rules.get(name) is False:
            yield name, verb, None, "", -2.0
    if goal.treatment and rules.get(goal.treatment.name) is False:
        yield "treat", goal.treatment.verb, None, "", -2.0
    if rules.get("open"):
        for place in view.closed:
            yield "open", "open", "", place, 2.0
    if treat:
        tools = view.tool_places(treat)
        seeking_tool = not tools
        if rules.get("open") is False:  # what may not be opened cannot be used either
            tools = [place for place in tools if place not in view.closed]
        for place in tools:
            yield "treat", treat.verb, held, place, 4.0
            yield "treat", "go", "", place, 3.0
        for thing in view.tools_here():
            yield "treat", treat.verb, thing, "", 4.0
    elif wanted_held and rules.get("deliver"):
        places = view.destinations()
        for place in places:
            yield "deliver", "put", held, place, 4.0
            if view.here not in places:
                yield "deliver", "go", "", place, 3.0
    if rules.get("take"):
        yield "take", "take", None, "", -0.5
        if not held:
            for thing in view.seen_wanted():
                yield "take", "take", thing, view.where[thing], 4.5
                yield "take", "go", "", view.where[thing], 3.0
    if rules.get("drop") and held and not wanted_held:
        yield "drop", "put", None, "", 4.0
    if rules.get("search") and (not wanted_held or seeking_tool):
        for place in view.places:
            if place not in view.visited:
                yield "search", "go", "", place, 1.0
                yield "search", "examine", place, "", 1.0
            else:
                yield "search", "go", "", place, -0.5
    if rules.get("hurry"):
        for verb in _IDLE:
            yield "hurry", verb, None, "", -0.5


def _without_list(view: View) -> tuple[str, ...]:
    """Commands that the view allows for, where the legal ones are not shown."""
    here, held = view.here, view.held
    out = [f"go to {place}" for place in view.places if place != here] + ["look", "inventory"]
    if here:
        out.append(f"open {here}" if here in view.closed else f"close {here}")
        out.append(f"examine {here}")
        things = sorted(view.contents.get(here, ()))
        out += [f"use {thing}" for thing in things if "lamp" in thing]
        if not held:
            out += [f"take {thing} from {here}" for thing in things]
        else:
            out.append(f"move {held} to {here}")
            out += [f"{verb} {held} with {here}" for verb in ("clean", "cool", "heat")]
    return tuple(out)


def choose(request: Request, seed: int = 0) -> tuple[str, str]:
    """The command for a request and the name of the rule behind it ("" where the actor wanders).

    Args:
        request: A conversation of the actor's seat.
        seed: The actor's own seed; the request's seed and sample come on top.
    """
    heading = conversation(request.messages)
    view = View(heading.opening)
    for observation in heading.observations:
        view.add(observation)
    commands = request.choices or heading.admissible
    if commands:
        view.correct(commands)
    else:
        commands = _without_list(view)
    rules = _read(heading.prompt) if heading.prompt else {}
    value: dict[tuple[str, str, str], float] = {}
    why: dict[tuple[str, str, str], str] = {}
    general: dict[str, float] = {}
    if rules:
        for rule, verb, thing, place, worth in _proposals(rules, view):
            if thing is None:
                general[verb] = general.get(verb, 0.0) + worth
                if worth > 0:
                    why[verb, "", ""] = rule
            elif worth > value.get((verb, thing, place), -math.inf):  # the best reason for a command counts
                value[verb, thing, place] = worth
                why[verb, thing, place] = rule
    parts = [split_command(command) for command in commands]
    if value or general:
        scores = [value.get(part, 0.0) + general.get(part[0], 0.0) for part in parts]
        top = max(scores)
        weights = [math.exp(SHARPNESS * (score - top)) for score in scores]
    else:
        scores, weights = [0.0] * len(parts), [1.0] * len(parts)
    last = request.messages[-1].content if request.messages else ""
    steps = list(accumulate(weights))  # its last, and not `sum`, which rounds otherwise from Python 3.12 on
    point = derive(seed, "actor", request.seed or 0, request.sample, last) / 2**63 * steps[-1]
    at = bisect_right(steps, point, hi=len(steps) - 1)
    part = parts[at]
    if scores[at] <= 0:
        return commands[at], ""
    return commands[at], why.get(part) or why.get((part[0], "", ""), "")


def actor(seed: int) -> ChatModel:
    """The scripted actor for ALFWorld.

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

    return scripted(answer, id=f"rules:alfworld-actor-1:{seed}")
