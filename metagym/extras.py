"""Optional dependencies: import one, or say in one sentence what is missing and which command brings it."""

from __future__ import annotations

import importlib
from types import ModuleType

from metagym.errors import BrokenExtra, MissingExtra

DISTRIBUTION = "metagym-agents"


def require(module: str, extra: str) -> ModuleType:
    """Imports an optional module.

    Args:
        module: Dotted name, e.g. ``"textworld"``.
        extra: The extra of this distribution that brings it.

    Raises:
        MissingExtra: The module's top-level package is not installed.
        BrokenExtra: It is installed but does not import; the message carries its own reason, since
            "not installed" would send the reader the wrong way.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is not None and error.name == module.split(".", 1)[0]:
            raise MissingExtra(f"{module} is not installed: pip install '{DISTRIBUTION}[{extra}]'") from error
        raise BrokenExtra(f"{module} is installed but cannot be imported: {error}") from error
    except Exception as error:  # an import may fail in any way, e.g. OSError of a shared library
        raise BrokenExtra(f"{module} is installed but cannot be imported: {type(error).__name__}: {error}") from error
