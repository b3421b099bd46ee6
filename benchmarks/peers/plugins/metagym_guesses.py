"""The game of `benchmarks.peers.guesses` as verifiers 0.4 finds its plugins: a module that exports taskset and env."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import verifiers.v1 as vf

from benchmarks.peers import guesses


class GuessData(vf.TaskData):
    """One game."""

    number: int
    turns: int


class GuessTask(vf.Task[GuessData, vf.State, vf.TaskConfig]):
    """Scored by the environment below."""


class GuessTasksetConfig(vf.TasksetConfig):
    """How many games, and of how many turns at most."""

    count: int = 4
    turns: int = 8


class GuessTaskset(vf.Taskset[GuessTask, GuessTasksetConfig]):
    """All games."""

    def load(self) -> Iterator[GuessTask]:
        """One after another."""
        for number in range(self.config.count):
            data = GuessData(
                name=f"guess#{number}",
                prompt=guesses.QUESTION,
                number=guesses.secret(number),
                turns=self.config.turns,
            )
            yield GuessTask(data, self.config.task)


class GuessEnvConfig(vf.EnvConfig):
    """One seat."""

    player: vf.AgentConfig = vf.AgentConfig()


class GuessEnv(vf.Env[GuessEnvConfig]):
    """The game as the player's user."""

    async def run(self, task: Any, agents: Any) -> None:
        """One game."""
        right, turns = 0.0, 0
        async with agents.player.interaction(task) as interaction:
            segment = await interaction.turn()
            while not segment.terminated:
                turns += 1
                guess = guesses.guess_of(str(segment.last_reply))
                right = float(guess == task.data.number)
                if right or turns == task.data.turns:
                    break
                segment = await interaction.turn(guesses.told(guess, task.data.number))
        interaction.trace.record_reward("right", right, 1.0)
        interaction.trace.record_metric("turns", float(turns))


__all__ = ["GuessData", "GuessEnv", "GuessEnvConfig", "GuessTask", "GuessTaskset", "GuessTasksetConfig"]
