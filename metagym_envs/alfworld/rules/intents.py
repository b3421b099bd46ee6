"""What the stand-ins' advice can be about, as data: generic intents of fetch-and-carry worlds, and ALFWorld's own.

`GENERIC` knows of places, containers, things and destinations, and fits any family whose tasks are to find something,
treat it and bring it somewhere. `ALFWORLD` adds the household's treatments. The vocabulary of fixable faults is
written down here, by us: see docs/stand_ins.md for what that does and does not show.
"""

from __future__ import annotations

from dataclasses import dataclass

from metagym_envs.alfworld.rules.reader import Intent

_CONTAINER = (
    "container* receptacle* cabinet* drawer* fridge* microwave* safe safes cupboard* box boxes door* storage furniture"
)
_SPOT = (
    "location* spot spots receptacle* container* room surface* area areas cabinet* drawer* shelf shelves furniture "
    "somewhere everywhere part parts corner* position*"
)
_THING = "object* item items target* goal_object"
_NAMED = "task* goal* target* need* want* named required requested asked mentioned looking_for"
_GET = "take taking taken pick picking picked grab* collect* get getting fetch* seize* retrieve* acquire*"

_PUT = (
    "put putting place placing drop dropping leave leaving set setting stow* deposit* bring* carry* move moving "
    "store "
    "storing transport* deliver*"
)
_OBJ = "object* item items it them something thing things"

GENERIC: tuple[Intent, ...] = (
    Intent(
        "open",
        cues=(
            f"open* unlatch* + ~clos* shut unopened {_CONTAINER}",
            f"look_inside look_in peek* check_inside search_inside + ~clos* shut unopened {_CONTAINER}",
            "skip* pass_by walk_past ignor* overlook* + clos* shut unopened",
        ),
        teach=(
            "If a container is closed, open it before you go on.",
            "Whenever you arrive at something closed, open it and look inside.",
            "Closed containers hide things: open each one you come to.",
        ),
        fault="stood at a closed container and did not open it",
    ),
    Intent(
        "search",
        cues=(
            "visit* search* check* explor* look* inspect* go going try* sweep* examin* move moving walk* cover* "
            "scan* choos* "
            "select* prefer* head heading "
            "+ every each all unvisited unexplored unsearched unchecked unseen new other another different remaining "
            f"one_by_one systematic* methodical* untried thorough* next one_at_a_time + {_SPOT}",
            f"systematic* methodical* thorough* + search* explor* visit* check* + {_SPOT} until found find",
            "search* explor* + systematic* methodical*",
            "list track record + visited searched checked explored been",
            "revisit* repeat* return* come_back go_back + already visited searched checked explored same",
        ),
        cues_negated=(
            f"visit* go going return* search* check* look* come coming explor* walk* inspect* enter* "
            f"+ again twice same already repeatedly + {_SPOT} visited searched checked explored been",
            f"revisit* return* come_back go_back research* + {_SPOT} visited searched checked already empty explored",
        ),
        teach=(
            "Do not visit the same place twice; search every place that you have not visited yet.",
            "Search systematically: go to each place once, and always to one you have not been to before.",
            "While you are looking for something, go to a new location each time and never return to one "
            "already searched.",
        ),
        fault="went back to a place it had already searched, with nothing to do there",
    ),
    Intent(
        "take",
        cues=(
            f"{_GET} + ~{_THING} + {_NAMED} it you_see you_find seen spot* found appears shows soon* visible",
            f"{_GET} + what whatever anything thing things it them one + {_NAMED}",
        ),
        teach=(
            "When you see the object named in the task, take it; if you saw it earlier, go back and take it.",
            "Pick up the item that the task asks for as soon as you see it, and nothing else.",
            "As soon as you know where a target object is, go there and take it.",
        ),
        fault="saw an object that the task names, had free hands, and did not take it",
    ),
    Intent(
        "deliver",
        cues=(
            f"{_PUT} + {_OBJ} + destination* requested specified goal_receptacle goal_location "
            "target_location target_receptacle target_container target_spot required_location required_receptacle "
            "named_receptacle named_location desired_location desired_receptacle asked_location right_location "
            "correct_location right_receptacle correct_receptacle correct_spot right_spot task_names task_asks "
            "task_says "
            "task_wants task_specifies task_mentions task_requires where_the_task",
            f"put putting place placing set setting drop deposit* bring* deliver* + {_OBJ} + receptacle* "
            f"location* container* spot "
            "wherever where + task* target* goal* named specifi* requested required",
            f"deliver* + {_OBJ}",
        ),
        limits=("until", "unless", "once", "before"),
        teach=(
            "Once the object is ready, go to the destination and put it there, always in the same one.",
            "When you hold what the task wants, carry it to the destination that the task names and put it down there.",
            "As the last step, deliver the object: go to the requested location and place it in or on it.",
        ),
        fault="held the object, ready, and did not bring it to the destination",
    ),
    Intent(
        "drop",
        cues=(
            "put putting drop dropping set lay discard* release get_rid + down away back aside anywhere rid "
            "drop dropping "
            "discard* release + wrong other unrelated irrelevant useless not unneeded mistake else different",
        ),
        teach=(
            "If you are holding something that the task does not ask for, put it down.",
            "Put the wrong object down at once, so that your hands are free.",
        ),
        weight=0.05,
        fault="kept holding an object that the task does not ask for",
    ),
    Intent(
        "hurry",
        cues=(
            "act acting stay be work + efficient* purposeful* economical* quick* + move moves step steps turn "
            "turns action actions",
        ),
        cues_negated=(
            "waste wasting spend spending use using + time move moves step steps turn turns action actions effort "
            "+ look looking inventory help examin* clos* idle needless* unnecessar* useless* pointless*",
        ),
        teach=(
            "Do not spend moves on looking around, the inventory, help or examining things.",
            "Never use your turns for look, inventory, help, examine or closing things.",
        ),
        weight=0.05,
        fault="spent a move on look, inventory, help, examine or close",
    ),
)


@dataclass(frozen=True)
class Treatment:
    """Something a household task wants done to an object before it is delivered.

    Attributes:
        name: Also the name of its intent.
        asked_by: Words of a task sentence that ask for it.
        verb: First word of the engine's command.
        tools: Kinds of receptacle that do it; empty where the task itself names the tool (a lamp).
    """

    name: str
    asked_by: tuple[str, ...]
    verb: str
    tools: tuple[str, ...] = ()


TREATMENTS: tuple[Treatment, ...] = (
    Treatment("clean", ("clean", "wash", "washed", "rinse", "rinsed", "cleaned"), "clean", ("sinkbasin", "sink")),
    Treatment("heat", ("heat", "hot", "heated", "warm", "warmed"), "heat", ("microwave",)),
    Treatment("cool", ("cool", "cold", "cooled", "chill", "chilled"), "cool", ("fridge",)),
    Treatment("light", (), "use"),
)

_DUE = "first before need* requir* task* asks asked want* call_for calls_for must necessary prior demands"
_TO_TOOL = (
    "attend* see_to head use using bring* carry* take taking go going put putting place placing visit* operat* run"
)

ALFWORLD: tuple[Intent, ...] = (
    Intent(
        "treat",
        grants=tuple(treatment.name for treatment in TREATMENTS),
        cues=(
            "use using go going bring* carry* take taking treat* process* prepar* apply* do change* visit* "
            "transform* "
            "+ appliance* device* tool tools equipment machine* station* fixture* apparatus "
            f"+ ~{_DUE} treat* process* prepar* change* condition* state matching proper appropriate suitable "
            f"corresponding relevant",
            f"treat* process* prepar* condition* + {_OBJ} + {_DUE}",
            "do perform* carry_out complete apply* + treatment* processing preparation* change* "
            "+ object* item items first before task* required needed deliver*",
        ),
        teach=(
            "If the task wants something done to the object first, go to the appliance or tool that does it and "
            "use it.",
            "Before you deliver the object, treat it as the task asks, with the device that this needs.",
            "Bring the object to the appliance that the required treatment needs, and use it there before "
            "anything else.",
        ),
        fault="held the object and did not do to it what the task asks for",
    ),
    Intent(
        "clean",
        cues=(
            "clean* wash* rins* scrub* + sink sinks sinkbasin* basin* tap faucet*",
            f"{_TO_TOOL} + sink sinks sinkbasin* faucet* + clean* wash* rins* scrub* {_OBJ}",
            f"clean cleaning cleaned wash* rins* scrub* + {_OBJ} + {_DUE}",
        ),
    ),
    Intent(
        "heat",
        cues=(
            "heat* warm* cook* hot microwave microwaving + microwave* oven",
            f"{_TO_TOOL} + microwave* oven + heat* warm* cook* hot {_OBJ}",
            f"heat* warm* microwave microwaving + {_OBJ} + {_DUE}",
        ),
    ),
    Intent(
        "cool",
        cues=(
            "cool* chill* cold refrigerat* + fridge* refrigerator* freezer*",
            f"{_TO_TOOL} + fridge* refrigerator* freezer* + cool* chill* cold refrigerat* {_OBJ}",
            f"cool* chill* refrigerat* + {_OBJ} + {_DUE}",
        ),
    ),
    Intent(
        "light",
        cues=(
            "use using turn turning switch* toggle* operat* + lamp lamps desklamp* floorlamp* light_source "
            "light_switch",
            "use using turn turning switch* examin* look* toggle* hold holding carry* bring* light* illuminat* "
            "inspect* "
            "go going activate* + lamp lamps desklamp* floorlamp* light_source light_switch under_the_light "
            f"+ on under {_OBJ} hold* task* need* requir*",
        ),
    ),
)

TABLE: tuple[Intent, ...] = GENERIC + ALFWORLD
"""Everything that the ALFWorld stand-ins can read."""

TEACHABLE: tuple[Intent, ...] = tuple(intent for intent in TABLE if intent.teach)
"""The intents for which the scripted reflector has a sentence."""

STRAY: tuple[str, ...] = (
    "Think carefully about every decision you make.",
    "Stay calm and confident, whatever happens.",
    "A good player learns from experience.",
    "Keep your answers short and friendly.",
)
"""Sentences that help nobody; the scripted reflector adds one now and then, so that selection has work to do."""
