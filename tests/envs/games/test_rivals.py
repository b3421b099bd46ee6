"""A model in the other seat: asked as the actor is, in both seats alike, and its failures are no moves."""

import time
from concurrent.futures import ThreadPoolExecutor

import pytest

pytest.importorskip("textarena", reason="TextArena is not installed (extra games)")

import metagym
from metagym.chat import load
from metagym.chat.types import Request
from metagym.episodes import Status
from metagym.errors import BadInput, SpecError
from metagym.playing import play, rival
from metagym.playing.rival import TRIES, Rival, RivalSeat
from metagym_envs.games import Games
from metagym_envs.games.env import OVER

ASKED: list[Request] = []


def first_legal(request: Request) -> str:
    """A player that takes the first move of the list."""
    ASKED.append(request)
    return "Action: " + request.messages[-1].content.partition("\n- ")[2].partition("\n")[0]


def silent(request: Request) -> str:
    ASKED.append(request)
    return ""


def broken(request: Request) -> str:
    raise RuntimeError("the server is down")


@pytest.fixture(autouse=True)
def _forget() -> None:
    ASKED.clear()


def games(player: str = "first_legal", **options) -> metagym.Family:
    return Games(games=["TicTacToe"], opponent=f"python:{__name__}:{player}", size=4, seat="both", **options)


def test_every_start_is_a_task_of_each_seat() -> None:
    tasks = list(games().task_set("test"))
    assert len(tasks) == 8 and len({task.key for task in tasks}) == 8
    assert [task.params["seat"] for task in tasks[:4]] == [0, 1, 0, 1]
    assert tasks[0].seed == tasks[1].seed and tasks[0].seed != tasks[2].seed
    puzzles = Games(games=["TowerOfHanoi"], seat="both").task_set("train")
    assert all("seat" not in task.params for task in puzzles)


def test_a_model_meets_itself_with_as_many_wins_as_losses() -> None:
    """The same deterministic player in both seats: what it wins in one it loses in the other."""
    family = games()
    tasks = list(family.task_set("test"))
    episodes = play(tasks, first_legal, family=family)
    assert all(e.status is Status.OK for e in episodes)
    assert sum(e.ret for e in episodes) == 0
    for episode in episodes:
        scores = episode.info["scores"]
        assert sum(scores.values()) == 1.0 and (scores["win"] == 1.0) == bool(episode.success)
    again = play(tasks, first_legal, family=family, concurrency=1)
    assert again == episodes


def test_the_rival_is_asked_as_the_actor_is() -> None:
    family = games(opponent_temperature=0.7, opponent_max_tokens=64)
    task = next(iter(family.task_set("test")))
    env = family.open(task)
    _, info = env.reset(seed=task.seed)
    env.step(info["admissible"][0])
    [request] = ASKED
    assert (request.temperature, request.max_tokens) == (0.7, 64)
    assert [message.role for message in request.messages] == ["user"]
    assert family.instructions in request.messages[0].content and "\n- [" in request.messages[0].content


def test_answers_without_a_command_become_a_forbidden_move() -> None:
    seat = RivalSeat(Rival(f"python:{__name__}:silent"), 0, "Play.", forbidden="[]")
    assert seat.move("Your turn.", ("[1]",)) == "[]"
    assert len(ASKED) == TRIES and len({request.seed for request in ASKED}) == TRIES
    episodes = play(list(games("silent").task_set("test"))[:2], first_legal, family=games("silent"))
    assert all(e.success for e in episodes)  # two such moves in a row lose the game


def test_a_game_that_a_rival_loses_before_the_first_move_is_won_by_whoever_wanders() -> None:
    """Nothing can be moved any more; with nothing to choose a wanderer would say nothing until its steps ran out."""
    family = games("silent")
    task = next(task for task in family.task_set("test") if task.params["seat"] == 1)
    env = family.open(task)
    text, info = env.reset(seed=task.seed)
    assert info["admissible"] == [OVER] and OVER in text and info["success"]
    for player in ("random", first_legal):
        [episode] = play([task], player, family=family)
        assert (episode.status, episode.ret, len(episode.turns)) == (Status.OK, 1.0, 1)


def test_a_rival_that_fails_leaves_the_episode_unscored() -> None:
    [episode] = play(list(games("broken").task_set("test"))[:1], first_legal, family=games("broken"),
                     settings=metagym.PlaySettings(max_failures=1.0))  # fmt: skip
    assert episode.status is Status.ERROR and not episode.scored and "server is down" in episode.cause


def test_games_that_begin_at_once_share_one_model_and_so_its_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []

    def slowly(spec: str, **options: object) -> object:
        made.append(spec)
        time.sleep(0.02)  # other threads have their turn, as when a client is imported
        return load(spec, **options)

    monkeypatch.setattr(rival, "load", slowly)
    spec = f"python:{__name__}:first_legal?concurrency=3"
    with ThreadPoolExecutor(16) as threads:
        found = list(threads.map(lambda _: rival.shared_model(spec, "other"), range(64)))
    assert made == [spec] and len({id(one) for one in found}) == 1
    assert rival.shared_model(spec, "user") is not found[0]


def test_a_rival_cannot_wait_in_the_event_loop_s_own_thread() -> None:
    family = games()
    [episode] = play(list(family.task_set("test"))[:1], first_legal, family=family, hosts="inline",
                     settings=metagym.PlaySettings(max_failures=1.0))  # fmt: skip
    assert episode.status is Status.ERROR and "hosts='thread'" in episode.cause


@pytest.mark.parametrize("setting", [{"opponent_temperature": -1}, {"opponent_max_tokens": 0}])
def test_settings_of_a_rival_are_checked_at_once(setting: dict) -> None:
    with pytest.raises((BadInput, SpecError)):
        games(**setting)
