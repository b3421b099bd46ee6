"""Keeping keys out of ids, messages, caches and reports."""

from __future__ import annotations

import re

_KEY = re.compile(  # the usual prefixes of API keys, with a tail that holds a digit
    r"\b(?:sk-|gsk_|xai-|nvapi-)(?=[A-Za-z_\-]*[0-9])[A-Za-z0-9_\-]{12,}"
    r"|\b(?:sk|pk|rk|hf|ghp|gho)_(?=[A-Za-z]*[0-9])[A-Za-z0-9]{20,}"
    r"|\bAKIA[A-Z0-9]{12,}\b"
    r"|\bAIza[A-Za-z0-9_\-]{20,}"
)
_BEARER = re.compile(r"(?i)\b(bearer|basic)\s+[A-Za-z0-9._~+/\-]{8,}=*")
_USERINFO = re.compile(r"(?<=://)[^/@\s]+@")
HIDDEN = "[hidden]"


def looks_secret(text: str) -> bool:
    """Whether a text holds something that looks like an API key."""
    return bool(_KEY.search(text) or _BEARER.search(text))


def redact(text: str, *secrets: str) -> str:
    """Replaces keys by ``[hidden]``.

    Args:
        text: Any text, such as the words of a server.
        *secrets: Keys that are known; other texts that look like one go too.
    """
    for secret in secrets:
        if secret:
            text = text.replace(secret, HIDDEN)
    text = _USERINFO.sub(f"{HIDDEN}@", text)
    text = _BEARER.sub(lambda found: f"{found.group(1)} {HIDDEN}", text)
    return _KEY.sub(HIDDEN, text)
