"""Stages 3, 4 and 6: what loads, answers in the agreed form, comes to an end, and does not break."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from metagym.errors import BadOutput, ProgramError, ProgramKilled
from metagym.spade.program import EnvProgram
from metagym.spade.validation.policies import GARBAGE, GARBAGE_STEPS, Form, constant, reader, script, spoiled
from metagym.spade.validation.report import Refusal
from metagym.spade.validation.walks import Plan, Player, Walk, play_all

_TOLERANCE = 1e-6


def killed(error: ProgramKilled, *, loading: bool = False) -> Refusal:
    """The refusal for a worker that was ended.

    Args:
        error: How it ended; its message names the call.
        loading: It ended before the program was there.
    """
    if error.limit == "memory":
        return Refusal.of_kill("memory_limit", error)
    slow = error.limit in ("wall", "cpu", "steps")
    code = ("load_timeout" if slow else "load_error") if loading else ("step_timeout" if slow else "step_crash")
    return Refusal.of_kill(code, error)


def tools_of(program: EnvProgram, player: Player) -> list[Any]:
    """The tools that a program offers, checked; [] for a program without.

    Raises:
        Refusal: ``bad_signature`` if they are no JSON Schema of functions, ``load_error`` if asking for them fails.
    """
    if not program.has_tools:
        return []
    try:
        tools = player.ask("tools")
    except (ProgramError, BadOutput) as error:
        raise Refusal("load_error", f"tools() failed: {error}") from None
    wrong = _wrong_with(tools)
    if wrong:
        raise Refusal(
            "bad_signature",
            f'tools() returns a list of {{"type": "function", "function": {{"name", "description", "parameters"}}}} '
            f"with parameters as JSON Schema of an object; {wrong}",
        )
    return list(tools)


def _wrong_with(tools: Any) -> str:
    if not isinstance(tools, list) or not tools:
        return "it is no list, or empty"
    seen = set()
    for tool in tools:
        function = tool.get("function") if isinstance(tool, dict) else None
        if not isinstance(function, dict) or tool.get("type") != "function":
            return "an entry is no function"
        name, schema = function.get("name"), function.get("parameters")
        if not isinstance(name, str) or not name.isidentifier() or name in seen:
            return f"the name {name!r:.80} is no identifier, or there twice"
        seen.add(name)
        if not isinstance(schema, dict) or schema.get("type") != "object":
            return f"the parameters of {name} are no object schema"
        properties, required = schema.get("properties", {}), schema.get("required", [])
        if not isinstance(properties, dict) or not all(isinstance(kind, dict) for kind in properties.values()):
            return f"the properties of {name} are no schemas"
        if not isinstance(required, list) or any(item not in properties for item in required):
            return f"{name} requires what is no property of it"
        for kind in properties.values():
            if kind.get("type", "string") not in ("string", "integer", "number", "boolean", "array", "object"):
                return f"{name} has an argument of type {kind.get('type')!r:.80}"
    return ""


def probes(program: EnvProgram, form: Form, seeds: Sequence[int], root: int) -> list[Plan]:
    """The episodes of stage 4, which stage 5 repeats."""
    steps = program.max_steps
    plans = []
    for seed in seeds:
        for turn in range(3):  # the same draws for all seeds: what then differs is the seed's doing
            policy = reader(form, root, program.digest, turn)
            plans.append(Plan(f"reader/{turn}", seed, policy, steps, after=True))
        plans.append(Plan("constant/1", seed, constant(form, "1"), steps, after=True))
    return plans


def check_walks(program: EnvProgram, walks: Iterable[Walk]) -> None:
    """Stage 4: the form of all that a program answered.

    Raises:
        Refusal: With the code of the first thing that is wrong.
    """
    for walk in walks:
        _check_walk(program, walk)


def _check_walk(program: EnvProgram, walk: Walk) -> None:
    if walk.error is not None:
        _raise_error(walk)
    first = walk.steps[0].observation
    _check_text(first, "bad_reset_type", f"reset(seed={walk.seed})")
    if not first.strip():
        raise Refusal("empty_observation", f"reset(seed={walk.seed}) returned an empty observation: say what to do")
    low, high = program.reward_range
    total = 0.0
    for number, step in enumerate(walk.steps[1:], 1):
        _check_text(step.observation, "bad_step_type", f"step {number} of seed {walk.seed}")
        if not step.observation.strip() and not step.done:
            raise Refusal("empty_observation", f"step {number} of seed {walk.seed} returned an empty observation")
        if not math.isfinite(step.reward):
            raise Refusal("reward_not_finite", f"step {number} of seed {walk.seed} returned the reward {step.reward}")
        total += step.reward
        if not low - _TOLERANCE <= total <= high + _TOLERANCE:
            raise Refusal(
                "reward_out_of_range",
                f"the rewards of an episode add up to {total:g} at step {number} of seed {walk.seed}; the header's "
                f"reward_range is [{low:g}, {high:g}], and the sum must stay in it at every step",
            )
    if not walk.over:
        raise Refusal(
            "never_ends",
            f"the episode of seed {walk.seed} had not ended after max_steps = {program.max_steps} steps: count the "
            "steps and return truncated=True at the last",
        )
    after = walk.after
    if after is not None and (after.reward != 0.0 or not after.done):
        paid = f"paid {after.reward:g}" if after.reward else "said that the episode goes on"
        raise Refusal(
            "step_after_end",
            f"a step after the end of an episode {paid}; once over, an episode stays over and pays nothing",
        )


def _check_text(observation: Any, code: str, where: str) -> None:
    if not isinstance(observation, str):
        raise Refusal(code, f"{where} returned an observation of type {type(observation).__name__}: return text")


def _raise_error(walk: Walk) -> None:
    message = str(walk.error)
    if not walk.steps:
        where = f"reset(seed={walk.seed})"
        raise Refusal("bad_reset_type" if isinstance(walk.error, BadOutput) else "step_crash", f"{where}: {message}")
    where = f"step {len(walk.steps)} of seed {walk.seed}"
    if isinstance(walk.error, BadOutput):
        # The sandbox lets no such number out; it says in words what it was.
        infinite = "reward" in message and "finite" in message
        raise Refusal("reward_not_finite" if infinite else "bad_step_type", f"{where}: {message}")
    raise Refusal("step_crash", f"{where} raised {message}")


def check_garbage(program: EnvProgram, player: Player, seeds: Sequence[int], solved: Sequence[Walk]) -> list[Walk]:
    """Stage 6: actions that make no sense, and spoiled copies of actions that do.

    Returns:
        The episodes.

    Raises:
        Refusal: ``crash_on_garbage``, or a code of stage 4 for an answer in the wrong form.
    """
    plans = []
    # Of every different kind of action: its first word, or its first 24 characters for calls of tools.
    kinds = {action[:24].split(" ")[0]: action for walk in solved[:1] for action in reversed(walk.actions)}
    copies = [bad for action in list(kinds.values())[:4] for bad in spoiled(action)]
    garbage, private = [*GARBAGE, *copies], frozenset(copies) - set(GARBAGE)
    for index in range(len(garbage)):
        actions = [garbage[(index + turn) % len(garbage)] for turn in range(GARBAGE_STEPS)]
        steps, seed = min(GARBAGE_STEPS, program.max_steps), seeds[index % len(seeds)]
        plans.append(Plan("garbage", seed, script(actions), steps, private=private))
    try:
        walks = play_all(player, plans)
    except ProgramKilled as error:
        raise Refusal.of_kill("crash_on_garbage", error) from None
    for walk, plan in zip(walks, plans, strict=True):
        if walk.error is not None:
            action = plan.policy(walk)
            what = "a spoiled copy of an action of the solution" if action in private else f"the action {action!r:.60}"
            raise Refusal(
                "crash_on_garbage",
                f"{what} broke the program: {walk.error}; answer what cannot be read with an observation that says "
                "what to write",
            )
        if not walk.over:
            walk.steps[-1].truncated = True  # these episodes are cut by us
        walk.after = None
        _check_walk(program, walk)
    return walks
