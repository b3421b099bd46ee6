"""One ALFWorld game as a Gymnasium environment, text in and text out."""

from __future__ import annotations

from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Literal, Protocol

import gymnasium

from metagym.errors import BadInput, BrokenExtra, EngineUnsupported, MissingExtra
from metagym.extras import DISTRIBUTION
from metagym.spaces import FreeText
from metagym_envs.alfworld import expert
from metagym_envs.alfworld.data import GameText
from metagym_envs.alfworld.engine import Game, Player, generation_of

EngineChoice = Literal["auto", "native", "textworld"]
ENGINES: tuple[EngineChoice, ...] = ("auto", "native", "textworld")
PRESENT_GENERATION = "0.4"
_REAL_ENGINE = {"alfworld": "0.4.", "textworld": "1.7."}


class Answer(Protocol):
    """What either engine gives back."""

    @property
    def feedback(self) -> str:
        """The text."""
        ...

    @property
    def admissible(self) -> list[str]:
        """The legal commands, read before the next step."""
        ...

    @property
    def won(self) -> bool:
        """Whether the goal holds."""
        ...


class Playing(Protocol):
    """A play of one game in either engine."""

    def reset(self) -> Any:
        """Goes to the start."""
        ...

    def step(self, command: str) -> Any:
        """Answers one command."""
        ...


class ALFWorldGame(gymnasium.Env[str, str]):
    """One household game.

    ## Description
    The agent stands in a room with furniture and things, and has one task: bring a thing (or two) to a place, perhaps
    cleaned, heated or cooled first, or look at it under a lamp. It sees what is where it stands; most of the room must
    be searched, and closed things opened.

    ## Observation
    `FreeText`: the engine's text, to the byte. The first observation starts with the engine's banner, lists the
    furniture and ends with the task ("Your task is to: put a clean mug in cabinet.").

    ## Actions
    `FreeText`: one command, as it stands in ``info["admissible"]``. Anything else is answered "Nothing happens.". (From
    a model's free text to a command: `metagym_envs.alfworld.text.clean_command`.)

    ## Rewards
    1.0 when the task is done, else 0.0.

    ## Episode end
    Terminated when the task is done. There is no step cap inside: the caller caps. `info` holds ``admissible`` (tuple
    of commands, in the engine's order), ``success``, ``engine`` (``"native"`` or ``"textworld"``), ``grammar``
    (generation of the game's text) and, on request, ``expert_plan``: commands that win from here.

    ## Arguments
    * ``game``: the game as text.
    * ``engine``: ``"native"``, ``"textworld"`` (the real engine), or ``"auto"``: native where it knows the game.
    * ``expert_plan``: put the scripted expert's plan into every `info`. ``reset(options={"expert_plan": True})`` asks
      for it for one episode.

    ## Source
    Shridhar et al., "ALFWorld: Aligning Text and Embodied Environments for Interactive Learning", ICLR 2021.

    Raises:
        BadInput: An unknown engine, or (with ``"textworld"``) a version of it that the adapter is not written for.
        EngineUnsupported: The engine asked for cannot play this game; the message names the way out.
        MissingExtra: ``"textworld"`` is asked for and not installed.
    """

    metadata = {"render_modes": []}

    def __init__(self, game: GameText, engine: EngineChoice = "auto", expert_plan: bool = False) -> None:
        self.game = game
        self.engine, self.grammar, self._play = open_game(game, engine)
        self._always_plan = bool(expert_plan)
        self._planning = False
        # The expert reads the native engine's state; beside the real engine a native player walks along.
        self._shadow: Player | None = None
        self.observation_space = FreeText()
        self.action_space = FreeText()
        self._answer: Answer | None = None

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        """Starts the game anew.

        Args:
            seed: As in Gymnasium; a game holds no chance.
            options: ``{"expert_plan": bool}`` or None.

        Raises:
            BadInput: Unknown option.
            EngineUnsupported: A plan is asked for and the expert does not know this game.
        """
        super().reset(seed=seed)
        wanted = dict(options or {})
        self._planning = bool(wanted.pop("expert_plan", self._always_plan))
        if wanted:
            raise BadInput(f"reset of an ALFWorld game knows the option 'expert_plan', got {sorted(map(str, wanted))}")
        if self._planning and not isinstance(self._play, Player):
            self._shadow = Player(compile_native(self.game))
        self._answer = self._play.reset()
        return self._answer.feedback, self._info()

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Answers one command.

        Raises:
            BadInput: The action is not text, or the game is over or not yet started.
        """
        if not isinstance(action, str):
            raise BadInput(f"an action of ALFWorld is text, got {type(action).__name__}")
        if self._answer is None or self._answer.won:
            raise BadInput("this game is over or has not begun: call reset before step")
        self._answer = self._play.step(action)
        if self._planning and self._shadow is not None:
            self._shadow.step(action)
        won = self._answer.won
        return self._answer.feedback, float(won), won, False, self._info()

    def close(self) -> None:
        """Ends the episode; the engine needs no closing."""
        self._answer = None

    def _info(self) -> dict[str, Any]:
        assert self._answer is not None
        info: dict[str, Any] = {
            "admissible": tuple(self._answer.admissible),
            "success": bool(self._answer.won),
            "engine": self.engine,
            "grammar": self.grammar,
        }
        if self._planning:
            player = self._play if isinstance(self._play, Player) else self._shadow
            assert player is not None
            info["expert_plan"] = tuple(expert.plan(player))
        return info


def open_game(game: GameText, engine: EngineChoice) -> tuple[Literal["native", "textworld"], str, Playing]:
    """Opens a game in the engine asked for.

    Returns:
        Which engine it is, the generation of the game's text ("unknown" where only the real engine knows), the play.

    Raises:
        BadInput, EngineUnsupported, MissingExtra: See `ALFWorldGame`.
    """
    if engine not in ENGINES:
        raise BadInput(f"engine is one of {', '.join(ENGINES)}, got {engine!r}")
    refused: EngineUnsupported | None = None
    if engine != "textworld":
        try:
            return "native", generation(game) or "unknown", Player(compile_native(game))
        except EngineUnsupported as error:
            if engine == "native":
                raise
            refused = error
    try:
        real_engine_versions()
        play = _open_real(game)
    except (MissingExtra, BrokenExtra, BadInput) as error:
        if refused is None:
            raise
        raise EngineUnsupported(f"{refused}; and the real engine cannot be used: {error}") from error
    return "textworld", generation(game) or "unknown", play


def _open_real(game: GameText) -> Playing:
    from metagym_envs.alfworld.judge import TextWorldGame  # brings a lock and a fork hook, which few need

    if game.domain is None or game.grammar is None:
        return TextWorldGame.compile(game.problem, game.sentence)
    return TextWorldGame({"pddl_domain": game.domain, "grammar": game.grammar, "pddl_problem": game.problem})


@lru_cache(maxsize=256)
def generation(game: GameText) -> str | None:
    """The generation of a game's text; a game without a grammar of its own is played under the present one."""
    if game.domain is None or game.grammar is None:
        return PRESENT_GENERATION
    return generation_of(game.domain, game.grammar)


@lru_cache(maxsize=256)
def compile_native(game: GameText) -> Game:
    """The compiled game; equal games share one.

    Raises:
        EngineUnsupported: Its domain and grammar are not known, or the problem uses something that is not modelled.
    """
    found = generation(game)
    if found is None:
        raise EngineUnsupported(
            f"game {game.id} comes with a domain and grammar that the native engine does not know: "
            "play it with engine='textworld'"
        )
    return Game.compile(game.problem, game.sentence, found)


def real_engine_versions() -> dict[str, str]:
    """Versions of the packages of the real engine.

    Raises:
        MissingExtra: One is not installed.
        BadInput: One is of a version that the adapter is not written for.
    """
    found = {}
    for name, prefix in _REAL_ENGINE.items():
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            raise MissingExtra(
                f"engine='textworld' needs {name}, which is not installed: pip install '{DISTRIBUTION}[alfworld]' "
                "(Python 3.11 or 3.12), or use engine='native'"
            ) from None
        if not found[name].startswith(prefix):
            raise BadInput(
                f"{name} {found[name]} is installed, and the adapter of the real engine is written for {prefix}x: "
                f"pip install '{DISTRIBUTION}[alfworld]', or use engine='native'"
            )
    return found
