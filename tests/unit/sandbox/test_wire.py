"""Messages: what a worker sends is cut into frames and parsed strictly; what nobody vouches for is a typed error."""

from __future__ import annotations

import os
import socket
import threading
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metagym.errors import BadOutput
from metagym.sandbox import wire


@settings(max_examples=50, deadline=None)
@given(st.lists(st.lists(st.integers() | st.text(max_size=5), max_size=4), max_size=4), st.integers(1, 7))
def test_frames_come_out_whole_however_the_stream_is_cut(messages: list[Any], piece: int) -> None:
    stream = b"".join(wire.packed(wire.encode(message)) for message in messages)
    frames = wire.Frames(10_000)
    found = [message for at in range(0, len(stream), piece) for message in frames.feed(stream[at : at + piece])]
    assert found == messages


def test_a_frame_above_the_limit_is_refused_by_its_header_alone() -> None:
    frames = wire.Frames(100)
    assert frames.feed(wire.packed(b"[" + b" " * 98 + b"]")) == [[]]
    with pytest.raises(BadOutput, match="4,294,967,295 bytes; 100 are allowed"):
        frames.feed(b"\xff\xff\xff\xff")


@pytest.mark.parametrize(
    "payload",
    [b"", b"{", b"[NaN]", b"[Infinity]", b"[-Infinity]", b"[1] ", b"[1][2]", b"\xff", "[é]".encode(), b"[" * 90_000]
    + [b"[" + b"9" * 5_000 + b"]"],
    ids=lambda payload: repr(payload[:12]),
)
def test_what_is_no_strict_json_is_a_typed_error(payload: bytes) -> None:
    with pytest.raises(BadOutput, match="no JSON"):
        wire.Frames(100_000).feed(wire.packed(payload))


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=60))
def test_any_bytes_are_messages_or_a_typed_error(data: bytes) -> None:
    try:
        wire.Frames(40).feed(data)
    except BadOutput:
        pass


def test_requests_are_read_whole_and_the_end_of_the_stream_is_none() -> None:
    theirs, ours = os.pipe()
    requests = wire.Requests(wire.asleep(theirs))
    try:
        two = wire.packed(b"[1]") + wire.packed(b"[2]") + wire.packed(b"[3]")
        os.write(ours, two[:-2])
        assert requests.next() == [1] and requests.next() == [2]
        os.write(ours, two[-2:])
        assert requests.next() == [3]
        os.write(ours, wire.packed(wire.encode([["step", 0, "go"]])))
        assert requests.next() == [["step", 0, "go"]]
        os.write(ours, wire.HEADER.pack(20) + b"[1,")
        os.close(ours)
        ours = -1
        assert requests.next() is None and requests.next() is None
    finally:
        os.close(theirs)
        if ours >= 0:
            os.close(ours)


class _Counted:
    """A socket that counts how it is read."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock, self.looks, self.sleeps = sock, 0, 0

    def recv(self, size: int, flags: int = 0) -> bytes:
        self.looks += flags == socket.MSG_DONTWAIT
        self.sleeps += flags == 0
        return self._sock.recv(size, flags)


def test_a_worker_looks_before_it_sleeps_and_less_often_where_looking_was_in_vain(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(wire, "LOOKS", 3)
    theirs, ours = socket.socketpair()
    with theirs, ours:
        counted = _Counted(theirs)
        receive = wire.awake(counted)  # type: ignore[arg-type]

        def late() -> bytes:
            threading.Timer(0.05, ours.sendall, [b"x"]).start()
            return receive()

        def soon() -> tuple[int, int]:
            """Looks and sleeps of a message that is there already."""
            before = counted.looks, counted.sleeps
            ours.sendall(b"x")
            assert receive() == b"x"
            return counted.looks - before[0], counted.sleeps - before[1]

        assert soon() == (0, 1), "the first request, a program, takes long to come"
        assert soon() == (1, 0) and soon() == (1, 0)
        assert late() == b"x" and (counted.looks, counted.sleeps) == (2 + 3, 2)
        assert [soon() for _ in range(3)] == [(0, 1), (0, 1), (1, 0)], "two waits without a look, then one that helps"
        assert late() == b"x"
        assert [soon() for _ in range(3)] == [(0, 1), (0, 1), (1, 0)], "a look that helped makes the rest short again"
        ours.close()
        assert receive() == b"", "the end of the stream"


def test_a_request_above_the_limit_is_refused() -> None:
    theirs, ours = os.pipe()
    try:
        os.write(ours, wire.HEADER.pack(wire.REQUEST_BYTES + 1))
        with pytest.raises(ValueError, match="a request of"):
            wire.Requests(wire.asleep(theirs)).next()
    finally:
        os.close(theirs)
        os.close(ours)


def test_a_long_message_is_written_whole() -> None:
    theirs, ours = os.pipe()
    try:
        wire.write(ours, b"[1]")
        assert os.read(theirs, 100) == b"\0\0\0\3[1]"
    finally:
        os.close(theirs)
        os.close(ours)


def test_numbers_that_are_not_finite_are_never_sent() -> None:
    with pytest.raises(ValueError, match="JSON compliant"):
        wire.encode([float("nan")])
