"""Episodes of a program for its validation: many at once in lockstep, or again one after another.

In lockstep each episode is a session of its own and every tick is one message to the worker. The replay plays recorded
actions in another worker, all in one session: whatever a program keeps between episodes, in its module, in its class
or in its instance, shows as a difference.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from metagym.errors import BadOutput, ProgramError, ProgramKilled, SandboxError
from metagym.sandbox.operations import Operation, Reset
from metagym.sandbox.operations import Step as StepOperation

AT_ONCE = 48
"""Episodes in lockstep, below the sandbox's limit of sessions."""


class Player(Protocol):
    """What a validation needs of a loaded program: `metagym.sandbox.Program`."""

    def reset(self, seed: int = 0, session: int = 0, *, fresh: bool = False) -> Any:
        """Begins an episode: observation and info."""

    def step(self, action: Any, session: int = 0) -> Any:
        """One step: observation, reward, terminated, truncated, info."""

    def ask(self, method: str, *arguments: Any, session: int = 0) -> Any:
        """Calls a method of the program on the private channel."""

    def batch(self, operations: Sequence[Operation]) -> list[Any]:
        """Several operations in one message: results or errors, in their order."""


@dataclass(slots=True)
class Step:
    """One step of an episode; `action` is None for its beginning."""

    action: str | None
    observation: Any
    reward: float = 0.0
    terminated: bool = False
    truncated: bool = False
    info: Any = None

    @property
    def done(self) -> bool:
        """The episode is over."""
        return self.terminated or self.truncated

    def seen(self) -> tuple[Any, ...]:
        """What must be equal when the episode is played again."""
        return self.observation, self.reward, self.terminated, self.truncated, self.info


@dataclass(slots=True)
class Walk:
    """One episode, as far as it came.

    Attributes:
        name: Of the policy that played it.
        seed: The seed of its reset.
        steps: Its beginning and its steps.
        error: What the program raised or returned instead of the next step.
        after: The step after its end, if it was tried and answered.
    """

    name: str
    seed: int
    steps: list[Step] = field(default_factory=list)
    error: SandboxError | None = None
    after: Step | None = None

    @property
    def over(self) -> bool:
        """Nothing more is played."""
        return self.error is not None or (bool(self.steps) and self.steps[-1].done)

    @property
    def actions(self) -> list[str]:
        """What was played."""
        return [step.action for step in self.steps if step.action is not None]

    @property
    def observation(self) -> Any:
        """What the player sees now."""
        return self.steps[-1].observation

    @property
    def total(self) -> float:
        """The return so far."""
        return sum(step.reward for step in self.steps)

    @property
    def terminated(self) -> bool:
        """The last step said so."""
        return bool(self.steps) and self.steps[-1].terminated


Policy = Callable[[Walk], str | None]
"""The next action of an episode; None ends it."""


@dataclass(frozen=True, slots=True)
class Plan:
    """An episode to be played.

    Attributes:
        name: Of the policy.
        seed: Of the reset.
        policy: Chooses the actions.
        steps: Most steps.
        after: Take one more step after the end.
        private: Actions that are made of a solution; no message shows them.
    """

    name: str
    seed: int
    policy: Policy
    steps: int
    after: bool = False
    private: frozenset[str] = frozenset()


def play_all(player: Player, plans: Sequence[Plan]) -> list[Walk]:
    """Plays episodes in lockstep, each in its own session.

    Returns:
        One walk per plan, in their order. An error of the program ends its walk and no other.

    Raises:
        ProgramKilled: The worker was ended; the message tells on which call.
    """
    walks: list[Walk] = []
    for start in range(0, len(plans), AT_ONCE):
        walks += _lockstep(player, plans[start : start + AT_ONCE])
    return walks


def _lockstep(player: Player, plans: Sequence[Plan]) -> list[Walk]:
    walks = [Walk(plan.name, plan.seed) for plan in plans]
    sessions = range(1, len(plans) + 1)
    private = frozenset().union(*(plan.private for plan in plans))
    answers = _batch(
        player, [Reset(plan.seed, session, fresh=True) for plan, session in zip(plans, sessions, strict=True)], private
    )
    for walk, answer in zip(walks, answers, strict=True):
        _take(walk, None, answer)
    live = list(range(len(plans)))
    while live:
        moves: list[tuple[int, str]] = []
        for index in live:
            walk, plan = walks[index], plans[index]
            if walk.over or len(walk.steps) > plan.steps:
                continue
            action = plan.policy(walk)
            if action is not None:
                moves.append((index, action))
        answers = _batch(player, [StepOperation(action, index + 1) for index, action in moves], private)
        for (index, action), answer in zip(moves, answers, strict=True):
            _take(walks[index], action, answer)
        live = [index for index, _ in moves]
    ended = [
        index for index, plan in enumerate(plans) if plan.after and walks[index].error is None and walks[index].over
    ]
    last = [walks[index].actions[-1] if walks[index].actions else "" for index in ended]
    steps = [StepOperation(action, index + 1) for index, action in zip(ended, last, strict=True)]
    answers = _batch(player, steps, private)
    for index, action, answer in zip(ended, last, answers, strict=True):
        walks[index].after = _step(action, answer) if not isinstance(answer, Exception) else None
    return walks


def replay(player: Player, walks: Iterable[Walk]) -> list[Walk]:
    """Plays the actions of walks again, one walk after another in one session; as `play_all` for errors."""
    again: list[Walk] = []
    for walk in walks:
        played = Walk(walk.name, walk.seed)
        operations: list[Operation] = [Reset(walk.seed), *(StepOperation(action) for action in walk.actions)]
        answers = player.batch(operations)
        for operation, action, answer in zip(operations, [None, *walk.actions], answers, strict=True):
            _judge(operation, answer, walk.actions)  # some walks are solutions
            _take(played, action, answer)
            if played.error is not None:
                break  # what follows is of an episode that went another way
        again.append(played)
    return again


def _take(walk: Walk, action: str | None, answer: Any) -> None:
    if isinstance(answer, SandboxError):
        walk.error = answer
    else:
        walk.steps.append(_step(action, answer))


def _step(action: str | None, answer: Any) -> Step:
    return Step(action, answer[0], info=answer[1]) if action is None else Step(action, *answer)


def _batch(player: Player, operations: Sequence[Operation], private: Container[str]) -> list[Any]:
    if not operations:
        return []
    answers = player.batch(operations)
    for operation, answer in zip(operations, answers, strict=True):
        _judge(operation, answer, private)
    return answers


def _judge(operation: Operation, answer: Any, private: Container[str]) -> None:
    """Lets through what a program answered or raised; anything else ends the validation."""
    if isinstance(answer, ProgramKilled):
        raise ProgramKilled(answer.limit, f"{_told(operation, private)}: {answer.message}")
    if isinstance(answer, Exception) and not isinstance(answer, (ProgramError, BadOutput)):
        raise answer  # not the program's doing


def _told(operation: Operation, private: Container[str]) -> str:
    match operation:
        case Reset():
            return f"reset(seed={operation.seed})"
        case StepOperation():
            return "step(...)" if operation.action in private else f"step({operation.action!r:.80})"
    return type(operation).__name__
