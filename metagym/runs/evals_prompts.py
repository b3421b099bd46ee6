"""System prompts of entrants: a text, a file, or the prompt that a run of ICT arrived at."""

from __future__ import annotations

from pathlib import Path

from metagym.errors import BadInput, RunError
from metagym.evaluation.run import Entrant
from metagym.runs.folder import MANIFEST
from metagym.runs.results import load_results

INITIAL = "initial"
"""The family's own prompt, in place of a text."""


def read_prompt(text: str) -> tuple[str | None, str]:
    """A prompt and where it is from, in words.

    Args:
        text: ``initial`` (the family's own), ``@FILE``, a run folder of ICT (its last prompt), ``FOLDER@TURN`` (that of
            a meta-turn), or the prompt itself.

    Returns:
        The prompt, None for the family's own; and where it is from.

    Raises:
        BadInput: A file cannot be read.
        RunError, StoreError: The run has no such prompt, or cannot be read.
    """
    if text == INITIAL:
        return None, "the family's own"
    if text.startswith("@"):
        try:
            return Path(text[1:]).read_text("utf-8"), Path(text[1:]).name
        except (OSError, UnicodeDecodeError) as error:
            raise BadInput(f"the prompt {text[1:]} cannot be read as UTF-8 text: {error}") from None
    folder, at, turn = text.rpartition("@")
    if at and turn.isdigit() and _is_run(folder):
        return _of_run(folder, int(turn))
    return _of_run(text, None) if _is_run(text) else (text, "a given text")


def with_prompts(entrants: list[Entrant], prompts: list[tuple[str, str]]) -> tuple[Entrant, ...]:
    """Every model with every prompt.

    Args:
        entrants: The models, without prompts.
        prompts: Name and text (`read_prompt`) of each; [] leaves the models as they are.

    Returns:
        Entrants called ``<model>`` where there is one prompt, else ``<model>+<prompt>``.
    """
    if not prompts:
        return tuple(entrants)
    read = [(name, *read_prompt(text)) for name, text in prompts]
    if len(read) == 1:
        _, prompt, source = read[0]
        return tuple(Entrant(one.name, one.model, prompt, source) for one in entrants)
    return tuple(
        Entrant(f"{one.name}+{name}", one.model, prompt, source) for one in entrants for name, prompt, source in read
    )


def _is_run(text: str) -> bool:
    try:
        return (Path(text) / MANIFEST).is_file()
    except (OSError, ValueError):  # a prompt is no usable file name
        return False


def _of_run(folder: str, turn: int | None) -> tuple[str, str]:
    steps = [step for step in load_results(folder).prompts if turn is None or step.turn == turn]
    if not steps:
        raise RunError(f"{folder} holds no prompt{'' if turn is None else f' of meta-turn {turn}'}")
    return steps[-1].prompt, f"{Path(folder).name}, meta-turn {steps[-1].turn}"
