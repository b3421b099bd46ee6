"""Training rows for the reflector: the loop is run many times with a base model, each turn becomes one row.

A row holds all that the replay reward needs: the prompt in force, what the reflector saw, the tasks and the seed with
which a candidate prompt is replayed (arXiv 2605.20477, section on the replay reward).
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any

from metagym.checks import whole
from metagym.episodes import mean_return, success_rate
from metagym.ict.config import RunConfig, build_family
from metagym.ict.loop import Event, Loop, Records, Seats
from metagym.ict.reflector import request_for
from metagym.seeding import derive


async def collect(
    config: RunConfig,
    meta_episodes: int,
    seats: Seats,
    records: Records,
    *,
    hosts: Any = None,
    concurrency: int | None = None,
    on_event: Callable[[Event], None] = lambda event: None,
) -> list[dict[str, Any]]:
    """Runs the loop `meta_episodes` times and returns the rows in order.

    Args:
        config: Settings of each meta-episode; its seed is derived from ``config.seed`` and its number. Nothing is
            scored on a held-out set.
        meta_episodes: How many; >= 1.
        seats: Actor and base reflector.
        records: Where the records of all meta-episodes are (keys ``m/<number>/...``): a killed collection goes on.
        hosts: See `metagym.play`.
        concurrency: Episodes at once.
        on_event: Told of everything that happens.

    Returns:
        One row per meta-turn: ``id``, ``meta_episode``, ``turn``, ``family``, ``family_options``, ``system_prompt``,
        ``observation``, ``messages`` (the reflector's request), ``tasks`` (JSON), ``actor_seed`` (root seed for
        `metagym.play`), ``actor`` (spec), ``seat`` (fields of `metagym.ActorSettings`), ``clean``, ``max_steps``,
        ``mean_return`` and ``success_rate`` under the present prompt.
    """
    whole("meta_episodes", meta_episodes, 1)
    family = build_family(config)
    rows: list[dict[str, Any]] = []
    for number in range(meta_episodes):
        seed = derive(config.seed, "meta-episode", number)
        one = replace(config, seed=seed, eval_tasks=0)
        loop = Loop(
            one,
            seats,
            records,
            prefix=f"m/{number}/",
            family=family,
            hosts=hosts,
            concurrency=concurrency,
            on_event=on_event,
        )
        await loop.run()
        for turn, (prompt, observation, episodes) in enumerate(loop.history[: config.meta_turns]):
            request = request_for(observation, config.reflector_seat, derive(seed, "reflector", turn + 1))
            rows.append(
                {
                    "id": f"{config.family}/{config.seed}/{number}/{turn}",
                    "meta_episode": number,
                    "turn": turn,
                    "family": config.family,
                    "family_options": dict(config.family_options),
                    "system_prompt": prompt,
                    "observation": observation,
                    "messages": [{"role": m.role, "content": m.content} for m in request.messages],
                    "tasks": [e.task.to_json() for e in episodes],
                    "actor": config.actor,
                    "actor_seed": derive(seed, "actor"),
                    "seat": asdict(config.seat),
                    "clean": config.clean,
                    "max_steps": config.max_steps or family.max_steps,
                    "mean_return": mean_return(episodes),
                    "success_rate": success_rate(episodes),
                }
            )
    return rows


def data_card(config: RunConfig, rows: list[dict[str, Any]], versions: dict[str, Any]) -> str:
    """A Markdown card for a file of rows: what it is, how it was made, what it must not be used for."""
    returns = [row["mean_return"] for row in rows if row["mean_return"] is not None]
    mean = f"{math.fsum(returns) / len(returns):.3f}" if returns else "-"
    tasks = {task["id"] for row in rows for task in row["tasks"]}
    kinds = sorted({task["type"] for row in rows for task in row["tasks"]})
    splits = sorted({task["split"] for row in rows for task in row["tasks"]})
    scripted = "scripted" in (versions["actor"]["backend"], versions["reflector"]["backend"])
    warning = (
        "\n**Scripted stand-ins made some or all of these rows: they show the format and test the trainer, and say "
        "nothing about language models.**\n"
        if scripted
        else ""
    )
    return (
        f"# ICT training rows: {config.family}\n{warning}\n"
        f"{len(rows)} rows, one per meta-turn, from {len({row['meta_episode'] for row in rows})} meta-episodes of "
        f"{config.meta_turns} turns with batches of {config.batch_size}. {len(tasks)} distinct tasks of the split(s) "
        f"{', '.join(splits)}, types {', '.join(kinds) or '-'}. Mean return under the prompts in force: {mean}.\n\n"
        "Each line is a JSON object: `messages` is the reflector's request, `tasks` and `actor_seed` replay the batch "
        "under a candidate prompt: `metagym.play(tasks, actor, system_prompt=candidate, seed=actor_seed, "
        "max_steps=max_steps, seat=metagym.ActorSettings(**seat))`.\n"
        "Evaluation must use other tasks than these.\n\n"
        f"## How it was made\n\n```json\n{json.dumps({'settings': config.to_json(), **versions}, indent=1)}\n```\n"
    )
