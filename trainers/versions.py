"""Which versions of TRL and its company the adapters are written for, checked before anything of them is imported.

TRL marks every hook but reward functions as experimental and renames them between minor releases, so that it is pinned
to one, and each hook has a contract test. Ranges: TRL 1.16's own metadata (torch, vLLM) and what the tests ran with.
"""

from __future__ import annotations

import re
from importlib import metadata
from typing import NamedTuple

from metagym.errors import BrokenExtra, MissingExtra, WrongVersion
from metagym.extras import DISTRIBUTION, require


class Range(NamedTuple):
    """Versions from `least` up to but not including `below`; releases as tuples of numbers."""

    least: tuple[int, ...]
    below: tuple[int, ...]

    def __contains__(self, version: object) -> bool:
        """Whether a version's text falls into the range; only its release numbers are looked at (``2.13.0+cpu``)."""
        return isinstance(version, str) and self.least <= release(version) < self.below

    def __str__(self) -> str:
        """As pip writes it."""
        return f">={_dotted(self.least)},<{_dotted(self.below)}"


TRL = {
    "torch": Range((2, 13), (3,)),
    "trl": Range((1, 16), (1, 17)),
    "transformers": Range((5, 15), (5, 25)),
    "accelerate": Range((1, 10), (2,)),
    "datasets": Range((4, 7), (6,)),
}
"""What training needs (extra ``trl``)."""

VLLM = {"vllm": Range((0, 22), (0, 32)), "transformers": Range((5, 15), (5, 18))}
"""What TRL 1.16 needs beside a GPU (extra ``gpu``); vLLM 0.31 refuses transformers 5.18 and newer."""


def release(version: str) -> tuple[int, ...]:
    """The release numbers of a version: ``"2.13.0+cpu"`` -> (2, 13, 0); empty where there are none."""
    found = re.match(r"\d+(?:\.\d+)*", version)
    return tuple(map(int, found[0].split("."))) if found else ()


def require_trl() -> None:
    """Checks that torch, TRL and transformers are installed in versions that the adapters know.

    Raises:
        MissingExtra: One is not installed.
        WrongVersion: One is installed in another version: a newer TRL might ignore our hooks without a word.
        BrokenExtra: They are installed, and TRL does not import.
    """
    _check(TRL, "trl")
    require("trl", "trl")


def require_vllm() -> None:
    """Checks that vLLM is installed in a version that TRL can drive, and transformers in one that vLLM takes.

    Raises:
        MissingExtra: It is not installed.
        WrongVersion: It, or transformers, is installed in another version.
    """
    _check(VLLM, "gpu")


def check_vllm_version(version: str, where: str) -> None:
    """Checks the version that a vLLM server tells of itself.

    Args:
        version: E.g. ``"0.31.0"``.
        where: The server, for the message.

    Raises:
        WrongVersion: TRL 1.16 does not know how to push weights into it.
    """
    if version not in VLLM["vllm"]:
        raise WrongVersion(f"{where} runs vLLM {version}, and TRL 1.16 drives {VLLM['vllm']}: start one of these")


def _check(wanted: dict[str, Range], extra: str) -> None:
    command = f"pip install '{DISTRIBUTION}[{extra}]'"
    for name, versions in wanted.items():
        try:
            found = metadata.version(name)
        except metadata.PackageNotFoundError:
            raise MissingExtra(f"{name} is not installed: {command}") from None
        if not release(found):
            raise BrokenExtra(f"{name} is installed, but its version {found!r} cannot be read: {command}")
        if found not in versions:
            raise WrongVersion(f"{name} {found} is installed, and the trainers need {versions}: {command}")


def _dotted(numbers: tuple[int, ...]) -> str:
    return ".".join(map(str, numbers))
