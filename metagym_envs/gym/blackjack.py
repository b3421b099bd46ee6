"""Blackjack: draw cards, but not too many."""

from __future__ import annotations

import re
from typing import Any

from metagym.families import Family
from metagym_envs.alfworld.rules.reader import Intent
from metagym_envs.gym.family import SEEDS, VALID_SEEDS
from metagym_envs.gym.world import World, family_of_world

ACTIONS = ("stick", "hit")  # 0 and 1, as in the environment's own documentation
_STATE = re.compile(r"Your cards sum to (\d+), with (a|no) usable ace\. The dealer shows (\d+)")


def see(observation: Any, env: Any) -> str:
    """The player's sum and the dealer's open card."""
    total, dealer, ace = (int(part) for part in observation)
    return (
        f"Your cards sum to {total}, with {'a' if ace else 'no'} usable ace. The dealer shows {dealer} (1 is an ace)."
    )


def advise(text: str, rules: frozenset[str]) -> tuple[str, ...]:
    """See `metagym_envs.gym.world.World.advise`."""
    found = _STATE.findall(text)
    if not found:
        return ()
    total, soft, dealer = int(found[-1][0]), found[-1][1] == "a", int(found[-1][2])
    if "stick" in rules and total >= (18 if soft else 17):
        return ("stick",)
    if "weak" in rules and not soft and 12 <= total <= 16 and 2 <= dealer <= 6:
        return ("stick",)
    if "hit" in rules and total <= (17 if soft else 16):
        return ("hit",)
    return ()


INTENTS = (
    Intent(
        "stick",
        cues=("stick* stand* stop + seventeen high more above least least_ 17 enough",),
        teach=("Stick as soon as your sum is high enough, at seventeen or more.", "Stand on a high sum."),
        fault="drew another card at seventeen or more",
    ),
    Intent(
        "hit",
        cues=("hit hitting draw* ask* take taking + sixteen low lower below under less small",),
        teach=(
            "Hit while your sum is low, at sixteen or less.",
            "Draw another card as long as the sum is below 17.",
        ),
        fault="stopped at a low sum",
    ),
    Intent(
        "weak",
        cues=("stick* stand* stop + dealer* + weak low two six small bad",),
        teach=(
            "If the dealer shows a weak card, two to six, stick from twelve on.",
            "Stand early when the dealer has a weak card: it may well draw too many.",
        ),
        fault="risked another card although the dealer had a weak one",
    ),
)

WORLD = World(
    name="Blackjack",
    instructions=(
        "You play one hand of blackjack against a dealer who draws to seventeen. Face cards count ten, an ace one or, "
        "if that does not pass 21, eleven (it is usable then). More than 21 loses; at the end the higher sum wins. An "
        "action is one of: stick (no more cards), hit (one more card)."
    ),
    see=see,
    success="return > 0",
    steps=20,
    kinds={"hand": {}},
    intents=INTENTS,
    advise=advise,
    actions=ACTIONS,
    aliases={"stand": "stick", "draw": "hit"},
)


def Blackjack(seeds: Any = SEEDS, valid_seeds: Any = VALID_SEEDS) -> Family:
    """One hand of blackjack.

    ## Description
    The agent draws cards and stops in time. Luck decides most hands: nobody wins many more than four of ten.

    ## Observation
    The agent's sum, whether it has a usable ace, and the dealer's open card.

    ## Actions
    ``stick``, ``hit``; also ``stand``, ``draw`` or numbers 0 and 1.

    ## Rewards
    1 for a hand that is won, 0 for a draw, -1 for one that is lost.

    ## Episode end
    Terminated by sticking or by more than 21, truncated after 20 steps. Success: ``return > 0``.

    ## Arguments
    * ``seeds``, ``valid_seeds``: seeds of the two splits, e.g. ``"0-999"``.

    ## Source
    ``Blackjack-v1`` of Gymnasium (`gymnasium.envs.toy_text.blackjack`), after Sutton and Barto, *Reinforcement
    Learning*, example 5.1.
    """
    return family_of_world(WORLD, seeds, valid_seeds)
