"""The ``metagym`` command: a thin face over the rooms below."""

from __future__ import annotations


def main() -> None:
    """Entry point of the console script."""
    from metagym.cli.app import run

    run()
