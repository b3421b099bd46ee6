"""Stage 9: the answer does not stand in what the player sees, nor in the hint.

A word of the solution in an observation is no leak by itself: commands are listed, options are named, a user says which
city to fly to. What is a leak is decided by comparing seeds, in four rules. Texts are read as words (letters, digits;
case does not matter); the vocabulary is every word that all seeds' first observations, or all seeds' solutions, have in
common; the other words of a solution are its *distinctive* words.

* **Whole solution**: the solution's words (two actions and three words at least) stand one after another in what its
  own seed shows, on at least half of the seeds, and those of other seeds do so less than half as often.
* **Recipe** (not for tool calls, whose arguments a user message may name): one recipe that copies words, such as
  "write `guess`, then the word that follows `code`", gives the solution on every seed. That is: solutions are equal
  but for their distinctive words (on at least half of the seeds; a number that is told to all, as a limit, may be an
  answer by chance), and on each of those seeds each distinctive word follows one fixed word, or pair of words, in at
  least half of the places where that stands. At least three different answers must be seen.
* **In a row** (not for tool calls): the solution's words (two at least) that not all solutions have in common stand
  one after another, as in "the pins were 12, 40 and 7"; words that are shown on all seeds may stand between them.
  Seeds are counted as for the whole solution.
* **Hint**: on at least half of the seeds the hint tells a value of its own seed's solution by the rules of
  `metagym.spade.leaks.leak_in`, or three of its actions in a row; and those of other seeds less than half as often.

What is shown are observations, and what of the info an agent may see. For the whole solution, those before the
solution's last action is given, of the reference episode and of all other policies, the end of lost episodes included
(what is told there is remembered). For the recipe and the row, only what shows itself to a player who does nothing
sensible: the first observation, and the episodes of no-op and of garbage to their ends. A code that is read by opening
a drawer may be copied; one that lies on the table may not.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence

from metagym.spade.leaks import leak_in
from metagym.spade.program import EnvProgram, shown_info
from metagym.spade.validation.report import Refusal
from metagym.spade.validation.walks import Step, Walk
from metagym.spade.validation.worth import Reference

_WORD = re.compile(r"[^\W_]+")
IDLE = ("no-op", "garbage")
"""Names of the policies that do nothing sensible."""

_BEGINNING, _START = "\n\n", "\n"  # no words: what stands before the first word of the first observation, of others

Words = tuple[str, ...]


def check_leaks(program: EnvProgram, found: Sequence[Reference], shown: Sequence[Walk]) -> None:
    """Looks for the reference solutions in what the player sees and in the hints.

    Args:
        program: The program.
        found: Its reference solutions.
        shown: Episodes of other policies on the same seeds.

    Raises:
        Refusal: ``answer_in_observation`` or ``answer_in_hint``; neither holds the answer itself.
    """
    solutions = [[words(action) for action in reference.actions] for reference in found]
    common = _vocabulary(found, solutions)
    texts = [_seen(reference, shown) for reference in found]
    idle = [_shown_to_idle(reference, shown) for reference in found]
    told, played = _in_all(idle), _in_all(solutions)
    copied = program.action_format != "tool_call"
    if _stands(solutions, lambda answer, seed: _whole_in(solutions[answer], texts[seed])) or (
        copied and _stands(solutions, lambda answer, seed: _row_in(solutions[answer], idle[seed], played, told))
    ):
        raise Refusal(
            "answer_in_observation",
            "the observations of a seed hold its whole reference solution: show what the player needs to find it, and "
            "tell it at no time, not even when the episode is lost",
        )
    places = _recipe(solutions, common, idle) if copied else None
    if places is not None:
        raise Refusal(
            "answer_in_observation",
            f"the answer can be copied from the observations: it is the word after {' and after '.join(places)} on "
            "every seed; show what the player needs to find it, and tell it at no time, not even when the episode is "
            "lost",
        )
    if _stands(solutions, lambda answer, seed: _told_by_hint(found, answer, seed)) or _stands(
        solutions, lambda answer, seed: _steps_in(solutions[answer], words(found[seed].hint or ""))
    ):
        raise Refusal(
            "answer_in_hint",
            "the hint holds words of its seed's solution: tell the way to think, and no value of this episode",
        )


def words(text: str) -> Words:
    r"""The words of a text, in small letters; ``boxed`` of ``\boxed{...}`` is none."""
    return tuple(_WORD.findall(text.replace("\\boxed", " ").casefold()))


def _vocabulary(found: Sequence[Reference], solutions: Sequence[Sequence[Words]]) -> set[str]:
    """Words that tell nothing about a seed."""
    observed = set.intersection(*(set(words(str(reference.walk.steps[0].observation))) for reference in found))
    return observed | _in_all(solutions)


def _in_all(groups: Sequence[Sequence[Words]]) -> set[str]:
    """Words that stand in every group of texts."""
    return set.intersection(*({word for text in group for word in text} for group in groups))


def _told_by_hint(found: Sequence[Reference], answer: int, seed: int) -> bool:
    """Whether the hint of one seed gives the solution of another away (or its own)."""
    hint = found[seed].hint
    if not hint:
        return False
    others = [reference.actions for index, reference in enumerate(found) if index != answer]
    return bool(leak_in(hint, found[answer].actions, others, str(found[answer].walk.steps[0].observation)))


def _seen(reference: Reference, shown: Sequence[Walk]) -> list[Words]:
    """Every observation of a seed that was shown before the answer was given."""
    texts = [_text(step) for step in reference.walk.steps[:-1]]
    own = [action.strip().casefold() for action in reference.actions]
    for walk in shown:
        if walk.seed == reference.walk.seed:
            given = False
            for step in walk.steps:
                given |= step.action is not None and step.action.strip().casefold() == own[-1]
                if not given:
                    texts.append(_text(step))
    return [words(text) for text in dict.fromkeys(texts)]


def _text(step: Step) -> str:
    """An observation with what of the info an agent may see."""
    info = shown_info(step.info) if isinstance(step.info, dict) else {}
    return "\n".join([str(step.observation), *(f"{name} {value}" for name, value in info.items())])


def _shown_to_idle(reference: Reference, shown: Sequence[Walk]) -> list[Words]:
    """What a player sees who does nothing sensible."""
    texts = [_text(reference.walk.steps[0])]
    for walk in shown:
        if walk.seed == reference.walk.seed and walk.name in IDLE:
            texts += [_text(step) for step in walk.steps]
    return [words(text) for text in dict.fromkeys(texts)]


def _stands(solutions: Sequence[Sequence[Words]], holds: Callable[[int, int], bool]) -> bool:
    """Whether solutions stand in what their own seeds show, and much less in what other seeds show.

    Args:
        solutions: One per seed.
        holds: Whether the solution of the first place stands in what is shown at the second.
    """
    seeds = range(len(solutions))
    own = sum(holds(seed, seed) for seed in seeds) / len(solutions)
    if own < 0.5:
        return False
    pairs = [(one, other) for one in seeds for other in seeds if solutions[one] != solutions[other]]
    crossed = sum(holds(one, other) for one, other in pairs) / len(pairs) if pairs else 0.0
    return crossed < own / 2


def _whole_in(solution: Sequence[Words], texts: Sequence[Words]) -> bool:
    run = tuple(word for action in solution for word in action)
    if len(solution) < 2 or len(run) < 3:
        return False
    return any(_has_run(text, run) for text in texts)


def _row_in(solution: Sequence[Words], texts: Sequence[Words], played: set[str], told: set[str]) -> bool:
    """Whether what is the solution's own stands in a row in a text, where what all texts tell is passed over."""
    run = tuple(word for action in solution for word in action if word not in played)
    passed = told.difference(run)
    return len(run) > 1 and any(_has_run(tuple(word for word in text if word not in passed), run) for text in texts)


def _steps_in(solution: Sequence[Words], text: Words) -> bool:
    """Whether three actions in a row (two, if there are no more) stand in a text; words of all actions do not count."""
    every = set.intersection(*map(set, solution)) if solution else set()
    bare = [tuple(word for word in action if word not in every) for action in solution]
    said = tuple(word for word in text if word not in every)
    size = min(3, len(bare))
    rows = [bare[at : at + size] for at in range(len(bare) - size + 1)] if size > 1 else []
    runs = [tuple(word for action in row for word in action) for row in rows if all(row)]
    return any(_has_run(said, run) for run in runs)


def _has_run(text: Words, run: Words) -> bool:
    size = len(run)
    return any(text[at : at + size] == run for at, word in enumerate(text[: len(text) - size + 1]) if word == run[0])


def _recipe(
    solutions: Sequence[Sequence[Words]], common: set[str], texts: Sequence[Sequence[Words]]
) -> list[str] | None:
    """The words after which the distinctive words of the solution stand, if one recipe serves all seeds."""
    masks = [tuple(tuple(word if word in common else "" for word in action) for action in found) for found in solutions]
    mask, _ = Counter(masks).most_common(1)[0]
    alike = [seed for seed, other in enumerate(masks) if other == mask]
    slots = {seed: [word for action in solutions[seed] for word in action if word not in common] for seed in alike}
    if 2 * len(alike) < len(solutions) or not slots[alike[0]] or len({tuple(slot) for slot in slots.values()}) < 3:
        return None
    places = []
    for number in range(len(slots[alike[0]])):
        contexts: set[Words] | None = None
        for seed, slot in slots.items():
            contexts = _contexts(slot[number], texts[seed], contexts)
        if not contexts:
            return None
        place = " ".join(
            word for word in min(contexts, key=lambda found: (len(found), found)) if word not in (_BEGINNING, _START)
        )
        places.append(f"'{place}'" if place else "the beginning")
    return list(dict.fromkeys(places))


def _contexts(answer: str, texts: Sequence[Words], among: set[Words] | None) -> set[Words]:
    """The words, and pairs of words, that the answer follows in at least half of the places where they stand."""
    followed: dict[Words, list[bool]] = {}
    for number, text in enumerate(texts):
        padded = (_START if number else _BEGINNING, *text)
        for at in range(1, len(padded)):
            for context in (padded[at - 1 : at], padded[max(at - 2, 0) : at]):
                if among is None or context in among:
                    followed.setdefault(context, []).append(padded[at] == answer)
    return {context for context, hits in followed.items() if 2 * sum(hits) >= len(hits)}
