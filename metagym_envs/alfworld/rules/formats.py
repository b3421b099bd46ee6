"""The two formats in which the stand-ins meet the world: the actor's conversation and the reflector's meta-observation.

They are written by the seats (`metagym.playing.actor`, `metagym.ict.render`). All knowledge of their layout is here.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from metagym.chat import Message

LIST_HEAD = "Admissible actions:"
_LIST = re.compile(r"\n*^Admissible actions:\n((?:- [^\n]*(?:\n|$))*)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Heard:
    """One user message: its observations in order and the actions listed last (None where none are listed)."""

    observations: tuple[str, ...]
    admissible: tuple[str, ...] | None


@lru_cache(maxsize=4096)
def hear(content: str) -> Heard:
    """Takes a user message of the actor's seat apart."""
    if LIST_HEAD not in content:
        return Heard((content.strip("\n"),), None)
    observations, at, listed = [], 0, None
    for match in _LIST.finditer(content):
        observations.append(content[at : match.start()].strip("\n"))
        listed = tuple(line[2:] for line in match[1].splitlines())
        at = match.end()
    rest = content[at:].strip("\n")
    if rest:
        observations.append(rest)
        listed = None
    return Heard(tuple(observations), listed)


@dataclass(frozen=True, slots=True)
class Heading:
    """A conversation of the actor's seat.

    Attributes:
        prompt: The evolved system prompt; "" without one.
        opening: The first observation with the instructions before it.
        observations: The later observations, oldest first, as far as the history window goes.
        admissible: The legal actions now; None where they are not shown.
    """

    prompt: str
    opening: str
    observations: tuple[str, ...]
    admissible: tuple[str, ...] | None


def conversation(messages: Sequence[Message]) -> Heading:
    """Reads the actor's request; a conversation in another form gives what of it can be read."""
    prompt = ""
    observations: list[str] = []
    admissible: tuple[str, ...] | None = None
    for message in messages:
        if message.role == "user":
            heard = hear(message.content)
            observations += heard.observations
            admissible = heard.admissible
        elif message.role == "system" and not prompt:
            prompt = message.content
    return Heading(prompt, observations[0] if observations else "", tuple(observations[1:]), admissible)


@dataclass(frozen=True, slots=True)
class Played:
    """One episode as the reflector sees it: how it ended, its opening, and (action, observation) pairs."""

    outcome: str
    opening: str
    turns: tuple[tuple[str, str], ...]

    @property
    def failed(self) -> bool:
        """Whether it was scored and lost."""
        return self.outcome == "failed"


@dataclass(frozen=True, slots=True)
class Batch:
    """A meta-observation: the prompt that was played, and the episodes."""

    prompt: str
    episodes: tuple[Played, ...]


_PROMPT_ENDS = re.compile(r"\n>>>\s*\n+(?=Batch of \d|=== Episode )")
_EPISODE = re.compile(r"^=== Episode \d+:? ?(.*?) ?===$", re.MULTILINE)
_ASIDES = ("Thought:", "Legal actions:", "[...", "[ended:")


def meta_observation(text: str) -> Batch:
    """Reads what the reflector is shown; details of the layout may vary (thoughts, action lists, counts)."""
    prompt = ""
    at = text.find("Current system prompt:")
    if at >= 0:
        # The prompt is written by a model and may hold anything: it ends at the last mark that announces a batch.
        ends = list(_PROMPT_ENDS.finditer(text))
        start = text.find("<<<\n", at)
        if start >= 0 and ends:
            prompt = text[start + 4 : ends[-1].start()]
            text = text[ends[-1].end() :]
    heads = list(_EPISODE.finditer(text))
    episodes = []
    for number, head in enumerate(heads):
        end = heads[number + 1].start() if number + 1 < len(heads) else len(text)
        episodes.append(_played(head[1], text[head.end() : end]))
    return Batch(prompt, tuple(episodes))


def _played(head: str, body: str) -> Played:
    words = [part.strip() for part in head.split(",")]
    outcome = next((word for word in words if word in ("solved", "failed", "not scored")), "not scored")
    opening: list[str] = []
    turns: list[tuple[str, list[str]]] = []
    listing = False
    for line in body.split("\n"):
        if line.startswith("> "):
            turns.append((line[2:].strip(), []))
            listing = False
        elif line == LIST_HEAD:
            listing = True
        elif line.startswith(_ASIDES) or (listing and line.startswith("- ")):
            continue
        else:
            listing = False
            (turns[-1][1] if turns else opening).append(line)
    return Played(
        outcome,
        "\n".join(opening).strip("\n"),
        tuple((action, "\n".join(lines).strip("\n")) for action, lines in turns),
    )
