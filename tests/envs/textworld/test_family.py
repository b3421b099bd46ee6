"""Games that TextWorld makes, as tasks; the real generator, compiler and interpreter where they are installed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import metagym
from metagym.errors import BadInput, StoreError
from metagym_envs.textworld import games
from metagym_envs.textworld.text import shown

PRINTED = (
    "\n\n     ____  \n    |  $$ |\\ \n     \\$$ >$$\n\nWho is there? First, go south.\n\n\n\n"
    "-= Room =-\nYou are in a room.   \n\n>                     -= Room =-0/1"
)


def test_banner_status_line_and_prompt_are_not_shown() -> None:
    assert shown(PRINTED) == "Who is there? First, go south.\n\n-= Room =-\nYou are in a room."
    assert shown("You take the > key.\n\n>") == "You take the > key."
    assert shown("") == ""


@pytest.mark.parametrize(
    ("challenge", "given", "message"),
    [
        ("hunting", {}, "no challenge 'hunting'"),
        ("simple", {"speed": 3}, "no setting 'speed'"),
        ("cooking", {"split": "test"}, "follows from a task's split"),
        ("simple", ["goal"], "settings of simple are a mapping"),
    ],
)
def test_a_wrong_setting_is_named(challenge: str, given: Any, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        games.check_settings(challenge, given)


def test_splits_make_different_games() -> None:
    train, test = (games.settings_for("cooking", {}, split, 5) for split in ("train", "test"))
    assert (train["split"], test["split"], train["recipe_seed"]) == ("train", "test", 5)
    assert games.settings_for("simple", {"goal": "none"}, "valid", 5) == {
        "rewards": "balanced", "goal": "none", "test": True,
    }  # fmt: skip


class TestWithTheEngine:
    @pytest.fixture(autouse=True)
    def _needs(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        pytest.importorskip("textworld", reason="needs the extra `textworld`")
        monkeypatch.setenv(games.FOLDER, str(tmp_path / "kept"))

    @pytest.mark.slow
    def test_a_game_is_made_once_and_won_by_its_own_objective(self, tmp_path: Path) -> None:
        from metagym_envs.textworld import TextWorld

        family = TextWorld("treasure_hunter", {"treasure_hunter": {"level": 2}}, size=2)
        task = family.task_set("train")[0]
        env = family.open(task)
        kept = [path.stat().st_mtime_ns for path in (tmp_path / "kept").rglob("game.z8")]
        first, info = env.reset(seed=0)
        assert "-= " in first and "$$" not in first and not first.endswith(">")
        assert info["admissible"] == tuple(sorted(info["admissible"])) and info["max_score"] >= 1
        assert env.reset()[0] == first

        second = family.open(task)  # the file is kept, and the game is the same
        assert second.reset()[0] == first
        assert len(kept) == 1
        assert [path.stat().st_mtime_ns for path in (tmp_path / "kept").rglob("game.z8")] == kept

        total, over = 0.0, False
        env.reset()
        for command in _way(task, {"level": 2}):
            _, reward, over, truncated, info = env.step(command)
            total += reward
            assert not truncated
        assert over and info["success"] and total == pytest.approx(1.0) and info["admissible"] == ()
        with pytest.raises(BadInput, match="call reset"):
            env.step("look")
        env.close()

    @pytest.mark.slow
    def test_a_command_of_two_lines_is_one_command(self) -> None:
        from metagym_envs.textworld import TextWorld

        family = TextWorld("treasure_hunter", {"treasure_hunter": {"level": 2}}, size=2)
        env = family.open(family.task_set("train")[0])
        env.reset()
        text, reward, over, _, _ = env.step("look\ngo north")
        assert "You can't" in text or "I only understood" in text or "recognise" in text, text
        assert (reward, over) == (0.0, False)

    def test_refused_settings_and_a_folder_that_cannot_be_written_are_named(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from metagym_envs.textworld import TextWorld

        family = TextWorld("coin_collector", {"coin_collector": {"level": 301}})
        with pytest.raises(BadInput, match=r"refuses the settings .*301"):
            family.open(family.task_set("train")[0])
        (tmp_path / "file").write_text("")
        monkeypatch.setenv(games.FOLDER, str(tmp_path / "file"))
        family = TextWorld("treasure_hunter", {"treasure_hunter": {"level": 2}})
        with pytest.raises(StoreError, match="METAGYM_CACHE"):
            family.open(family.task_set("train")[0])

    @pytest.mark.slow
    @pytest.mark.parametrize("challenge", sorted(games.CHALLENGES))
    def test_every_challenge_is_won_by_its_policy_and_equal_in_every_process(self, challenge: str) -> None:
        from metagym_envs.textworld import TextWorld

        family = TextWorld(challenge, size=1)
        for split in ("train", "test"):
            task = family.task_set(split)[0]
            env = family.open(task)
            first = env.reset()[0]
            total = sum(env.step(command)[1] for command in _way(task, {}))
            assert total == pytest.approx(1.0)
            code = (
                "from metagym_envs.textworld import TextWorld\nimport os, tempfile\n"
                "os.environ['METAGYM_CACHE'] = tempfile.mkdtemp()\n"
                f"f = TextWorld({challenge!r}, size=1)\nprint(f.open(f.task_set({split!r})[0]).reset()[0])"
            )
            done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
            assert done.stdout.rstrip("\n") == first

    @pytest.mark.slow
    def test_worker_processes_play_it(self) -> None:
        from metagym_envs.textworld import TextWorld

        family = TextWorld("treasure_hunter", {"treasure_hunter": {"level": 1}}, size=2)
        episodes = metagym.play(family.task_set("train"), "random", family=family, max_steps=5)
        assert [len(episode.turns) > 0 for episode in episodes] == [True, True]


def _way(task: Any, given: dict[str, Any]) -> list[str]:
    """Commands that win a game, from the engine."""
    import textworld

    path = games.compiled(task.type, games.settings_for(task.type, given, task.split, task.seed), task.seed)
    with games.quiet():
        game = textworld.start(str(path), textworld.EnvInfos(policy_commands=True))
    try:
        return list(game.reset().policy_commands)
    finally:
        game.close()
