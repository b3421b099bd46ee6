"""Everything that decides a run of SPADE, as one frozen value with a JSON form for manifests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, Literal, get_args

from metagym.checks import flag, number, settle, whole
from metagym.errors import BadInput
from metagym.playing.actor import ActorSettings
from metagym.seeding import check_seed
from metagym.spade.controls import reward_of
from metagym.spade.designer import SKILLS, DesignerSettings, Setting
from metagym.spade.estimates import ESTIMATORS, Estimator
from metagym.spade.hints import HintKind, HintSettings
from metagym.spade.hosts import PlayerSettings
from metagym.spade.memory_state import MemorySettings
from metagym.spade.validation import ValidationSettings

Rule = Literal["center", "zscore", "rloo"]


@dataclass(frozen=True)
class SpadeConfig:
    """Settings of `metagym.spade.loop`; the numbers are SPADE's where it has them, but for its scale.

    Attributes:
        setting: ``games`` or ``tool_use``.
        agent: Spec of the agent: a model, ``rules``, or ``scripted:<name>?...`` (`metagym.spade.stand_ins`).
        designer: Spec of the designer; None takes the agent's (one model, two roles).
        hinter: Spec of whoever writes ``self`` hints; None takes the designer's.
        auditor: Spec of the auditor; None takes the designer's.
        rounds: Rounds of the run.
        programs: Programs per regeneration.
        interval: Rounds between two regenerations; in between the same programs are played, without the hint.
        skills: Skills in turn; None takes those of the setting.
        skills_per_round: How many of them each regeneration asks for.
        seeds: Seeds that a program is played on, in each arm.
        repeats: Plays per seed and arm; from 2 on within-seed learnability is measured, which ``metagym`` needs.
        sequential: Stop the plays of a program as soon as the sign of its regret is clear.
        estimator: ``paired`` plays both arms on the same seeds; ``unpaired`` is SPADE's own way.
        hint: Who writes the hint: ``self``, ``program`` or ``none``.
        reward: Name of a preset or control (`metagym.spade.controls.reward_of`).
        reward_options: Its options.
        advantage: Rule of the designer's advantages within a skill.
        designer_training: Whether the designer learns what it was paid (stand-ins; a trainer does it for models).
        corpus: Spec of the corpus (`metagym.spade.corpora.load_corpus`); None designs without documents.
        max_words: Longest document, in words.
        memory: Whether the designer is shown examples of the memory; programs are kept in any case.
        positives: Good examples shown.
        negatives: Bad examples shown.
        pool: Folder of a fixed pool; its programs are played instead of designing any.
        attempts: Tries per slot, each with a fresh document and the last refusal; only the first is paid.
        seed: Decides everything that is drawn.
        max_failures: Largest share of a program's plays in which the agent's side may fail.
        keep_episodes: Seeds of each arm whose episodes are kept for reading.
        ablations: Names of the ablations that made these settings, for the records.
        validation: How strict the validation is; its seed is the run's.
        memory_settings: Size and eviction of the memory.
        player: How the agent plays.
        designer_seat: How the designer is asked.
        hints: How hints are asked for and what is accepted.
    """

    setting: Setting = "games"
    agent: str = "rules"
    designer: str | None = None
    hinter: str | None = None
    auditor: str | None = None
    rounds: int = 8
    programs: int = 6
    interval: int = 1
    skills: tuple[str, ...] | None = None
    skills_per_round: int = 3
    seeds: int = 8
    repeats: int = 2
    sequential: bool = False
    estimator: Estimator = "paired"
    hint: HintKind = "self"
    reward: str = "metagym"
    reward_options: Mapping[str, Any] = field(default_factory=dict)
    advantage: Rule = "center"
    designer_training: bool = True
    corpus: str | None = "default"
    max_words: int = 6_000
    memory: bool = True
    positives: int = 2
    negatives: int = 1
    pool: str | None = None
    attempts: int = 1
    seed: int = 0
    max_failures: float = 0.5
    keep_episodes: int = 1
    ablations: tuple[str, ...] = ()
    validation: ValidationSettings = ValidationSettings(audit="flag")
    memory_settings: MemorySettings = MemorySettings()
    player: PlayerSettings = PlayerSettings()
    designer_seat: DesignerSettings = DesignerSettings()
    hints: HintSettings = HintSettings()

    def __post_init__(self) -> None:
        """Checks the settings.

        Raises:
            BadInput: One is unknown or out of range.
        """
        for name, allowed in (
            ("setting", get_args(Setting)),
            ("estimator", ESTIMATORS),
            ("hint", get_args(HintKind)),
            ("advantage", get_args(Rule)),
        ):
            if getattr(self, name) not in allowed:
                raise BadInput(f"{name} is one of {', '.join(allowed)}, got {getattr(self, name)!r:.80}")
        for name, least in _LEAST.items():
            settle(self, name, whole, least)
        for name in ("sequential", "designer_training", "memory"):
            settle(self, name, flag)
        settle(self, "max_failures", number, 0, 1)
        object.__setattr__(self, "seed", check_seed(self.seed))
        object.__setattr__(self, "reward_options", dict(self.reward_options))
        if self.skills is not None:
            if isinstance(self.skills, str) or not all(isinstance(skill, str) and skill for skill in self.skills):
                raise BadInput(f"skills are a list of names, got {self.skills!r:.80}")
            object.__setattr__(self, "skills", tuple(dict.fromkeys(self.skills)))
            if not self.skills:
                raise BadInput("skills is an empty list; leave it out for those of the setting")
        if self.setting == "tool_use" and self.pool is None and self.agent == "rules" and self.designer is None:
            raise BadInput("the scripted designers write games: name a designer for the setting 'tool_use'")
        if self.validation.seed != self.seed:
            object.__setattr__(self, "validation", replace(self.validation, seed=self.seed))
        reward_of(self.reward, self.reward_options)

    @property
    def skill_names(self) -> tuple[str, ...]:
        """The skills in turn."""
        return self.skills or SKILLS[self.setting]

    def skill_of(self, epoch: int, slot: int) -> str:
        """The skill that a slot of a regeneration asks for: `skills_per_round` of them, round-robin."""
        names = self.skill_names
        count = min(self.skills_per_round, self.programs, len(names))
        return names[(epoch * count + slot % count) % len(names)]

    def to_json(self) -> dict[str, Any]:
        """The settings as a JSON object."""
        data = asdict(self)
        data["skills"] = None if self.skills is None else list(self.skills)
        data["ablations"] = list(self.ablations)
        return data

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> SpadeConfig:
        """The inverse of `to_json`.

        Raises:
            BadInput: Unknown fields, or values out of range.
        """
        known = {item.name for item in fields(cls)}
        if unknown := sorted(set(data) - known):
            raise BadInput(f"unknown run settings: {', '.join(unknown)}")
        values = dict(data)
        for name in ("skills", "ablations"):
            if values.get(name) is not None:
                values[name] = tuple(values[name])
        try:
            if isinstance(values.get("player"), Mapping):
                player = dict(values["player"])
                if isinstance(player.get("seat"), Mapping):
                    player["seat"] = ActorSettings(**player["seat"])
                values["player"] = PlayerSettings(**player)
            for name, kind in _PARTS.items():
                if isinstance(values.get(name), Mapping):
                    values[name] = kind(**values[name])
            return cls(**values)
        except TypeError as error:
            raise BadInput(f"unusable run settings: {error}") from error


_LEAST = {
    "rounds": 1,
    "programs": 1,
    "interval": 1,
    "skills_per_round": 1,
    "seeds": 1,
    "repeats": 1,
    "max_words": 1,
    "positives": 0,
    "negatives": 0,
    "attempts": 1,
    "keep_episodes": 0,
}
_PARTS: Mapping[str, Any] = {
    "validation": ValidationSettings,
    "memory_settings": MemorySettings,
    "designer_seat": DesignerSettings,
    "hints": HintSettings,
}

ABLATIONS: Mapping[str, str] = {
    "no-corpus": "the designer gets no document",
    "no-memory": "the designer is shown no examples",
    "no-designer-training": "the designer never learns what it was paid",
    "fixed-pool": "the programs of a fixed pool are played; nothing is designed (needs pool)",
    "two-skills": "the first two skills of the setting alone",
    "learning-potential": "the designer is paid the shift of the win rate from its slow average",
    "solve-rate": "the designer is paid the plateau of the win rate alone",
    "pairing-off": "the arms are played on seeds of their own, as SPADE plays them",
    "hint-off": "no hint: regret is unmeasured, and rewards that need it leave programs unscored",
    "audit-off": "no model reads the programs before they are played",
}
"""The ablations of SPADE's paper under its names, and three of ours, with what each one does."""

_REWARDS = {"learning-potential": "learning_potential", "solve-rate": "solve_rate"}


def ablated(config: SpadeConfig, *names: str) -> SpadeConfig:
    """The settings with ablations applied.

    Raises:
        BadInput: There is no such ablation, or a fixed pool is asked for and none is named.
    """
    for name in names:
        if name not in ABLATIONS:
            raise BadInput(f"there is no ablation {name!r:.60}; there are {', '.join(ABLATIONS)}")
    changes: dict[str, Any] = {}
    if len(paid := [name for name in _REWARDS if name in (*config.ablations, *names)]) > 1:
        raise BadInput(f"the ablations {' and '.join(paid)} name different rewards; choose one of them")
    if "fixed-pool" in names and config.pool is None:
        raise BadInput("the ablation 'fixed-pool' needs a pool: make one with 'metagym spade pool build'")
    if "no-corpus" in names:
        changes["corpus"] = None
    if "no-memory" in names:
        changes["memory"] = False
    if "no-designer-training" in names:
        changes["designer_training"] = False
    if "two-skills" in names:
        changes["skills"] = config.skill_names[:2]
    for name, reward in _REWARDS.items():
        if name in names:
            changes |= {"reward": reward, "reward_options": {}}
    if "pairing-off" in names:
        changes["estimator"] = "unpaired"
    if "hint-off" in names:
        changes["hint"] = "none"
    if "audit-off" in names:
        changes["validation"] = replace(config.validation, audit="off")
    kept = tuple(dict.fromkeys((*config.ablations, *names)))
    return replace(config, **changes, ablations=kept)
