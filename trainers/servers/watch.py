"""Ends training when a server has died: without it every reward would be unscored, and steps would train nothing."""

from __future__ import annotations

from typing import Any

from transformers import TrainerCallback

from metagym_trainers.servers.supervisor import Servers


class WatchServers(TrainerCallback):
    """Looks after the servers of a run before each step.

    Args:
        servers: Their supervisor.
    """

    def __init__(self, servers: Servers) -> None:
        self.servers = servers

    def on_step_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Notices a death.

        Raises:
            ServerError: A server has died; the message holds its last lines.
        """
        self.servers.check()
