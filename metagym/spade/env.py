"""The designer's environment: the action is the source of an environment, the reward what the agent's plays make it."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import gymnasium

from metagym.checks import mapping, shown, whole
from metagym.episodes import Usage
from metagym.errors import BadInput
from metagym.playing import sync
from metagym.seeding import check_seed, derive
from metagym.spaces import FreeText
from metagym.spade.config import SpadeConfig
from metagym.spade.designer import brief_text, instructions
from metagym.spade.documents import Document
from metagym.spade.hosts import PlayerSettings
from metagym.spade.memory import EnvMemory, MemorySnapshot
from metagym.spade.program import program_in
from metagym.spade.records import Plays
from metagym.spade.samplers import Examples
from metagym.spade.seating import Seats
from metagym.spade.slots import Attempt, Design, Paid, Played
from metagym.spade.validation import MemoryCache, ValidationSettings
from metagym.spade.workshop import Workshop, record_of

MAX_ACTION = 200_000
"""Longest action, in characters; a program may have far fewer, but stands in a reply."""

FURTHER = (
    *("reward_options", "estimator", "sequential", "hinter", "auditor", "hints", "player"),
    *("max_words", "positives", "negatives", "memory_settings", "max_failures"),
)
"""Further settings of the environment; the rest of a run's (rounds, slots, attempts, ...) would change nothing here."""


class DesignerEnv(gymnasium.Env[str, str]):
    """Design of environments for a frozen agent.

    ## Description
    A step is one design: the action holds the source of an environment program, which is validated in the sandbox and
    then played by the agent on paired seeds, with and without a privileged hint. What the plays say is the reward.
    Accepted programs enter the memory of the meta-episode and serve as examples and for novelty.

    ## Observation
    `FreeText`: what became of the last program (a refusal names stage, line and way out), the skill that is asked for,
    a document to build on, and examples of the memory. Document and examples stand between marks that they cannot
    guess: they are data, never instructions. ``info["instructions"]`` holds the contract that a program must keep, the
    system prompt of a designer.

    ## Actions
    `FreeText`: a Python module, bare or in one fenced block of a longer reply.

    ## Rewards
    Those of ``reward``: a preset of `metagym.spade.rewards`, or a control. An invalid program costs what the preset
    says. Where the preset's evidence is missing (no hint was had, say) the program is unscored: the reward is NaN and
    ``info["scored"]`` False, since what was not measured is not 0.

    ## Episode end
    Truncated after ``designs`` steps; never terminated.

    ## Arguments
    * ``setting``: ``"games"`` or ``"tool_use"``.
    * ``agent``: spec of the frozen agent: a model, or ``scripted:<name>?...`` (`metagym.spade.stand_ins`).
    * ``reward``, ``reward_options``: the preset and its options.
    * ``hint``: ``"program"``, ``"self"`` (``hinter`` writes it; by default the agent's model) or ``"none"``.
    * ``memory``: True, False (no examples are shown), or the file of an environment memory, which is read and never
      written.
    * ``corpus``: spec of a corpus, or None.
    * ``skills``: skills in turn; None takes those of the setting.
    * ``designs``: steps per meta-episode.
    * ``seeds``, ``repeats``: plays of a program: seeds in each arm, and plays per seed and arm.
    * ``max_steps``: the agent's cap on steps of an episode.
    * ``validation``: dict of `metagym.spade.validation.ValidationSettings` fields.
    * further keyword arguments: fields of `metagym.spade.config.SpadeConfig` that mean something here (`FURTHER`).

    ``reset(options={"skill": "..."})`` asks for one skill throughout.

    ## Source
    SPADE (arXiv 2608.19197), the designer's role. Written independently of the authors' code.
    """

    metadata = {"render_modes": ["ansi"], "render_fps": 1}

    def __init__(
        self,
        setting: str = "games",
        agent: Any = "scripted:skill",
        reward: str = "metagym",
        hint: str = "program",
        memory: bool | str | os.PathLike[str] = True,
        corpus: str | None = "default",
        skills: Sequence[str] | None = None,
        designs: int = 4,
        seeds: int = 8,
        repeats: int = 2,
        max_steps: int | None = 25,
        validation: dict[str, Any] | None = None,
        render_mode: str | None = None,
        **options: Any,
    ) -> None:
        if render_mode not in (None, "ansi"):
            raise BadInput(f"render_mode is None or 'ansi', got {render_mode!r}")
        self.designs = whole("designs", designs, 1)
        if useless := sorted(set(options) - set(FURTHER)):
            raise BadInput(
                f"unusable settings of the designer's environment: {', '.join(useless)}; further ones are "
                f"{', '.join(FURTHER)}"
            )
        if not isinstance(memory, (bool, str, os.PathLike)):
            raise BadInput(f"memory is True, False or the file of a memory, got {shown(memory)}")
        settings = {"audit": "off", **mapping("validation", validation)}
        try:
            self.config = SpadeConfig(
                setting=setting,  # type: ignore[arg-type]
                agent=agent,
                designer="rules",  # whoever calls step
                reward=reward,
                hint=hint,  # type: ignore[arg-type]
                memory=memory is not False,
                corpus=corpus,
                skills=skills if skills is None or isinstance(skills, str) else tuple(skills),  # type: ignore[arg-type]
                seeds=seeds,
                repeats=repeats,
                programs=1,
                keep_episodes=0,
                player=options.pop("player", PlayerSettings(max_steps)),
                validation=ValidationSettings(**settings),
                **options,
            )
        except TypeError as error:
            raise BadInput(f"unusable settings of the designer's environment: {error}") from error
        self.seats = Seats.of(self.config)
        self._cache = MemoryCache()
        self._known = MemorySnapshot()
        if not isinstance(memory, bool):
            with EnvMemory.open(memory) as stored:
                self._known = stored.snapshot()
        self.workshop = Workshop(self.config, self.seats, cache=self._cache)
        self.instructions = instructions(self.config.setting)
        self.render_mode = render_mode
        self.observation_space = FreeText()
        self.action_space = FreeText(MAX_ACTION)
        self.turn = -1  # no meta-episode yet
        self.memory = EnvMemory.in_memory(self.config.memory_settings)
        self._fixed_skill: str | None = None
        self._observation = ""
        self._examples = Examples()
        self._document: Document | None = None

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        """Starts a meta-episode: the memory is again what it was when the environment was made.

        Args:
            seed: Decides documents, examples and plays; None continues the environment's own sequence.
            options: ``skill``, or None.

        Raises:
            BadInput: An unknown option.
        """
        if seed is not None:
            seed = check_seed(seed)
        wanted = mapping("the argument options of reset", options)
        skill = wanted.pop("skill", None)
        if wanted or not (skill is None or isinstance(skill, str)):
            raise BadInput(f"reset knows the option skill, a text; got {sorted(wanted) or skill!r}")
        super().reset(seed=seed)
        chosen = seed if seed is not None else int(self.np_random.integers(2**62))
        config = replace(self.config, seed=chosen)
        self.workshop = Workshop(config, self.seats, pools=self.workshop.pools, cache=self._cache)
        self.memory = EnvMemory.in_memory(config.memory_settings)
        self.turn, self._fixed_skill = 0, skill
        self._observation = self._brief("")
        return self._observation, self._info()

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Validates and plays a program.

        Args:
            action: The source, or a reply that holds it.

        Returns:
            Observation, reward (NaN where unscored), terminated (always False), truncated (after ``designs`` steps) and
            info: ``report`` (the verdict, as JSON), ``breakdown`` (the reward's terms), ``regret`` (the estimate, as
            JSON; None for a refused program), ``scored``, ``digest``, ``skill``, ``document``, ``turn``, ``usage``,
            ``backend``. Neither hint nor solution stands in it.

        Raises:
            BadInput: Not text, or no meta-episode is open.
            TooManyFailures: The agent's model failed in most of the plays.
            SandboxUnavailable: There is no sandbox here.
        """
        return sync.run(self.astep(action))

    async def astep(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """The awaitable twin of `step`."""
        if not isinstance(action, str):
            raise BadInput(f"an action is the source of a program, got {type(action).__name__}")
        if self.turn < 0:
            raise BadInput("call reset before step")
        if self.turn >= self.designs:
            raise BadInput(f"the meta-episode ended after {self.designs} designs; call reset")
        workshop, before = self.workshop, self._snapshot()
        source = program_in(action) or action
        known = [view.record.ast for view in before.all_views if view.record.ast is not None]
        report = await workshop.judge(source, known)
        document = None if self._document is None else {"doc_id": self._document.doc_id}
        attempt = Attempt("program", given=source, document=document, report=report)
        design = Design(self.turn, 0, self.skill, (attempt,), {})
        played = await workshop.play(self.turn, 0, design.program) if design.ok else None
        paid = workshop.pay(design, played, before, [design], None)
        if played is not None and not played.estimate.invalidated and not played.killed:
            self.memory.add(replace(record_of(design), parents=()), Plays.of(played.estimate, self.turn))
        self.turn += 1
        self._observation = self._brief(_verdict(design, played, paid), attempt)
        total = paid.breakdown.total
        reward = math.nan if total is None else float(total)
        return self._observation, reward, False, self.turn >= self.designs, self._info(design, played, paid)

    @property
    def skill(self) -> str:
        """What is asked for now."""
        return self._fixed_skill or self.workshop.config.skill_of(max(self.turn, 0), 0)

    def _snapshot(self) -> MemorySnapshot:
        own = self.memory.snapshot()
        return MemorySnapshot((*self._known.views, *own.views), (*self._known.all_views, *own.all_views))

    def _brief(self, verdict: str, last: Attempt | None = None) -> str:
        """The observation: what became of the last program, and the next task."""
        seed = derive(self.workshop.config.seed, "designer", self.turn, 0, 0)
        self._document = self.workshop.document(self.turn, 0, 0, self.skill)
        self._examples = self.workshop.examples(self._snapshot(), self.skill, seed)
        refused = last is not None and not last.ok
        text = brief_text(
            self.skill,
            self._document,
            self._examples,
            seed,
            last.words if last is not None and refused else "",
            last.source if last is not None and refused else "",
        )
        return f"{verdict}\n\n{text}" if verdict else text

    def _info(
        self, design: Design | None = None, played: Played | None = None, paid: Paid | None = None
    ) -> dict[str, Any]:
        document = self._document
        info: dict[str, Any] = {
            "instructions": self.instructions,
            "skill": self.skill,
            "document": None if document is None else {"doc_id": document.doc_id, "source": document.source},
            "turn": self.turn,
            "backend": self.seats.told()["agent"]["backend"],
        }
        if design is not None and paid is not None:
            assert design.last.report is not None
            info |= {
                "report": design.last.report.to_json(),
                "digest": design.last.report.digest,
                "breakdown": paid.breakdown.to_json(),
                "scored": paid.breakdown.total is not None,
                "regret": None if played is None else played.estimate.to_json(),
                "usage": (Usage() if played is None or played.usage is None else played.usage).to_json(),
            }
        return info

    def render(self) -> str | None:
        """The current observation, with ``render_mode="ansi"``."""
        return self._observation if self.render_mode == "ansi" else None

    def close(self) -> None:
        """Closes the connections of the models."""
        sync.run(self.seats.close())


def _verdict(design: Design, played: Played | None, paid: Paid) -> str:
    total = paid.breakdown.total
    earned = "It could not be scored" if total is None else f"Reward {total:+.3f}"
    if played is None:
        return f"Your last program was refused. {earned}."
    found = played.estimate
    if found.invalidated or played.killed:
        return f"Your last program failed while it was played ({played.killed or 'it raised an error'}). {earned}."
    return (
        f"Your last program was accepted. The agent won at a rate of {found.p0.point()} without the hint and "
        f"{found.p1.point()} with it. {earned}{': ' + paid.breakdown.reason if paid.breakdown.reason else ''}."
    )
