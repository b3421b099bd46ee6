"""How a generation batch of SPADE is laid out, and how its rows are paid."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from metagym.checks import flag, number, settle, whole
from metagym.errors import BadInput
from metagym.spade.config import Rule, SpadeConfig

Credit = Literal["success", "return"]


@dataclass(frozen=True)
class SpadeTraining:
    """Settings of `metagym_trainers.spade`; `config` holds those that it shares with ``metagym spade run``.

    One *brief* (a skill, a document, examples) has a block of ``generations * (1 + slots + hinted_slots)`` rows: a
    group of designs, then `slots` groups of unhinted plays, then `hinted_slots` groups of hinted ones.

    Attributes:
        config: How designs are asked for, judged, played and paid. Its ``seeds * repeats`` plays share one hint; a
            group holds one or several such portions, each with a hint of its own.
        generations: Rows of one group, the trainer's ``num_generations``; >= 2.
        slots: Groups of unhinted plays in a block; >= 1. They go to the first different valid programs of the
            generation, and in turn to the same programs on further seeds where there are fewer programs than slots.
        hinted_slots: Groups of hinted plays that are trained as well; >= 0. SPADE trains on none.
        briefs: Blocks in a generation batch of one process; >= 1.
        mix: A group of plays holds as many seeds of its program as it can, as SPADE's do; False keeps the plays of a
            seed together, so that returns compare like with like, and a group whose seed is lost or won for certain
            teaches nothing.
        credit: What an agent's play is worth. ``return`` is the return of an episode that came to its end, 0 of one
            that was cut (SPADE's rule); ``success`` pays 1 or 0.
        agent_rule: Rule of the agent's advantages within a group; SPADE: the z-score. The designer's is
            ``config.advantage``.
        designer_scale: Factor on the designer's advantages, see `metagym.spade.advantages.designer_scale`; > 0.
        edits: Designs of a group that are edits of its valid ones instead of samples, by the core's editor: a designer
            that has come to write one program alone would else see no other (after ACCEL, Parker-Holder et al. 2022,
            arXiv 2203.01302). They stand outside the baseline, and one that is paid less teaches nothing. Nobody
            knows how likely they were: vLLM's importance weights count them as sampled, and AsyncGRPO, which must
            weigh, leaves them out. Below `generations`; SPADE has none.
    """

    config: SpadeConfig
    generations: int = 16
    slots: int = 24
    hinted_slots: int = 0
    briefs: int = 1
    mix: bool = True
    credit: Credit = "return"
    agent_rule: Rule = "zscore"
    designer_scale: float = 1.0
    edits: int = 0

    def __post_init__(self) -> None:
        """Checks the settings.

        Raises:
            BadInput: One is out of range, or the plays of a group are not `generations`.
        """
        for name, least in (("generations", 2), ("slots", 1), ("hinted_slots", 0), ("briefs", 1), ("edits", 0)):
            settle(self, name, whole, least)
        settle(self, "designer_scale", number, 0.0, above=True)
        settle(self, "mix", flag)
        if self.credit not in get_args(Credit) or self.agent_rule not in get_args(Rule):
            raise BadInput(
                f"credit is one of {', '.join(get_args(Credit))} and agent_rule of {', '.join(get_args(Rule))}, got "
                f"{self.credit!r:.40} and {self.agent_rule!r:.40}"
            )
        config = self.config
        if self.generations % (config.seeds * config.repeats):
            raise BadInput(
                f"seeds * repeats = {config.seeds} * {config.repeats} plays share a hint, and a group of generations = "
                f"{self.generations} rows holds whole portions of them: make it a multiple"
            )
        if self.edits >= self.generations:
            raise BadInput(f"edits is below generations = {self.generations}: without samples there is no baseline")
        if config.pool is not None or config.attempts != 1 or config.sequential:
            raise BadInput(
                "a designer in training writes once: leave pool, attempts and sequential of the config alone"
            )
        if config.player.seat.history is not None:
            raise BadInput(
                "an episode is one row only while its whole conversation is shown: leave the agent's history None"
            )
        if config.player.seat.temperature != config.designer_seat.temperature:
            raise BadInput(
                f"both roles are sampled from one policy at one temperature, and the seats have "
                f"{config.player.seat.temperature:g} and {config.designer_seat.temperature:g}"
            )

    @property
    def groups(self) -> int:
        """Groups of one block."""
        return 1 + self.slots + self.hinted_slots

    @property
    def block(self) -> int:
        """Rows of one block."""
        return self.generations * self.groups

    @property
    def rows(self) -> int:
        """Rows of a generation batch of one process."""
        return self.briefs * self.block

    @property
    def portions(self) -> int:
        """Portions of plays in one group."""
        return self.generations // (self.config.seeds * self.config.repeats)

    @property
    def temperature(self) -> float:
        """Of the policy."""
        return self.config.designer_seat.temperature
