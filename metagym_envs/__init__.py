"""The families that come with MetaGym."""

from __future__ import annotations

TOY_TEXT = ("FrozenLake", "Taxi", "CliffWalking", "Blackjack")
CLASSIC_CONTROL = ("CartPole", "MountainCar", "MountainCarContinuous", "Acrobot", "Pendulum")


def register() -> None:
    """Makes the bundled families known (entry point of the group ``metagym.plugins``); imports none of them."""
    from gymnasium.envs.registration import register as register_id
    from gymnasium.envs.registration import registry

    from metagym import register_family

    register_family("ALFWorld", "metagym_envs.alfworld:ALFWorld", actor="rules")
    register_family("SearchQA", "metagym_envs.searchqa:SearchQA", actor="rules")
    register_family("Reasoning", "metagym_envs.reasoning:Reasoning")
    register_family("Problems", "metagym_envs.problems:Problems", actor="rules")
    register_family("TextWorld", "metagym_envs.textworld:TextWorld")
    register_family("Games", "metagym_envs.games:Games")
    register_family("MiniHack", "metagym_envs.minihack:MiniHack", actor="rules")
    register_family("BFCL", "metagym_envs.bfcl:BFCL")
    if "MetaGym/BFCL-MultiTurn-v0" not in registry:  # the name that says which part of the leaderboard it is
        register_id(
            "MetaGym/BFCL-MultiTurn-v0", entry_point="metagym.playing.task_env:TaskEnv", kwargs={"family": "BFCL"}
        )
    register_family("ACEBench", "metagym_envs.acebench:ACEBench", actor="rules")
    register_family("Gymnasium", "metagym_envs.gym:from_gymnasium")
    if "MetaGym/ICT-v0" not in registry:  # the short form: env_id= names the environment
        register_id("MetaGym/ICT-v0", entry_point="metagym.ict.env:ICTEnv", kwargs={"family": "Gymnasium"})
    for name in TOY_TEXT + CLASSIC_CONTROL:
        register_family(name, f"metagym_envs.gym:{name}", actor="rules")
