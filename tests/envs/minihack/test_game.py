"""The game's rules on a fake engine, which needs no extra."""

from __future__ import annotations

import warnings

import pytest

from metagym.errors import BadInput, EngineError, MetaGymWarning
from metagym_envs.minihack import engine
from metagym_envs.minihack.env import MiniHackGame, Settings
from tests.support.fake_minihack import LEVEL, DeafBase, FakeBase, SeedlessBase, opener


def game(kind: type[FakeBase] = FakeBase, opened: list[FakeBase] | None = None, **settings: object) -> MiniHackGame:
    return MiniHackGame(LEVEL, Settings(**settings), opener(kind, opened))  # type: ignore[arg-type]


def test_s04_the_engines_own_call_carries_the_seed() -> None:
    first = [game().reset(seed=seed) for seed in (42, 42, 42, 43)]
    texts = [text for text, _ in first]
    assert texts[0] == texts[1] == texts[2] != texts[3]
    assert all(info["seed_honoured"] is True for _, info in first)


@pytest.mark.parametrize("kind", [SeedlessBase, DeafBase])
def test_s04_without_a_working_call_it_warns_once_and_is_recorded(kind: type[FakeBase]) -> None:
    engine._warn_unseeded.cache_clear()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        honoured = [game(kind).reset(seed=7)[1]["seed_honoured"] for _ in range(3)]
    assert honoured == [False] * 3
    assert [w.category for w in caught] == [MetaGymWarning] and kind.__name__ in str(caught[0].message)


def test_s04_an_older_engine_without_the_reseed_switch_is_seeded_too() -> None:
    class Older:
        def seed(self, core: int, disp: int) -> None:
            self.got = (core, disp)

    older = Older()
    assert engine.seed_engine(older, 0) and older.got == (0, 0)


def test_s05_seed_zero_is_a_seed() -> None:
    assert game().reset(seed=0)[0] == game().reset(seed=0)[0] != game().reset(seed=1)[0]
    with pytest.raises(BadInput, match="seed"):
        game().reset(seed=-1)


def test_without_a_seed_each_reset_draws_another_game() -> None:
    env = game()
    env.reset(seed=5)
    texts = {env.reset()[0] for _ in range(4)}
    again = game()
    again.reset(seed=5)
    assert len(texts) > 1 and again.reset()[0] in texts


def test_s06_counters_and_ends_do_not_survive_a_reset() -> None:
    opened: list[FakeBase] = []
    env = game(opened=opened, give_up_after=3)
    env.reset(seed=1)
    for number in (1, 2):
        *_, terminated, truncated, info = env.step("dance")
        assert (terminated, truncated, info["invalid"]) == (False, False, number)
    text, reward, terminated, truncated, info = env.step("dance")
    assert (reward, terminated, truncated, info["end"], info["success"]) == (0.0, False, True, "gave up", False)
    assert "Too many commands" in text and info["admissible"] == ()
    with pytest.raises(BadInput, match="reset"):
        env.step("step east")
    _, info = env.reset(seed=1)
    assert (info["steps"], info["invalid"], info["end"]) == (0, 0, "")
    env.step("dance")
    *_, truncated, info = env.step("step east")
    assert not truncated and (info["steps"], info["invalid"]) == (2, 1)
    assert len(opened) == 2 and opened[0].closed and not opened[1].closed  # each game has an engine of its own
    env.close()
    assert opened[1].closed


def test_success_is_the_engines_end_status_and_the_last_screen_stays() -> None:
    env = game()
    text, info = env.reset(seed=3)
    assert text.startswith("Your task: Eat the apple.\nRoom ") and "- an apple: " in text and "Walls: " in text
    assert info["success"] is False and "run east" in info["admissible"] and "kick" not in " ".join(info["admissible"])
    text, reward, terminated, *_ = env.step("run east")
    assert text.startswith("You see here an apple.") and reward == 0.0 and not terminated
    text, _, _, _, info = env.step("pick up the apple")
    assert "- b: an apple" in text and "eat b" in info["admissible"]
    text, reward, terminated, truncated, info = env.step("eat b")
    assert (round(reward, 2), terminated, truncated, info["success"], info["end"]) == (
        0.99,
        True,
        False,
        True,
        "success",
    )
    assert text.startswith("Yum.\nThe task is done.\nMap from column 3, row 5 (you are @):\n  ----")


def test_a_question_is_answered_by_the_settings_or_by_the_actor() -> None:
    opened: list[FakeBase] = []
    env = game(opened=opened)
    env.reset(seed=3)
    env.step("run east")
    *_, terminated, _, info = env.step("eat")  # from the floor: "eat it?" yes
    assert terminated and info["success"] and opened[0].keys[-2:] == [ord("e"), ord("y")]
    env = game(prompts="text")
    env.reset(seed=3)
    env.step("run east")
    text, _, terminated, _, info = env.step("eat")
    assert text.startswith("There is an apple here; eat it?") and info["admissible"] == ("y", "n", "q", "cancel")
    text, reward, _, _, info = env.step("step west")
    assert "Answer with one of: y, n, q, cancel." in text and reward == 0.0 and info["invalid"] == 1
    text, *_ = env.step("no")
    assert text.startswith("Never mind.")
    env.step("eat")
    *_, terminated, _, info = env.step("yes")
    assert terminated and info["success"]


def test_what_is_no_command_here_changes_nothing_and_says_so() -> None:
    opened: list[FakeBase] = []
    env = game(opened=opened)
    env.reset(seed=0)
    for action, part in (("dance", "This is no command: 'dance'"), ("", "nothing"), ("kick east", "no 'kick' in this")):
        text, reward, terminated, truncated, _ = env.step(action)
        assert part in text and "Commands: step <direction>, run <direction>" in text
        assert (reward, terminated, truncated) == (0.0, False, False)
    assert opened[0].keys == []
    with pytest.raises(BadInput, match="text"):
        env.step(3)  # type: ignore[arg-type]
    with pytest.raises(BadInput, match="no options"):
        env.reset(options={"map": 1})


def test_s03_the_levels_own_limit_truncates() -> None:
    env = game()
    env.reset(seed=0)
    for _ in range(60):
        text, _, terminated, truncated, info = env.step("search")
    assert (terminated, truncated, info["end"], info["success"]) == (False, True, "limit", False)
    assert text.startswith("The level's own limit of steps is reached.")


def test_an_engine_that_fails_is_named() -> None:
    class Failing(FakeBase):
        def reset(self, seed=None):  # type: ignore[no-untyped-def]
            raise AssertionError("Game ended unexpectedly")

    with pytest.raises(EngineError, match="cannot start this level: AssertionError: Game ended unexpectedly"):
        game(Failing).reset(seed=0)

    class Breaking(FakeBase):
        def step(self, key):  # type: ignore[no-untyped-def]
            raise RuntimeError("broken")

    env = game(Breaking)
    env.reset(seed=0)
    with pytest.raises(EngineError, match="failed at key"):
        env.step("search")


@pytest.mark.parametrize("bad", [{"prompts": "ask"}, {"tell_goal": 1}, {"give_up_after": 0}])
def test_bad_settings_are_refused(bad: dict[str, object]) -> None:
    with pytest.raises(BadInput, match=next(iter(bad))):
        Settings(**bad)  # type: ignore[arg-type]
