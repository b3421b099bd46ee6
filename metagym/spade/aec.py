"""The pair of designer and agent as a PettingZoo environment (AEC): two policies in one loop, a reward for each."""

from __future__ import annotations

from types import NoneType
from typing import Any, get_args

from metagym.checks import shown, whole
from metagym.errors import BadInput, BadOutput, ProgramError, ProgramKilled, SandboxError
from metagym.playing.aec import TextAEC, in_order
from metagym.playing.hosts import checked_reset, checked_step
from metagym.sandbox import Program, SandboxPool, load
from metagym.spade.controls import reward_of
from metagym.spade.designer import Setting, brief_text, instructions
from metagym.spade.estimates import estimate
from metagym.spade.evidence import Evidence
from metagym.spade.hints import HintSettings, inject, judge
from metagym.spade.outcomes import HINTED, PLAIN, Failure, Outcome, pair_seeds
from metagym.spade.program import EnvProgram, program_in, shown_info
from metagym.spade.samplers import Examples
from metagym.spade.seats import cleaned, instructions_of, task_of
from metagym.spade.validation import MemoryCache, ValidationReport, ValidationSettings, validate
from metagym.spade.workshop import evidence_of, of_setting

DESIGNER, AGENT = "designer", "agent"
NOTHING_YET = "The designer has not written a program yet."


class DesignerAgentAEC(TextAEC):
    """A designer and an agent, turn by turn.

    ## Description
    The designer acts once: its action is the source of a program, which is validated in the sandbox. A refused program
    ends the round for both. Otherwise the agent plays the program on ``pairs`` seeds, first all of them without the
    program's hint and then all with it, one action at a time; then the round ends for both.

    ## Observation
    `FreeText`: for the designer its brief, and after the round what came of its program; for the agent what the program
    says (with the hint under the first observation of a hinted play).

    ## Actions
    `FreeText`: for the designer a program, for the agent a command in the form that ``infos["agent"]["action_format"]``
    names.

    ## Rewards
    The agent gets the program's own rewards, in both arms (``infos["agent"]["arm"]`` tells them apart; hinted plays are
    not to be trained on). The designer gets the preset's reward when the round ends; NaN and ``scored`` False where it
    could not be measured.

    ## Episode end
    Both agents terminate together, after the last play or at the refusal.

    ## Arguments
    * ``setting``, ``skill``: what the designer is asked for.
    * ``reward``, ``reward_options``: as for `metagym.spade.env.DesignerEnv`; ``metagym`` needs ``repeats`` of 2.
    * ``pairs``: seeds in each arm; ``repeats``: plays per seed and arm.
    * ``max_steps``: the agent's cap on steps of a play.
    * ``hint``: ``"program"`` or ``"none"``.
    * ``validation``: how strict it is.

    ``infos[...]["role"]`` names the role in every info, so that a trainer can normalise rewards by role without knowing
    this class.

    ## Source
    SPADE (arXiv 2608.19197). Written independently of the authors' code.
    """

    metadata = {"name": "spade_v0", "render_modes": ["ansi"], "is_parallelizable": False}

    def __init__(
        self,
        setting: Setting = "games",
        skill: str = "Logical Deduction",
        reward: str = "spade_regret",
        reward_options: dict[str, Any] | None = None,
        pairs: int = 4,
        repeats: int = 1,
        max_steps: int | None = 25,
        hint: str = "program",
        validation: ValidationSettings | None = None,
        render_mode: str | None = None,
        sandbox: SandboxPool | None = None,
    ) -> None:
        super().__init__([DESIGNER, AGENT], render_mode)
        if hint not in ("program", "none"):
            raise BadInput(f"hint is 'program' or 'none' here, got {hint!r:.40}")
        if setting not in get_args(Setting):
            raise BadInput(f"setting is one of {', '.join(get_args(Setting))}, got {shown(setting)}")
        if not isinstance(skill, str) or not skill:
            raise BadInput(f"skill is a text, got {shown(skill)}")
        if not isinstance(validation, (ValidationSettings, NoneType)):
            raise BadInput(f"validation is a ValidationSettings, got {shown(validation)}")
        self.setting, self.skill, self.hint_kind = setting, skill, hint
        self.reward = reward_of(reward, reward_options)
        self.pairs, self.repeats = whole("pairs", pairs, 1), whole("repeats", repeats, 1)
        self.max_steps = None if max_steps is None else whole("max_steps", max_steps, 1)
        self.validation = validation or ValidationSettings()
        self._sandbox, self._cache = sandbox, MemoryCache()
        self.instructions = instructions(setting)
        self._handle: Program | None = None

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Begins a round.

        Args:
            seed: Decides the seeds of the plays; None takes the next of the environment's own sequence.
            options: Passed over: PettingZoo's own test hands in options that no environment knows.

        Raises:
            BadInput: The seed is none.
        """
        self.close()
        self.begin(seed, DESIGNER)
        for name in self.agents:  # from here on each move makes new infos: what somebody keeps is not to change
            self.infos[name]["role"] = name
        self.infos[DESIGNER]["instructions"] = self.instructions
        self.texts = {DESIGNER: brief_text(self.skill, None, Examples(), self.chance), AGENT: NOTHING_YET}
        self.program: EnvProgram | None = None
        self.report: ValidationReport | None = None
        self.outcomes: list[Outcome] = []
        self._plan: list[tuple[int, int, int]] = []
        self._hint: str | None = None

    def take(self, agent: str, action: str) -> None:
        """Takes the designer's program, or a command of the agent."""
        if agent == DESIGNER:
            self._design(action)
        else:
            self._act(action)

    def _design(self, action: str) -> None:
        source = program_in(action) or action
        report = validate(source, settings=self.validation, cache=self._cache)
        self.report = of_setting(report, source, self.setting)
        self.infos[DESIGNER] = self.infos[DESIGNER] | {"report": self.report.to_json()}
        if not self.report.ok:
            self.texts[DESIGNER] = f"Your program was refused: {self.report}"
            self._finish(evidence_of(self.report))
            return
        self.program = EnvProgram.parse(source)
        seeds = pair_seeds(self.program.digest, 0, self.pairs, self.chance)
        try:
            self._handle = load(self.program.source, pool=self._sandbox)
            tools = self._asked("tools") if self.program.has_tools else []
            hint = self._asked("hint") if self.hint_kind == "program" and self.program.has_hint else None
        except SandboxError as error:
            self._fail(error, PLAIN, seeds[0], 0, 0)
            return
        self._hint = judge(hint, "program", HintSettings()).text
        arms = (PLAIN,) if self._hint is None else (PLAIN, HINTED)
        self._plan = [(arm, seed, repeat) for arm in arms for seed in seeds for repeat in range(self.repeats)]
        self.infos[AGENT] = self.infos[AGENT] | {
            "instructions": instructions_of(self.program, tools if isinstance(tools, list) else []),
            "tools": tools,
            "action_format": self.program.action_format,
        }
        self.agent_selection = AGENT
        self._begin()

    def _asked(self, method: str) -> Any:
        assert self._handle is not None
        self._handle.reset(0)
        return self._handle.ask(method)

    def _begin(self) -> None:
        """Opens the next play, or ends the round after the last."""
        assert self.program is not None and self._handle is not None
        if not self._plan:
            plain, hinted = ([one for one in self.outcomes if one.arm == arm] for arm in (PLAIN, HINTED))
            self._finish(Evidence(True, estimate(plain, hinted, binary=True)))
            return
        arm, seed, repeat = self._plan[0]
        self._steps, self._invalid, self._return = 0, 0, 0.0
        try:
            text, info = checked_reset(task_of(self.program, seed), self._handle.reset(seed, fresh=True))
        except (SandboxError, ValueError) as error:
            self._fail(error, arm, seed, repeat, 0)
            return
        self.texts[AGENT] = inject(text, self._hint if arm == HINTED else None)
        self._tell(info)

    def _act(self, action: str) -> None:
        assert self.program is not None and self._handle is not None
        arm, seed, repeat = self._plan[0]
        self._steps += 1
        command, _ = cleaned(self.program, action)
        self._invalid += not command
        terminated = truncated = False
        if command:
            try:
                found = checked_step(task_of(self.program, seed), self._handle.step(command))
            except (SandboxError, ValueError) as error:
                self._fail(error, arm, seed, repeat, self._steps)
                return
            self.texts[AGENT], reward, terminated, truncated, info = found
            self.rewards[AGENT] = reward
            self._return += reward
            self._tell(info)
        if not (terminated or truncated or self._steps >= (self.max_steps or self.program.max_steps)):
            return
        success = self.program.solved(self._return, terminated)
        self.outcomes.append(
            Outcome(seed, repeat, arm, self._return, success, steps=self._steps, invalid=self._invalid)
        )
        self.infos[AGENT] = self.infos[AGENT] | {"success": success}
        self._plan.pop(0)
        self._begin()

    def _tell(self, info: Any) -> None:
        arm, seed, repeat = self._plan[0]
        where = {
            "arm": "hinted" if arm == HINTED else "plain",
            "seed": seed,
            "repeat": repeat,
            "play": len(self.outcomes),
        }
        self.infos[AGENT] = self.infos[AGENT] | {**shown_info(info), **where}

    def _fail(self, error: Exception, arm: int, seed: int, repeat: int, steps: int) -> None:
        """The program failed in a play: its author is paid for that, the agent is not."""
        hung = isinstance(error, ProgramKilled) and error.limit == "wall"
        failure: Failure = "timeout" if hung else "env_error"
        self.outcomes.append(Outcome(seed, repeat, arm, failure=failure, steps=steps))
        plain, hinted = ([one for one in self.outcomes if one.arm == side] for side in (PLAIN, HINTED))
        kind = "failed" if isinstance(error, (ProgramError, BadOutput)) else "was ended"
        self.texts[DESIGNER] = f"Your program {kind} while it was played: {error!s:.300}"
        self._finish(Evidence(True, estimate(plain, hinted, binary=True), hung=hung))

    def _finish(self, evidence: Evidence) -> None:
        """Pays the designer and ends the round for both."""
        paid = self.reward(evidence)
        self.rewards[DESIGNER] = float("nan") if paid.total is None else float(paid.total)
        found = evidence.regret
        self.infos[DESIGNER] = self.infos[DESIGNER] | {
            "breakdown": paid.to_json(),
            "scored": paid.total is not None,
            "regret": None if found is None else found.to_json(),
        }
        if found is not None and not found.invalidated and evidence.valid and not evidence.hung:
            told = f"{found.p0.point()} without the hint and {found.p1.point()} with it"
            self.texts[DESIGNER] = f"Your program was accepted; the agent won at a rate of {told}."
        self.finish()

    def close(self) -> None:
        """Ends the worker."""
        if self._handle is not None:
            self._handle.close()
            self._handle = None


def env(**settings: Any) -> Any:
    """The environment with PettingZoo's order-enforcing wrapper, as PettingZoo's own modules give it."""
    return in_order(DesignerAgentAEC, **settings)
