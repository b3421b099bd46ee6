"""The agent's environment: one program of a pool, a file or a memory, played in the sandbox."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import gymnasium

from metagym.checks import mapping, shown, whole
from metagym.episodes import Repair
from metagym.errors import BadInput, NoTasks, ProgramKilled, ProgramRejected, UnknownName
from metagym.playing.hosts import checked_reset, checked_step
from metagym.sandbox import Program, SandboxPool, load
from metagym.sandbox.sources import read_source
from metagym.seeding import check_seed
from metagym.spaces import FreeText
from metagym.spade.memory import EnvMemory
from metagym.spade.pool import load_pool
from metagym.spade.program import EnvProgram, shown_info
from metagym.spade.seats import cleaned, instructions_of, task_of
from metagym.spade.stand_ins.programs import number_lock

T = TypeVar("T")
SEED_BITS = 31  # programs hand their seeds to generators that take no more


class AgentEnv(gymnasium.Env[str, str]):
    r"""Programs of a pool, played one after another.

    ## Description
    Each reset opens one program on one seed, in a confined worker, and shows its first observation. What the program
    keeps to itself (its hint, its solution, its state, all text of its info) never comes through.

    ## Observation
    `FreeText`: what the program says. Tool-use programs show user messages and the responses of tools; their tools
    stand in ``info["tools"]`` as JSON Schema. ``info["instructions"]`` says what is played.

    ## Actions
    `FreeText`: a command as the program's header says: a line of text, ``\boxed{...}``, or ``<tool_call>`` and
    ``<answer>`` blocks. A text without a command changes nothing and costs a step.

    ## Rewards
    Those of the program, whose sum lies in the ``reward_range`` of its header.

    ## Episode end
    Terminated by the program's own rules, truncated by them or at ``max_steps``. ``info["success"]``: it came to its
    end and is worth the greatest return.

    ## Arguments
    * ``pool``: folder of a fixed pool (`metagym spade pool build`).
    * ``file``: one program file.
    * ``memory``: file of an environment memory; its programs in use are played.
    * ``source``: the text of one program. Without any of the four, three small locks of the stand-ins are played.
    * ``skill``: only programs of this skill.
    * ``max_steps``: cap on steps; None leaves each program's own.

    ``reset(options={"program": <digest or its beginning>, "seed": <int>})`` opens one program by name, or on a seed.

    ## Source
    SPADE (arXiv 2608.19197), the agent's role. Written independently of the authors' code.
    """

    metadata = {"render_modes": []}

    def __init__(
        self,
        pool: str | None = None,
        file: str | None = None,
        memory: str | None = None,
        source: str | None = None,
        skill: str | None = None,
        max_steps: int | None = None,
        render_mode: str | None = None,
        sandbox: SandboxPool | None = None,
    ) -> None:
        if render_mode is not None:
            raise BadInput(f"there is nothing to render: render_mode must be None, got {render_mode!r}")
        given = {"pool": pool, "file": file, "memory": memory, "source": source}
        named = [name for name, value in given.items() if value is not None]
        if len(named) > 1:
            raise BadInput(f"programs come from one place: give one of pool, file, memory and source, got {named}")
        for name in named:
            if not isinstance(given[name], (str, os.PathLike)):
                raise BadInput(f"{name} is a text, got {shown(given[name])}")
        programs = _programs(given)
        self.programs = tuple(one for one in programs if skill is None or one.skill == skill)
        if not self.programs:
            there = ", ".join(sorted({one.skill for one in programs})) or "none"
            raise NoTasks(f"there is no program of skill {skill!r} here; there are {there}")
        self.max_steps = None if max_steps is None else whole("max_steps", max_steps, 1)
        self.render_mode = None
        self.observation_space = FreeText()
        self.action_space = FreeText()
        self.program: EnvProgram | None = None
        self._sandbox = sandbox
        self._handle: Program | None = None
        self._tools: list[Any] = []
        self._open = False
        self._steps, self._return, self._seed = 0, 0.0, 0
        self._observation = ""
        self._last_info: dict[str, Any] = {}

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        """Opens a program.

        Args:
            seed: Draws the program and its seed, as in Gymnasium.
            options: ``program`` (a digest or its beginning) and ``seed`` (of the program's reset); or None.

        Raises:
            BadInput: The seed or an option is not usable.
            UnknownName: No program here has this digest.
            SandboxError: The program cannot be loaded, or fails.
        """
        wanted = mapping("the argument options of reset", options)
        super().reset(seed=None if seed is None else check_seed(seed))
        name, inner = wanted.pop("program", None), wanted.pop("seed", None)
        if wanted:
            raise BadInput(f"reset knows the options program and seed, got {', '.join(map(str, wanted))}")
        drawn = int(self.np_random.integers(len(self.programs)))
        drawn_seed = int(self.np_random.integers(2**SEED_BITS))
        program = self.programs[drawn] if name is None else self._named(name)
        self._seed = drawn_seed if inner is None else check_seed(inner)
        self._open = False
        begun = self._kept(lambda: self._loaded(program).reset(self._seed, fresh=True))
        observation, info = checked_reset(task_of(program, self._seed), begun)
        self._steps, self._return, self._open = 0, 0.0, True
        self._observation = observation
        self._last_info = self._told(info, None)
        return observation, self._last_info

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Takes one action.

        Raises:
            BadInput: The action is not text, or no episode is open.
            SandboxError: The program failed; the episode has no result.
        """
        if not isinstance(action, str):
            raise BadInput(f"an action is text, got {type(action).__name__}")
        if not self._open or self.program is None or self._handle is None:
            raise BadInput("call reset before step")
        command, repair = cleaned(self.program, action)
        self._steps += 1
        reward, terminated, truncated, info = 0.0, False, False, self._last_info
        if command:
            handle = self._handle
            found = checked_step(task_of(self.program, self._seed), self._kept(lambda: handle.step(command)))
            self._observation, reward, terminated, truncated, info = found  # type: ignore[assignment]
        self._return += reward
        cap = self.max_steps or self.program.max_steps
        truncated = not terminated and (truncated or self._steps >= cap)
        self._open = not (terminated or truncated)
        self._last_info = self._told(info, self.program.solved(self._return, terminated), command, repair)
        return self._observation, reward, terminated, truncated, self._last_info

    def close(self) -> None:
        """Ends the worker."""
        if self._handle is not None:
            self._handle.close()
            self._handle, self.program, self._open = None, None, False

    def _kept(self, call: Callable[[], T]) -> T:
        """Calls the program; a worker that was ended is not asked again: the next reset gets another."""
        try:
            return call()
        except ProgramKilled:
            self.close()
            raise

    def _named(self, name: Any) -> EnvProgram:
        if not isinstance(name, str) or not name:
            raise BadInput(f"the option program is a digest or its beginning, got {shown(name)}")
        found = [program for program in self.programs if program.digest.startswith(name)]
        if len(found) != 1:
            raise UnknownName(
                f"{len(found)} of the {len(self.programs)} programs here have a digest like {name[:64]!r}"
            )
        return found[0]

    def _loaded(self, program: EnvProgram) -> Program:
        """The program in a worker; the one of the last episode is kept if it is the same."""
        if self._handle is None or self.program is None or self.program.digest != program.digest:
            self.close()
            self._handle = load(program.source, pool=self._sandbox)
            self.program, self._tools = program, []
            if program.has_tools:
                self._handle.reset(self._seed)
                told = self._handle.ask("tools")
                self._tools = told if isinstance(told, list) else []
        return self._handle

    def _told(
        self, info: Mapping[str, Any], success: bool | None, action: str = "", repair: Repair | None = None
    ) -> dict[str, Any]:
        """The info: facts of the header, harmless numbers of the program's own info, and what became of the action."""
        program = self.program
        assert program is not None
        return {
            **shown_info(info),
            "program": program.digest,
            "seed": self._seed,
            "title": program.title,
            "skill": program.skill,
            "action_format": program.action_format,
            "instructions": instructions_of(program, self._tools),
            "tools": self._tools,
            "success": success,
            "action": action,
            "repair": None if repair is None else repair.value,
        }


def _programs(given: Mapping[str, Any]) -> list[EnvProgram]:
    if given["pool"] is not None:
        return list(load_pool(given["pool"]).programs)
    if given["memory"] is not None:
        with EnvMemory.open(given["memory"]) as memory:
            views = memory.snapshot().views
        if not views:
            raise NoTasks(f"the memory {given['memory']} holds no program in use")
        return [EnvProgram.parse(view.record.source) for view in views]
    sources: list[str | bytes] = [number_lock(pins) for pins in (2, 3, 4)]
    if given["file"] is not None:
        sources = [read_source(given["file"])]
    elif given["source"] is not None:
        sources = [given["source"]]
    try:
        return [EnvProgram.parse(source) for source in sources]
    except ProgramRejected as error:
        raise BadInput(f"this is no environment program: {error}") from None
