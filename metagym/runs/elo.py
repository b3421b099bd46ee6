"""Ratings of the players of an evaluation's games, read from its run folder."""

from __future__ import annotations

from metagym.episodes import Episode
from metagym.errors import BadInput
from metagym.evaluation.elo import Game, Rating, ratings
from metagym.evaluation.games import SCRIPTED, opponent_of
from metagym.runs.evals_results import EvalResults

_SCORES = {1.0: 1.0, 0.0: 0.5, -1.0: 0.0}  # of a return in a game for two


def elo_games(results: EvalResults) -> tuple[list[Game], int]:
    """The games of a run, and how many were left out since they were not scored.

    A player is a model under a prompt; scripted opponents are players too. Games of a model against itself say nothing
    of its strength and are not among them, and puzzles that were named among the games for two are none.
    """
    names = {(one.model, one.prompt): one.name for one in reversed(results.entrants)}
    found: list[Game] = []
    left_out = 0
    for score in results.scores:
        opponent = opponent_of(score.benchmark)
        if opponent is None:
            continue
        other = f"{opponent} (script)" if opponent in SCRIPTED else names.get((opponent, None), str(opponent))
        if other == score.entrant.name:
            continue
        for one in score.episodes:
            if "seat" not in one.episode.task.params:
                continue
            outcome = _outcome(one.episode)
            if outcome is None:
                left_out += 1
            else:
                task = one.episode.task
                found.append(Game(score.entrant.name, other, outcome, f"{task.type}/{task.seed}/{one.number}"))
    return found, left_out


def elo_ratings(results: EvalResults, seed: int = 0) -> tuple[list[Rating], tuple[str, ...]]:
    """The ratings of a run's players, best first, and what must be said of them.

    Args:
        results: The run.
        seed: Decides the bootstrap's resampling.

    Returns:
        No rating where no game for two was played, or where players never met; the notes say so.
    """
    games, left_out = elo_games(results)
    if not games:
        return [], ()
    try:
        found = ratings(games, seed)
    except BadInput as error:
        return [], (f"No ratings: {error}.",)
    starts = len({game.cluster for game in games})
    notes = [
        f"Elo: Bradley-Terry over {len(games)} games of {starts} starts, intervals bootstrapped over starts; the mean "
        "of the players is 1000, and differences alone mean something."
    ]
    notes += _sampled_otherwise(results)
    if left_out:
        notes.append(f"{left_out} games were not finished or failed, and enter no rating.")
    return found, tuple(notes)


def _sampled_otherwise(results: EvalResults) -> list[str]:
    """Models that play both as the agent and in the other seat, under other settings there."""
    found: dict[str, None] = {}
    for one in results.benchmarks:
        if one.not_for:
            here = (one.sampling.temperature, one.sampling.max_tokens)
            there = (one.options.get("opponent_temperature", 0.0), one.options.get("opponent_max_tokens", here[1]))
            for name, mine, other in zip(("temperature", "max_tokens"), here, there, strict=True):
                if mine != other:
                    found[f"Models were sampled at {name} {mine} as the agent and {other} in the other seat."] = None
    return list(found)


def _outcome(episode: Episode) -> float | None:
    """What the agent made of a game; None where it was not played to its end: a cut game has no winner."""
    if not episode.scored or not episode.terminated:
        return None
    return _SCORES.get(episode.ret)
