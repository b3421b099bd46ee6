"""A family of any Gymnasium environment, by its id."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import gymnasium

from metagym.chat import ChatModel, Request, scripted
from metagym.errors import BadInput
from metagym.families import Family
from metagym.seeding import check_seed, derive
from metagym.tasks import Task
from metagym_envs.gym.family import SEEDS, SPLITS, VALID_SEEDS, Layers, Opener, as_json, seeds_of
from metagym_envs.gym.known import WORLDS
from metagym_envs.gym.making import EnvLike, checked_kwargs, id_of, make_env
from metagym_envs.gym.world import World
from metagym_wrappers import ActionReader, SuccessFrom

NAME = "Gymnasium"
STEPS = 100
"""Most steps of an episode, where neither the environment nor the caller names a limit."""
_PROBE = 5


def from_gymnasium(
    env_id: EnvLike = "CartPole-v1",
    env_kwargs: Mapping[str, Any] | None = None,
    seeds: Any = SEEDS,
    valid_seeds: Any = VALID_SEEDS,
    success: str | Callable[..., Any] | None = None,
    actions: Sequence[str] | None = None,
    aliases: Mapping[str, str | int] | None = None,
    out_of_range: str = "reject",
    text: str | Callable[[Any, Any], str] | None = None,
    names: Sequence[str] | None = None,
    ansi: str = "no",
    max_items: int = 64,
    instructions: str | None = None,
) -> Family:
    """A family of any Gymnasium environment; its tasks are the seeds of its ``reset``.

    ## Description
    Each task makes the environment anew and resets it with the task's seed. Environments that MetaGym knows (toy text,
    classic control) are told in their own text, with their own action names and scripted stand-ins, unless the
    arguments say otherwise; of any other, text is made by `metagym_wrappers.TextObservation`.

    ## Observation
    Text.

    ## Actions
    Text, by the rule of `metagym_wrappers.actions`.

    ## Rewards
    The environment's own.

    ## Episode end
    The environment's own, and truncation at its time limit (100 steps without one). Success is what ``success`` says.

    ## Arguments
    * ``env_id``: a Gymnasium id (``"module:id"`` imports the module first), and in code also an ``EnvSpec`` or a
      function that makes an environment. The default is an example.
    * ``env_kwargs``: keyword arguments of the environment (JSON).
    * ``seeds``, ``valid_seeds``: seeds of training and held-out games, e.g. ``"0-999"``; no seed may be in both.
    * ``success``: a predicate such as ``"return > 0"`` (`metagym_wrappers.predicates`), in code also a function
      ``(info, return, terminated) -> bool | None``. None takes ``info["success"]`` or ``info["is_success"]``, and
      where the environment tells neither, success is unknown.
    * ``actions``, ``aliases``, ``out_of_range``: see `metagym_wrappers.TextAction`.
    * ``text``, ``names``, ``ansi``, ``max_items``: see `metagym_wrappers.TextObservation`.
    * ``instructions``: a paragraph for the actor; None describes the spaces.

    ## Source
    The environment's own documentation.

    Returns:
        The family. Two environments are reset with one seed and take equal actions; where they do not show the same,
        ``versions["seed_honoured"]`` is False and so is every ``info["seed_honoured"]``, which reports tell of.

    Raises:
        UnknownName: Gymnasium knows no such id.
        BadInput: The environment cannot be made or reset, has no text form, or an argument is not usable.
    """
    kwargs = checked_kwargs("env_kwargs", env_kwargs)
    id_ = id_of(env_id)
    world = _world_of(env_id)
    layers = Layers(text, names, ansi, max_items, actions, aliases, out_of_range)
    told_as_known = world is not None and (text, names, ansi) == (None, None, "no")
    if world is not None:
        layers = _known(layers, world, told_as_known)
    if success is not None:
        layers = replace(layers, success=success)
    tasks = seeds_of(NAME, ("",), seeds, valid_seeds, {"env_id": id_, **({"env_kwargs": kwargs} if kwargs else {})})
    made = make_env(env_id, kwargs)
    try:
        if ansi in ("also", "only") and "ansi" not in made.metadata.get("render_modes", ()):
            raise BadInput(f"ansi={ansi!r} needs an environment that renders as text, and this one does not")
        reader = ActionReader(made.action_space, layers.actions, layers.aliases, layers.out_of_range)
        limit = made.spec.max_episode_steps if made.spec is not None else None
        layers = replace(layers, steps=world.steps if told_as_known and world is not None else limit or STEPS)
        SuccessFrom(made, layers.success)  # a predicate that cannot be read is refused here
        if ansi not in ("also", "only"):  # those need an environment made for it, as the opener's is
            layers.told(made)
    except BadInput as error:
        raise BadInput(f"{id_}: {str(error).removeprefix(f'{id_}: ')}") from error
    finally:
        made.close()
    opener = Opener(env_id, {"": kwargs}, layers, tasks.params)
    honoured = _seed_honoured(opener, tasks("train")[0], reader)
    opener = replace(opener, layers=replace(layers, unseeded=not honoured))
    as_known = world is not None and told_as_known and actions is None
    return Family(
        name=NAME,
        tasks=tasks,
        open=opener,
        splits=SPLITS,
        clean=reader.clean,
        instructions=_instructions(id_, reader, world if as_known else None) if instructions is None else instructions,
        max_steps=layers.steps,
        host="inline" if world is not None else "thread",
        stand_ins=world.stand_ins if as_known and world is not None else {"actor": partial(sampler, reader)},
        versions={
            "env_id": id_,
            "gymnasium": gymnasium.__version__,
            "success": layers.success if isinstance(layers.success, str) else "a function",
            "seed_honoured": honoured,
        },
        options={
            **{"env_id": id_, "env_kwargs": kwargs, "seeds": as_json(seeds), "valid_seeds": as_json(valid_seeds)},
            **{"success": success if isinstance(success, str | None) else "a function", "out_of_range": out_of_range},
            **{"actions": None if actions is None else list(actions), "aliases": dict(aliases or {}), "ansi": ansi},
            **{"text": text if isinstance(text, str | None) else "a function", "max_items": max_items},
            **{"names": None if names is None else list(names)},
        },
    )


def _world_of(env: EnvLike) -> World | None:
    """What is known of an environment of Gymnasium's own."""
    id_ = id_of(env) if isinstance(env, (str, gymnasium.envs.registration.EnvSpec)) else ""
    name, mark, version = id_.rpartition("-v")
    return WORLDS.get(name if mark and version.isdigit() else id_)


def _known(layers: Layers, world: World, told: bool) -> Layers:
    """What the caller left open, as the world has it."""
    if told:
        layers = replace(layers, text=world.see, names=world.names)
    if layers.actions is None:
        layers = replace(
            layers, actions=world.actions or None, aliases={**world.aliases, **(layers.aliases or {})} or None
        )
    return replace(layers, success=world.success)


def _instructions(id_: str, reader: ActionReader, world: World | None) -> str:
    if world is not None:
        return world.instructions
    return f"You act in the environment {id_} and are told what you observe. An action is {reader.wording}."


def _seed_honoured(opener: Opener, task: Task, reader: ActionReader) -> bool:
    """Whether two environments reset with one seed show the same, at first and after a few equal actions.

    Raises:
        BadInput: The environment cannot be reset or stepped, with its own reason.
    """
    shown = [_shown(opener, task, reader) for _ in range(2)]
    return shown[0] == shown[1]


def _shown(opener: Opener, task: Task, reader: ActionReader) -> list[str]:
    env = opener(task)
    try:
        out = [env.reset(seed=task.seed)[0]]
        for number in range(_PROBE):
            reader.space.seed(number)
            observation, _, terminated, truncated, _ = env.step(reader.write(reader.space.sample()))
            out.append(observation)
            if terminated or truncated:
                break
        return out
    except BadInput:
        raise
    except Exception as error:  # a stranger's environment may fail in any way
        raise BadInput(f"{id_of(opener.env)} cannot be played: {type(error).__name__}: {error}") from error
    finally:
        env.close()


def sampler(reader: ActionReader, seed: int) -> ChatModel:
    """A scripted stand-in for the actor that takes any action of the space.

    Args:
        reader: Of the action space.
        seed: Seed of its choices, >= 0.
    """
    check_seed(seed, "the sampler's seed")

    def answer(request: Request) -> str:
        if request.choices:
            return request.choices[derive(seed, "sampler", request.seed or 0) % len(request.choices)]
        reader.space.seed(derive(seed, "sampler", request.seed or 0, request.sample) % 2**31)
        return f"Thought: I take any action (scripted stand-in).\nAction: {reader.write(reader.space.sample())}"

    return scripted(answer, id=f"rules:gymnasium-sampler-1:{seed}")
