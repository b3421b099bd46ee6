"""From a spec to a chat model with its layers."""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from metagym.chat.layers import Overridden
from metagym.chat.scripted import Answer, Scripted, scripted
from metagym.chat.types import ChatModel, Request
from metagym.errors import SpecError
from metagym.seeding import check_seed

if TYPE_CHECKING:
    from metagym.chat.accounts import Budget, Ledger
    from metagym.chat.limit import Pace
    from metagym.chat.specs import Spec
    from metagym.chat.store import CacheMode, ReplyStore
    from metagym.families import Family

ModelLike = str | ChatModel | Callable[[Request], Answer]
"""What `load` takes: a spec, a chat model, or a callable from request to answer."""

DEFAULT_CONCURRENCY = 64
"""Calls at once to one server, unless the spec says otherwise."""


def load(
    spec: ModelLike,
    *,
    seat: str = "actor",
    seed: int = 0,
    family: str | Family | None = None,
    cache: str | os.PathLike[str] | ReplyStore | None = None,
    cache_mode: CacheMode = "write",
    budget: Budget | Ledger | None = None,
) -> ChatModel:
    """Makes the chat model of a seat.

    The layers, from the outside in, each only where it has something to do: fixed settings, reply cache, accounts and
    budget, limits, retry, client. The cache comes before the rest, so that a reply on disk costs nothing and waits for
    nothing; the budget is checked before a call waits in the queue; retries happen inside the slot that the call
    holds, so that a server in trouble sees fewer requests, not more.

    Args:
        spec: ``rules[:<Family>]``, ``random``, ``openai:<model>``, ``llama:<name or file>``, ``hf:<folder>``,
            ``python:<module>:<callable>``, each with ``?parameter=value&...`` (see `metagym.chat.specs.SCHEMES`); or a
            `ChatModel`; or a callable from `Request` to text.
        seat: ``actor``, ``reflector``, ...: the stand-in that ``rules`` takes, and the account that calls without a tag
            go to.
        seed: Seed of the stand-in and of the waiting times between retries.
        family: The family whose stand-ins ``rules`` means; by default the only registered one that has one for the
            seat.
        cache: File of the reply cache, or an open store shared by several models. ``rules`` is never cached: asking it
            again is cheaper.
        cache_mode: ``write`` reads and writes, ``read`` never writes, ``replay-only`` raises `CacheMiss` instead of
            calling the model, ``off`` does nothing.
        budget: A hard budget, or a ledger (shared by the seats of a run) that holds one. Models other than callables
            and stand-ins always keep accounts: ``find_layer(model, Accounted).ledger``.

    Raises:
        SpecError: The spec cannot be read, or names something that is not there.
        MissingExtra: The spec needs an optional dependency; the message holds the pip command.
        StoreError: The cache file cannot be used.
    """
    seed = check_seed(seed)
    if not isinstance(spec, str):
        return _layered(_from_object(spec), seat, cache, cache_mode, budget)
    from metagym.chat.specs import parse_spec

    read = parse_spec(spec)
    if read.scheme == "random":
        from metagym.chat.wander import wanderer

        return _layered(wanderer(seat), seat, None, "off", budget)
    if read.scheme == "rules":
        return _layered(_stand_in(read.name, seat, seed, family), seat, None, "off", budget)
    model = _BUILDERS[read.scheme](read, seed)
    prices = (read.params.get("price_in"), read.params.get("price_out"))
    model = _layered(model, seat, cache, cache_mode, budget, prices, always_account=read.scheme != "python")
    settings = {name: read.params[name] for name in ("temperature", "max_tokens") if name in read.params}
    if settings:
        model = Overridden(model, **settings)
    with contextlib.suppress(TypeError):  # a model of one's own may take no weak reference
        _origins[model] = spec, seat, seed
    return model


_origins: weakref.WeakKeyDictionary[ChatModel, tuple[str, str, int]] = weakref.WeakKeyDictionary()


def origin_of(model: ChatModel) -> tuple[str, str, int] | None:
    """Spec, seat and seed that a model was loaded from, so that another process can load it too.

    None for stand-ins, wanderers, and what was no spec: those are sent as they are.
    """
    try:
        return _origins.get(model)
    except TypeError:
        return None


def _from_object(thing: Any) -> ChatModel:
    if type(thing) is Scripted:  # asking a protocol costs a hundred times as much, and a replay asks for every batch
        return thing
    if isinstance(thing, ChatModel) and not isinstance(thing, type):
        return thing
    if callable(thing):
        return scripted(thing)
    raise SpecError(f"a model is a spec, a ChatModel or a callable, got {type(thing).__name__}")


def _layered(
    model: ChatModel,
    seat: str,
    cache: str | os.PathLike[str] | ReplyStore | None,
    cache_mode: CacheMode,
    budget: Budget | Ledger | None,
    prices: tuple[float | None, float | None] = (None, None),
    always_account: bool = False,
) -> ChatModel:
    ledger: Ledger | None = None
    if budget is not None or always_account:
        from metagym.chat.accounts import Accounted, as_ledger

        ledger = as_ledger(budget)
        model = Accounted(model, ledger, seat=seat, price_in=prices[0], price_out=prices[1])
    if cache is not None and cache_mode != "off":
        from metagym.chat.cache import Cached
        from metagym.chat.store import ReplyStore

        store = cache if isinstance(cache, ReplyStore) else ReplyStore(Path(cache), cache_mode)
        model = Cached(model, store, seat=seat, ledger=ledger)
    return model


def _stand_in(name: str, seat: str, seed: int, family: str | Family | None) -> ChatModel:
    from metagym.families import load_family

    if name or isinstance(family, str):
        chosen = load_family(name or str(family))
    elif family is None:
        chosen = _only_family_with(seat)
    else:
        chosen = family
    if seat not in chosen.stand_ins:
        there = ", ".join(sorted(chosen.stand_ins)) or "none"
        raise SpecError(
            f"family {chosen.name} has no scripted stand-in for the seat {seat!r}; it has {there}: use 'random', "
            "a model such as openai:<model>, or another family's, rules:<Family>"
        )
    return _from_object(chosen.stand_ins[seat](seed))


def _only_family_with(seat: str) -> Family:
    from metagym.families import family_names, load_family

    found = {}
    for name in family_names():
        try:
            family = load_family(name)
        except Exception:  # a plugin's family may fail in any way; it is not the one that is meant
            continue
        if seat in family.stand_ins:
            found[name] = family
    if len(found) != 1:
        there = f"; {', '.join(found)} have one for the seat {seat!r}" if found else ""
        raise SpecError(f"'rules' means a family's stand-in: write rules:<Family>, or give load() the family{there}")
    return next(iter(found.values()))


def _python(spec: Spec, seed: int) -> ChatModel:
    module_name, colon, path = spec.name.partition(":")
    if not (module_name and colon and path):
        raise SpecError(f"python: names a module and a callable, as in python:my_models:answer; got {spec.name!r}")
    thing: Any = _import(module_name)
    for part in path.split("."):
        try:
            thing = getattr(thing, part)
        except AttributeError:
            raise SpecError(f"module {module_name} has no {path}") from None
    if isinstance(thing, ChatModel) and not isinstance(thing, type):
        model: ChatModel = thing
    elif callable(thing):
        model = scripted(thing, id=f"python:{spec.name}", backend=spec.params.get("backend", "scripted"))
    else:
        raise SpecError(f"python:{spec.name} is {type(thing).__name__}, neither a callable nor a ChatModel")
    return _limited(model, spec) if spec.params.keys() & {"concurrency", "rpm", "tpm"} else model


def _import(name: str) -> Any:
    # As `python -m` does, the folder one stands in counts, so that a script beside the command is found.
    here = os.getcwd()
    sys.path.append(here)
    try:
        return importlib.import_module(name)
    except Exception as error:  # an import may fail in any way; the reader needs the real reason
        raise SpecError(f"python: cannot import {name}: {type(error).__name__}: {error}") from error
    finally:
        if sys.path and sys.path[-1] == here:
            sys.path.pop()


def _openai(spec: Spec, seed: int) -> ChatModel:
    from metagym.chat.limit import Pace
    from metagym.chat.openai import OpenAIChat, sampling_fields
    from metagym.chat.retry import Retrying

    given = spec.params
    settings = {
        "connections": given.get("concurrency", DEFAULT_CONCURRENCY),
        "sampling": sampling_fields(given, full=given.get("sampling") == "full"),
        **{name: given[name] for name in ("key_env", "choices", "context") if name in given},
    }
    client: ChatModel
    address = given.get("base_url") or os.environ.get("OPENAI_BASE_URL") or ""
    if "|" in address:
        from metagym.chat.balance import Balanced

        client = Balanced([OpenAIChat(spec.name, base_url=one, **settings) for one in address.split("|")])
    else:
        client = OpenAIChat(spec.name, base_url=given.get("base_url"), **settings)
    pace = Pace(given.get("rpm"), given.get("tpm"))
    patience = {name: given[name] for name in ("retries", "timeout", "deadline") if name in given}
    return _limited(Retrying(client, seed=seed, pace=pace, **patience), spec, pace, DEFAULT_CONCURRENCY)


def _llama(spec: Spec, seed: int) -> ChatModel:
    from metagym.chat.llama import LlamaChat

    return LlamaChat(spec.name, **_but_sampling(spec))


def _hf(spec: Spec, seed: int) -> ChatModel:
    from metagym.chat.hf import HFChat

    return HFChat(spec.name, **_but_sampling(spec))


def _but_sampling(spec: Spec) -> dict[str, Any]:
    return {name: value for name, value in spec.params.items() if name not in ("temperature", "max_tokens")}


def _limited(model: ChatModel, spec: Spec, pace: Pace | None = None, concurrency: int | None = None) -> ChatModel:
    from metagym.chat.limit import Limited, Pace

    given = spec.params
    if pace is None:
        pace = Pace(given.get("rpm"), given.get("tpm"))
    return Limited(model, concurrency=given.get("concurrency", concurrency), pace=pace)


_BUILDERS: dict[str, Callable[[Spec, int], ChatModel]] = {
    "python": _python,
    "openai": _openai,
    "llama": _llama,
    "hf": _hf,
}
