"""From names to a folder of files."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined

from metagym.errors import BadInput, StoreError
from metagym.scaffold.names import Names

FILES = {
    "setup.cfg": "setup.cfg.j2",
    "pyproject.toml": "pyproject.toml.j2",
    "README.md": "README.md.j2",
    ".gitignore": "gitignore.j2",
    "{package}/__init__.py": "init.py.j2",
    "{package}/env.py": "env.py.j2",
    "{package}/tasks.py": "tasks.py.j2",
    "{package}/stand_ins.py": "stand_ins.py.j2",
    "{package}/family.py": "family.py.j2",
    "{package}/py.typed": "",
    "tests/test_family.py": "test_family.py.j2",
}
"""Where each file of the project goes, and the template that it is made from ("" for an empty file)."""


def write_family(names: Names, folder: Path) -> list[Path]:
    """Writes a plugin project.

    Args:
        names: See `names_for`.
        folder: Where it goes; made, and so far absent or empty.

    Returns:
        The files, in the order of `FILES`.

    Raises:
        BadInput: The folder holds something, or is a file.
        StoreError: It cannot be written.
    """
    try:
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise BadInput(f"{folder} is there already: name another folder, or empty it")
        templates = Environment(
            loader=PackageLoader("metagym.scaffold", "templates"),
            undefined=StrictUndefined,
            keep_trailing_newline=True,
            autoescape=False,  # Python and configuration, from names that are letters and digits
        )
        written = []
        for place, template in FILES.items():
            path = folder / place.replace("{package}", names.package)
            path.parent.mkdir(parents=True, exist_ok=True)
            text = templates.get_template(template).render(asdict(names)) if template else ""
            path.write_text(text, encoding="utf-8", newline="\n")
            written.append(path)
    except OSError as error:
        raise StoreError(f"the project cannot be written to {folder}: {error.strerror or error}") from error
    return written
