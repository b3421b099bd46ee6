"""What is known of an environment that comes with a text of its own, and the family that follows from it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import gymnasium
from gymnasium import Space, spaces

from metagym.families import Family
from metagym_envs.alfworld.rules.reader import Intent
from metagym_envs.gym.family import SPLITS, Arguments, Layers, Opener, as_json, seeds_of
from metagym_envs.gym.making import newest
from metagym_envs.gym.stand_ins import Advice, actor, reflector
from metagym_wrappers import ActionReader


@dataclass(frozen=True)
class World:
    """An environment of Gymnasium's own, told in text.

    Attributes:
        name: Name of the family, and of the environment in Gymnasium's registry without its version.
        instructions: One paragraph for the actor.
        see: ``(observation, env) -> str``, a function of a module: all of the state that the observation tells.
        success: Predicate, see `metagym_wrappers.predicates`.
        steps: Most steps of an episode.
        kinds: Task types of the bundled family with the keyword arguments of their environments.
        actions: Names of the actions, where they are ``Discrete``.
        space: The action space, where it is another one.
        aliases: Further names.
        names: Of the observation's parts, where `see` is None.
        intents: What advice can be about, for the stand-ins.
        advise: ``(text, rules) -> actions``: those that these rules favour in a state told by `see`; () where they say
            nothing of it.
        idle: What an actor without rules chooses from, where the actions are not listed.
    """

    name: str
    instructions: str
    see: Callable[[Any, Any], str] | None
    success: str
    steps: int
    kinds: Mapping[str, Arguments]
    intents: tuple[Intent, ...]
    advise: Callable[[str, frozenset[str]], tuple[str, ...]]
    actions: tuple[str, ...] = ()
    space: Space[Any] | None = None
    aliases: Mapping[str, str | int] = field(default_factory=dict)
    names: tuple[str, ...] | None = None
    idle: tuple[str, ...] = ()

    @property
    def layers(self) -> Layers:
        """The wrappers' arguments."""
        return Layers(
            text=self.see,
            names=self.names,
            actions=self.actions or None,
            aliases=self.aliases or None,
            success=self.success,
            steps=self.steps,
        )

    @property
    def reader(self) -> ActionReader:
        """Reads and writes its actions."""
        space = spaces.Discrete(len(self.actions)) if self.space is None else self.space
        return ActionReader(space, self.actions or None, self.aliases or None)

    @property
    def stand_ins(self) -> dict[str, Callable[[int], Any]]:
        """Scripted stand-ins for both seats."""
        advice = Advice(self.name, self.intents, self.advise, self.actions or self.idle)
        return {"actor": partial(actor, advice), "reflector": partial(reflector, advice)}


def family_of_world(world: World, seeds: Any, valid_seeds: Any) -> Family:
    """The bundled family of a world.

    Args:
        world: What is known of it.
        seeds: Seeds of the training games of each type, e.g. ``"0-999"``.
        valid_seeds: Seeds of the held-out games.

    Raises:
        BadInput: Seeds cannot be read, or stand in both splits.
    """
    id_ = newest(world.name)
    return Family(
        name=world.name,
        tasks=seeds_of(world.name, tuple(world.kinds), seeds, valid_seeds),
        open=Opener(id_, world.kinds, world.layers, {}),
        splits=SPLITS,
        clean=world.reader.clean,
        instructions=world.instructions,
        max_steps=world.steps,
        host="inline",
        stand_ins=world.stand_ins,
        versions={"env_id": id_, "gymnasium": gymnasium.__version__, "success": world.success},
        options={"seeds": as_json(seeds), "valid_seeds": as_json(valid_seeds)},
    )
