"""Playing tasks: hosts, the actor's seat, and `play`: many episodes at once with failures isolated."""

from metagym.playing.actor import ActorSettings
from metagym.playing.hosts import Host, HostPool, LocalPool, Transition
from metagym.playing.runner import PlaySettings, play, play_async

__all__ = [
    "ActorSettings",
    "Host",
    "HostPool",
    "LocalPool",
    "PlaySettings",
    "Transition",
    "play",
    "play_async",
]
