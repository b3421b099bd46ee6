"""``metagym play --watch``: one task, played by a model and shown turn by turn as it happens."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from gymnasium.utils.seeding import np_random
from rich.console import Console
from rich.rule import Rule

from metagym import chat
from metagym.chat import ChatModel, Reply, Request
from metagym.cli.play import outcome, visible
from metagym.families import Family, load_family
from metagym.playing import Host, HostPool, Transition, play_async
from metagym.playing.hosts import make_pool
from metagym.playing.runner import PlaySettings
from metagym.tasks import Task


def watch_model(
    console: Console,
    family: str,
    options: Mapping[str, Any],
    model: str,
    prompt: str | None,
    seed: int,
    pace: float,
    *,
    task: str | None = None,
    split: str | None = None,
    max_steps: int | None = None,
) -> None:
    """Shows how a model plays a task.

    Args:
        console: Where it is shown.
        family: A registered family.
        options: Its options.
        model: Model spec of the actor.
        prompt: Its system prompt; None takes the family's.
        seed: Draws the task as the plain environment's reset does, and decides the sampling.
        pace: Seconds between turns.
        task: Id of the task.
        split: Split of the task; None takes the family's first.
        max_steps: Cap on steps; None takes the family's.
    """
    built = load_family(family, **options)
    tasks = built.task_set(split or built.splits[0])
    draw, _ = np_random(seed)
    chosen = tasks[int(draw.integers(len(tasks)))] if task is None else tasks.by_id(task)
    asyncio.run(_watch(console, built, chosen, model, prompt, seed, pace, max_steps))


async def _watch(
    console: Console,
    family: Family,
    task: Task,
    spec: str,
    prompt: str | None,
    seed: int,
    pace: float,
    max_steps: int | None,
) -> None:
    settings = PlaySettings(max_steps=max_steps)
    model = chat.load(spec, seat="actor", family=family)
    pool, _ = make_pool(None, family, settings.env_deadline)
    kind = "a scripted stand-in" if model.backend == "scripted" else f"a {model.backend} model"
    console.print(Rule(visible(task.key), align="left"))
    console.print(visible(f"played by {model.id} ({kind})"), style="dim")
    try:
        (episode,) = await play_async(
            [task],
            _Heard(model, console, pace),
            system_prompt=family.system_prompt if prompt is None else prompt,
            family=family,
            hosts=_Seen(pool, console),
            seed=seed,
            settings=settings,
        )
    finally:
        await pool.close()
        await chat.aclose(model)
    console.print(outcome(episode.terminated, episode.success, episode.ret, episode.steps), style="bold")
    if episode.cause:
        console.print(visible(f"({episode.cause})"), style="dim")


class _Heard:
    """A model whose replies are shown."""

    def __init__(self, model: ChatModel, console: Console, pace: float) -> None:
        self._model, self._console, self._pace = model, console, pace

    @property
    def id(self) -> str:
        """The model's."""
        return self._model.id

    @property
    def backend(self) -> Any:
        """The model's."""
        return self._model.backend

    async def chat(self, request: Request) -> Reply:
        """Asks the model and shows what it said."""
        reply = await self._model.chat(request)
        said = f"(no answer: {reply.absence})" if reply.text is None else reply.text.strip()
        self._console.print(visible(said), style="cyan")
        if self._pace:
            await asyncio.sleep(self._pace)
        return reply


class _Seen:
    """A pool whose hosts show what their environments say."""

    def __init__(self, pool: HostPool, console: Console) -> None:
        self._pool, self._console = pool, console

    def host(self, family: Family) -> Host:
        """See `HostPool`."""
        return _SeenHost(self._pool.host(family), self._console)

    async def close(self) -> None:
        """The pool is closed by whoever made it."""


class _SeenHost:
    """A host that shows what its environment says."""

    def __init__(self, host: Host, console: Console) -> None:
        self._host, self._console = host, console
        self._steps = 0

    async def open(self, task: Task) -> None:
        """See `Host`."""
        await self._host.open(task)

    async def reset(self) -> tuple[str, Mapping[str, Any]]:
        """See `Host`."""
        observation, info = await self._host.reset()
        self._console.print(visible(observation))
        return observation, info

    async def step(self, action: str) -> Transition:
        """See `Host`."""
        found = await self._host.step(action)
        self._steps += 1
        self._console.print(Rule(visible(f"step {self._steps}: {action}"), align="left"))
        self._console.print(visible(found.observation))
        return found

    async def close(self) -> None:
        """See `Host`."""
        await self._host.close()
