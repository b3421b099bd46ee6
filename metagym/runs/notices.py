"""What a reader of a run must be told before the figures are believed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from metagym.episodes import Episode, Repair
from metagym.runs.results import BATCH, Results

REJECTED_SHARE = 0.9
"""From this share of rejected actions on, a run says that prompt and engine do not speak the same language."""

SCRIPTED = "Scripted stand-ins: this shows that the loop works, not what a language model can do."


@dataclass
class TurnCounts:
    """What notices want to know of the turns of many episodes.

    Attributes:
        total: Turns.
        rejected: Those whose action was unknown to the engine, or that had none.
        absent: Why the model gave no answer -> turns.
    """

    total: int = 0
    rejected: int = 0
    absent: Counter[str] = field(default_factory=Counter)

    @classmethod
    def of(cls, episodes: Iterable[Episode]) -> TurnCounts:
        """The counts of episodes that have their turns."""
        found = cls()
        for episode in episodes:
            found.total += episode.steps
            found.rejected += episode.count(Repair.INVALID) + episode.count(Repair.ABSENT)
            found.absent.update(turn.absence for turn in episode.turns if turn.absence)
        return found


def notices(results: Results, turns: TurnCounts | None = None) -> tuple[str, ...]:
    """The warnings of a run, most important first; each is one sentence or two.

    They cover stand-ins and mixed kinds of model, a run that has not ended, episodes that could not be scored, actions
    that the engine rejected, answers cut by length, repeated requests, failed reflections, seeds that were not
    honoured, and engines that changed on the way.

    Args:
        results: What the run folder says.
        turns: Counts of its turns, where the episodes come without them; else they are counted.
    """
    episodes = [item.episode for item in results.played]
    found = [
        *_models(results),
        *_progress(results),
        *_unscored(episodes),
        *_actions(TurnCounts.of(episodes) if turns is None else turns),
        *_retries(results),
        *_reflections(results),
        *_engines(results, episodes),
    ]
    return tuple(found)


def _models(results: Results) -> list[str]:
    kinds = {kind for seat in results.backends.values() for kind in seat}
    found = []
    if kinds == {"scripted"}:
        found.append(SCRIPTED)
    elif len(kinds) > 1:
        seats = "; ".join(f"{seat}: {' and '.join(kinds)}" for seat, kinds in results.backends.items() if kinds)
        found.append(f"Mixed kinds of model ({seats}): the figures of stand-ins say nothing of language models.")
    if any(usage.estimated for usage in results.usage.values()):
        found.append("A server reported no token counts: they are estimated as characters / 4.")
    return found


def _progress(results: Results) -> list[str]:
    found = []
    if not results.ended:
        last = max((item.turn for item in results.played), default=0)
        found.append(f"The run has not ended: it stands at meta-turn {last}.")
    if any(results.phase_of(arm) == BATCH for arm in results.arms):
        found.append(
            "Without a held-out set each turn is scored on its own batch of unseen tasks, so turns differ in tasks."
        )
    return found


def _unscored(episodes: Sequence[Episode]) -> list[str]:
    lost = [episode for episode in episodes if not episode.scored]
    found = []
    if lost:
        causes = Counter(f"{e.status.value}: {_first_line(e.cause)}" if e.cause else e.status.value for e in lost)
        named = "; ".join(f"{count} x {cause}" for cause, count in causes.most_common(3))
        more = f"; and {len(causes) - 3} other causes" if len(causes) > 3 else ""
        found.append(f"Unscored: {len(lost)} of {len(episodes)} episodes enter no figure ({named}{more}).")
    unknown = sum(episode.scored and episode.success is None for episode in episodes)
    if unknown:
        found.append(f"Success cannot be told for {unknown} of {len(episodes)} episodes; they enter no success rate.")
    return found


def _actions(turns: TurnCounts) -> list[str]:
    found = []
    total, rejected, absent = turns.total, turns.rejected, turns.absent
    if total and rejected >= REJECTED_SHARE * total:
        found.append(
            f"{rejected} of {total} actions ({rejected / total:.0%}) were rejected: prompt, engine and data seem to use"
            " different forms of the commands; compare their versions in the manifest."
        )
    if absent["length"]:
        found.append(f"Answers cut by length: {absent['length']}.")
    other = {name: count for name, count in absent.items() if name != "length"}
    if other:
        named = ", ".join(f"{name}: {count}" for name, count in sorted(other.items()))
        found.append(f"Model calls without an answer: {sum(other.values())} of {total} ({named}).")
    return found


def _retries(results: Results) -> list[str]:
    if not results.retries:
        return []
    return [f"Retries: {results.retries} requests to models had to be made again (rate limits or server trouble)."]


def _reflections(results: Results) -> list[str]:
    failed = {name: n for name, n in results.outcomes.items() if name not in ("improved", "unchanged", "not accepted")}
    if not failed:
        return []
    named = ", ".join(f"{name}: {count}" for name, count in sorted(failed.items()))
    total = sum(results.outcomes.values())
    return [f"Failed reflections kept the prompt in {sum(failed.values())} of {total} turns ({named})."]


def _engines(results: Results, episodes: Sequence[Episode]) -> list[str]:
    found = []
    if len(results.engines) > 1:
        found.append(f"More than one engine played: {', '.join(results.engines)}.")
    ignored = sum(episode.info.get("seed_honoured") is False for episode in episodes)
    if ignored:
        found.append(f"The environment did not honour its seed in {ignored} episodes: they cannot be played again.")
    return found


def _first_line(text: str) -> str:
    line = text.strip().splitlines()[0] if text.strip() else ""
    return line if len(line) <= 120 else line[:117] + "..."
