"""The suite of games: paired seats, models against each other, and the ratings that follow from the records."""

from pathlib import Path

import pytest

pytest.importorskip("textarena", reason="TextArena is not installed (extra games)")

from metagym.chat.types import Request
from metagym.errors import BadInput
from metagym.evaluation import load_suite
from metagym.evaluation.elo import Game, ratings
from metagym.evaluation.run import Entrant
from metagym.runs.elo import elo_games, elo_ratings
from metagym.runs.evals import EvalConfig, run_eval_sync
from metagym.runs.evals_results import EvalResults, load_evals
from metagym.runs.evals_rows import all_rows, elo_rows
from metagym.runs.papers import papers_table
from metagym.runs.report import write_report


def first(request: Request) -> str:
    """Takes the first legal move of the list."""
    return "Action: " + request.messages[-1].content.split("\n- ")[1]


def last(request: Request) -> str:
    """Takes the last one."""
    return "Action: " + request.messages[-1].content.split("\n- ")[-1]


OPTIONS = {"games": "TicTacToe,Nim", "puzzles": "", "opponents": "random", "size": 3, "between": True}
PLAYERS = tuple(Entrant(name, f"python:{__name__}:{name}") for name in ("first", "last"))


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run_eval_sync(EvalConfig("games", PLAYERS, OPTIONS), tmp_path_factory.mktemp("games") / "run")


@pytest.fixture(scope="module")
def results(run: Path) -> EvalResults:
    return load_evals(run)


def test_every_model_meets_every_opponent_from_both_seats(results: EvalResults) -> None:
    assert [one.name for one in results.benchmarks] == [
        f"{game}-vs-{other}" for game in ("tictactoe", "nim") for other in ("random", "first", "last")
    ]
    met = {(one.entrant.name, one.benchmark.name.partition("-vs-")[2]) for one in results.scores}
    assert met == {("first", "random"), ("first", "last"), ("last", "random"), ("last", "first")}  # nobody meets itself
    assert len(results.scores) == 8
    for score in results.scores:
        seats = [(one.episode.task.seed, one.episode.task.params["seat"]) for one in score.episodes]
        assert len(seats) == 6 and len({seed for seed, _ in seats}) == 3 and [seat for _, seat in seats] == [0, 1] * 3


def test_what_one_model_wins_the_other_loses(results: EvalResults) -> None:
    """The same two players, seen once from each side: deterministic players play the very same games."""
    for game in ("tictactoe", "nim"):
        one = {
            (e.episode.task.seed, e.episode.task.params["seat"]): e.episode.ret
            for e in results.score("first", f"{game}-vs-last").episodes
        }
        other = {
            (e.episode.task.seed, 1 - e.episode.task.params["seat"]): e.episode.ret
            for e in results.score("last", f"{game}-vs-first").episodes
        }
        assert one.keys() == other.keys() and all(one[key] == -other[key] for key in one)


def test_ratings_are_made_of_the_records_without_self_play(results: EvalResults) -> None:
    games, left_out = elo_games(results)
    wanted = []
    for score in results.scores:
        opponent = score.benchmark.name.partition("-vs-")[2]
        if opponent == score.entrant.name:
            continue
        for one in score.episodes:
            task = one.episode.task
            name = {"random": "random (script)"}.get(opponent, opponent)
            outcome = {1.0: 1.0, 0.0: 0.5, -1.0: 0.0}[one.episode.ret]
            wanted.append(Game(score.entrant.name, name, outcome, f"{task.type}/{task.seed}/0"))
    assert games == wanted and left_out == 0 and len(games) == 48
    found, notes = elo_ratings(results)
    assert found == ratings(wanted) and {one.player for one in found} == {"first", "last", "random (script)"}
    assert "48 games of 6 starts" in notes[0]
    rows = elo_rows(results)
    assert rows in all_rows(results) and [line[0] for line in rows.lines] == [one.player for one in found]


def test_concurrency_changes_no_game(run: Path, tmp_path: Path) -> None:
    again = run_eval_sync(EvalConfig("games", PLAYERS, OPTIONS), tmp_path / "again", concurrency=1)
    lines = [(path / "records.jsonl").read_bytes() for path in (run, again)]
    assert lines[0] == lines[1]


def test_puzzles_have_no_opponent_and_no_ratings(tmp_path: Path) -> None:
    options = {"games": "", "puzzles": "TowerOfHanoi", "size": 2}
    results = load_evals(run_eval_sync(EvalConfig("games", PLAYERS[:1], options), tmp_path / "run"))
    assert [one.name for one in results.benchmarks] == ["towerofhanoi"]
    assert elo_ratings(results) == ([], ()) and not elo_rows(results).lines


def test_between_needs_a_model_that_can_sit_opposite() -> None:
    with pytest.raises(BadInput, match="between=true needs a model"):
        load_suite("games", (Entrant("a", "random"), Entrant("b", "rules:Games")), between=True)
    with pytest.raises(BadInput, match="between=true needs a model"):
        load_suite("games", between=True)
    assert all("-vs-" not in one.name for one in load_suite("games", games="").benchmarks)


def names(opponents: str = "", **specs: str) -> list[tuple[str, str, tuple[str, ...]]]:
    """Names, opponents and those that do not play, of one game between models."""
    entrants = tuple(Entrant(name, spec) for name, spec in specs.items())
    suite = load_suite("games", entrants, games="Nim", puzzles="", opponents=opponents, between=True)
    return [(one.name, one.options["opponent"], one.not_for) for one in suite.benchmarks]


def test_opponents_are_told_apart() -> None:
    at = "openai:m?base_url=http://127.0.0.1:{}/v1".format
    assert names(f"{at(1)},{at(2)}", a=at(3), b=at(3)) == [
        ("nim-vs-openai:m", at(1), ()),
        ("nim-vs-openai:m-2", at(2), ()),
        ("nim-vs-a", at(3), ("a", "b")),  # one player under two names
    ]
    assert names("random," + at(1), a=at(1)) == [("nim-vs-random", "random", ()), ("nim-vs-a", at(1), ("a",))]
    with pytest.raises(BadInput, match="two opponents would be called 'random': name the model otherwise"):
        names("random", random=at(1))
    assert names(**{"m" * 80: at(1)})[0][0] == "nim-vs-" + "m" * 40


def test_a_model_under_a_prompt_is_another_player_than_the_one_in_the_other_seat() -> None:
    entrants = (Entrant("m+a", "openai:m", "Win."), Entrant("m+b", "openai:m", "Lose."), Entrant("n", "openai:n"))
    suite = load_suite("games", entrants, games="Nim", puzzles="", opponents="", between=True)
    assert [(one.name, one.not_for) for one in suite.benchmarks] == [("nim-vs-openai:m", ()), ("nim-vs-n", ("n",))]


def test_a_run_in_which_somebody_plays_nothing_is_refused(tmp_path: Path) -> None:
    config = EvalConfig("games", PLAYERS, OPTIONS, only=("nim-vs-first",))
    with pytest.raises(BadInput, match="first plays none of these benchmarks"):
        run_eval_sync(config, tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_tables_and_reports_leave_out_who_does_not_play(run: Path, results: EvalResults) -> None:
    mirror = results.score("first", "nim-vs-first")
    assert not mirror.played and (mirror.measures.tasks, mirror.measures.missing) == (0, 0)
    rows = {rows.title: rows for rows in all_rows(results)}
    figures = next(rows for title, rows in rows.items() if title.startswith("Games"))
    assert len(figures.lines) == 8 and ("Nim vs first", "first") not in [line[:2] for line in figures.lines]
    pairs = rows["Differences of avg@k, paired by task"]
    assert [line[0] for line in pairs.lines] == ["TicTacToe vs random", "Nim vs random"]
    assert not any("missing" in line for line in results.notices)
    write_report(run)
    table = papers_table([run])
    lacking = {
        (row.name, head.title)
        for row in table.rows
        for head, cell in zip(table.columns, row.cells, strict=True)
        if not cell.value
    }
    assert lacking == {(name, f"{game} vs {name}") for name in ("first", "last") for game in ("TicTacToe", "Nim")}
    assert all(column.name for column in table.columns)  # a mean that nobody has is no column


def test_other_sampling_in_the_other_seat_is_told(tmp_path: Path) -> None:
    options = {**OPTIONS, "games": "Nim", "size": 1}
    config = EvalConfig("games", PLAYERS, options, temperature=0.5)
    notes = elo_ratings(load_evals(run_eval_sync(config, tmp_path / "run")))[1]
    assert "Models were sampled at temperature 0.5 as the agent and 0.0 in the other seat." in notes


def test_a_puzzle_among_the_games_for_two_is_rated_by_nobody(tmp_path: Path) -> None:
    options = {"games": "TowerOfHanoi", "puzzles": "", "size": 1, "opponents": "random"}
    results = load_evals(run_eval_sync(EvalConfig("games", PLAYERS[:1], options), tmp_path / "run"))
    assert results.score("first", "towerofhanoi-vs-random").episodes and elo_games(results) == ([], 0)


def test_why_nobody_is_rated_stands_in_the_tables(results: EvalResults, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(games: list[Game], seed: int) -> list:
        raise BadInput("b never met a, not even by way of others")

    monkeypatch.setattr("metagym.runs.elo.ratings", refused)
    [rows] = [rows for rows in all_rows(results) if rows.headings[1] == "Elo"]
    assert rows.title == "No ratings: b never met a, not even by way of others."
    assert rows.lines == (("nobody is rated", "-", "-"),)
