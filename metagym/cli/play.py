"""``metagym play``: a person plays a task in the terminal; ``--watch`` shows how a model plays it."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.columns import Columns
from rich.console import Console
from rich.padding import Padding
from rich.rule import Rule
from rich.text import Text

from metagym.cli.options import key_values, text_or_file
from metagym.cli.tables import plain_console
from metagym.errors import BadInput, UnknownName

if TYPE_CHECKING:
    import gymnasium

    from metagym.playing.session import Move, Session

HELP = """\
Write an action, or its number in the list. Lines with a colon are orders:
  :actions    the legal actions again      :undo [n]   take back n actions (1)
  :history    what has happened so far     :restart    the same task, anew
  :file PATH  a file's text as the action  ::text      an action with a colon
  :help       this text                    :quit       leave (or end the input)\
"""


def play(
    id: Annotated[str, typer.Argument(help="A Gymnasium id or a family, e.g. MetaGym/ALFWorld-v0 or ALFWorld.")],
    task: Annotated[str | None, typer.Option(help="Id of the task; default: the seed draws one.")] = None,
    split: Annotated[str | None, typer.Option(help="Split of the task; default: the family's first.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of the reset.", min=0)] = 0,
    option: Annotated[
        list[str] | None, typer.Option("--option", help="Option of the environment, key=value; repeatable.")
    ] = None,
    max_steps: Annotated[int | None, typer.Option(help="Cap on steps; default: the family's.")] = None,
    watch: Annotated[
        str | None, typer.Option(help="Model spec: watch a model play instead, e.g. rules or openai:<model>.")
    ] = None,
    prompt: Annotated[
        str | None, typer.Option("--prompt", help="With --watch: the actor's system prompt, or @file.")
    ] = None,
    pace: Annotated[float, typer.Option(help="With --watch: seconds between turns.", min=0)] = 0.0,
) -> None:
    """Plays one task: observation, legal actions, undo; with --watch a model plays."""
    spec = _spec(id)
    every: dict[str, Any] = {"task": task, "split": split, "max_steps": max_steps}
    given = {name: value for name, value in every.items() if value is not None}
    if given and "family" not in spec.kwargs:
        raise BadInput(f"{spec.id} is no family's: --{', --'.join(given).replace('_', '-')} mean nothing there")
    options = key_values(option)
    console = plain_console()
    if watch is not None:
        from metagym.cli.watch import watch_model

        if "family" not in spec.kwargs:
            raise BadInput(f"--watch plays tasks of a family, and {spec.id} is none's (see: metagym envs)")
        watch_model(console, spec.kwargs["family"], options, watch, text_or_file(prompt), seed, pace, **given)
        return
    if prompt is not None or pace:
        raise BadInput("--prompt and --pace belong to --watch")
    named = given.pop("task", None)
    if named is not None and _meta(spec):
        raise BadInput(f"--task belongs to the plain environment of the family, and {spec.id} plays batches")
    env = _made(spec.id, {**options, **given})
    try:
        from metagym.playing.session import Session

        session = Session(env, seed, None if named is None else {"task": named})
        _Table(console, session, spec).run()
    finally:
        env.close()


def _meta(spec: Any) -> bool:
    return str(spec.entry_point).endswith(":ICTEnv")


def _spec(name: str) -> Any:
    """The spec of an id, or of a family's plain id."""
    from gymnasium.envs.registration import registry

    if name in registry:
        return registry[name]
    meant = [
        spec
        for spec in registry.values()
        if str(spec.entry_point).endswith(":TaskEnv")
        and name in (spec.kwargs.get("family"), str(spec.kwargs.get("family")).rpartition("/")[2])
    ]
    if len({spec.kwargs["family"] for spec in meant}) > 1 and name not in {spec.kwargs["family"] for spec in meant}:
        raise UnknownName(f"{name} may be any of {', '.join(spec.id for spec in meant)}: name one of them")
    if meant:
        return next((spec for spec in meant if spec.kwargs["family"] == name), meant[-1])
    ours = ", ".join(id_ for id_, spec in registry.items() if "family" in spec.kwargs)
    raise UnknownName(f"there is no environment {name!r}; families have {ours}")


def _made(id_: str, options: Mapping[str, Any]) -> gymnasium.Env[str, str]:
    """The environment, which speaks text."""
    import gymnasium

    from metagym.spaces import FreeText

    try:
        env = gymnasium.make(id_, disable_env_checker=True, **options)
    except TypeError as error:
        raise BadInput(f"{id_} does not take these options: {error}") from error
    texts = (FreeText, gymnasium.spaces.Text)
    if not isinstance(env.action_space, texts) or not isinstance(env.observation_space, texts):
        env.close()
        raise BadInput(
            f"{id_} takes or gives no text (actions: {env.action_space!s:.60}): "
            f"play it in words, with metagym play Gymnasium --option env_id={id_}"
        )
    return env


def visible(text: str) -> Text:
    """A text as a terminal may show it: control characters, which could move its cursor, are written out."""
    return Text("".join(mark if mark.isprintable() or mark in "\n\t" else f"\\x{ord(mark):02x}" for mark in text))


def outcome(terminated: bool, success: bool | None, ret: float, steps: int) -> str:
    """How an episode ended, e.g. ``"solved: terminated after 3 steps, return 1"``; three things, told apart."""
    verdict = "success unknown" if success is None else "solved" if success else "not solved"
    count = "1 step" if steps == 1 else f"{steps} steps"
    return f"{verdict}: {'terminated' if terminated else 'cut'} after {count}, return {ret:g}"


def _count(text: str) -> int | None:
    """The number that a line is, if it is a short one: Python refuses to read numbers of some thousand digits."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None


class _Table:
    """The table at which a person plays."""

    def __init__(self, console: Console, session: Session, spec: Any) -> None:
        self.console, self.session, self.spec = console, session, spec
        self.at_a_terminal = sys.stdin.isatty()

    def run(self) -> None:
        """Plays until the person leaves or the input ends."""
        family = getattr(self.session.env.unwrapped, "family", None)
        if _meta(self.spec):
            self.console.print("An action here is a whole system prompt; a step plays a batch under it.", style="dim")
        elif family is not None and family.instructions:
            self.console.print(visible(family.instructions), style="dim")
        if self.at_a_terminal:
            self.console.print(HELP, style="dim")
        self._show(self.session.last)
        while (line := self._line()) is not None:
            text = line.strip()
            if text == ":quit":
                break
            try:
                if text.startswith(":") and not text.startswith("::"):
                    self._order(text)
                elif text:
                    self._act(text.removeprefix(":") if text.startswith("::") else text)
            except BadInput as error:  # of the person, and nothing happened
                self.console.print(visible(str(error)), style="yellow")

    def _line(self) -> str | None:
        if self.at_a_terminal:
            try:
                return input("> ")
            except EOFError:
                self.console.print()
                return None
        line = sys.stdin.readline()
        if not line:
            return None
        self.console.print(Text(f"> {line.rstrip()}", style="bold"))  # so that a transcript can be read
        return line

    def _act(self, text: str) -> None:
        legal, number = self._legal(), _count(text)
        listed = self._numbers(legal)
        self._show(self.session.act(text if text in legal or number is None else listed.get(number, text)))

    def _numbers(self, legal: Sequence[str]) -> Mapping[int, str]:
        """The legal actions by the number under which they are listed.

        Where the environment itself reads numbers (FrozenLake: 0 to 3), its own are shown, so that one number never
        means two actions; otherwise they are counted from 1. Where it has numbers for some of them only, none is shown.
        """
        family = getattr(self.session.env.unwrapped, "family", None)
        if family is None or _meta(self.spec):
            return dict(enumerate(legal, 1))
        read = ((number, family.clean(str(number), legal).command) for number in range(max(100, len(legal) + 1)))
        own = {number: action for number, action in read if action in legal}
        if set(own.values()) >= set(legal):
            return own
        return {} if own else dict(enumerate(legal, 1))

    def _legal(self) -> Sequence[str]:
        return () if self.session.done else tuple(self.session.last.info.get("admissible") or ())

    def _order(self, text: str) -> None:
        order, _, rest = text[1:].partition(" ")
        if order == "undo":
            count = _count(rest.strip() or "1")
            if count is None:
                raise BadInput(f":undo takes a number of moves, got {rest!r:.40}")
            if len(self.session.moves) == 1:
                raise BadInput("there is nothing to take back")
            if not self.session.undo(count):
                self.console.print("The environment did not play the same again.", style="yellow")
            self._show(self.session.last)
        elif order == "restart":
            self._show(self.session.restart())
        elif order == "history":
            for move in self.session.moves:
                self._told(move)
        elif order == "actions":
            self._list()
        elif order == "file" and rest:
            try:
                self._act(Path(rest.strip()).read_text(encoding="utf-8"))
            except (OSError, UnicodeDecodeError) as error:
                raise BadInput(f"{rest.strip()} cannot be read as UTF-8 text: {error}") from error
        elif order == "help":
            self.console.print(HELP, style="dim")
        else:
            raise BadInput(f"there is no order {text!r}; :help tells which there are")

    def _told(self, move: Move) -> None:
        if move.action is not None:
            self.console.print(visible(f"> {move.action}"), style="bold")
        self.console.print(Padding(visible(move.observation), (0, 0, 0, 2)))

    def _show(self, move: Move) -> None:
        where = move.info.get("task")
        task = f", task {where['id']}" if isinstance(where, Mapping) and "id" in where else ""
        title = f"step {len(self.session.moves) - 1}: {self.spec.id}{task}"
        self.console.print(Rule(visible(title), align="left"))
        if move.info.get("repair") == "repaired":
            self.console.print(visible(f"(read as: {move.info.get('action')})"), style="dim")
        if move.info.get("repair") == "invalid":
            self.console.print("(not among the legal actions)", style="dim")
        self.console.print(visible(move.observation))
        if move.reward:
            self.console.print(f"reward {move.reward:+g}", style="bold green" if move.reward > 0 else "bold red")
        if self.session.done:
            success = move.info.get("success")
            steps = len(self.session.moves) - 1
            self.console.print(outcome(move.terminated, success, self.session.ret, steps), style="bold")
        else:
            self._list()

    def _list(self) -> None:
        legal = self._legal()
        if legal:
            numbers = {action: number for number, action in self._numbers(legal).items()}
            width = len(str(max(numbers.values(), default=0)))
            cells = [
                visible(f"{numbers[action]:>{width}} {action}" if numbers.get(action, action) != action else action)
                for action in legal
            ]
            self.console.print(Padding(Columns(cells, padding=(0, 3), column_first=True), (0, 0, 0, 2)))
