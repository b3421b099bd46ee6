"""Messages between parent and worker: four bytes of length, then that many bytes of ASCII JSON. Never pickle.

The parent's side (`Frames`) trusts nothing: a worker that a program took over may send any bytes.
"""

from __future__ import annotations

import json
import os
import socket
import struct
from collections.abc import Callable
from typing import Any, NoReturn

from metagym.errors import BadOutput

HEADER = struct.Struct(">I")
_READ = 65_536
REQUEST_BYTES = 2**20
"""Longest request: room for a source of 64 Ki characters with every character escaped. Requests come from the
parent."""

LOOKS = 40 if (os.cpu_count() or 1) > 1 else 0
"""Looks at a socket before sleeping, about 40 us in all: most messages come sooner, and to be woken takes longer."""

_LONGEST_REST = 64


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not allowed")


def _encoder() -> Callable[[Any], str]:
    whole = json.JSONEncoder(allow_nan=False, separators=(",", ":"), check_circular=False)
    make = getattr(json.encoder, "c_make_encoder", None)
    if make is None:
        return whole.encode
    # `encode` builds its C encoder anew at each call, which is most of the time of a short message.
    chunks = make(None, whole.default, json.encoder.encode_basestring_ascii, None, ":", ",", False, False, False)
    return lambda data: "".join(chunks(data, 0))


_encode = _encoder()
_raw_decode = json.JSONDecoder(parse_constant=_no_constant).raw_decode


def _decode(text: str) -> Any:
    # Half the time of `decode`, which looks for white space at both ends; our own messages have none.
    value, end = _raw_decode(text)
    if end != len(text):
        raise ValueError("data after the value")
    return value


def encode(data: Any) -> bytes:
    """JSON as ASCII bytes.

    Raises:
        ValueError: A number is not finite.
    """
    return _encode(data).encode("ascii")


def packed(payload: bytes) -> bytes:
    """A payload with its length before it."""
    return HEADER.pack(len(payload)) + payload


def decode(payload: bytes | bytearray) -> Any:
    """The data of a payload that nobody vouches for.

    Raises:
        BadOutput: It is no JSON, holds NaN, or is nested too deeply to be read.
    """
    try:
        return _decode(payload.decode("ascii"))
    except (ValueError, RecursionError) as error:
        raise BadOutput(f"the worker sent a message that is no JSON ({type(error).__name__})") from None


class Frames:
    """Cuts a stream of bytes from a worker into messages.

    Args:
        limit: Bytes of the longest message.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._held = bytearray()

    def feed(self, data: bytes) -> list[Any]:
        """Takes the next bytes; gives the messages that they complete.

        Raises:
            BadOutput: A message is longer than the limit (told by its header, before it is held) or no JSON.
        """
        held = self._held
        if (
            not held
            and len(data) > HEADER.size
            and HEADER.unpack_from(data)[0] == len(data) - HEADER.size <= self.limit
        ):
            return [decode(data[HEADER.size :])]  # as nearly always: one read, one message
        held += data
        messages = []
        while len(held) >= HEADER.size:
            (length,) = HEADER.unpack_from(held)
            if length > self.limit:
                raise BadOutput(f"the worker announced a message of {length:,} bytes; {self.limit:,} are allowed")
            end = HEADER.size + length
            if len(held) < end:
                break
            messages.append(decode(held[HEADER.size : end]))
            del held[:end]
        return messages


class Requests:
    """The worker's side: requests, one at a time.

    Args:
        receive: Waits for the next bytes from the parent; gives none at the end of the stream.
    """

    def __init__(self, receive: Callable[[], bytes]) -> None:
        self._receive, self._held = receive, b""

    def next(self) -> Any:
        """Waits for the next request; None at the end of the stream.

        Raises:
            ValueError: The request is longer than `REQUEST_BYTES`.
        """
        held = self._held or self._receive()
        end = HEADER.size
        while len(held) < end or end == HEADER.size:
            if len(held) >= HEADER.size:
                end = HEADER.size + HEADER.unpack_from(held)[0]
                if end > HEADER.size + REQUEST_BYTES:
                    raise ValueError(f"a request of {end:,} bytes")
                if len(held) >= end:
                    break
            more = self._receive()
            if not more:
                return None
            held += more
        self._held = held[end:]
        return _decode(held[HEADER.size : end].decode("ascii"))


def asleep(fd: int) -> Callable[[], bytes]:
    """Receives from a socket, sleeping until something comes."""
    return lambda: os.read(fd, _READ)


def awake(sock: socket.socket) -> Callable[[], bytes]:
    """The same, looking at the socket before sleeping, which is for a parent that asks again at once.

    Where it does not, looking takes the core from somebody else: after a look in vain the next 2, 4, ... 64 waits do
    without.
    """
    pause = rest = 1

    def receive() -> bytes:
        nonlocal pause, rest
        if rest:
            rest -= 1
            return sock.recv(_READ)
        for _ in range(LOOKS):
            try:
                found = sock.recv(_READ, socket.MSG_DONTWAIT)
            except BlockingIOError:
                continue
            pause = 1
            return found
        pause = rest = min(2 * pause, _LONGEST_REST)
        return sock.recv(_READ)

    return receive


def write(fd: int, payload: bytes) -> None:
    """The worker's side: sends one message."""
    data = packed(payload)
    sent = os.write(fd, data)
    while sent < len(data):
        sent += os.write(fd, data[sent : sent + 65_536])
