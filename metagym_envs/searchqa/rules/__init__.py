"""Scripted stand-ins for SearchQA: an actor that follows two rules in plain English, a reflector that writes them.

They read the sentences of the invented world and no other language. What they prove is that the loop works.
"""

from metagym_envs.searchqa.rules.actor import actor
from metagym_envs.searchqa.rules.reflector import reflector

__all__ = ["actor", "reflector"]
