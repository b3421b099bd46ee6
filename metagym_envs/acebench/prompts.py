"""What agent and user are told. The benchmark's own wording is read from the checkout; where it lacks it, ours stands.

The checkout's texts are never format templates here: only their known placeholders are put in.
"""

from __future__ import annotations

import json
from functools import lru_cache

from metagym_envs.acebench.checkout import checkout, constant
from metagym_envs.acebench.entries import Entry
from metagym_envs.acebench.users import FINISH

_AGENT = {
    "multi_step": (
        "Solve the user's request with the functions below. Call one at a time, as [function(name='value')] and "
        "nothing else, and read its result before the next. The user answers no question. When all is done, say "
        f'"{FINISH}".'
    ),
    "multi_turn": (
        "Help the user with the functions below. To call one, write [function(name='value')] and nothing else. Where "
        "something is missing that a function needs, ask the user for it in plain words; do not guess."
    ),
}
_USER = (
    "You play a user who talks to an assistant. What you know and want: {instruction}\n"
    "Say one line at a time, in your own words, and only what the assistant needs at this point. Make nothing up: what "
    f'is not told above you do not know. When all that you want is done, say "{FINISH}" and nothing else.'
)
_NAMES = {
    "multi_step": ("model_inference/multi_step/APIModel_agent.py", "MULTI_TURN_AGENT_PROMPT_SYSTEM_EN"),
    "multi_turn": ("model_inference/multi_turn/APIModel_agent.py", "MULTI_TURN_AGENT_PROMPT_SYSTEM_EN"),
    "user phone": ("model_inference/multi_turn/APIModel_user.py", "SYSTEM_PROMPT_BASE_EN"),
    "user travel": ("model_inference/multi_turn/APIModel_user.py", "SYSTEM_PROMPT_TRAVEL_EN"),
}
_MORE = ("model_inference/prompt_en.py", "model_inference/prompt/prompt_en.py")


_WORLDS = {"Travel": "TRAVEL_PROMPT_EN", "BaseApi": "BASE_PROMPT_EN"}
"""The benchmark's further rules for dialogues in its two worlds, by a class that is in the world."""


@lru_cache(maxsize=64)
def _official(path: str, name: str) -> str | None:
    return constant(checkout(path), *_NAMES[name])


@lru_cache(maxsize=16)
def _rules(path: str, world: str) -> str | None:
    texts = (constant(checkout(path), file, _WORLDS[world]) for file in _MORE)
    return next((text.strip() for text in texts if text), None)


def source(path: str) -> str:
    """Whose wording is used: ``"checkout"``, ``"own"`` or ``"mixed"``."""
    found = {_official(path, name) is not None for name in _NAMES}
    found |= {True for world in _WORLDS if _rules(path, world) is not None}  # there is none of ours instead
    return "mixed" if len(found) > 1 else "checkout" if found.pop() else "own"


def agent(path: str, entry: Entry) -> str:
    """The rules for the agent, and the functions."""
    rules = _official(path, entry.kind) or _AGENT[entry.kind]
    if entry.kind == "multi_turn":
        more = (_rules(path, world) for world in _WORLDS if world in entry.classes)
        rules += "".join(f"\n{part}" for part in more if part)
    return f"{rules.strip()}\n\nFunctions:\n{json.dumps(list(entry.functions), ensure_ascii=False)}"


def user(path: str, entry: Entry) -> str:
    """What a model that plays the user is told."""
    template = _official(path, "user travel" if "Travel" in entry.classes else "user phone") or _USER
    return template.replace("{instruction}", entry.question)
