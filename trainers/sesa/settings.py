"""Everything that decides a self-play: both seats, and what is beside them as one frozen value with a JSON form.

SESA, SSP and the ablations are settings of one driver (`ARMS`); nothing else tells them apart.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from metagym.checks import flag, number, settle, shown, whole
from metagym.errors import UnknownName
from metagym.seeding import check_seed
from metagym.sesa.maintenance import Upkeep
from metagym.sesa.rounds import RewardSettings
from metagym.sesa.shaping import check_rollouts, load_shape, shape_spec
from metagym.sesa.solver import ROLLOUTS
from metagym_trainers.policies import Policy


@dataclass(frozen=True)
class SelfPlaySettings:
    """Settings of `metagym_trainers.sesa.selfplay.SelfPlay`; SESA's own numbers are not public, so each is named here.

    Attributes:
        rounds: Rounds; in each the challenger trains, asks, and the solver trains on what it asked.
        challenger_steps: Optimiser steps of the challenger in a round; 0 leaves it as it is.
        solver_steps: Optimiser steps of the solver in a round.
        questions: Questions that the challenger is asked for in a round, for the solver to train on.
        rollouts: Rollouts of the frozen solver per question, n of its success rate; SSP plays 5.
        shape: Spec of what a success rate is worth to the challenger (`metagym.sesa.shaping.load_shape`).
        reward: What the challenger is paid beside that.
        bank: Whether the solver has a skill bank: cards are distilled of failures, retrieved, and shown.
        card_dropout: Chance that a retrieved card is left out of a training prompt, in [0, 1]: what the cards say then
            has to go into the weights, and the solver keeps it when it is deployed without them. 0 shows all of them.
        upkeep: When cards are given up.
        upkeep_every: Rounds between two consolidations; the digests of SESA speak of 10 steps.
        solved: Share of solved rollouts above which a question is left out of training; 1 keeps all.
        concurrency: Frozen rollouts at once; None for all.
        seed: Decides everything that is drawn outside of the trainers.
    """

    rounds: int = 8
    challenger_steps: int = 10
    solver_steps: int = 25
    questions: int = 128
    rollouts: int = ROLLOUTS
    shape: str = "quadratic"
    reward: RewardSettings = field(default_factory=RewardSettings)
    bank: bool = True
    card_dropout: float = 0.5
    upkeep: Upkeep = field(default_factory=Upkeep)
    upkeep_every: int = 1
    solved: float = 1.0
    concurrency: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        """Checks the settings.

        Raises:
            BadInput: One is out of range, or the rollouts are too few for the shape.
        """
        for name, least in (("rounds", 1), ("challenger_steps", 0), ("solver_steps", 1), ("questions", 1)):
            settle(self, name, whole, least)
        settle(self, "upkeep_every", whole, 1)
        settle(self, "concurrency", whole, 1, none=True)
        settle(self, "bank", flag)
        for name in ("card_dropout", "solved"):
            settle(self, name, number, 0.0, 1.0)
        object.__setattr__(self, "seed", check_seed(self.seed))
        shape = load_shape(self.shape)
        object.__setattr__(self, "shape", shape_spec(shape))
        check_rollouts(shape, self.rollouts, self.reward.min_valid)

    def to_json(self) -> dict[str, Any]:
        """The settings as a JSON object."""
        return asdict(self)


@dataclass(frozen=True)
class Seat:
    """One of the two policies.

    Attributes:
        model: Folder or name of its start, or the model itself; each seat has one of its own.
        tokenizer: Its tokenizer, with a prefix-preserving chat template.
        args: Keyword arguments of its trainer's `GRPOConfig`; the driver sets folder, steps and the order of rows.
        peft: A `peft` config, to train adapters alone; None for all weights.
        policy: Samples it from its server; None samples the trainer's model in this process.
    """

    model: Any
    tokenizer: Any
    args: Mapping[str, Any]
    peft: Any = None
    policy: Policy | None = None


ARMS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "sesa": ("frontier shaping, cards of failures, card dropout", {}),
    "no-dropout": ("as sesa, and every retrieved card is shown in training", {"card_dropout": 0.0}),
    "no-cards": ("frontier shaping without a skill bank", {"bank": False}),
    "ssp": (
        "SSP-like: 1 - success rate pays the challenger, and there is no bank",
        {"bank": False, "shape": "one_minus_acc"},
    ),
}
"""Arms of a comparison: name -> (what it is, the settings that it changes)."""


def arm(settings: SelfPlaySettings, name: str) -> SelfPlaySettings:
    """The settings of an arm.

    Raises:
        UnknownName: There is no such arm.
    """
    if name not in ARMS:
        raise UnknownName(f"there is no arm {shown(name)}; there are {', '.join(ARMS)}")
    return replace(settings, **ARMS[name][1])
