"""The families that come with MetaGym."""

from __future__ import annotations


def register() -> None:
    """Makes the bundled families known (entry point of the group ``metagym.plugins``); imports none of them."""
    from metagym import register_family

    register_family("ALFWorld", "metagym_envs.alfworld:ALFWorld", actor="rules")
    register_family("SearchQA", "metagym_envs.searchqa:SearchQA", actor="rules")
    register_family("Reasoning", "metagym_envs.reasoning:Reasoning")
    register_family("MiniHack", "metagym_envs.minihack:MiniHack", actor="rules")
