"""What kind of server is this? Asked once, when a request first has choices and the spec does not say."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import httpx2

PROBE_SECONDS = 5.0


async def choice_mode(http: httpx2.AsyncClient, base_url: str, model: str) -> str:
    """Finds the field by which a server keeps to choices.

    vLLM and llama.cpp name themselves as the owner of their models; vLLM tells its version too. Any other server, and
    one that does not answer, is asked by ``json_schema``, which most hosted ones understand. A wrong guess does no
    harm: the answer is checked in any case.

    Returns:
        ``structured_outputs``, ``guided_choice``, ``grammar`` or ``json_schema``.
    """
    owner = ""
    for entry in _entries(await _get(http, f"{base_url}/models")):
        if not owner or entry.get("id") == model:
            owner = str(entry.get("owned_by") or "")
    if owner == "llamacpp":
        return "grammar"
    if owner == "vllm":
        told = await _get(http, f"{base_url.removesuffix('/v1')}/version")
        found = re.match(r"(\d+)\.(\d+)", str(told.get("version", ""))) if isinstance(told, dict) else None
        old = found is not None and (int(found[1]), int(found[2])) < (0, 12)
        return "guided_choice" if old else "structured_outputs"
    return "json_schema"


async def served(http: httpx2.AsyncClient, base_url: str, model: str) -> dict[str, Any] | None:
    """What a server serves under a name, as far as it tells.

    Returns:
        ``model``, ``root`` (vLLM's weights), ``owned_by``, ``max_model_len`` and ``version``, each None where the
        server does not say; ``model`` is None where it lists others only. None where it does not answer as a server
        that is well: ``/health`` other than 200 (servers without it say 404), or no list of models.
    """
    import httpx2

    root = base_url.removesuffix("/v1")
    try:
        health = (await http.get(f"{root}/health", timeout=PROBE_SECONDS)).status_code
    except httpx2.HTTPError:
        return None
    told = await _get(http, f"{base_url}/models")
    if health >= 500 or not isinstance(told, dict):
        return None
    listed = _entries(told)
    entry = next((entry for entry in listed if entry.get("id") == model), {})
    version = await _get(http, f"{root}/version")
    return {
        "model": entry.get("id"),
        **{name: entry.get(name) for name in ("root", "owned_by", "max_model_len")},
        "version": version.get("version") if isinstance(version, dict) else None,
    }


def _entries(told: Any) -> list[dict[str, Any]]:
    data = told.get("data") if isinstance(told, dict) else None
    return [entry for entry in data if isinstance(entry, dict)] if isinstance(data, list) else []


async def _get(http: httpx2.AsyncClient, address: str) -> Any:
    import httpx2

    try:
        response = await http.get(address, timeout=PROBE_SECONDS)
        return response.json() if response.status_code == 200 else None
    except (httpx2.HTTPError, ValueError, RecursionError):
        return None
