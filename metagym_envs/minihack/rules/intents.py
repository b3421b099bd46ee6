"""What the stand-ins' advice can be about in MiniHack, as data (see `metagym_envs.alfworld.rules.reader`)."""

from __future__ import annotations

from dataclasses import replace

from metagym_envs.alfworld.rules.intents import GENERIC
from metagym_envs.alfworld.rules.reader import Intent

_SHARED = {intent.name: intent for intent in GENERIC}
_GO = "go going step* walk* move moving head heading run running reach* get getting follow*"
_CREATURE = "monster* creature* enemy enemies animal* opponent* attacker*"

TABLE: tuple[Intent, ...] = (
    Intent(
        "goal",
        cues=(
            f"{_GO} + stair* staircase* stairway* downstairs exit + see seen visible find found known appear* soon "
            "once when map straight directly shortest always",
        ),
        teach=(
            "When you see the staircase down, go straight to it.",
            "As soon as the staircase down is on the map, walk to it by the shortest way.",
        ),
        fault="saw the staircase down and did not go there",
    ),
    replace(
        _SHARED["search"],
        teach=(
            "Explore every place that you have not visited yet, the nearest first.",
            "Do not return to a place that you have visited; search every part of the map that you have not seen.",
        ),
        fault="went back to places it knew while the task was nowhere in sight",
    ),
    replace(
        _SHARED["take"],
        teach=(
            "When you see the thing that the task names, go there and pick it up.",
            "Pick up what the task names as soon as you see it.",
        ),
        fault="saw the thing that the task names and did not take it",
    ),
    Intent(
        "use",
        cues=(
            "use using do doing apply* read eat drink wear zap put wield pray perform* "
            "+ it them thing things object* item items there + task* goal* asked asks says need* want*",
            "stand + altar* sink* + pray* drink* quaff*",
        ),
        teach=(
            "Once you carry what the task names, do with it what the task says; at a place, stand on it and do it "
            "there.",
            "When you hold the thing, use it as the task asks; where the task names a place, go there and do it.",
        ),
        fault="had the thing that the task names at hand and did not do what the task asks",
    ),
    replace(
        _SHARED["open"],
        teach=(
            "If a door is closed, open it and go through.",
            "Whenever you come to a closed door, open it.",
        ),
        fault="knew of a closed door, with nothing else to reach, and did not open it",
    ),
    Intent(
        "force",
        cues=(
            "kick* break* bash* force* + door* it + lock* stuck",
            "unlock* apply* use using + key* it + door* lock*",
        ),
        teach=(
            "If a door is locked, kick it until it breaks, or unlock it with a key.",
            "Kick a locked door until it opens, or apply a key to it.",
        ),
        weight=3.0,
        fault="stood at a locked door and neither kicked nor unlocked it",
    ),
    Intent(
        "danger",
        cues=("keep stay be + away clear careful distance + lava water",),
        cues_negated=(f"{_GO} enter* swim* fall* touch* avoid* + lava water",),
        teach=("Never step into lava or water.", "Keep away from lava and water: never walk into it."),
        weight=25.0,
        fault="stepped into lava or water",
    ),
    Intent(
        "fight",
        cues=(
            f"attack* fight* kill* strike* hit hitting step* + {_CREATURE} + next adjacent beside near close "
            "neighbouring block* stands way into",
        ),
        teach=(
            "If a creature stands next to you, attack it by stepping into it.",
            "Fight a monster that is beside you until it is dead.",
        ),
        weight=0.5,
        fault="let a creature beside it live",
    ),
)
"""Everything that the MiniHack stand-ins can read; the reflector has a sentence for each."""

STRAY: tuple[str, ...] = (
    "Read the map carefully.",
    "Stay calm and confident, whatever happens.",
    "Gold is not everything.",
)
"""Sentences that help nobody."""
