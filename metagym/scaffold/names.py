"""The names of a plugin project, checked before a file is written."""

from __future__ import annotations

import importlib.util
import keyword
import re
import sys
from dataclasses import dataclass

from metagym.errors import BadInput
from metagym.families import family_names

_NAME = re.compile(r"[A-Z][A-Za-z0-9]*")
_WORDS = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+")


@dataclass(frozen=True)
class Names:
    """What things are called in a plugin project.

    Attributes:
        name: The family, e.g. ``LampPost``; also the function that builds it.
        package: The package to import, e.g. ``lamp_post``.
        namespace: First half of the Gymnasium ids.
        distribution: Name of the project for pip, e.g. ``metagym-lamp-post``.
    """

    name: str
    package: str
    namespace: str
    distribution: str


def names_for(name: str) -> Names:
    """The names of the project of a new family.

    Args:
        name: The family: letters and digits (ASCII), the first a capital, e.g. ``LampPost``.

    Raises:
        BadInput: It is no such name, or a family or an importable package has it already.
    """
    if not _NAME.fullmatch(name):
        raise BadInput(f"a family's name is letters and digits with a capital first, as in LampPost; got {name!r:.60}")
    for known in family_names():
        if known.rpartition("/")[2].casefold() == name.casefold():
            raise BadInput(f"there is a family {known} already: choose another name than {name}")
    package = "_".join(_WORDS.findall(name)).lower()
    if keyword.iskeyword(package) or keyword.issoftkeyword(package):
        raise BadInput(f"the package of {name} would be called {package}, a word of Python: choose another name")
    if package in sys.stdlib_module_names or importlib.util.find_spec(package) is not None:
        raise BadInput(f"the package of {name} would hide {package}, which can be imported here: choose another name")
    return Names(name, package, package, f"metagym-{package.replace('_', '-')}")
