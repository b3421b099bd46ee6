"""The scripted reflector: it counts what went wrong in the failed episodes and adds one sentence against it.

It reads what any reflector reads (the meta-observation), follows each failed game with the same `View` that the actor
uses, counts the faults that its table of intents knows, and appends the sentence that answers the most frequent one
that the current prompt does not speak of yet. That table was written by us: it shows that the loop works, and says
nothing about what a language model would find.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from metagym.chat import ChatModel, Request, scripted
from metagym.seeding import check_seed, derive, rng
from metagym_envs.alfworld.rules.actor import split_command
from metagym_envs.alfworld.rules.formats import Batch, Played, meta_observation
from metagym_envs.alfworld.rules.intents import STRAY, TABLE
from metagym_envs.alfworld.rules.reader import Intent, read
from metagym_envs.alfworld.rules.view import View

STRAY_SHARE = 0.04
"""How often a reflection adds a sentence that helps nobody; the analysis says so."""

_IDLE = frozenset(("look", "inventory", "help", "examine", "close"))


def faults(episode: Played) -> Counter[str]:
    """Counts the faults of one episode, by the name of the intent that would mend them."""
    found: Counter[str] = Counter()
    view = View(episode.opening)
    treated = delivered = False
    for action, observation in episode.turns:
        verb, thing, place = split_command(action)
        held = view.held
        wanted_held = view.wanted(held)
        need = view.needs(held) if wanted_held else None
        if view.here in view.closed and not (verb == "open" and place == view.here):
            found["open"] += 1
        if verb in _IDLE:
            found["hurry"] += 1
        if not held:
            here = [name for name in view.seen_wanted() if view.where[name] == view.here]
            if here and view.here not in view.closed and not (verb == "take" and thing in here):
                found["take"] += 1
        if held and not wanted_held and verb != "put":
            found["drop"] += 1
        if need and verb != need.verb and not (verb == "go" and place in view.tool_places(need)):
            found["treat"] += 1
        if wanted_held and not need and view.goal.place:
            places = view.destinations()
            if not (verb in ("go", "put", "open") and place in places):
                found["deliver"] += 1
        if not wanted_held and verb == "go" and place in view.visited and view.where and not _going_for(view, place):
            found["search"] += 1
        view.add(observation)
        treated = treated or bool(view.treated)
        delivered = delivered or bool(view.delivered)
    # What never happened at all counts too, if less than what was seen to be missed.
    if view.goal.treatment and not treated:
        found["treat"] += 1
    if view.goal.place and not delivered:
        found["deliver"] += 1
    return found


def _going_for(view: View, place: str) -> bool:
    return any(view.where[name] == place for name in view.seen_wanted())


def covered(intent: Intent, rules: Mapping[str, bool]) -> bool:
    """Whether advice already asks for all that an intent grants."""
    return all(rules.get(name) for name in intent.grants or (intent.name,))


def reflect(
    batch: Batch,
    seed: int,
    faults: Callable[[Played], Counter[str]] = faults,
    table: Sequence[Intent] = TABLE,
    stray: Sequence[str] = STRAY,
) -> tuple[str, str]:
    """Analyses a batch.

    Args:
        batch: What the reflector was shown.
        seed: Of the choice of words and of the stray sentence.
        faults: Counts the faults of one failed episode by the names of the intents that would mend them.
        table: The intents that the actor reads; those with sentences to teach can be added.
        stray: Sentences that help nobody.

    Returns:
        The analysis and the new prompt, which equals the old one where nothing is left to mend.
    """
    failed = [episode for episode in batch.episodes if episode.failed]
    lines = [f"{len(failed)} of {len(batch.episodes)} episodes failed."]
    if not failed:
        return "\n".join([*lines, "Nothing to mend: I keep the prompt."]), batch.prompt
    each = [faults(episode) for episode in failed]
    total: Counter[str] = Counter()
    for one in each:
        total.update(one)
    rules = read(batch.prompt, table)
    open_faults: list[tuple[float, Intent]] = []
    for intent in table:
        if not intent.teach:
            continue
        count = total[intent.name]
        if not count:
            continue
        known = covered(intent, rules)
        episodes = sum(bool(one[intent.name]) for one in each)
        note = "; the prompt speaks of it already" if known else ""
        lines.append(f"- {intent.fault}: {count} times in {episodes} of them{note}.")
        if not known:
            open_faults.append((count * intent.weight, intent))
    draw = rng(seed, "reflection")
    if draw.random() < STRAY_SHARE:
        lines.append(
            "The sentence that I add this time is a stray one: it mends none of these (noise of the stand-in)."
        )
        return "\n".join(lines), _with(batch.prompt, draw.choice(stray))
    if not open_faults:
        return "\n".join([*lines, "I know of no further rule: I keep the prompt."]), batch.prompt
    intent = max(open_faults, key=lambda pair: pair[0])[1]
    lines.append(f"The weightiest fault without a rule is '{intent.name}': I add one sentence against it.")
    return "\n".join(lines), _with(batch.prompt, draw.choice(intent.teach))


def _with(prompt: str, sentence: str) -> str:
    return f"{prompt}\n- {sentence}" if prompt else f"- {sentence}"


def reflector(seed: int) -> ChatModel:
    """The scripted reflector for ALFWorld.

    Args:
        seed: Seed of its own choices, >= 0. Equal requests get equal replies; the request's seed and sample index
            tell samples apart.

    Returns:
        A chat model that answers the reflector seat's requests with ``ANALYSIS:`` and ``IMPROVED PROMPT:``.
    """
    return reflecting(reflect, seed, f"rules:alfworld-reflector-1:{seed}")


def reflecting(analyse: Callable[[Batch, int], tuple[str, str]], seed: int, id: str) -> ChatModel:
    """A scripted reflector that answers with what an analysis finds.

    Args:
        analyse: ``(batch, seed) -> (analysis, new prompt)``, as `reflect` is.
        seed: Seed of its own choices, >= 0.
        id: The model's id.
    """
    check_seed(seed, "the scripted reflector's seed")

    def answer(request: Request) -> str:
        text = next((m.content for m in reversed(request.messages) if m.role == "user"), "")
        own = derive(seed, "reflector", request.seed or 0, request.sample, text)
        analysis, prompt = analyse(meta_observation(text), own)
        return f"ANALYSIS:\n{analysis}\n\nIMPROVED PROMPT:\n{prompt}"

    return scripted(answer, id=id)
