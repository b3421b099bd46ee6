"""Model specs: one line of text that says which model sits on a seat, e.g. ``openai:gpt-x?temperature=0``."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, unquote, urlsplit

from metagym.chat.redact import looks_secret, redact
from metagym.errors import SpecError

MAX_SPEC = 4096
"""Longest spec, in characters."""

CHOICE_MODES = ("auto", "structured_outputs", "guided_choice", "grammar", "json_schema", "off")
"""How a server is asked to keep to `Request.choices`; see `metagym.chat.constraints`."""

_SECRET_NAMES = frozenset("api_key apikey api-key key token password secret authorization auth".split())
_NO_KEYS = (
    "a key is never written into a spec, since specs are kept in manifests: put it into the environment as "
    "OPENAI_API_KEY, or name another variable with key_env="
)

Read = Callable[[str], Any]


def _whole(low: int) -> Read:
    def read(text: str) -> int:
        if not re.fullmatch(r"[0-9]{1,15}", text) or int(text) < low:
            raise ValueError(f"a whole number of at least {low}")
        return int(text)

    return read


def _number(low: float, *, open_end: bool = False) -> Read:
    def read(text: str) -> float:
        limit = f"a number {'above' if open_end else 'of at least'} {low:g}"
        if not re.fullmatch(r"[0-9]*\.?[0-9]+(e[+-]?[0-9]{1,3})?", text):
            raise ValueError(limit)
        value = float(text)
        if not math.isfinite(value) or value < low or (open_end and value == low):
            raise ValueError(limit)
        return value

    return read


def _share(text: str) -> float:
    value = _number(0)(text)
    if value > 1:
        raise ValueError("a number from 0 to 1")
    return value


def _one_of(*names: str) -> Read:
    def read(text: str) -> str:
        if text not in names:
            raise ValueError(f"one of {', '.join(names)}")
        return text

    return read


def _env_name(text: str) -> str:
    if not re.fullmatch(r"[A-Z_][A-Z0-9_]*", text):
        raise ValueError("the NAME of an environment variable, in capitals")
    return text


def read_base_url(text: str) -> str:
    """Checks the address of a server.

    Returns:
        The address without a final slash.

    Raises:
        ValueError: It is no http(s) address, or holds a user name, password, query or fragment (a place for secrets).
    """
    wanted = "an address such as http://127.0.0.1:8000/v1, with neither user name, password nor query"
    try:
        parts = urlsplit(text)
        port_is_readable = parts.port is None or parts.port > 0
    except ValueError:
        raise ValueError(wanted) from None
    plain = not (parts.username or parts.password or "@" in parts.netloc or parts.query or parts.fragment)
    if parts.scheme not in ("http", "https") or not parts.hostname or not port_is_readable or not plain:
        raise ValueError(wanted)
    if not re.fullmatch(r"[!-~]+", text):
        raise ValueError(wanted)
    return text.rstrip("/")


def read_base_urls(text: str) -> str:
    """Checks the addresses of servers of one model, with ``|`` between them; one address is a list as well.

    Raises:
        ValueError: One of them is none, or is there twice.
    """
    found = [read_base_url(part) for part in text.split("|")]
    if len(set(found)) < len(found):
        raise ValueError("addresses with | between them, each of another server")
    return "|".join(found)


_CUTS: Mapping[str, Read] = {
    "sampling": _one_of("given", "full"),
    "top_p": _share,
    "top_k": _whole(0),
    "min_p": _share,
    "repetition_penalty": _number(0, open_end=True),
}
_SAMPLING: Mapping[str, Read] = {"temperature": _number(0), "max_tokens": _whole(1)}
_LIMITS: Mapping[str, Read] = {"concurrency": _whole(1), "rpm": _whole(1), "tpm": _whole(1)}
_PRICES: Mapping[str, Read] = {"price_in": _number(0), "price_out": _number(0)}

SCHEMES: Mapping[str, Mapping[str, Read]] = {
    "rules": {},
    "random": {},
    "openai": {
        "base_url": read_base_urls,
        "key_env": _env_name,
        **_SAMPLING,
        **_CUTS,
        **_LIMITS,
        "retries": _whole(0),
        "timeout": _number(0, open_end=True),
        "deadline": _number(0, open_end=True),
        "choices": _one_of(*CHOICE_MODES),
        "context": _whole(1),
        **_PRICES,
    },
    "llama": {
        **_SAMPLING,
        "threads": _whole(1),
        "slots": _whole(1),
        "context": _whole(64),
        "choices": _one_of("grammar", "off"),
    },
    "hf": {
        **_SAMPLING,
        "device": _one_of("cpu", "cuda", "mps"),
        "dtype": _one_of("auto", "float32", "float16", "bfloat16"),
    },
    "python": {**_SAMPLING, **_LIMITS, **_PRICES, "backend": _one_of("scripted", "local", "server")},
}
"""The schemes and, of each, the parameters with the function that reads them."""


@dataclass(frozen=True, slots=True)
class Spec:
    """A spec that was read.

    Attributes:
        scheme: One of `SCHEMES`.
        name: What the scheme names: a model, a path, a family (may be "" for ``rules``), ``module:callable``.
        params: The parameters given, with their values; those not given are absent.
    """

    scheme: str
    name: str = ""
    params: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        """The spec as text; `parse_spec` reads it back to an equal one."""
        head = f"{self.scheme}:{quote(self.name, safe=_PLAIN)}" if self.name else self.scheme
        pairs = [f"{name}={quote(_write(value), safe=_PLAIN)}" for name, value in self.params.items()]
        return head + ("?" + "&".join(pairs) if pairs else "")


_PLAIN = "/:@+,;=~!$'()*[] "


def _write(value: Any) -> str:
    return f"{value:.17g}" if isinstance(value, float) else str(value)


def parse_spec(text: str) -> Spec:
    """Reads a model spec.

    The form is ``scheme:name?parameter=value&parameter=value``; ``%XX`` stands for a character that would end a part.

    Raises:
        SpecError: Unknown scheme or parameter, a parameter given twice, an unreadable value, or a key written into the
            spec. The message lists what is valid and never repeats a secret.
    """
    if not isinstance(text, str):
        raise SpecError(f"a model spec is text such as 'rules' or 'openai:<model>', got {type(text).__name__}")
    if len(text) > MAX_SPEC:
        raise SpecError(f"a model spec has at most {MAX_SPEC} characters, got {len(text)}")
    head, mark, query = text.partition("?")
    scheme, colon, name = head.partition(":")
    if scheme not in SCHEMES:
        raise SpecError(f"unknown kind of model {redact(scheme)!r}; known are {', '.join(_FORMS.values())}")
    name = _decode(name, f"the name in {scheme}:")
    if scheme == "random" and colon:
        raise SpecError("random: takes no name; write 'random'")
    if scheme not in ("rules", "random") and not name:
        raise SpecError(f"{scheme}: names no model; the form is {_FORMS[scheme]}")
    if scheme == "rules" and colon and not name:
        raise SpecError("rules: names no family; write 'rules' or 'rules:<Family>'")
    if looks_secret(name):
        raise SpecError(_NO_KEYS)
    return Spec(scheme, name, _read_params(scheme, query) if mark else {})


_FORMS = {
    "rules": "rules[:<Family>]",
    "random": "random",
    "openai": "openai:<model>",
    "llama": "llama:<name or .gguf file>",
    "hf": "hf:<folder>",
    "python": "python:<module>:<callable>",
}


def _read_params(scheme: str, query: str) -> dict[str, Any]:
    readers = SCHEMES[scheme]
    valid = ", ".join(readers) or "none"
    params: dict[str, Any] = {}
    for pair in query.split("&"):
        name, equals, raw = pair.partition("=")
        if name.lower() in _SECRET_NAMES or looks_secret(pair):
            raise SpecError(_NO_KEYS)
        shown = redact(name[:40])
        if name not in readers:
            raise SpecError(f"{scheme}: has no parameter {shown!r}; its parameters are {valid}")
        if name in params:
            raise SpecError(f"parameter {shown} is given twice")
        if not equals:
            raise SpecError(f"parameter {shown} has no value; write {shown}=...")
        value = _decode(raw, f"parameter {shown}")
        try:
            params[name] = readers[name](value)
        except ValueError as error:
            # An address or variable name that was refused may be a secret in the wrong place: it is not repeated.
            got = "" if name in ("base_url", "key_env") else f", got {redact(value[:60])!r}"
            raise SpecError(f"parameter {shown} is {error}{got}") from None
    return params


def _decode(text: str, where: str) -> str:
    try:
        value = unquote(text, errors="strict")
        value.encode("utf-8")
    except UnicodeError:
        raise SpecError(f"{where} is not UTF-8 text") from None
    if any(ord(mark) < 32 or ord(mark) == 127 for mark in value):
        raise SpecError(f"{where} holds a control character")
    return value
