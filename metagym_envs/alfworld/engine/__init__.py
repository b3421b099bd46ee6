"""ALFWorld's text game as a plain state machine, equal to the real engine to the byte and thousands of times faster.

A game is compiled once from its problem text; players of it are cheap::

    game = Game.compile(problem, "put two cloth in drawer")
    player = Player(game)
    observation = player.reset()      # .feedback, .admissible, .won, .score, .done
    observation = player.step("go to drawer 1")

Only the problem text is needed: no PDDL planner, no grammar, no package beyond the standard library. What the engine
does not model for certain it refuses (`metagym.errors.EngineUnsupported`).
"""

from metagym_envs.alfworld.engine.fingerprint import fingerprint, generation_of, task_line
from metagym_envs.alfworld.engine.game import Game
from metagym_envs.alfworld.engine.observation import Observation
from metagym_envs.alfworld.engine.play import Player
from metagym_envs.alfworld.engine.wording import HELP, NOTHING_HAPPENS

__all__ = ["HELP", "NOTHING_HAPPENS", "Game", "Observation", "Player", "fingerprint", "generation_of", "task_line"]
