"""'Paid' models for tests of resuming a run of SESA: its stand-ins, which write down every call.

Named in specs as ``python:tests.support.paid_sesa:solver`` and so on; see `tests.support.paid` for the log.
"""

from __future__ import annotations

import asyncio
import os
from typing import Any

from metagym.chat import Request
from metagym.sesa.materials import load_material
from metagym.sesa.stand_ins import load_seat
from tests.support.paid import _note


def _paid(seat: str) -> Any:
    model = load_seat("rules", seat, load_material("invented").passages)

    async def answer(request: Request) -> str | None:
        _note(request)
        await asyncio.sleep(float(os.environ.get("PAID_SECONDS", "0.002")))
        return (await model.chat(request)).text

    answer.__qualname__ = seat
    return answer


challenger, solver, distiller, verifier = (_paid(seat) for seat in ("challenger", "solver", "distiller", "verifier"))
