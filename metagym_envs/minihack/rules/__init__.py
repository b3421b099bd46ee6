"""Scripted stand-ins for MiniHack: an actor that follows rules in plain English, a reflector that writes them.

They read advice with the reader of the ALFWorld stand-ins, and three of its rules (open, search, take) mean here what
they mean there: that is what a transfer between the two families can carry. See docs/stand_ins.md.
"""

from metagym_envs.minihack.rules.actor import actor
from metagym_envs.minihack.rules.reflector import reflector

__all__ = ["actor", "reflector"]
