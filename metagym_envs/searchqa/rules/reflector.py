"""The scripted reflector: it looks at the failed episodes and adds one sentence against their most frequent fault."""

from __future__ import annotations

import re
from collections import Counter

from metagym.chat import ChatModel, Request, scripted
from metagym.seeding import check_seed, rng
from metagym_envs.alfworld.rules.formats import Batch, Played, meta_observation
from metagym_envs.alfworld.rules.reader import read
from metagym_envs.searchqa.rules.intents import TABLE
from metagym_envs.searchqa.rules.reading import understand

LONGEST_NAME = 4
"""Words of the longest name that is an answer."""
_ANSWER = re.compile(r"<answer>(.*?)</answer>")


def faults(episode: Played) -> set[str]:
    """The faults of one failed episode, by the name of the intent that would mend them."""
    found = set()
    searches = sum(action.startswith("<search>") for action, _ in episode.turns)
    plan = understand(episode.opening)
    if plan is not None and searches < len(plan.hops):
        found.add("decompose")
    answers = [match[1] for action, _ in episode.turns if (match := _ANSWER.search(action))]
    if answers and len(answers[-1].split()) > LONGEST_NAME:
        found.add("brief")
    return found


def reflect(batch: Batch, seed: int) -> tuple[str, str]:
    """Analyses a batch; gives the analysis and the new prompt, equal to the old one where nothing is left to mend."""
    failed = [episode for episode in batch.episodes if episode.failed]
    counts = Counter(fault for episode in failed for fault in faults(episode))
    rules = read(batch.prompt, TABLE)
    lines = [f"{len(failed)} of {len(batch.episodes)} episodes failed."]
    wanted = None
    for intent in TABLE:
        if not counts[intent.name]:
            continue
        known = bool(rules.get(intent.name))
        note = "; the prompt speaks of it already" if known else ""
        lines.append(f"- {counts[intent.name]} of them {intent.fault}{note}.")
        if not known and (wanted is None or counts[intent.name] > counts[wanted.name]):
            wanted = intent
    if wanted is None:
        return "\n".join([*lines, "I know of no further rule: I keep the prompt."]), batch.prompt
    sentence = rng(seed, "searchqa-reflection").choice(wanted.teach)
    return "\n".join(lines), f"{batch.prompt}\n- {sentence}" if batch.prompt else f"- {sentence}"


def reflector(seed: int) -> ChatModel:
    """The scripted reflector for SearchQA.

    Args:
        seed: Seed of its choice of words, >= 0.

    Returns:
        A chat model that answers the reflector seat's requests with ``ANALYSIS:`` and ``IMPROVED PROMPT:``.
    """
    check_seed(seed, "the scripted reflector's seed")

    def answer(request: Request) -> str:
        text = next((m.content for m in reversed(request.messages) if m.role == "user"), "")
        analysis, prompt = reflect(meta_observation(text), seed)
        return f"ANALYSIS:\n{analysis}\n\nIMPROVED PROMPT:\n{prompt}"

    return scripted(answer, id=f"rules:searchqa-reflector-1:{seed}")
