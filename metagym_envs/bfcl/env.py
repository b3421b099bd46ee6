"""One conversation of the benchmark as a Gymnasium environment, text in and text out."""

from __future__ import annotations

from typing import Any

import gymnasium

from metagym.errors import BadInput
from metagym.spaces import FreeText
from metagym_envs.bfcl import package, text
from metagym_envs.bfcl.calls import Call, read_calls
from metagym_envs.bfcl.checking import Verdict, judge
from metagym_envs.bfcl.data import Entry
from metagym_envs.bfcl.known_defects import defect
from metagym_envs.bfcl.world import World


class ToolConversation(gymnasium.Env[str, str]):
    """A user who asks for one thing after another, and tools that do them.

    ## Description
    An entry of the multi-turn categories of the Berkeley Function Calling Leaderboard, version 4. The user speaks turn
    by turn; within a turn the agent calls tools until the turn's wishes are fulfilled, and ends it with plain words.
    Data, tools and checker are those of the package ``bfcl-eval``.

    ## Observation
    `FreeText`: first the documents of the tools and the user's words; after calls their results; after the end of a
    turn the user's next words. In the category miss_func a turn hands tools over, with the package's own sentence.

    ## Actions
    `FreeText`: a reply. It calls tools, as `metagym_envs.bfcl.calls` reads them, or ends the turn. Nothing of it is
    evaluated.

    ## Rewards
    At the end 1.0 for a conversation that the package's checker finds valid, else 0.0; 0.0 before.

    ## Episode end
    Terminated when the last turn ends. Truncated, and counted as failed as in the package, when a turn takes more than
    20 replies with calls. `info` holds ``success``, ``turn``, ``tools`` where some are new, ``verdict`` at the end,
    and ``scores``: ``official``; the same by ``known_defects`` and ``without_known_defects`` (None where the entry is
    of the other kind); and two unofficial ones, None before the end: ``turn_validity`` (share of the turns that hold
    by themselves) and ``abstention`` (share of the turns that want no call in which there was none; None where an
    entry has no such turn).

    ## Arguments
    * ``entry``: which conversation.

    ## Source
    Patil et al., "The Berkeley Function Calling Leaderboard (BFCL): From Tool Use to Agentic Evaluation of Large
    Language Models", ICML 2025; package ``bfcl-eval``, Apache-2.0.
    """

    metadata = {"render_modes": []}

    def __init__(self, entry: Entry) -> None:
        self.entry = entry
        self.limit = int(package.prompt("MAXIMUM_STEP_LIMIT"))
        self.observation_space, self.action_space = FreeText(), FreeText()
        self.world: World | None = None
        self.played: list[list[tuple[Call, ...]]] = []
        self._verdict: Verdict | None = None

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        """Begins the conversation anew.

        Args:
            seed: As in Gymnasium; a conversation holds no chance of its own.
            options: None.

        Raises:
            BadInput: An option is given.
        """
        super().reset(seed=seed)
        if options:
            raise BadInput(f"reset of a BFCL conversation knows no option, got {sorted(map(str, options))}")
        self.world, self.played, self._verdict = World(self.entry), [[]], None
        return text.opening(self.entry.tools, self.entry.turns[0]), self._info(tools=list(self.entry.tools))

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Takes one reply of the agent.

        Raises:
            BadInput: It is no text, or the conversation is over or has not begun.
        """
        if not isinstance(action, str):
            raise BadInput(f"a reply is text, got {type(action).__name__}")
        if self.world is None:
            raise BadInput("this conversation is over or has not begun: call reset before step")
        calls = read_calls(action)
        if not calls:
            return self._end_turn()
        found = text.results(calls, [self.world.call(call) for call in calls])
        self.played[-1].append(calls)
        if len(self.played[-1]) > self.limit:
            return self._end(found, forced=True)
        return found, 0.0, False, False, self._info()

    def close(self) -> None:
        """Lets the tools go."""
        self.world = None

    def _end_turn(self) -> tuple[str, float, bool, bool, dict[str, Any]]:
        turn = len(self.played)
        if turn == len(self.entry.turns):
            return self._end(text.OVER)
        self.played.append([])
        held = self.entry.held.get(turn)
        more = {"tools": list(held)} if held else {}
        return begin_turn(self.entry, turn), 0.0, False, False, self._info(**more)

    def _end(self, observation: str, forced: bool = False) -> tuple[str, float, bool, bool, dict[str, Any]]:
        self.world = None
        # A turn that was cut does not count as played: so the package tells a forced end from an ordinary one.
        verdict = self._verdict = judge(self.entry, self.played[:-1] if forced else self.played)
        told = {"valid": verdict.valid, "error": verdict.error, "message": verdict.message}
        return observation, float(verdict.valid), not forced, forced, self._info(verdict=told)

    def _info(self, **more: Any) -> dict[str, Any]:
        verdict, known = self._verdict, defect(self.entry.id)
        valid = verdict is not None and verdict.valid
        official = float(valid)
        scores = {
            "official": official,
            "known_defects": official if known else None,
            "without_known_defects": official if known == "" else None,
            "turn_validity": None if verdict is None else verdict.turn_validity,
            "abstention": None if verdict is None else verdict.abstention,
        }
        return {"success": valid, "turn": len(self.played) - 1, "scores": scores, **more}


def begin_turn(entry: Entry, turn: int) -> str:
    """What a turn after the first begins with: the user's words, or tools that are handed over."""
    held = entry.held.get(turn)
    return text.handed_over(held) if held else text.said(entry.turns[turn])
