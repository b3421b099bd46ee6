"""What a server says of itself: health, models, version and, from vLLM, its configuration; kept for the manifest."""

from __future__ import annotations

import hashlib
import json
import os
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import Any

from metagym.chat.specs import parse_spec
from metagym.errors import ServerError
from metagym_trainers.versions import check_vllm_version

ANSWER_S = 10.0
"""Longest wait for one of these answers."""

_DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # a proxy cannot reach this machine's loopback
_KEPT: Mapping[str, tuple[str, ...]] = {
    "model_config": (
        *("model", "dtype", "max_model_len", "seed", "logprobs_mode", "max_logprobs", "generation_config"),
        *("quantization", "enforce_eager", "served_model_name"),
    ),
    "cache_config": ("enable_prefix_caching", "gpu_memory_utilization", "block_size"),
    "parallel_config": ("tensor_parallel_size", "data_parallel_size", "pipeline_parallel_size"),
}
"""Parts of vLLM's configuration that decide what it answers; of the rest the digest is kept."""


def get(address: str, timeout: float = ANSWER_S) -> tuple[int, Any]:
    """Status and body of a GET: parsed JSON, or None where the body is none; status 0 where nobody answers."""
    try:
        with _DIRECT.open(address, timeout=timeout) as answer:
            status, raw = answer.status, answer.read()
    except urllib.error.HTTPError as error:
        status, raw = error.code, b""
    except (OSError, ValueError):  # refused, reset, timed out; half a status line
        return 0, None
    try:
        return status, json.loads(raw)
    except (ValueError, RecursionError):
        return status, None


def served(url: str) -> dict[str, Any]:
    """What a server says of itself, as far as it says anything.

    Args:
        url: Its address without ``/v1``.

    Returns:
        ``models`` (names), ``version``, ``config`` (`_KEPT` of vLLM's) and ``config_sha256`` of all of it; a part that
        the server does not tell is None.
    """
    listed = get(f"{url}/v1/models")[1]
    told = get(f"{url}/version")[1]
    config = _mapping(_mapping(get(f"{url}/server_info?config_format=json")[1]).get("vllm_config"))
    entries = _mapping(listed).get("data")
    names = (
        [entry["id"] for entry in entries if isinstance(entry, dict) and isinstance(entry.get("id"), str)]
        if (isinstance(entries, list))
        else None
    )
    kept: dict[str, Any] = {
        part: {name: _mapping(config.get(part)).get(name) for name in fields if name in _mapping(config.get(part))}
        for part, fields in _KEPT.items()
    }
    kept["weight_transfer"] = config.get("weight_transfer_config") is not None
    text = json.dumps(config, sort_keys=True, default=str)
    return {
        "url": url,
        "models": names,
        "version": _mapping(told).get("version"),
        "config": kept if config else None,
        "config_sha256": hashlib.sha256(text.encode()).hexdigest() if config else None,
    }


def check(facts: Mapping[str, Any], name: str, *, model: str | None = None, training: bool = False) -> None:
    """Refuses a server that does not serve what is needed.

    Args:
        facts: What `served` gave.
        name: What the server is called.
        model: Name that it must list.
        training: It must take weights and give the log-probabilities that were sampled from.

    Raises:
        ServerError: It is so; the message says how to start it.
        WrongVersion: TRL cannot push weights into this vLLM.
    """
    url = facts["url"]
    if model is not None and (facts["models"] is None or model not in facts["models"]):
        there = ", ".join(facts["models"] or []) or "no model"
        raise ServerError(f"{name} at {url} serves {there}, not {model}: start it with --served-model-name {model}")
    if not training:
        return
    if facts["config"] is None:
        raise ServerError(
            f"{name} at {url} does not tell its configuration (/server_info), and a policy in training needs it: "
            "start vLLM with VLLM_SERVER_DEV_MODE=1"
        )
    mode = facts["config"]["model_config"].get("logprobs_mode")
    if mode != "processed_logprobs":
        raise ServerError(
            f"{name} at {url} gives {mode or 'unknown log-probabilities'}, which are not those that tokens are sampled "
            "from: start vLLM with --logprobs-mode processed_logprobs"
        )
    if not facts["config"]["weight_transfer"]:
        raise ServerError(
            f'{name} at {url} takes no weights: start vLLM with --weight-transfer-config \'{{"backend":"nccl"}}\''
        )
    if facts["version"] is not None:
        check_vllm_version(facts["version"], f"{name} at {url}")


def inspect(url: str, name: str = "the server", *, model: str | None = None, training: bool = False) -> dict[str, Any]:
    """Asks and checks a server that somebody else owns, e.g. the actor's at the start of a run.

    Args:
        url: Its address, with or without ``/v1``.
        name: What it is called in messages.
        model: Name that it must list; None asks for none.
        training: See `check`.

    Returns:
        What `served` gave, for the manifest.

    Raises:
        ServerError: Nobody answers, or it does not serve what is needed.
    """
    root = url.rstrip("/").removesuffix("/v1")
    if get(f"{root}/health")[0] != 200 and get(f"{root}/v1/models")[0] != 200:
        raise ServerError(f"{name} at {root} does not answer: start it (examples/serve_actor.sh), or name its address")
    facts = served(root)
    check(facts, name, model=model, training=training)
    return facts


def recorded(spec: Any) -> dict[str, Any] | None:
    """What the server behind a model spec says of itself, for the manifest.

    Args:
        spec: A model spec; anything else, and specs of no server with an address of its own, give None.

    Returns:
        What `served` gave; its parts are None where the server does not tell (hosted ones want a key for it).
    """
    address = address_of(spec)
    return None if address is None else served(address)


def address_of(spec: Any) -> str | None:
    """Address of the server behind a model spec, without ``/v1``; None where it has none of its own.

    Args:
        spec: A model spec, or an address (``http://...``); anything else gives None.
    """
    if isinstance(spec, str) and spec.startswith(("http://", "https://")):
        return spec.rstrip("/").removesuffix("/v1")
    if not isinstance(spec, str) or not spec.startswith("openai:"):
        return None
    address = parse_spec(spec).params.get("base_url") or os.environ.get("OPENAI_BASE_URL")
    return None if address is None else str(address).rstrip("/").removesuffix("/v1")


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
