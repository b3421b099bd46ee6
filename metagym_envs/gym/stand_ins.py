"""Scripted stand-ins over a world's table of advice: an actor that follows what it is told, a reflector that tells it.

The actor has no skill of its own: without advice it picks any action. What advice makes of a state is the world's
function `World.advise`; which advice a prompt holds is read by the reader of the ALFWorld stand-ins, a keyword reader
and no language model. The reflector counts, for each piece of advice that the prompt lacks, how often the failed
episodes did something else than it would have asked for. The table was written by us: a curve made with it shows that
the loop works, and nothing about learning from experience.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from metagym.chat import ChatModel, Request, scripted
from metagym.seeding import check_seed, derive, rng
from metagym_envs.alfworld.rules.formats import Batch, Played, hear, meta_observation
from metagym_envs.alfworld.rules.reader import Intent, read


@dataclass(frozen=True)
class Advice:
    """What the stand-ins of one world know.

    Attributes:
        name: The world.
        intents: What a prompt can ask for; the weight of each ranks it for the reflector.
        advise: ``(text, rules) -> actions``, see `world.World`.
        idle: What is picked from where no action is listed.
    """

    name: str
    intents: tuple[Intent, ...]
    advise: Callable[[str, frozenset[str]], tuple[str, ...]]
    idle: tuple[str, ...]

    def rules(self, prompt: str) -> frozenset[str]:
        """The advice that a prompt asks for."""
        return _rules(prompt, self.intents) if prompt else frozenset()


@lru_cache(maxsize=256)
def _rules(prompt: str, intents: tuple[Intent, ...]) -> frozenset[str]:
    return frozenset(name for name, wanted in read(prompt, intents).items() if wanted)


def choose(advice: Advice, request: Request, seed: int = 0) -> tuple[str, bool]:
    """The action for a request of the actor's seat, and whether advice stands behind it.

    Args:
        advice: The world's.
        request: The conversation; what counts is its last observation.
        seed: The actor's own seed; the request's seed and sample come on top.
    """
    first, last = request.messages[0], request.messages[-1]
    heard = hear(last.content)  # a state tells everything: the turns before are not read, and cost nothing
    text = heard.observations[-1] if heard.observations else ""
    listed = request.choices or heard.admissible
    favoured = advice.advise(text, advice.rules(first.content if first.role == "system" else ""))
    if listed:
        favoured = tuple(action for action in favoured if action in listed)
    options = favoured or listed or advice.idle
    draw = derive(seed, "actor", request.seed or 0, request.sample, len(request.messages), text)
    return options[draw % len(options)], bool(favoured)


def actor(advice: Advice, seed: int) -> ChatModel:
    """The scripted actor.

    Args:
        advice: The world's.
        seed: Seed of its choices, >= 0. Equal requests get equal replies; the temperature is ignored.
    """
    check_seed(seed, "the scripted actor's seed")

    def answer(request: Request) -> str:
        action, advised = choose(advice, request, seed)
        if request.choices:
            return action
        return (
            f"Thought: {'I was advised so' if advised else 'no advice applies, so I try something'}.\nAction: {action}"
        )

    return scripted(answer, id=f"rules:{advice.name.lower()}-actor-1:{seed}")


def faults(advice: Advice, known: frozenset[str], episode: Played) -> Counter[str]:
    """How often an episode did otherwise than each further piece of advice would have asked for."""
    found: Counter[str] = Counter()
    text = episode.opening
    for action, observation in episode.turns:
        before = advice.advise(text, known)
        for intent in advice.intents:
            if intent.name not in known:
                favoured = advice.advise(text, known | {intent.name})
                if favoured != before and action not in favoured:
                    found[intent.name] += 1
        text = observation
    return found


def reflect(advice: Advice, batch: Batch, seed: int) -> tuple[str, str]:
    """Analyses a batch; gives the analysis and the new prompt, equal to the old one where nothing is left to mend."""
    failed = [episode for episode in batch.episodes if episode.failed]
    lines = [f"{len(failed)} of {len(batch.episodes)} episodes failed."]
    known = advice.rules(batch.prompt)
    total: Counter[str] = Counter()
    for episode in failed:
        total.update(faults(advice, known, episode))
    ranked = sorted(
        (intent for intent in advice.intents if total[intent.name]), key=lambda i: -total[i.name] * i.weight
    )
    lines += [f"- {intent.fault}: {total[intent.name]} times." for intent in ranked]
    if not ranked:
        return "\n".join([*lines, "I know of nothing to add: I keep the prompt."]), batch.prompt
    sentence = rng(seed, f"{advice.name}-reflection").choice(ranked[0].teach)
    return "\n".join(lines), f"{batch.prompt}\n- {sentence}" if batch.prompt else f"- {sentence}"


def reflector(advice: Advice, seed: int) -> ChatModel:
    """The scripted reflector.

    Args:
        advice: The world's.
        seed: Seed of its choice of words, >= 0.
    """
    check_seed(seed, "the scripted reflector's seed")

    def answer(request: Request) -> str:
        text = next((m.content for m in reversed(request.messages) if m.role == "user"), "")
        analysis, prompt = reflect(advice, meta_observation(text), derive(seed, "reflector", request.seed or 0, text))
        return f"ANALYSIS:\n{analysis}\n\nIMPROVED PROMPT:\n{prompt}"

    return scripted(answer, id=f"rules:{advice.name.lower()}-reflector-1:{seed}")
