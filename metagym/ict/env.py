"""The meta-environment of ICT: the action is a system prompt, a step is a batch of inner episodes."""

from __future__ import annotations

import copy
import math
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, get_args

import gymnasium

from metagym import chat
from metagym.chat import load
from metagym.checks import mapping, shown, whole
from metagym.episodes import Episode, Repair, Usage, mean_return, success_rate
from metagym.errors import BadInput, TooManyFailures
from metagym.families import Family, load_family
from metagym.ict.render import render_batch, view_from
from metagym.playing import sync
from metagym.playing.actor import settings_from
from metagym.playing.hosts import HostPool, make_pool
from metagym.playing.runner import MAX_PROMPT, PlaySettings, check_prompt, play_async
from metagym.seeding import check_seed, derive
from metagym.spaces import FreeText
from metagym.tasks import Exhaustion, Task, TaskStream

RewardKind = Literal["next", "replay", "improvement"]
Player = Callable[[str, Sequence[Task], str], Awaitable[list[Episode]]]

_OPTIONS = ("tasks", "system_prompt")


class ICTEnv(gymnasium.Env[str, str]):
    """In-context training over any family.

    ## Description
    A frozen actor plays a batch of tasks under a system prompt; the agent of this environment (the reflector) reads
    the episodes and writes the next system prompt, under which the actor plays *unseen* tasks. Each task is attempted
    once, a batch holds distinct tasks, and no task comes back before the split is used up.

    ## Observation
    `FreeText`: the prompt in force, the result of the last batch, and its episodes turn by turn.

    ## Actions
    `FreeText`: the whole new system prompt, at most 100,000 characters, no NUL.

    ## Rewards
    * ``reward="next"``: mean return of the next unseen batch under the new prompt.
    * ``reward="replay"``: mean return of the *previous* batch, played again under the new prompt with the same tasks
      and seeds (the training signal); then a fresh unseen batch makes the next observation.
    * ``reward="improvement"``: the replay's mean return minus what the old prompt earned on the same tasks.

    Means are over the scored episodes; ``info["unscored"]`` counts the others.

    ## Episode end
    Truncated after ``meta_turns`` steps. Never terminated: neither the end of an inner episode nor a perfect batch
    ends the meta-episode.

    ## Arguments
    * ``family``: a registered name or a `Family`; set by the id.
    * ``actor``: model spec of the frozen actor; ``"auto"`` takes the family's scripted stand-in, or a wanderer.
    * ``batch_size``, ``meta_turns``: tasks per batch, steps per meta-episode.
    * ``split``, ``task_types``: which tasks; default: the family's first split, all types.
    * ``reward``: see above.
    * ``max_steps``: cap on inner steps; None takes the family's.
    * ``clean``: False sends the actor's commands as written, without the family's cleaning rule.
    * ``system_prompt``: the prompt of the first batch; None takes the family's.
    * ``when_exhausted``: ``"error"`` raises `TasksExhausted` when too few unseen tasks are left, ``"wrap"`` starts a
      second, newly shuffled pass (``info["epoch"]``).
    * ``hosts``, ``concurrency``, ``max_failures``, ``model_deadline``, ``env_deadline``: see `metagym.play`.
    * ``history``, ``show_admissible``, ``choose``, ``temperature``, ``max_tokens``: the actor's seat
      (`metagym.ActorSettings`).
    * ``view``: what the observation shows, as a dict of `metagym.ict.render.View` fields.
    * further keyword arguments: options of the family, e.g. ``engine="native"`` for ALFWorld.

    ``reset(options={"tasks": [...], "system_prompt": "..."})`` plays exactly these tasks (ids, `Task` objects or their
    JSON) as the first batch; they do not come back later in the meta-episode.

    ## Source
    *Training Language Agents to Learn from Experience* (arXiv 2605.20477), sections on the meta-environment and the
    replay reward. Written independently of the authors' code.
    """

    metadata = {"render_modes": ["ansi"], "render_fps": 1}

    def __init__(
        self,
        family: str | Family,
        actor: Any = "auto",
        batch_size: int = 5,
        meta_turns: int = 4,
        split: str | None = None,
        task_types: Sequence[str] | None = None,
        reward: RewardKind = "next",
        max_steps: int | None = None,
        clean: bool = True,
        system_prompt: str | None = None,
        when_exhausted: Exhaustion = "error",
        hosts: str | HostPool | None = None,
        concurrency: int | None = None,
        max_failures: float = 0.5,
        model_deadline: float = 600.0,
        env_deadline: float = 60.0,
        view: Mapping[str, Any] | None = None,
        render_mode: str | None = None,
        **options: Any,
    ) -> None:
        if reward not in get_args(RewardKind):
            raise BadInput(f"reward is one of {', '.join(get_args(RewardKind))}, got {reward!r}")
        batch_size, meta_turns = whole("batch_size", batch_size, 1), whole("meta_turns", meta_turns, 1)
        if when_exhausted not in get_args(Exhaustion):
            raise BadInput(f"when_exhausted is one of {', '.join(get_args(Exhaustion))}, got {when_exhausted!r}")
        if render_mode not in (None, "ansi"):
            raise BadInput(f"render_mode is None or 'ansi', got {render_mode!r}")
        self.seat = settings_from(options)
        self.family = load_family(family, **options)
        self.view = view_from(view)
        self.settings = PlaySettings(
            max_steps, concurrency, model_deadline, env_deadline, max_failures, self.view.actions, clean
        )
        self.split = split if split is not None else self.family.splits[0]
        self.tasks = self.family.task_set(self.split, task_types)
        if batch_size > len(self.tasks):
            raise BadInput(f"batch_size is {batch_size}, {self.tasks.name} holds {len(self.tasks)} tasks")
        if actor == "auto":
            actor = "rules" if "actor" in self.family.stand_ins else "random"
        self.model = load(actor, seat="actor", family=self.family)
        self._own_model = isinstance(actor, str)
        self.batch_size, self.meta_turns, self.reward_kind = batch_size, meta_turns, reward
        self.start_prompt = check_prompt(self.family.system_prompt if system_prompt is None else system_prompt)
        self.when_exhausted: Exhaustion = when_exhausted
        self.pool, self._own_pool = make_pool(hosts, self.family, self.settings.env_deadline)
        self.player: Player = self.play
        self.render_mode = render_mode
        self.observation_space = FreeText()
        self.action_space = FreeText(MAX_PROMPT)
        self.meta_seed = 0
        self.turn = -1  # no meta-episode yet
        self.prompt = self.start_prompt
        self.batch: list[Episode] = []
        self.stream: TaskStream | None = None
        self._observation = ""

    async def play(self, phase: str, tasks: Sequence[Task], prompt: str) -> list[Episode]:
        """Plays tasks under a prompt. Equal tasks get equal seeds in every phase: comparisons are of prompts, not luck.

        Args:
            phase: ``turn/<t>/batch`` or ``turn/<t>/replay``, for whoever wraps this method (`player`).
            tasks: What to play.
            prompt: The actor's system prompt.
        """
        return await play_async(
            tasks,
            self.model,
            system_prompt=prompt,
            family=self.family,
            hosts=self.pool,
            seed=derive(self.meta_seed, "actor"),
            seat=self.seat,
            settings=self.settings,
        )

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        """Starts a meta-episode: plays the first batch under the starting prompt.

        Args:
            seed: Decides tasks, order and the actor's sampling; None continues the environment's own sequence.
            options: ``tasks`` (the first batch) and ``system_prompt`` (where it starts); both optional.

        Returns:
            The meta-observation and info (see `step`).

        Raises:
            BadInput: An unknown option or an unusable prompt.
            UnknownName: A task that is not in this split.
            TooManyFailures: More episodes failed than ``max_failures`` allows.
        """
        return sync.run(self.areset(seed=seed, options=options))

    async def areset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[str, dict[str, Any]]:
        """The awaitable twin of `reset`."""
        if seed is not None:
            seed = check_seed(seed)
        wanted = mapping("the argument options of reset", options)
        super().reset(seed=seed)
        for name in wanted:
            if name not in _OPTIONS:
                raise BadInput(f"reset knows the options {', '.join(_OPTIONS)}, got {name!r}")
        # Equal seeds give equal meta-episodes; without one, the next of the environment's own sequence.
        self.meta_seed = seed if seed is not None else int(self.np_random.integers(2**62))
        self.stream = None  # a reset that fails leaves no meta-episode, least of all the last one's batch
        stream = TaskStream(self.tasks, derive(self.meta_seed, "tasks"), self.when_exhausted)
        self.prompt = check_prompt(wanted.get("system_prompt", self.start_prompt))
        if wanted.get("tasks") is not None:
            tasks = self._named(wanted["tasks"])
            stream.hold_back(task.id for task in tasks)
        else:
            tasks = stream.take(self.batch_size)
        self.batch = await self.player("turn/0/batch", tasks, self.prompt)
        self.turn, self.stream = 0, stream
        return self._observe(), self._info(None)

    def _named(self, tasks: Any) -> list[Task]:
        """The tasks of the option `tasks`."""
        if isinstance(tasks, (str, Task, Mapping)) or not isinstance(tasks, Iterable):
            raise BadInput(f"the option 'tasks' is a list of tasks, got {shown(tasks)}; write [task] for a single one")
        found = [self._task(item) for item in tasks]
        if not found:
            raise BadInput("the option 'tasks' is an empty list; leave it out to draw a batch")
        return found

    def _task(self, item: Any) -> Task:
        """A task of this split from an id, a task or its JSON."""
        if isinstance(item, Mapping):
            item = Task.from_json(item)
        if not isinstance(item, Task):
            return self.tasks.by_id(item)
        known = self.tasks.by_id(item.id)
        if replace(item, seed=known.seed) != known:
            raise BadInput(f"task {item.key} is not the one that {self.tasks.name} knows by this id")
        return item

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Plays under a new system prompt.

        Args:
            action: The whole new prompt.

        Returns:
            Observation, reward (float), terminated (always False), truncated (after ``meta_turns`` steps) and info:
            ``episodes`` (the new batch), ``success_rate`` and ``mean_return`` (None where nothing was scored),
            ``system_prompt``, ``unscored``, ``repairs`` (number of turns by how their action came about), ``usage``
            (of this step, as JSON), ``turn``, ``epoch``, ``versions``, ``backend``, and ``replay`` (the replayed
            episodes, [] with ``reward="next"``).

        Raises:
            BadInput: Not text, too long, a NUL; or no meta-episode is open.
            TasksExhausted: Too few unseen tasks are left (``when_exhausted="error"``).
            TooManyFailures: More episodes failed than ``max_failures`` allows.
        """
        return sync.run(self.astep(action))

    async def astep(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """The awaitable twin of `step`."""
        prompt = check_prompt(action)
        if self.stream is None:
            raise BadInput("call reset before step")
        if self.turn >= self.meta_turns:
            raise BadInput(f"the meta-episode ended after {self.meta_turns} turns; call reset")
        turn = self.turn + 1
        tasks = self.stream.take(self.batch_size)
        replay: list[Episode] = []
        try:
            if self.reward_kind != "next":
                replay = await self.player(f"turn/{turn}/replay", [e.task for e in self.batch], prompt)
            batch = await self.player(f"turn/{turn}/batch", tasks, prompt)
            reward = self._score(replay, batch)
        except BaseException:
            self.stream.put_back(tasks)  # the step did not happen: it can be tried again
            raise
        self.turn, self.prompt, self.batch = turn, prompt, batch
        return self._observe(), reward, False, turn >= self.meta_turns, self._info(replay)

    def _score(self, replay: list[Episode], batch: list[Episode]) -> float:
        """The reward of a step, over scored episodes only."""
        if self.reward_kind == "improvement":
            pairs = zip(replay, self.batch, strict=True)
            gains = [new.ret - old.ret for new, old in pairs if new.scored and old.scored]
            value = math.fsum(gains) / len(gains) if gains else None
        else:
            value = mean_return(replay if self.reward_kind == "replay" else batch)
        if value is None:  # unmeasured is never 0
            error = TooManyFailures("no episode of the batch could be scored, so the step has no reward")
            error.episodes = [*replay, *batch]
            raise error
        return float(value)

    def _observe(self) -> str:
        self._observation = render_batch(self.prompt, self.batch, self.view)
        return self._observation

    def _info(self, replay: list[Episode] | None) -> dict[str, Any]:
        assert self.stream is not None
        played = [*(replay or []), *self.batch]
        return {
            "episodes": list(self.batch),
            "replay": list(replay or []),
            "success_rate": success_rate(self.batch),
            "mean_return": mean_return(self.batch),
            "system_prompt": self.prompt,
            "unscored": sum(not e.scored for e in played),
            "repairs": {kind.value: sum(e.count(kind) for e in played) for kind in Repair},
            "usage": Usage.total(e.usage for e in played).to_json(),
            "turn": self.turn,
            "epoch": self.stream.epoch,
            "backend": self.model.backend,
            "versions": copy.deepcopy(dict(self.family.versions)),
        }

    def render(self) -> str | None:
        """The current observation, with ``render_mode="ansi"``."""
        return self._observation if self.render_mode == "ansi" else None

    def close(self) -> None:
        """Ends worker processes, and closes the connections of a model that was made from a spec."""
        sync.run(self.aclose())

    async def aclose(self) -> None:
        """The awaitable twin of `close`."""
        if self._own_pool:
            await self.pool.close()
        if self._own_model:
            await chat.aclose(self.model)
