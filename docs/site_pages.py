"""Pages of the documentation site that are made from other files: the README, and the environments' docstrings.

A hook of MkDocs (see mkdocs.yml). Environments are found by reading the sources, so that a page needs no engine: every
class whose docstring has the heading ``## Description`` is one, and must have the other headings too.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = {"metagym": "metagym", "metagym_envs": "metagym_envs", "wrappers": "metagym_wrappers"}
HEADINGS = ("Description", "Observation", "Actions", "Rewards", "Episode end", "Arguments", "Source")
"""Of the docstring of an environment's class, in this order."""

FILES = {
    "README.md": "index.md",
    "benchmarks/README.md": "benchmarks.md",
    "examples/README.md": "examples.md",
    "CHANGELOG.md": "changelog.md",
}
"""Files outside this folder that are pages too."""


class Environment(NamedTuple):
    """A class with a page.

    Attributes:
        name: Of the class.
        module: Dotted.
        text: The docstring, Markdown; its first line is a sentence.
    """

    name: str
    module: str
    text: str

    @property
    def page(self) -> str:
        """Path of its page."""
        return f"environments/{self.name}.md"


def environments() -> Iterator[Environment]:
    """Every class of the packages that describes itself as an environment, by package and path."""
    for folder, package in PACKAGES.items():
        for path in sorted((ROOT / folder).rglob("*.py")):
            source = path.read_text(encoding="utf-8")
            if "## Description" not in source:
                continue
            parts = path.relative_to(ROOT / folder).with_suffix("").parts
            module = ".".join((package, *(part for part in parts if part != "__init__")))
            for node in ast.walk(ast.parse(source)):
                if isinstance(node, ast.ClassDef) and "\n## Description\n" in (text := ast.get_docstring(node) or ""):
                    yield Environment(node.name, module, inspect.cleandoc(text))


def headings(text: str) -> tuple[str, ...]:
    """The headings of the second level in a docstring."""
    return tuple(re.findall(r"^## (.+)$", text, re.MULTILINE))


def ids_of(environment: Environment) -> list[str]:
    """The Gymnasium ids that make this class."""
    import gymnasium

    import metagym  # noqa: F401  (registers them)

    wanted = f"{environment.module}:{environment.name}"
    return sorted(id_ for id_, spec in gymnasium.registry.items() if spec.entry_point == wanted)


def page_of(environment: Environment) -> str:
    """The page of a class."""
    found = headings(environment.text)
    if found != HEADINGS:
        raise ValueError(f"{environment.module}:{environment.name} has the headings {found}, not {HEADINGS}")
    first, _, rest = environment.text.partition("\n")
    ids = "".join(f"`{id_}`  \n" for id_ in ids_of(environment))
    return f"# {environment.name}\n\n{first}\n\n{ids}\n`{environment.module}:{environment.name}`\n{_lists(rest)}\n"


def _lists(text: str) -> str:
    """Markdown wants an empty line before a list."""
    return re.sub(r"^(?![*\-] |  |\n|$)(.*)\n(?=[*\-] )", r"\1\n\n", text, flags=re.MULTILINE)


def relinked(text: str) -> str:
    """Links between files of the checkout as links between pages; those to other files as their names."""

    def link(match: re.Match[str]) -> str:
        label, target = match["label"], match["target"]
        path, mark, anchor = target.partition("#")
        path = path.removeprefix("../")
        if path in FILES:
            return f"[{label}]({FILES[path]}{mark}{anchor})"
        if path.startswith("docs/"):
            return f"[{label}]({path.removeprefix('docs/')}{mark}{anchor})"
        return match[0] if not target.startswith("../") and path.endswith(".md") else f"{label} (`{path}`)"

    return re.sub(r"\[(?P<label>[^\]]+)\]\((?!https?:|#)(?P<target>[^)\s]+)\)", link, text)


def on_config(config: Any) -> Any:
    """Puts the environments into the navigation, by package."""
    pages = [environment.page for environment in environments()]
    config.nav.insert(len(config.nav) - 1, {"Environments": pages})
    return config


def on_files(files: Any, config: Any) -> Any:
    """Adds the pages that are made."""
    from mkdocs.structure.files import File

    made = {page: (ROOT / path).read_text(encoding="utf-8") for path, page in FILES.items()}
    made |= {environment.page: page_of(environment) for environment in environments()}
    for path, content in made.items():
        files.append(File.generated(config, path, content=content))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Links as the site needs them."""
    return relinked(markdown)
