"""One MiniHack game as a Gymnasium environment, text in and text out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import gymnasium

from metagym.errors import BadInput
from metagym.seeding import check_seed
from metagym.spaces import FreeText
from metagym_envs.minihack import commands, engine, questions
from metagym_envs.minihack.commands import BY_WORD, DIRECTIONS, MOVES, VERBS, Command, Verb
from metagym_envs.minihack.engine import Game
from metagym_envs.minihack.levels import Level
from metagym_envs.minihack.questions import Item, Question
from metagym_envs.minihack.screen import Screen, Seen, render
from metagym_envs.minihack.tasks import whole_from_1

Prompts = Literal["auto", "text"]
MOST_KEYS = 8
"""Keys of one command; a command with its thing, direction and confirmation takes four."""
_ENDINGS = {
    "success": "The task is done.",
    "death": "You have died.",
    "limit": "The level's own limit of steps is reached.",
    "gave up": "Too many commands in a row were none.",
}
_IN_USE = ("being worn", "weapon in hand")


@dataclass(frozen=True)
class Settings:
    """How a game is played.

    Attributes:
        prompts: What answers the game's questions (which thing? are you sure? which way?) where the command leaves
            them open: ``"auto"`` does (the newest thing offered; yes, but no where a mere step leads to it), ``"text"``
            shows the question, and the next action is the answer. What the command says ("eat f", "zap f east") is used
            either way.
        tell_goal: Begin the first observation with the task's sentence.
        give_up_after: End the game, truncated, after so many actions in a row that were no commands; None never does.
    """

    prompts: Prompts = "auto"
    tell_goal: bool = True
    give_up_after: int | None = None

    def __post_init__(self) -> None:
        """Checks the values."""
        if self.prompts not in ("auto", "text"):
            raise BadInput(f"prompts is 'auto' or 'text', got {self.prompts!r}")
        if not isinstance(self.tell_goal, bool):
            raise BadInput(f"tell_goal is True or False, got {self.tell_goal!r}")
        if self.give_up_after is not None and not whole_from_1(self.give_up_after):
            raise BadInput(f"give_up_after is a whole number from 1 on, or None, got {self.give_up_after!r}")


class MiniHackGame(gymnasium.Env[str, str]):
    """One level of MiniHack.

    ## Description
    A small level of NetHack: rooms, mazes, rivers and lava with a staircase to be reached, or one thing to be eaten,
    read, worn and the like. Played by the real engine; each reset opens it anew.

    ## Observation
    `FreeText`: the game's message, the map cropped to what is drawn (the player is @), what is near and where, the
    walls beside the player, what it carries, its position and hit points. The first one begins with the task.

    ## Actions
    `FreeText`: ``step <direction>``, ``run <direction>`` and those of the verbs pickup, open, kick, search, pray, eat,
    read, quaff, zap, puton, wear, wield, apply and drop that the level knows, with a thing (its letter or name) or a
    direction where they need one: "eat f", "open east", "apply key west". ``info["admissible"]`` lists what makes sense
    here and now; every command that can be read is sent. What cannot be read changes nothing and says so.

    ## Rewards
    The engine's, summed over the keys of a command: 1 for the task, -0.01 for a key that takes no time in the game.

    ## Episode end
    Terminated when the task is done or the player has died, truncated at the level's own limit of keys (100 to 5,000;
    the caller's limit of steps is usually lower). `info` holds ``success`` (from the engine's end status), ``end``
    ("", "success", "death", "limit" or "gave up"), ``admissible``, ``level``, ``seed_honoured``, ``steps`` and
    ``invalid`` (actions so far, and those that were no commands).

    ## Arguments
    * ``level``: what is opened, see `metagym_envs.minihack.levels.Level`.
    * ``settings``: see `Settings`.
    * ``opener``: what opens it; a test may put another engine here.

    ## Source
    Samvelyan et al., "MiniHack the Planet: A Sandbox for Open-Ended Reinforcement Learning Research", NeurIPS 2021
    (minihack 1.0.2); Kuettler et al., "The NetHack Learning Environment", NeurIPS 2020 (nle 1.3.0).
    """

    metadata = {"render_modes": []}

    def __init__(
        self, level: Level, settings: Settings | None = None, opener: Callable[[Level], Game] = engine.open_game
    ) -> None:
        self.level = level
        self.settings = settings or Settings()
        self._opener = opener
        self.observation_space = FreeText()
        self.action_space = FreeText()
        self._game: Game | None = None
        self._begin()

    def _begin(self) -> None:
        """All that belongs to one episode."""
        self._screen = Screen()
        self._verbs: tuple[Verb, ...] = ()
        self._near: list[Seen] = []
        self._items: list[Item] = []
        self._open: tuple[Question, Command] | None = None
        self._end = ""
        self._steps = self._invalid = self._in_a_row = 0
        self._honoured = False

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        """Opens the level anew.

        Args:
            seed: The game's seed, for map and chance; None draws one.
            options: None; there are none.

        Raises:
            BadInput: The seed or an option is not usable.
            MissingExtra: The engine is not installed.
            EngineError: The engine does not open the level.
        """
        if options:
            raise BadInput(f"reset of a MiniHack game knows no options, got {sorted(map(str, options))}")
        super().reset(seed=None if seed is None else check_seed(seed))
        number = int(self.np_random.integers(2**31)) if seed is None else seed
        self.close()
        self._begin()
        game = self._opener(self.level)
        try:
            self._honoured = game.start(number)
        except BaseException:
            game.close()
            raise
        self._game = game
        self._verbs = tuple(verb for verb in VERBS if verb.key in game.own_keys)
        text = self._look()
        if self.settings.tell_goal:
            text = f"Your task: {self.level.goal}\n{text}"
        return text, self._info()

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Plays one command, with all the keys that it takes.

        Raises:
            BadInput: The action is not text, or the game is over or not yet begun.
            EngineError: The engine fails.
        """
        if not isinstance(action, str):
            raise BadInput(f"an action of MiniHack is text, got {type(action).__name__}")
        game = self._game
        if game is None or self._end:
            raise BadInput("this game is over or has not begun: call reset before step")
        self._steps += 1
        refused, reward = self._answer(game, action) if self._open else self._command(game, action)
        if refused:
            self._invalid += 1
            self._in_a_row += 1
            most = self.settings.give_up_after
            if most is not None and self._in_a_row >= most:
                self._end = "gave up"
            text = refused if not self._end else f"{refused}\n{_ENDINGS[self._end]}"
        else:
            self._in_a_row = 0
            self._end = game.end
            text = self._look()
        terminated = self._end in ("success", "death")
        return text, reward, terminated, bool(self._end) and not terminated, self._info()

    def close(self) -> None:
        """Frees the engine."""
        if self._game is not None:
            self._game.close()
            self._game = None

    def _command(self, game: Game, action: str) -> tuple[str, float]:
        """Why the action is no command here ("" if it is one), and the reward."""
        command = commands.parse(action)
        if command is None:
            return f"This is no command: {_quoted(action)}. Commands: {self._known()}.", 0.0
        if command.word not in MOVES and BY_WORD[command.word] not in self._verbs:
            return f"There is no {command.word!r} in this level. Commands: {self._known()}.", 0.0
        if command.word == "pickup":
            return "", game.press_all(command.key)
        return "", self._finish(game, command, game.press(command.key))

    def _answer(self, game: Game, action: str) -> tuple[str, float]:
        """The same for an answer to the open question."""
        assert self._open is not None
        question, command = self._open
        key = questions.typed_answer(action, question, self._items)
        if key is None:
            return f"{question.text} Answer with one of: {', '.join(questions.answers(question, self._items))}.", 0.0
        self._open = None
        reward = game.press(key)
        if key == questions.ESCAPE:
            command = Command(command.word)
        return "", self._finish(game, command, reward)

    def _finish(self, game: Game, command: Command, reward: float) -> float:
        """Answers what the game asks because of a command; what is left to the actor becomes the open question."""
        automatic = self.settings.prompts == "auto"
        for _ in range(MOST_KEYS):
            if not game.asks:
                return reward
            question = questions.read_question(game.message, game.asks_line)
            key = questions.answer(question, command, self._screen.inventory(game.observation), automatic)
            if key is None:
                self._open = (question, command)
                return reward
            reward += game.press(key)
        while game.asks:  # it asks in circles
            reward += game.press(questions.ESCAPE)
        return reward

    def _known(self) -> str:
        return ", ".join((*(f"{word} <direction>" for word in MOVES), *(verb.name for verb in self._verbs)))

    def _look(self) -> str:
        """What is seen now; at the end the last screen, with how it ended."""
        assert self._game is not None
        observation, message = self._game.observation, self._game.message
        self._near = self._screen.near(observation)
        self._items = self._screen.inventory(observation)
        if self._end == "death":  # the engine has wiped the screen
            return "\n".join(part for part in (message, _ENDINGS[self._end]) if part)
        if self._end:
            message = f"{message}\n{_ENDINGS[self._end]}" if message else _ENDINGS[self._end]
        return render(observation, message, self._near, self._screen.blocked(observation), self._items)

    def _info(self) -> dict[str, Any]:
        return {
            "admissible": () if self._end else self._admissible(),
            "success": self._end == "success",
            "end": self._end,
            "level": self.level.id,
            "seed_honoured": self._honoured,
            "steps": self._steps,
            "invalid": self._invalid,
        }

    def _admissible(self) -> tuple[str, ...]:
        """Commands that make sense here and now, in a stable order."""
        if self._open is not None:
            return questions.answers(self._open[0], self._items)
        doors = [seen.way for seen in self._near if seen.steps == 1 and seen.what == "closed door"]
        found = list(_MOVES)
        for verb in self._verbs:
            if verb.name == "apply":
                tools = [item.letter for item in self._items if item.kind in verb.classes]
                found += [f"apply {letter} {way}" for letter in tools for way in doors] if doors else [
                    f"apply {letter}" for letter in tools
                ]  # fmt: skip
            elif verb.takes == "direction":
                found += [f"{verb.name} {way}" for way in doors]
            elif not verb.classes or verb.name in ("eat", "quaff"):  # those two also work on what is on the floor
                found.append(verb.name)
            if verb.name != "apply":
                found += [
                    f"{verb.name} {item.letter}"
                    for item in self._items
                    if item.kind in verb.classes and not any(mark in item.name for mark in _IN_USE)
                ]
        return tuple(found)


_MOVES = tuple(f"{word} {way}" for word in MOVES for way in DIRECTIONS)


def _quoted(action: str) -> str:
    short = " ".join(action.split())[:60]
    return f"'{short}'" if short else "nothing"
