"""One game as an environment."""

from __future__ import annotations

import pickle
import warnings
from concurrent.futures import ThreadPoolExecutor

import pytest
from gymnasium.utils.env_checker import check_env

from metagym.errors import BadInput, BrokenExtra, EngineUnsupported, MissingExtra
from metagym_envs.alfworld import env as env_module
from metagym_envs.alfworld.data import GameText, GeneratedGames
from metagym_envs.alfworld.engine import NOTHING_HAPPENS, Game, Player
from metagym_envs.alfworld.env import ALFWorldGame, open_game
from metagym_envs.alfworld.generator import generate
from metagym_envs.alfworld.scenes import TASK_TYPES
from metagym_envs.alfworld.text import clean_command


def game_text(index=0, task_type="pick_and_place_simple"):
    made = generate("train", task_type, index)
    return GameText(f"generated/train/{task_type}/{index}", made.problem, made.sentence)


def walkthrough(index=0, task_type="pick_and_place_simple"):
    return generate("train", task_type, index).walkthrough


def test_plays_the_engine_to_the_byte():
    text = game_text()
    env, player = ALFWorldGame(text), Player(Game.compile(text.problem, text.sentence))
    observation, info = env.reset(seed=0)
    answer = player.reset()
    assert observation == answer.feedback
    assert observation.startswith("-= Welcome to TextWorld, ALFRED! =-")
    for command in ("nonsense", " look ", *walkthrough()):
        assert info["admissible"] == tuple(answer.admissible)
        observation, reward, terminated, truncated, info = env.step(command)
        answer = player.step(command)
        assert (observation, reward, terminated, truncated) == (answer.feedback, float(answer.won), answer.won, False)
    assert (reward, terminated, info["success"], info["engine"], info["grammar"]) == (1.0, True, True, "native", "0.4")


@pytest.mark.parametrize("task_type", TASK_TYPES)
def test_only_the_winning_step_is_rewarded(task_type):
    env = ALFWorldGame(game_text(2, task_type))
    env.reset()
    rewards = [env.step(command)[1] for command in walkthrough(2, task_type)]
    assert rewards == [0.0] * (len(rewards) - 1) + [1.0]


def test_check_env():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(ALFWorldGame(game_text()), skip_render_check=True)


def test_s07_a_win_in_one_slot_stays_there():
    slots = [ALFWorldGame(game_text(index)) for index in range(4)]
    first = [env.reset()[0] for env in slots]
    won, texts = [False] * 4, [[] for _ in slots]
    for turn in range(max(len(walkthrough(i)) for i in range(4))):
        for slot, env in enumerate(slots):
            plan = walkthrough(slot)
            if won[slot] or (slot == 2 and turn >= len(plan)):
                continue
            observation, _, _, _, info = env.step(plan[turn] if slot == 2 else "look")
            won[slot] = info["success"]
            texts[slot].append(observation)
    assert won == [False, False, True, False]
    for slot in (0, 1, 3):
        alone = ALFWorldGame(game_text(slot))
        assert alone.reset()[0] == first[slot]
        assert [alone.step("look")[0] for _ in texts[slot]] == texts[slot]


def test_s07_slots_of_one_game_in_threads_equal_a_sequential_run():
    text, plan = game_text(5), walkthrough(5)

    def play(slot):
        env = ALFWorldGame(text)
        seen = [env.reset()]
        return seen + [env.step(command) for command in (["look"] * slot + list(plan))]

    sequential = [play(slot) for slot in range(8)]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(play, range(8))) == sequential


def test_s06_reset_starts_anew():
    env = ALFWorldGame(game_text())
    first = env.reset(seed=1)
    for command in walkthrough():
        env.step(command)
    assert env.reset(seed=2) == first
    assert env.step(walkthrough()[0])[2] is False


def test_s10_each_odd_text_costs_one_step_and_the_game_goes_on():
    env = ALFWorldGame(game_text())
    twin = Player(Game.compile(game_text().problem, game_text().sentence))
    _, info = env.reset()
    twin.reset()
    legal = walkthrough()[0]
    for raw in (
        "open door THEN go north",
        "open door\ngo north",
        "> open door.",
        "🚪 open door",
        "x" * 20_000,
        "open door\0",
    ):
        cleaned = clean_command(raw, info["admissible"])
        observation, reward, terminated, truncated, info = env.step(cleaned.command)
        assert (observation, reward, terminated, truncated) == (NOTHING_HAPPENS, 0.0, False, False)
        assert twin.step(cleaned.command).feedback == observation
    assert twin.turn == 7
    assert env.step(raw)[0] == NOTHING_HAPPENS  # the raw text crashes nothing either
    assert env.step(legal)[0] == twin.step(legal).feedback != NOTHING_HAPPENS


@pytest.mark.parametrize("action", [None, 3, b"look", ["look"]])
def test_an_action_is_text(action):
    env = ALFWorldGame(game_text())
    env.reset()
    with pytest.raises(BadInput, match=type(action).__name__):
        env.step(action)


def test_steps_belong_between_reset_and_end():
    env = ALFWorldGame(game_text())
    with pytest.raises(BadInput, match="reset"):
        env.step("look")
    env.reset()
    for command in walkthrough():
        env.step(command)
    with pytest.raises(BadInput, match="reset"):
        env.step("look")
    env.close()
    env.close()


def test_expert_plan_on_request():
    env = ALFWorldGame(game_text())
    assert "expert_plan" not in env.reset()[1]
    info = env.reset(options={"expert_plan": True})[1]
    while info["expert_plan"]:
        _, _, terminated, _, info = env.step(info["expert_plan"][0])
    assert terminated
    assert "expert_plan" not in env.reset()[1]
    always = ALFWorldGame(game_text(), expert_plan=True)
    assert always.reset()[1]["expert_plan"]
    assert "expert_plan" not in always.reset(options={"expert_plan": False})[1]


def test_unknown_options_are_refused():
    env = ALFWorldGame(game_text())
    with pytest.raises(BadInput, match="expert_plans"):
        env.reset(options={"expert_plans": True})
    with pytest.raises(BadInput, match="native"):
        ALFWorldGame(game_text(), engine="fast")


UNKNOWN = {"domain": "(define (domain other))", "grammar": '"rhs": "Your task is to: x."'}


def test_a_game_of_unknown_grammar_is_refused_by_the_native_engine():
    text = GameText("g", game_text().problem, "x", **UNKNOWN)
    with pytest.raises(EngineUnsupported, match="engine='textworld'"):
        ALFWorldGame(text, engine="native")


def test_auto_without_the_real_engine_says_what_to_install(monkeypatch):
    def absent(name):
        raise env_module.PackageNotFoundError(name)

    monkeypatch.setattr(env_module, "version", absent)
    with pytest.raises(EngineUnsupported, match=r"pip install 'metagym-agents\[alfworld\]'"):
        ALFWorldGame(GameText("g", game_text().problem, "x", **UNKNOWN))
    with pytest.raises(MissingExtra, match=r"pip install 'metagym-agents\[alfworld\]'"):
        ALFWorldGame(game_text(), engine="textworld")
    assert ALFWorldGame(game_text()).engine == "native"


@pytest.mark.parametrize("old", [{"alfworld": "0.3.5"}, {"textworld": "1.6.2"}])
def test_wrong_version_of_the_real_engine(monkeypatch, old):
    versions = {"alfworld": "0.4.2", "textworld": "1.7.0", **old}
    monkeypatch.setattr(env_module, "version", versions.__getitem__)
    (name, number), *_ = old.items()
    with pytest.raises(BadInput, match=rf"{name} {number} is installed.*metagym-agents\[alfworld\]"):
        ALFWorldGame(game_text(), engine="textworld")


def test_a_real_engine_that_does_not_import(monkeypatch):
    def broken(game):
        raise BrokenExtra("textworld is installed but cannot be imported: no such symbol")

    monkeypatch.setattr(env_module, "version", {"alfworld": "0.4.2", "textworld": "1.7.0"}.__getitem__)
    monkeypatch.setattr(env_module, "_open_real", broken)
    with pytest.raises(EngineUnsupported, match="no such symbol"):
        ALFWorldGame(GameText("g", game_text().problem, "x", **UNKNOWN))


@pytest.mark.needs_alfworld
def test_the_real_engine_behind_the_same_face():
    pytest.importorskip("textworld", reason="needs the real engine: pip install 'metagym-agents[alfworld]'")
    text = game_text(1, "pick_heat_then_place_in_recep")
    native, real = ALFWorldGame(text, "native"), ALFWorldGame(text, "textworld")
    ours, theirs = (env.reset(options={"expert_plan": True}) for env in (native, real))
    assert theirs[1]["engine"] == "textworld"
    for command in ("look", *ours[1]["expert_plan"]):
        assert ours[0] == theirs[0]
        assert {**ours[-1], "engine": ""} == {**theirs[-1], "engine": ""}
        ours, theirs = native.step(command), real.step(command)
    assert ours[:4] == theirs[:4] and ours[2]


@pytest.mark.needs_alfworld
def test_auto_takes_the_real_engine_for_a_grammar_it_does_not_know():
    pytest.importorskip("textworld", reason="needs the real engine: pip install 'metagym-agents[alfworld]'")
    from metagym_envs.alfworld.judge import installed_texts

    domain, grammar = installed_texts()
    text = game_text()
    grammar = grammar.replace("UNKNOWN GOAL", text.sentence).replace("Next to it, you see", "Beside it you see")
    env = ALFWorldGame(GameText("g", text.problem, text.sentence, domain, grammar))
    assert env.reset()[1]["engine"] == "textworld"
    assert env.step(walkthrough()[0])[0]
    assert env.step("look")[0].endswith("Beside it you see nothing.")


def test_equal_games_share_one_compiled_game():
    a, b = open_game(game_text(7), "native")[2], open_game(game_text(7), "auto")[2]
    assert a.game is b.game and a is not b


def test_what_a_worker_process_needs_can_be_sent():
    assert pickle.loads(pickle.dumps(GeneratedGames())) == GeneratedGames()
    assert pickle.loads(pickle.dumps(game_text())) == game_text()
