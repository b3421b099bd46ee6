"""A toy world for the reflector's training: errands past a hazard, each of which one tool overcomes.

An errand fetches a thing from behind a hazard (64 task types: 8 things x 8 hazards). The frozen actor is scripted and
labelled as such: it uses a tool only if it is one of the first two that its system prompt names, and ignores
all else. A reflector that has read which hazards a batch holds must name the two tools against them. Which tool is
against which hazard stands nowhere in its view: only training teaches it, on 48 types, and the 16 types held out show
whether it was the rule that was learnt. No single answer is right for more than a quarter of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import combinations
from typing import Any

import gymnasium

from metagym import Family, Task, TaskSet, register_family
from metagym.chat import ChatModel, Request, scripted
from metagym.errors import UnknownName
from metagym.ict.config import RunConfig
from metagym.playing.runner import play
from metagym.seeding import derive, rng
from metagym.spaces import FreeText

THINGS = ("gem", "cup", "map", "coin", "ring", "book", "mask", "bell")
HAZARDS = ("ice", "fire", "lock", "dark", "mud", "fog", "wind", "gap")
TOOLS = ("skates", "hose", "key", "lamp", "boots", "horn", "rope", "plank")
"""``TOOLS[i]`` is against ``HAZARDS[i]``."""

HEADING = "IMPROVED PROMPT:"
NAME = "TinyErrands"
SPLITS = ("train", "held_out")
VOCABULARY = (HEADING, "solved", *THINGS, *HAZARDS, *TOOLS)
"""What a tiny reflector hears of the real prompt and can say; see `metagym_trainers.tiny.models.word_tokenizer`."""

ANSWER_TOKENS = 4
"""The heading, two words and the end mark."""

_TOOL = dict(zip(HAZARDS, TOOLS, strict=True))
_HELD_OUT = {(THINGS[(i + shift) % 8], hazard) for i, hazard in enumerate(HAZARDS) for shift in (0, 3)}


class ErrandEnv(gymnasium.Env[str, str]):
    """One errand of one action: ``use <tool>``. Reward 1 for the right tool, 0 for any other; it ends either way."""

    def __init__(self, thing: str, hazard: str) -> None:
        self.observation_space = FreeText()
        self.action_space = FreeText()
        self.thing, self.hazard = thing, hazard

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        """See `gymnasium.Env.reset`. Nothing is drawn: a generator would cost as much as the play."""
        return f"Fetch it past the {self.hazard}.", {"success": False}

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """See `gymnasium.Env.step`."""
        won = action == f"use {_TOOL[self.hazard]}"
        return "You have it." if won else "You are back without it.", float(won), True, False, {"success": won}


@lru_cache(maxsize=4)
def _tasks(split: str) -> TaskSet:
    if split not in SPLITS:
        raise UnknownName(f"{NAME} has no split {split!r}; it has {', '.join(SPLITS)}")
    kinds = [(t, h) for t in THINGS for h in HAZARDS if ((t, h) in _HELD_OUT) == (split == "held_out")]
    return TaskSet((Task(NAME, f"{t}-{h}", f"{t}-{h}", split) for t, h in kinds), f"{NAME}/{split}")


def _open(task: Task) -> ErrandEnv:
    thing, hazard = task.id.split("-")
    return ErrandEnv(thing, hazard)


def tools_in(prompt: str) -> list[str]:
    """The tools that a system prompt names, at most the first two."""
    return [word for word in prompt.split() if word in TOOLS][:2]


def _act(request: Request) -> str:
    prompt = "".join(m.content for m in request.messages if m.role == "system")
    text = request.messages[-1].content
    hazard = next(h for h in HAZARDS if f" {h}." in text)
    tool = _TOOL[hazard]
    return f"Action: use {tool}" if tool in tools_in(prompt) else "Action: use nothing"


def _actor(seed: int) -> ChatModel:
    return scripted(_act, id=f"scripted:{NAME}-actor")


def _reflector(seed: int) -> ChatModel:
    """Names two tools at random, so that collected rows show every prompt in force."""

    def write(request: Request) -> str:
        return f"{HEADING} {' '.join(rng(request.seed or 0, 'two-tools').sample(TOOLS, 2))}"

    return scripted(write, id=f"scripted:{NAME}-random-reflector")


def family() -> Family:
    """The family, with its scripted actor and a base reflector that names tools at random."""
    return Family(
        name=NAME,
        tasks=_tasks,
        open=_open,
        splits=SPLITS,
        system_prompt=f"{TOOLS[0]} {TOOLS[1]}",
        max_steps=1,
        host="inline",
        stand_ins={"actor": _actor, "reflector": _reflector},
        versions={"world": 1},
    )


def register() -> None:
    """Makes the family known as ``TinyErrands`` (once per process; again does no harm)."""
    register_family(NAME, family)


def settings(split: str, seed: int) -> RunConfig:
    """How rows are collected: batches of two, four meta-turns as in the paper."""
    return RunConfig(family=NAME, split=split, batch_size=2, meta_turns=4, eval_tasks=0, seed=derive(seed, split))


def form_example(seed: int, number: int, row: Mapping[str, Any]) -> tuple[Sequence[Mapping[str, str]], str]:
    """An example for the warm start: a row's prompt, and the heading with two words drawn from all.

    Tools are no likelier than things and hazards: the form alone is shown.
    """
    return row["prompt"], f"{HEADING} {' '.join(rng(seed, 'form', number).choices(VOCABULARY[1:], k=2))}"


def constant_ceiling(split: str = "held_out") -> float:
    """The mean return of the best constant answer, found by playing every pair of tools on all tasks of a split."""
    world, tasks = family(), list(_tasks(split))
    means = []
    for pair in combinations(TOOLS, 2):
        episodes = play(tasks, _actor(0), system_prompt=" ".join(pair), family=world)
        means.append(sum(episode.ret for episode in episodes) / len(episodes))
    return max(means)
