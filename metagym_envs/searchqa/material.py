"""The invented world as material for search self-play: questions, passages, and what searches them."""

from __future__ import annotations

from typing import Any

from metagym_envs.searchqa.data import INVENTED, questions, searcher
from metagym_envs.searchqa.world import world


def invented() -> dict[str, Any]:
    """``rows`` (split to questions), ``passages`` and ``searcher`` of the invented world, one of each per process."""
    return {
        "rows": questions(INVENTED, None).rows,
        "passages": world().passages,
        "searcher": searcher(INVENTED),
    }
