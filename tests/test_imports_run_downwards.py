"""Imports run downwards only (docs/architecture.md, "Rooms of the core"), lazy ones inside functions included."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

# Ground floor first: a room may use the rooms before it, and itself.
ROOMS = (
    *("errors", "checks", "seeding", "extras", "strictjson", "texts", "tasks", "episodes", "spaces", "families"),
    *(
        "registration",
        "bootstrap",
        "stats",
        "journal",
        "chat",
        "search",
        "answers",
        "searching",
        "qadata",
        "sandbox",
        "playing",
    ),
    *("ict", "spade", "sesa", "evaluation", "conformance", "scaffold", "runs", "cli"),
)

# The three systems never import each other, and the evaluation none of them: what two of them need moves down.
SYSTEMS = frozenset({"ict", "spade", "sesa", "evaluation"})

# The same for the trainers, which stand on top of the core; tiny models and worlds are for their tests and examples.
TRAINER_ROOMS = (
    *(
        "versions",
        "ranks",
        "episodes",
        "advantages",
        "convert",
        "sampling",
        "completions",
        "policies",
        "recording",
        "geometry",
        "checkpoints",
        "tracking",
        "guards",
    ),
    *("recipes", "presets", "footprint", "servers", "ict", "spade", "sesa", "tiny", "plan", "scripts"),
)

# Libraries of which the core knows nothing; `metagym.chat.hf` asks for two of them by name when it is used.
HEAVY = frozenset({"torch", "trl", "transformers", "accelerate", "datasets", "peft", "vllm", "metagym_trainers"})

# What a family from elsewhere may use: the facade, and the nouns that docs/add_a_family.md is made of.
DOORS = frozenset("errors seeding extras spaces tasks episodes families chat search answers searching qadata".split())

# What docs/plugins.md names beyond them: the view of turn-based games, waiting for a
# model, and running code that nobody has read.
DOOR_MODULES = frozenset(
    {"metagym.playing.aec", "metagym.playing.rival", "metagym.playing.sync", "metagym.sandbox.scripts"}
)

# Rooms of several modules whose package is the door.
ROOMS_WITH_DOORS = frozenset({"chat", "search", "answers"})


def modules(package: str) -> list[Path]:
    """All modules, the package itself first."""
    return sorted((ROOT / package).rglob("*.py"), key=lambda path: (path.parent != ROOT / package, path))


def imported(source: str, *packages: str) -> Iterator[tuple[int, str]]:
    """Line and dotted name of everything of some packages (`metagym`) that a source imports, wherever in it."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"line {node.lineno}: imports are absolute"
            found = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        yield from ((node.lineno, name) for name in found if name.split(".")[0] in (packages or ("metagym",)))


def upward(room: str, source: str) -> list[str]:
    """The imports of a room's module that do not lead downwards; the facade is above every room but the command."""
    wrong = []
    for line, name in imported(source):
        target = (name.split(".") + [""])[1]
        if target not in ROOMS:
            if room != "cli":
                wrong.append(f"line {line}: {name} (the facade imports this room)")
        elif ROOMS.index(target) > ROOMS.index(room):
            wrong.append(f"line {line}: {name} (above {room})")
        elif room in SYSTEMS and target in SYSTEMS - {room}:
            wrong.append(f"line {line}: {name} (another system)")
    return wrong


def upward_in_trainers(room: str, source: str) -> list[str]:
    """The imports of a trainers' module that do not lead downwards; into the core everything but the command does."""
    wrong = [f"line {line}: {name} (the command)" for line, name in imported(source) if name.startswith("metagym.cli")]
    for line, name in imported(source, "metagym_trainers"):
        target = "tiny" if name.split(".")[2:3] == ["tiny"] else (name.split(".") + [""])[1]
        if target not in TRAINER_ROOMS or TRAINER_ROOMS.index(target) > TRAINER_ROOMS.index(room):
            wrong.append(f"line {line}: {name} (above {room})")
        elif room in SYSTEMS and target in SYSTEMS - {room}:
            wrong.append(f"line {line}: {name} (another system)")
    return wrong


def through_no_door(source: str) -> list[str]:
    """The imports of a bundled family that a stranger's plugin should not need."""
    wrong = []
    for line, name in imported(source):
        parts = name.split(".")
        if ".".join(parts[:3]) in DOOR_MODULES:
            continue
        inside = parts[1] in ROOMS_WITH_DOORS and len(parts) > 3
        hidden = any(part.startswith("_") and not part.startswith("__") for part in parts)
        if hidden or inside or (parts[1].islower() and parts[1] not in DOORS | {"register_family", "__version__"}):
            wrong.append(f"line {line}: {name}")
    return wrong


@pytest.mark.parametrize("path", modules("metagym")[1:], ids=lambda path: str(path.relative_to(ROOT)))
def test_a_room_uses_only_what_is_below_it(path: Path) -> None:
    room = path.relative_to(ROOT / "metagym").with_suffix("").parts[0].replace("__main__", "cli")
    assert room in ROOMS, f"{path}: a new room needs its place in the order"
    assert not upward(room, path.read_text("utf-8"))


@pytest.mark.parametrize("path", modules("trainers")[1:], ids=lambda path: str(path.relative_to(ROOT)))
def test_a_trainers_room_uses_only_what_is_below_it(path: Path) -> None:
    # A system's own tiny runs stand beside it, and are above it and its toy world.
    room = "tiny" if path.name == "tiny.py" else path.relative_to(ROOT / "trainers").with_suffix("").parts[0]
    assert room in TRAINER_ROOMS, f"{path}: a new room needs its place in the order"
    assert not upward_in_trainers(room, path.read_text("utf-8"))


@pytest.mark.parametrize("path", modules("metagym") + modules("metagym_envs"), ids=lambda p: str(p.relative_to(ROOT)))
def test_the_core_knows_no_trainer_and_no_torch(path: Path) -> None:
    assert not list(imported(path.read_text("utf-8"), *HEAVY))


@pytest.mark.parametrize("path", modules("metagym_envs"), ids=lambda path: str(path.relative_to(ROOT)))
def test_bundled_families_use_the_doors_that_a_plugin_has(path: Path) -> None:
    assert not through_no_door(path.read_text("utf-8"))


def test_the_rooms_stand_in_the_documented_order() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    told = [line.split("`")[1].rstrip("/") for line in page.splitlines() if line.startswith("| `")]
    assert told == list(ROOMS)


def test_what_leads_upwards_is_found() -> None:
    lazy = "def f():\n    from metagym import runs\n"
    assert upward("chat", lazy) and not upward("cli", lazy)
    assert upward("tasks", "import metagym.episodes") and not upward("episodes", "from metagym.tasks import Task")
    assert upward("runs", "from metagym import __version__")
    assert upward("spade", "from metagym.ict.env import ICTEnv") and not upward("runs", "import metagym.ict.env")
    assert through_no_door("from metagym.chat.types import Request")
    assert through_no_door("from metagym.playing import play")
    assert through_no_door("from metagym.families import _factories")
    assert not through_no_door("from metagym.chat import Request\nfrom metagym import Family, register_family")
    assert upward_in_trainers("episodes", "def f():\n    from metagym_trainers.convert import rollout_columns\n")
    assert upward_in_trainers("ict", "from metagym_trainers.sesa import x") and upward_in_trainers(
        "plan", "import metagym.cli"
    )
    assert not upward_in_trainers("sesa", "from metagym_trainers.policies import Policy\nimport metagym.runs")
    assert list(imported("def f():\n    import torch.nn\n", *HEAVY))
