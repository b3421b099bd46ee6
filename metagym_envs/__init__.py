"""The families that come with MetaGym."""

from __future__ import annotations


def register() -> None:
    """Makes the bundled families known (entry point of the group ``metagym.plugins``); imports none of them."""
    from gymnasium.envs.registration import register as register_env
    from gymnasium.envs.registration import registry

    from metagym import register_family

    register_family("ALFWorld", "metagym_envs.alfworld:ALFWorld", actor="rules")
    register_family("SearchQA", "metagym_envs.searchqa:SearchQA", actor="rules")

    # Self-play is the core's; what it is played with, unless told otherwise, is this package's invented world.
    for seat in ("Solver", "Challenger"):
        registry.pop(f"MetaGym/SESA-{seat}-v0", None)
        register_env(
            f"MetaGym/SESA-{seat}-v0",
            f"metagym.sesa.env:{seat}Env",
            kwargs={"material": "metagym_envs.searchqa.material:invented"},
        )
