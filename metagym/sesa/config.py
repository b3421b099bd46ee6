"""Everything that decides a run of SESA, as one frozen value with a JSON form: manifests hold it, resume compares it.

SESA, SSP, SkillRL's way and the ablations are settings of one loop (`SWITCHES`); nothing else tells them apart.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Literal, get_args

from metagym.checks import flag, number, settle, whole
from metagym.errors import BadInput
from metagym.seeding import check_seed
from metagym.sesa.contexts import MAX_HOPS
from metagym.sesa.distil import DistilSettings
from metagym.sesa.filters import FilterSettings
from metagym.sesa.maintenance import Upkeep
from metagym.sesa.rollouts import RolloutSettings
from metagym.sesa.rounds import RewardSettings
from metagym.sesa.shaping import check_rollouts, load_shape, shape_spec

Tasks = Literal["self-play", "fixed"]
SCORERS = ("em", "f1", "sub_em", "judge", "em+judge")
STARTER = "starter"
"""Name of the hand-written cards that come with MetaGym (`metagym.sesa.starter`)."""


@dataclass(frozen=True)
class SesaConfig:
    """Settings of `metagym.sesa.loop`. SESA's own numbers are not public: each of them is a setting here.

    Attributes:
        material: Passages, questions and seed answers: ``invented`` (comes with MetaGym), ``corpus:FILE``,
            ``answers:FILE``, or ``python:<module>:<callable>`` (`metagym.sesa.materials`).
        searcher: Spec of the searcher; None takes the material's.
        challenger: Spec of the challenger: a model, or ``rules``.
        solver: Spec of the solver.
        distiller: Spec of the distiller; None takes the solver's.
        verifier: Spec of whoever verifies questions; None takes the solver's.
        judge: Spec of the judge of answers; needed by the scorers ``judge`` and ``em+judge``.
        scorer: How answers are scored.
        tasks: ``self-play``, or ``fixed``: the questions of `data` in turn, and no challenger.
        data: Questions of the fixed set: ``riddles``, ``questions`` or a file (`metagym.sesa.materials.question_set`).
        held_out: Questions kept for evaluation, in the same form: no card may come from them, and no challenge may
            repeat them. ``riddles`` covers the riddles on answers that no challenge starts from.
        rounds: Rounds of the run.
        questions: Questions per round.
        rollouts: Rollouts of the solver per question; SSP plays 5.
        hops: Numbers of facts that are asked for.
        hop_learning: Let a bandit choose among `hops` and learn from the rewards; else they take turns.
        hop_rate: Step size of that bandit, above 0.
        shape: Spec of the frontier shape (`metagym.sesa.shaping.load_shape`).
        distil: Whether failures become cards.
        train_retrieval: Whether the solver's training rollouts see skills.
        challenger_sees_memory: The ablation that must make the scan for leaks fail.
        retrieve_k: Cards per question.
        max_skill_tokens: Most tokens of a block of skills; None for no limit.
        probe_fraction: Share of further rollouts without skills, where skills were found, in [0, 1]: against them the
            worth of cards is measured. Rounded up to whole rollouts per question.
        embedder: ``hash``, ``wordllama`` or ``minilm``; None takes the bank's own, and ``hash`` for a new bank.
        dedup: Cosine from which cards are near copies; None takes the bank's own, and 0.85 for a new bank.
        hand: Hand-written cards to prime with: a file or folder, ``starter``, or None.
        mined: Mined cards to prime with.
        upkeep_every: Rounds between two consolidations; the digests of SESA speak of 10.
        stop_on_collapse: End the run when an alarm goes off, at the last complete round.
        seed: Decides everything that is drawn.
        switches: Names of the switches that made these settings, for the records.
        rollout: How both seats search. Its ``concurrency`` belongs to the call, not to the settings.
        challenger_temperature: Of the challenger; SSP's 0.8.
        filters: Which questions count.
        reward: What the challenger is paid beside the shape.
        distilling: What is distilled, and how much.
        upkeep: When cards are given up.
    """

    material: str = "invented"
    searcher: str | None = None
    challenger: str = "rules"
    solver: str = "rules"
    distiller: str | None = None
    verifier: str | None = None
    judge: str | None = None
    scorer: str = "em"
    tasks: Tasks = "self-play"
    data: str = "riddles"
    held_out: str = "riddles"
    rounds: int = 8
    questions: int = 8
    rollouts: int = 5
    hops: tuple[int, ...] = (1, 2, 3)
    hop_learning: bool = True
    hop_rate: float = 1.0
    shape: str = "quadratic"
    distil: bool = True
    train_retrieval: bool = True
    challenger_sees_memory: bool = False
    retrieve_k: int = 3
    max_skill_tokens: int | None = None
    probe_fraction: float = 0.2
    embedder: str | None = None
    dedup: float | None = None
    hand: str | None = STARTER
    mined: str | None = None
    upkeep_every: int = 1
    stop_on_collapse: bool = False
    seed: int = 0
    switches: tuple[str, ...] = ()
    rollout: RolloutSettings = RolloutSettings()
    challenger_temperature: float = 0.8
    filters: FilterSettings = FilterSettings()
    reward: RewardSettings = RewardSettings()
    distilling: DistilSettings = DistilSettings()
    upkeep: Upkeep = Upkeep()

    def __post_init__(self) -> None:
        """Checks the settings.

        Raises:
            BadInput: One is unknown or out of range.
        """
        if self.tasks not in get_args(Tasks):
            raise BadInput(f"tasks is one of {', '.join(get_args(Tasks))}, got {self.tasks!r:.80}")
        check_scorer(self.scorer, self.judge)
        for name, least in _LEAST.items():
            settle(self, name, whole, least)
        for name in ("hop_learning", "distil", "train_retrieval", "challenger_sees_memory", "stop_on_collapse"):
            settle(self, name, flag)
        settle(self, "max_skill_tokens", whole, 0, none=True)
        settle(self, "probe_fraction", number, 0.0, 1.0)
        settle(self, "challenger_temperature", number, 0.0)
        settle(self, "hop_rate", number, 0.0, above=True)
        settle(self, "dedup", number, 0.0, 1.0, above=True, none=True)
        object.__setattr__(self, "seed", check_seed(self.seed))
        object.__setattr__(self, "hops", tuple(whole("a number of hops", hops, 1) for hops in self.hops))
        if not self.hops or len(set(self.hops)) != len(self.hops) or max(self.hops) > MAX_HOPS:
            raise BadInput(f"hops are different numbers from 1 to {MAX_HOPS}, got {list(self.hops)}")
        if self.rollout.concurrency is not None:
            object.__setattr__(self, "rollout", replace(self.rollout, concurrency=None))
        shape = load_shape(self.shape)
        object.__setattr__(self, "shape", shape_spec(shape))
        check_rollouts(shape, self.rollouts, self.reward.min_valid)

    @property
    def probes(self) -> int:
        """Rollouts without skills per question."""
        return math.ceil(round(self.probe_fraction * self.rollouts, 9))

    @property
    def uses_bank(self) -> bool:
        """Whether anything of the run reads or writes a bank."""
        return bool(self.distil or self.train_retrieval or self.challenger_sees_memory or self.hand or self.mined)

    def to_json(self) -> dict[str, Any]:
        """The settings as a JSON object."""
        data = asdict(self)
        return data | {"hops": list(self.hops), "switches": list(self.switches)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> SesaConfig:
        """The inverse of `to_json`.

        Raises:
            BadInput: Unknown fields, or values out of range.
        """
        known = {item.name for item in fields(cls)}
        if unknown := sorted(set(data) - known):
            raise BadInput(f"unknown run settings: {', '.join(unknown)}")
        values = dict(data)
        try:
            for name in ("hops", "switches"):
                if name in values:
                    values[name] = tuple(values[name])
            for name, kind in _PARTS.items():
                if isinstance(values.get(name), Mapping):
                    values[name] = kind(**values[name])
            return cls(**values)
        except TypeError as error:
            raise BadInput(f"unusable run settings: {error}") from error


def check_scorer(scorer: str, judge: str | None) -> None:
    """Refuses an unknown scorer, one that lacks its judge, and a judge that nobody asks.

    Raises:
        BadInput: It is so.
    """
    if scorer not in SCORERS:
        raise BadInput(f"scorer is one of {', '.join(SCORERS)}, got {scorer!r:.80}")
    if ("judge" in scorer) != (judge is not None):
        raise BadInput(f"the scorer {scorer!r} {'needs' if judge is None else 'asks no'} judge")


_LEAST = {"rounds": 1, "questions": 1, "rollouts": 1, "retrieve_k": 0, "upkeep_every": 1}
_PARTS: Mapping[str, Any] = {
    "rollout": RolloutSettings,
    "filters": FilterSettings,
    "reward": RewardSettings,
    "distilling": DistilSettings,
    "upkeep": Upkeep,
}

_NO_BANK: Mapping[str, Any] = {"distil": False, "train_retrieval": False, "hand": None, "mined": None}

SWITCHES: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "ssp": ("SSP: 1 - accuracy pays the challenger, and there is no bank", {**_NO_BANK, "shape": "one_minus_acc"}),
    "skillrl": ("SkillRL's way: failures on a fixed set of questions become cards; no challenger", {"tasks": "fixed"}),
    "no-failure-distillation": ("no failure becomes a card; the bank stays as it was primed", {"distil": False}),
    "no-frontier-shaping": ("every valid question pays the challenger alike", {"shape": "constant"}),
    "no-retrieval-in-training": ("training rollouts see no skills", {"train_retrieval": False}),
    "challenger-sees-memory": (
        "skills stand in the challenger's prompts: the scan for leaks must find them",
        {"challenger_sees_memory": True},
    ),
}
"""Baselines and ablations: name -> (what it does, the settings it changes)."""


def switched(config: SesaConfig, *names: str) -> SesaConfig:
    """The settings with switches applied, in the order given.

    Raises:
        BadInput: There is no such switch.
    """
    changes: dict[str, Any] = {}
    for name in names:
        if name not in SWITCHES:
            raise BadInput(f"there is no switch {name!r:.60}; there are {', '.join(SWITCHES)}")
        changes |= SWITCHES[name][1]
    return replace(config, **changes, switches=tuple(dict.fromkeys((*config.switches, *names))))
