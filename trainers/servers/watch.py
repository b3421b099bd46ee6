"""Ends training when a server has died: without it every reward would be unscored, and steps would train nothing."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, Protocol

from transformers import TrainerCallback

from metagym.errors import ServerError
from metagym_trainers.servers.facts import address_of, get

TRIES, PAUSE_S = 3, 2.0
"""How often a server that is only known by its address is asked before it counts as dead, and the pause in between."""


class Watched(Protocol):
    """What can tell that it has died: `metagym_trainers.servers.Servers`, `Addresses`."""

    def check(self) -> None:
        """Notices a death.

        Raises:
            ServerError: It has died.
        """
        ...


class Addresses:
    """Servers that somebody else started.

    Args:
        specs: From what each is called to its model spec or its address; None, specs without an address of their own,
            and hosted servers (https), which say what they like at ``/health``, are not watched.
    """

    def __init__(self, specs: Mapping[str, Any]) -> None:
        found = {name: address_of(spec) for name, spec in specs.items()}
        self.urls = {name: url for name, url in found.items() if url is not None and url.startswith("http://")}

    def check(self) -> None:
        """Notices a server that no longer answers, or says of itself that it is out of order.

        Raises:
            ServerError: One has gone.
        """
        for name, url in self.urls.items():
            for left in reversed(range(TRIES)):
                status = get(f"{url}/health")[0]
                if 0 < status < 500:  # servers without such a page say so, and answer
                    break
                if not left:
                    what = f"answers with status {status}" if status else "no longer answers"
                    raise ServerError(
                        f"{name} at {url} {what}: start it again and resume the run from its last checkpoint"
                    )
                time.sleep(PAUSE_S)


class WatchServers(TrainerCallback):
    """Looks after the servers of a run before each step.

    Args:
        watched: Who tells of a death.
    """

    def __init__(self, *watched: Watched) -> None:
        self.watched = watched

    def on_step_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Notices a death.

        Raises:
            ServerError: A server has died; the message holds its last lines where they are known.
        """
        for one in self.watched:
            one.check()
