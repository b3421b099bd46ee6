"""Chance: ``random``, ``secrets`` and ``uuid``, all hanging on the seed of the session."""

from __future__ import annotations

import base64
import hmac
import operator
import random
import uuid
from collections.abc import Callable, Iterable
from typing import Any

from metagym.sandbox.facades.facade import Table
from metagym.sandbox.facades.session import Session

_METHODS = (
    "betavariate choice choices expovariate gammavariate gauss getrandbits getstate lognormvariate normalvariate "
    "paretovariate randbytes randint random randrange sample setstate shuffle triangular uniform vonmisesvariate "
    "weibullvariate"
)


_bound = operator.attrgetter(*_METHODS.split())


def _methods(session: Session) -> Iterable[Any]:
    own = session.random

    def seed(a: Any = None, version: int = 2) -> None:
        """Seeds the generator; without a value, from the session's own seed."""
        own.seed(session.entropy() if a is None else a, version)

    return *_bound(own), seed


def _random_class(session: Session) -> type[random.Random]:
    class Random(random.Random):
        """``random.Random``; without a seed it takes one from the session."""

        def seed(self, a: Any = None, version: int = 2) -> None:
            super().seed(session.entropy() if a is None else a, version)

    Random.__module__, Random.__qualname__ = "random", "Random"
    return Random


RANDOM = (
    Table("random")
    .eager("bound to the generator of the session; the same draws as random.Random", f"{_METHODS} seed", _methods)
    .lazy("the real generator; one without a seed takes it from the session", Random=_random_class)
    .lazy(
        "bound to the generator of the session",
        binomialvariate=lambda session: getattr(session.random, "binomialvariate", None) or _binomial(session),
    )
    .refuse("it reads the machine's entropy, so that no replay would be equal; use random.Random", "SystemRandom")
)


def _binomial(session: Session) -> Any:
    def binomialvariate(n: int = 1, p: float = 0.5) -> int:
        """Successes in `n` trials (a plain count, for Pythons before 3.12)."""
        return sum(session.random.random() < p for _ in range(n))

    return binomialvariate


def _secrets(session: Session) -> dict[str, Any]:
    own = session.random

    def randbelow(exclusive_upper_bound: int) -> int:
        """A number in [0, bound)."""
        if exclusive_upper_bound <= 0:
            raise ValueError("Upper bound must be positive.")
        return own.randrange(exclusive_upper_bound)

    def token_bytes(nbytes: int | None = None) -> bytes:
        """Bytes from the session's generator; 32 by default."""
        return own.randbytes(32 if nbytes is None else nbytes)

    def token_hex(nbytes: int | None = None) -> str:
        """The same as hexadecimal text."""
        return token_bytes(nbytes).hex()

    def token_urlsafe(nbytes: int | None = None) -> str:
        """The same as URL-safe text."""
        return base64.urlsafe_b64encode(token_bytes(nbytes)).rstrip(b"=").decode("ascii")

    return {
        "choice": own.choice,
        "randbelow": randbelow,
        "randbits": own.getrandbits,
        "token_bytes": token_bytes,
        "token_hex": token_hex,
        "token_urlsafe": token_urlsafe,
    }


def _secret(name: str) -> Callable[[Session], Any]:
    return lambda session: session.once(_secrets)[name]


SECRETS = (
    Table("secrets")
    .lazy(
        "a stand-in that draws from the session's generator: a game has no secrets to keep, but must replay",
        **{name: _secret(name) for name in "choice randbelow randbits token_bytes token_hex token_urlsafe".split()},
    )
    .ours("compares two texts", compare_digest=hmac.compare_digest)
    .refuse("it reads the machine's entropy; use random.Random", "SystemRandom")
)


def _uuid4(session: Session) -> Any:
    def uuid4() -> uuid.UUID:
        """A random UUID from the session's generator."""
        return uuid.UUID(int=session.random.getrandbits(128), version=4)

    return uuid4


UUID = (
    Table("uuid")
    .lazy("drawn from the session's generator", uuid4=_uuid4)
    .real("an immutable value type", "UUID SafeUUID")
    .real("a digest of its arguments", "uuid3 uuid5")
    .real(
        "constants",
        "NAMESPACE_DNS NAMESPACE_OID NAMESPACE_URL NAMESPACE_X500 RESERVED_FUTURE RESERVED_MICROSOFT RESERVED_NCS "
        "RFC_4122",
    )
    .refuse("it reads the machine's address and clock; use uuid.uuid4(), which draws from the seed", "uuid1 getnode")
    .rest("it is a helper of the library")
)

TABLES = (RANDOM, SECRETS, UUID)
