"""The real engine behind one game: opening a level, its seed, its keys, and how it ended.

The engine is nle (NetHack 3.6 as a shared library) with minihack's levels; both are imported when a level is first
opened. Where it departs from Gymnasium, this module puts it right:

* ``reset(seed=...)`` is accepted and ignored (nle issue 131): `seed_engine` uses the engine's own call.
* State of an episode can leak into the next of the same object: each game gets an object of its own.
* At its end a game is quit, which wipes the last screen: here it is not quit, the object is thrown away.
* Running out of steps comes as ``terminated``: here it is a truncation.
* KeyRoom's own ``apply`` is a macro that can loop for good at a diagonal door: here apply is NetHack's.
"""

from __future__ import annotations

import subprocess
import tempfile
import warnings
from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

from metagym.errors import BadInput, BrokenExtra, EngineError, MetaGymWarning
from metagym.extras import require
from metagym_envs.minihack.levels import Level

End = Literal["", "success", "death", "limit"]

ARRAYS = (
    "message",
    "blstats",
    "chars",
    "glyphs",
    "inv_strs",
    "inv_letters",
    "inv_oclasses",
    "screen_descriptions",
)
"""What of the engine's observation is read."""

_ENDS: Mapping[int, End] = {2: "success", 1: "death", 0: "", -1: "limit"}
_KEYS = tuple(range(256))
_ENTER, _ALL = 13, ord(",")


class Game:
    """One game in the engine.

    Args:
        base: The engine's environment, unwrapped; used up by one game.
        step: What steps it; None takes its own ``step``.
    """

    def __init__(self, base: Any, step: Callable[[int], Any] | None = None) -> None:
        self._base = base
        self._step = step or base.step
        self.own_keys = frozenset(int(action) for action in base.actions)
        base.actions = _KEYS  # any key may be an inventory letter; what the actor may ask for is own_keys' affair
        base._quit_game = lambda observation, done: None
        self.observation: Mapping[str, Any] = {}
        self.end: End = ""

    def start(self, seed: int) -> bool:
        """Starts the game.

        Returns:
            Whether the engine honours the seed.

        Raises:
            EngineError: The engine refuses the level.
        """
        try:
            honoured = seed_engine(self._base, seed)
            self.observation, _ = self._base.reset(seed=None if honoured else seed)
        except (AssertionError, RuntimeError, OSError) as error:
            raise EngineError(f"the engine cannot start this level: {type(error).__name__}: {error}") from error
        if honoured and not _has_seed(self._base, seed):
            _warn_unseeded(type(self._base).__name__)
            honoured = False
        return honoured

    def press(self, key: int) -> float:
        """Sends one key; returns the reward. After the end nothing is sent."""
        if self.end:
            return 0.0
        try:
            self.observation, reward, terminated, truncated, info = self._step(key)
        except (AssertionError, RuntimeError, OSError) as error:
            raise EngineError(f"the engine failed at key {key}: {type(error).__name__}: {error}") from error
        self.end = _ENDS.get(int(info.get("end_status", 0)), "death")
        if not self.end and (terminated or truncated):
            self.end = "death" if terminated else "limit"
        return float(reward)

    def press_all(self, key: int) -> float:
        """Sends a key that may open a menu, as picking up from a pile does, and takes all of it.

        By itself the engine closes every menu unseen.
        """
        self._base._allow_all_modes = True
        try:
            reward = self.press(key)
            if self._waits(3):
                reward += self.press(_ALL)
        finally:
            self._base._allow_all_modes = False
        return reward + self.press(_ENTER) if self._waits(3) else reward

    @property
    def asks(self) -> bool:
        """Whether the game waits for an answer of one key or of a line."""
        return not self.end and (self._waits(1) or self._waits(2))

    @property
    def asks_line(self) -> bool:
        """Whether it waits for a line of text."""
        return self._waits(2)

    @property
    def message(self) -> str:
        """The top line."""
        return text_of(self.observation["message"])

    def _waits(self, flag: int) -> bool:
        # nle's "internal": 1 a question of one key, 2 a line of text, 3 a screen that waits for a key.
        return bool(self._base.last_observation[self._base._internal_index][flag])

    def close(self) -> None:
        """Frees the engine, its screens included, at once.

        nle's object holds itself through a function of its own, and with itself 150 kB of screens. Left alone, closed
        games would lie about until Python's collector looks for cycles among its oldest objects, and their leavings
        would scatter over the heap: the knot is cut here.
        """
        self._base.close()
        if (engine := getattr(self._base, "nethack", None)) is not None:
            vars(engine).pop("_step_return", None)
        self.observation = {}


def text_of(array: Any) -> str:
    """The text of a NUL-padded byte array of the engine."""
    text: bytes = array.tobytes()
    return text.partition(b"\0")[0].decode("latin-1").strip()


def seed_engine(base: Any, seed: int) -> bool:
    """Seeds an engine by its own call ``seed(core, disp, reseed=False)``, since the standard reset ignores the seed.

    Args:
        base: The engine's environment, unwrapped.
        seed: For both of NetHack's generators.

    Returns:
        Whether there is such a call. Where there is none, a warning says so, once for each kind of engine.
    """
    call = getattr(base, "seed", None)
    if not callable(call):
        _warn_unseeded(type(base).__name__)
        return False
    try:
        call(seed, seed, reseed=False)
    except TypeError:  # an older engine has no switch for reseeding
        call(seed, seed)
    return True


def _has_seed(base: Any, seed: int) -> bool:
    """Whether the started game tells the seed that it was given; True where it tells nothing."""
    tell = getattr(base, "get_seeds", None)
    return not callable(tell) or tuple(tell()[:2]) == (seed, seed)


@lru_cache(maxsize=64)
def _warn_unseeded(kind: str) -> None:
    warnings.warn(
        f"{kind} has no seeding call that works, so equal seeds do not give equal games (recorded as seed_honoured: "
        "false); use nle 1.3.0 (pip install 'metagym-agents[minihack]')",
        MetaGymWarning,
        stacklevel=4,
    )


@lru_cache(maxsize=1)
def engine_versions() -> Mapping[str, str]:
    """Imports the engine.

    Returns:
        Versions of nle and minihack.

    Raises:
        MissingExtra: One of them is not installed.
        BrokenExtra: One does not import; where it is for want of ``pkg_resources``, the message says what to do.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # pkg_resources, which minihack imports, warns of its own end
        require("nle", "minihack")
        try:
            require("minihack", "minihack")
        except BrokenExtra as error:
            if "pkg_resources" in str(error):
                raise BrokenExtra(
                    "minihack needs the module pkg_resources, which newer setuptools lack: pip install 'setuptools<81'"
                ) from error
            raise
    return {name: version(name) for name in ("nle", "minihack")}


def open_game(level: Level) -> Game:
    """Opens a level of MiniHack, or one of one's own, in an engine of its own.

    Raises:
        MissingExtra, BrokenExtra: See `engine_versions`.
        EngineError: MiniHack does not open it.
    """
    engine_versions()
    import gymnasium

    own: dict[str, Any] = {} if level.des is None else {"des_file": level.des.rstrip() + "\n"}
    try:
        base = gymnasium.make(
            level.id if level.des is None else level.base,
            observation_keys=ARRAYS,
            allow_all_yn_questions=True,
            fix_moon_phase=True,
            disable_env_checker=True,
            **own,
        ).unwrapped
    except Exception as error:  # minihack raises whatever comes; the reader needs the level and the reason
        raise EngineError(f"MiniHack cannot open {level.id}: {type(error).__name__}: {error}") from error
    return Game(base, partial(require("minihack.base", "minihack").MiniHack.step, base))


def check_des(name: str, des: str) -> None:
    """Compiles a level of one's own; minihack itself plays something else where that fails.

    Raises:
        BadInput: It does not compile, or is not called "mylevel"; one sentence with the compiler's own words.
    """
    engine_versions()
    compiler = Path(require("minihack.base", "minihack").HACKDIR) / "lev_comp"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "mylevel.des"
        path.write_text(des.rstrip() + "\n", encoding="utf-8")
        try:
            done = subprocess.run([str(compiler), path.name], cwd=folder, capture_output=True, timeout=60)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise EngineError(f"NetHack's level compiler does not run: {type(error).__name__}: {error}") from error
        if done.returncode != 0:
            said = done.stderr.decode("utf-8", "replace").splitlines() or [f"exit code {done.returncode}"]
            raise BadInput(f"level {name} does not compile: {said[0].removeprefix('mylevel.des: ').strip()}")
        if not (Path(folder) / "mylevel.lev").is_file():
            raise BadInput(
                f"level {name} does not define the level that MiniHack plays: its first line must be MAZE or LEVEL "
                'with the name "mylevel"'
            )
