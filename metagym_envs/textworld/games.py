"""Games that TextWorld's own challenges make: from a challenge, its settings and a seed to a compiled file.

Making one takes seconds (a world, a quest, then the Inform 7 compiler), so compiled games are kept in a folder. A file
is known by everything that decides it, and comes into the folder by one rename: a kill leaves no half game.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import shutil
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

from metagym.errors import BadInput, StoreError
from metagym.extras import require

CHALLENGES: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "simple": ("tw_simple.simple", {"rewards": "balanced", "goal": "detailed"}),
    "cooking": (
        "tw_cooking.cooking",
        {"recipe": 2, "take": 2, "go": 6, "open": True, "cook": True, "cut": True, "drop": False},
    ),
    "coin_collector": ("tw_coin_collector.coin_collector", {"level": 5}),
    "treasure_hunter": ("tw_treasure_hunter.treasure_hunter", {"level": 5}),
}
"""Challenge -> module of `textworld.challenges` and our default settings; what they mean stands in those modules."""

OF_THE_SPLIT = {
    "simple": {"test"},
    "cooking": {"split", "recipe_seed"},
    "coin_collector": set(),
    "treasure_hunter": set(),
}
"""Settings that follow from a task's split and seed."""

FOLDER = "METAGYM_CACHE"
"""Environment variable that names another folder for what is kept."""


def folder() -> Path:
    """Where compiled games are kept: below ``METAGYM_CACHE``, else below the user's cache folder."""
    root = os.environ.get(FOLDER) or os.path.join(os.environ.get("XDG_CACHE_HOME") or "~/.cache", "metagym")
    return Path(root).expanduser() / "textworld"


def settings_for(challenge: str, given: Mapping[str, Any], split: str, seed: int) -> dict[str, Any]:
    """All settings of one game.

    Args:
        challenge: One of `CHALLENGES`.
        given: Settings that win over our defaults.
        split: ``train``, ``valid`` or ``test``. Cooking has foods and ways to prepare them for each; a simple game
            comes from the test distribution in the other two.
        seed: Of the game; a cooking game's recipe is made from it too.
    """
    found = {**CHALLENGES[challenge][1], **given}
    if challenge == "simple":
        found["test"] = split != "train"
    if challenge == "cooking":
        found |= {"split": split, "recipe_seed": seed}
    return found


def check_settings(challenge: str, given: Any) -> dict[str, Any]:
    """Settings that a caller gave, checked by name.

    Raises:
        BadInput: The challenge or a setting is unknown.
    """
    if challenge not in CHALLENGES:
        raise BadInput(f"TextWorld has no challenge {challenge!r} here; there are {', '.join(CHALLENGES)}")
    known = CHALLENGES[challenge][1]
    if not isinstance(given, Mapping):
        raise BadInput(f"settings of {challenge} are a mapping like {json.dumps(dict(known))}, got {given!r:.80}")
    for name in given:
        if name in OF_THE_SPLIT[challenge]:
            raise BadInput(f"the setting {name} of {challenge} follows from a task's split and seed")
        if name not in known:
            raise BadInput(f"{challenge} has no setting {name!r}; it has {', '.join(known)}")
    return dict(given)


def compiled(challenge: str, settings: Mapping[str, Any], seed: int) -> Path:
    """The file of a game, made where it is not there yet.

    Raises:
        BadInput: TextWorld refuses the settings.
        MissingExtra: TextWorld is not installed.
        StoreError: The folder cannot be written.
    """
    require("textworld", "textworld")
    known = json.dumps([version("textworld"), challenge, dict(settings), seed], sort_keys=True)
    place = folder() / hashlib.sha256(known.encode()).hexdigest()[:32]
    if not (place / "game.z8").exists():
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=place.parent, prefix="making-") as room:
                made = Path(room) / "game"
                made.mkdir()
                _make(challenge, settings, seed, made / "game.z8")
                _put(made, place)
        except OSError as error:
            raise StoreError(f"{place.parent} cannot hold compiled games: {error.strerror}; set {FOLDER}") from error
    return place / "game.z8"


def _put(made: Path, place: Path) -> None:
    try:
        os.rename(made, place)
    except OSError:
        if not (place / "game.z8").exists():  # else another process was first, with the same game
            shutil.rmtree(place, ignore_errors=True)
            os.rename(made, place)


def _make(challenge: str, settings: Mapping[str, Any], seed: int, path: Path) -> None:
    generator = importlib.import_module("textworld.generator")
    module = importlib.import_module(f"textworld.challenges.{CHALLENGES[challenge][0]}")
    options = generator.GameOptions()
    options.seeds = seed
    try:
        with quiet():
            game = module.make(dict(settings), options)
    except (ValueError, AssertionError, TypeError, KeyError) as error:
        raise BadInput(f"TextWorld refuses the settings {dict(settings)} of {challenge}: {str(error)[:200]}") from None
    options.path, options.force_recompile = str(path), True
    with quiet():
        generator.compile_game(game, options)


@contextmanager
def quiet() -> Iterator[None]:
    """Without the interpreter's warning that it cannot keep the score of a generated game; TextWorld keeps it."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*is not fully supported.*")
        yield
