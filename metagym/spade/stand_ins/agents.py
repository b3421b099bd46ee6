"""Scripted agents of known skill. They are stand-ins: they show that the loop works, not what a model can do.

Those that solve anything are told the solution through the program's private channel (`metagym.spade.hosts.Insider`),
which no model ever is; how often they use it is their skill.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

from metagym.chat.types import Request
from metagym.checks import number, whole
from metagym.errors import BadInput
from metagym.seeding import derive, rng
from metagym.spade.hosts import Knowledge

_HINT = re.compile(r"^HINT: (.*)$", re.MULTILINE)
_NUMBER = re.compile(r"\d+")
_WORD = re.compile(r"\w+")
_NOISE = re.compile(r"Noisy door ([\d.]+)")
_TAG = re.compile(r"\[strategy: (?!none\])[\w ]+\]")

Policy = Callable[[Request], str]


def spoken(known: Knowledge, action: str) -> str:
    """An action as a reply of the form that the program's header asks for."""
    return f"Thought: (scripted)\nAction: {action}" if known.program.action_format == "text" else action


class _Scripted:
    """What the stand-ins share."""

    backend = "scripted"

    def __init__(self, **settings: Any) -> None:
        told = ",".join(f"{name}={value:g}" for name, value in sorted(settings.items()))
        self.id = f"scripted:{type(self).__name__.lower()}" + (f"?{told}" if told else "")


class Oracle(_Scripted):
    """Plays the solution."""

    def policy(self, known: Knowledge) -> Policy:
        """See `metagym.spade.hosts.Insider`."""
        return _walk(known, None)


class NoOp(_Scripted):
    """Always says ``wait``."""

    def policy(self, known: Knowledge) -> Policy:
        """See `metagym.spade.hosts.Insider`."""
        said = spoken(known, "wait")
        return lambda request: said


class Random(_Scripted):
    """Says two words of what it sees, drawn at random."""

    def policy(self, known: Knowledge) -> Policy:
        """See `metagym.spade.hosts.Insider`."""
        draws = rng(known.sampling_seed, "random agent")

        def answer(request: Request) -> str:
            words = _WORD.findall(request.messages[-1].content) or ["wait"]
            return spoken(known, f"{draws.choice(words)} {draws.choice(words)}")

        return answer


class Skill(_Scripted):
    """Solves a program of d steps with probability 1 / (1 + exp(slope (d - theta))).

    A hint adds `lift` to theta, whatever it says. A play that is lost opens with some right actions, so that graded
    credit is earned in part. A noisy door is opened with the chance that its title tells, hint or no hint.

    Args:
        theta: Steps that it solves half of the time.
        lift: What a hint is worth, in steps.
        slope: How sharply its skill ends, > 0.
        spread: Standard deviation of theta over seeds: some seeds are harder than others, in both arms alike.
    """

    def __init__(self, theta: float = 4.0, lift: float = 2.0, slope: float = 1.5, spread: float = 0.0) -> None:
        self.theta, self.lift = number("theta", theta, -1e6), number("lift", lift, -1e6)
        self.slope, self.spread = number("slope", slope, 0, above=True), number("spread", spread, 0)
        super().__init__(theta=self.theta, lift=self.lift, slope=self.slope, spread=self.spread)

    def chance(self, steps: int, hinted: bool, seed: int = 0) -> float:
        """Its chance to solve a program whose solution has this many steps."""
        theta = self.theta + self.lift * hinted
        if self.spread:
            theta += rng(seed, "spread").gauss(0.0, self.spread)
        return 1 / (1 + math.exp(min(700.0, self.slope * (steps - theta))))

    def helped(self, hint: str | None) -> bool:
        """Whether the hint lifts it."""
        return hint is not None

    def policy(self, known: Knowledge) -> Policy:
        """See `metagym.spade.hosts.Insider`."""
        return _walk(known, self)


class HintReader(Skill):
    """A `Skill` that only a hint with a strategy tag, ``[strategy: ...]``, lifts."""

    def helped(self, hint: str | None) -> bool:
        """Whether there is a tag to follow."""
        return hint is not None and _TAG.search(hint) is not None


class Learner(Skill):
    """A `Skill` whose theta rises with its plays without the hint, as training would raise it.

    Args:
        theta: Where it starts.
        gain: Steps of theta per play, >= 0.
        lift: As for `Skill`.
        slope: As for `Skill`.
        most: Theta never rises above it.
    """

    def __init__(
        self, theta: float = 3.0, gain: float = 0.004, lift: float = 2.0, slope: float = 1.5, most: float = 1e6
    ) -> None:
        super().__init__(theta, lift, slope)
        self.start, self.gain, self.most = self.theta, number("gain", gain, 0), number("most", most, -1e6)
        self.id += f",gain={self.gain:g}" + (f",most={self.most:g}" if self.most < 1e6 else "")

    def practise(self, plays: int) -> None:
        """Learns from this many plays, those of all rounds so far: the loop tells it after every round."""
        self.theta = min(self.most, self.start + self.gain * whole("plays", plays, 0))


class HintCopier(_Scripted):
    """Wins only by copying numbers out of the hint: turns to them one after the other."""

    def policy(self, known: Knowledge) -> Policy:
        """See `metagym.spade.hosts.Insider`; it uses nothing but what a model would see."""
        turn = iter(range(1_000_000))

        def answer(request: Request) -> str:
            hint = _HINT.search("\n".join(message.content for message in request.messages))
            numbers = _NUMBER.findall(hint[1]) if hint else []
            place = next(turn)
            return spoken(known, f"turn {numbers[place]}" if place < len(numbers) else "wait")

        return answer


def _walk(known: Knowledge, skill: Skill | None) -> Policy:
    """Plays the solution, all of it or (by the skill's luck) a part."""
    plan: list[str] | None = None
    turn = iter(range(1_000_000))

    def answer(request: Request) -> str:
        nonlocal plan
        if plan is None:  # the solution is known once the episode has begun
            plan = known.solution if skill is None else _planned(known, skill)
        place = next(turn)
        return spoken(known, plan[place] if place < len(plan) else "wait")

    return answer


def _planned(known: Knowledge, skill: Skill) -> list[str]:
    steps, noise = known.solution, _NOISE.search(known.program.title)
    luck = derive(known.sampling_seed, "luck") / 2**63
    chance = float(noise[1]) if noise else skill.chance(len(steps), skill.helped(known.hint), known.seed)
    if luck < chance and steps:
        return steps
    return steps[: derive(known.sampling_seed, "part") % max(1, len(steps))]


AGENTS: dict[str, Callable[..., Any]] = {
    "oracle": Oracle,
    "noop": NoOp,
    "random": Random,
    "skill": Skill,
    "hint_reader": HintReader,
    "hint_copier": HintCopier,
    "learner": Learner,
}
"""Scripted agents by name; ``scripted:skill?theta=3`` in a setting."""


def made(table: dict[str, Callable[..., Any]], name: str, options: dict[str, Any], what: str) -> Any:
    """A stand-in by name and options.

    Raises:
        BadInput: There is none of that name, or it does not take an option.
    """
    if name not in table:
        raise BadInput(f"there is no scripted {what} {name!r:.80}; there are {', '.join(table)}")
    try:
        return table[name](**options)
    except TypeError as error:
        raise BadInput(f"the scripted {what} {name} cannot be made of {options}: {error}") from None
