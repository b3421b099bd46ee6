"""One model on several servers: which of them is asked, and what happens when one of them goes away.

Every request belongs to the server that its conversation begins at, so that the prefix cache there holds its earlier
turns: rendezvous hashing (Thaler and Ravishankar, 1998) of the messages up to the first of the user, with bounded loads
(Mirrokni, Thorup and Zadimoghaddam, "Consistent Hashing with Bounded Loads", 2018), so that no server has more than a
quarter above the mean. Which server answered decides nothing else and stands in no record.
"""

from __future__ import annotations

import asyncio
import dataclasses
import hashlib
import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from metagym.chat.types import Backend, Reply, Request
from metagym.errors import BadInput, MetaGymWarning, ServerUnavailable

HEADROOM = 1.25
"""Most calls of a server, as a multiple of the mean."""
STRIKES = 3
"""Failed calls in a row after which a server is taken out; one lost connection is enough."""
PROBE_AFTER = 1.0
"""Seconds until a server that was taken out is probed; doubled with each time that it fails again, at a probe or at its
first call after one: a server whose engine is stuck may still answer probes."""
PROBE_AT_MOST = 30.0
_IDENTITY = ("model", "root", "owned_by", "max_model_len", "version")


class Server(Protocol):
    """One server of a model: `metagym.chat.openai.OpenAIChat`."""

    @property
    def id(self) -> str:
        """Model, address and settings."""
        ...

    @property
    def backend(self) -> Backend:
        """A server."""
        ...

    @property
    def address(self) -> str:
        """Host and path."""
        ...

    async def chat(self, request: Request) -> Reply:
        """Makes one request."""
        ...

    async def served(self) -> dict[str, Any]:
        """What the server says of itself."""
        ...

    async def aclose(self) -> None:
        """Closes the connections of the running loop."""
        ...


@dataclass(eq=False)
class _Place:
    """A server and how it fares."""

    server: Server
    busy: int = 0
    strikes: int = 0
    up: bool = True
    banned: bool = False
    trial: bool = False
    wait: float = PROBE_AFTER
    probe_at: float = 0.0
    probing: asyncio.Task[None] | None = field(default=None, repr=False)

    def longer(self) -> float:
        """Doubles the wait before the next probe, and tells it."""
        self.wait = min(2 * self.wait, PROBE_AT_MOST)
        return self.wait

    def under_way(self) -> bool:
        """Whether a probe is under way, on this event loop."""
        task = self.probing
        return task is not None and not task.done() and task.get_loop() is asyncio.get_running_loop()


class Balanced:
    """Asks one of several servers of the same model; a layer for retries stands above it.

    A call whose connection dies is made once more at another server. A server that fails is taken out and probed
    (``/health`` and ``/v1/models``); if it is well and still serves the same it gets one call, and more once it has
    answered that.

    Args:
        servers: At least two.

    Attributes:
        served: By address, what each server said of itself when it was first met.
    """

    def __init__(self, servers: Sequence[Server]) -> None:
        self._places = [_Place(server) for server in sorted(servers, key=lambda server: server.address)]
        addresses = [place.server.address for place in self._places]
        first = self._places[0].server
        self._id = first.id.replace(addresses[0], "|".join(addresses), 1)
        self._backend = first.backend
        self.served: dict[str, dict[str, Any]] = {}
        self._meeting: asyncio.Task[None] | None = None
        self._met = False

    @property
    def id(self) -> str:
        """Model, addresses in order, and settings: the order in which they were given does not matter."""
        return self._id

    @property
    def backend(self) -> Backend:
        """Servers."""
        return self._backend

    async def chat(self, request: Request) -> Reply:
        """Makes one request, and a second one at another server where the connection of the first dies.

        Raises:
            BadInput: The servers serve different models.
            ServerUnavailable: No server is well, or both requests failed so.
            ChatError: As the server says.
        """
        await self._meet()
        place = await self._choose(request, None)
        try:
            return await self._ask(place, request)
        except ServerUnavailable as error:
            if not error.connection:
                raise
            other = await self._choose(request, place)
            if other is place:
                raise
            reply = await self._ask(other, request)
            return dataclasses.replace(reply, attempts=reply.attempts + 1)

    async def aclose(self) -> None:
        """Closes the connections of the running loop."""
        for place in self._places:
            if place.probing is not None and place.under_way():
                place.probing.cancel()
            place.probing = None
            await place.server.aclose()

    # --- asking

    async def _ask(self, place: _Place, request: Request) -> Reply:
        place.busy += 1
        try:
            reply = await place.server.chat(request)
        except ServerUnavailable as error:
            self._strike(place, STRIKES if error.connection else 1)
            raise
        except asyncio.CancelledError:  # most likely its time was over: a server that hangs says nothing else
            self._strike(place, 1)
            raise
        finally:
            place.busy -= 1
        place.strikes, place.trial, place.wait = 0, False, PROBE_AFTER
        return reply

    async def _choose(self, request: Request, not_this: _Place | None) -> _Place:
        """The server of a conversation among those that are well and not above their share."""
        self._probe_due()
        well = [place for place in self._places if place.up and place is not not_this]
        if not well:
            if not_this is not None:
                return not_this
            await self._wait_for_probes()
            well = [place for place in self._places if place.up]
        if not well:
            addresses = ", ".join(place.server.address for place in self._places)
            raise ServerUnavailable(f"none of the servers is well: {addresses}")
        proven = [place for place in well if not place.trial] or well
        well = proven + [place for place in well if place.trial and not place.busy and place not in proven]
        share = math.ceil(HEADROOM * (1 + sum(place.busy for place in proven)) / len(proven))
        order = rendezvous(request, [place.server.address for place in well])
        return next((well[at] for at in order if well[at].busy < share), well[order[0]])

    # --- health

    def _strike(self, place: _Place, strikes: int) -> None:
        place.strikes += strikes
        if place.up and place.strikes >= STRIKES:
            place.up = False
            place.probe_at = asyncio.get_running_loop().time() + place.wait

    def _probe_due(self, now: bool = False) -> None:
        time = asyncio.get_running_loop().time()
        for place in self._places:
            waiting = not place.up and not place.banned and (now or time >= place.probe_at)
            if waiting and not place.under_way():
                place.probing = asyncio.ensure_future(self._probe(place))

    async def _wait_for_probes(self) -> None:
        self._probe_due(now=True)
        probes = {place.probing for place in self._places if place.probing is not None and place.under_way()}
        while probes and not any(place.up for place in self._places):
            _, probes = await asyncio.wait(probes, return_when=asyncio.FIRST_COMPLETED)

    async def _probe(self, place: _Place) -> None:
        try:
            found = await place.server.served()
        except ServerUnavailable:
            place.probe_at = asyncio.get_running_loop().time() + place.longer()
            return
        difference = self._difference(place, found)
        if difference:
            place.banned = True
            warnings.warn(f"{difference}; it is left out from now on", MetaGymWarning, stacklevel=2)
            return
        self.served.setdefault(place.server.address, found)
        place.longer()
        place.up, place.trial, place.strikes = True, True, STRIKES - 1

    # --- identity

    async def _meet(self) -> None:
        """Asks all servers what they serve, once, before the first request."""
        if self._met:
            return
        meeting = self._meeting
        if meeting is None or meeting.done() or meeting.get_loop() is not asyncio.get_running_loop():
            meeting = self._meeting = asyncio.ensure_future(self._introduce())
        await asyncio.shield(meeting)

    async def _introduce(self) -> None:
        for place in self._places:
            place.up = False
        found = await asyncio.gather(*(place.server.served() for place in self._places), return_exceptions=True)
        for place, told in zip(self._places, found, strict=True):
            if isinstance(told, ServerUnavailable):
                place.probe_at = asyncio.get_running_loop().time() + place.wait
            elif isinstance(told, BaseException):
                raise told
            elif difference := self._difference(place, told):
                self.served.clear()
                raise BadInput(f"{difference}: servers of one list serve one model")
            else:
                self.served[place.server.address] = told
                place.up = True
        self._met = True

    def _difference(self, place: _Place, told: dict[str, Any]) -> str:
        """The first field in which a server differs from those that were met before it; "" for none."""
        for address, known in self.served.items():
            for name in _IDENTITY:
                if told[name] != known[name]:
                    return (
                        f"{place.server.address} has {name} {told[name]!r}, {address} has {known[name]!r} "
                        f"(as their /models and /version say)"
                    )
        return ""


def rendezvous(request: Request, addresses: Sequence[str]) -> list[int]:
    """Places of the addresses, the one that the conversation belongs to first.

    A conversation is known by its messages up to the first of the user: they stay when turns are added, and differ from
    episode to episode. An address that goes or comes moves only the conversations that were, or are now, its own.
    """
    text = hashlib.blake2b(digest_size=16)
    for message in request.messages:
        text.update(f"{message.role}\0{message.content}\0".encode("utf-8", "surrogatepass"))
        if message.role == "user":
            break
    start = text.digest()
    weights = [hashlib.blake2b(start + address.encode(), digest_size=8).digest() for address in addresses]
    return sorted(range(len(addresses)), key=weights.__getitem__, reverse=True)
