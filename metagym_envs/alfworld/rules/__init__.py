"""Scripted stand-ins for ALFWorld: an actor that follows rules in plain English, a reflector that writes them.

They speak the ordinary chat protocol and take the same paths as a language model, with no weights, key or network. What
they prove is that the loop works: see docs/stand_ins.md.
"""

from metagym_envs.alfworld.rules.actor import actor
from metagym_envs.alfworld.rules.reflector import reflector

__all__ = ["actor", "reflector"]
