"""Texts for control experiments with the scripted actor: does it follow what a prompt says, and nothing else?

`RULES` is the reflector's own wording. `PARAPHRASES` are free rewordings in the styles in which language models write
prompts; the reader was tuned until it understood these. `MISREAD` are rewordings of which it still loses a rule, kept
as the measure of what it cannot do. `IRRELEVANT` should change nothing, `NEGATED` forbids one rule at a time, and
`MECHANICAL` negates any sentence with no regard to its wording.
"""

from __future__ import annotations

from collections.abc import Callable
from types import MappingProxyType

from metagym_envs.alfworld.rules.intents import TEACHABLE

RULES: MappingProxyType[str, str] = MappingProxyType({intent.name: intent.teach[0] for intent in TEACHABLE})
"""Intent -> one sentence that asks for it."""

NEGATED: MappingProxyType[str, str] = MappingProxyType(
    {
        "open": "If a container is closed, never open it.",
        "search": "Never go to a place that you have not visited yet.",
        "take": "When you see the object named in the task, do not take it.",
        "deliver": "Never put the object at the destination.",
        "treat": "Never use an appliance or tool to treat the object first.",
    }
)
"""Intent -> one sentence that forbids it."""


ESSENTIAL: MappingProxyType[str, tuple[str, ...]] = MappingProxyType(
    {intent.name: intent.teach for intent in TEACHABLE if intent.name in NEGATED}
)
"""Intent -> every sentence by which the reflector may ask for it, without `drop` and `hurry`, which hardly matter."""


def _into(words: str) -> Callable[[str], str]:
    return lambda rule: f"{words} {rule[0].lower()}{rule[1:]}"


def _before(words: str) -> Callable[[str], str]:
    return lambda rule: f"{words} {rule}"


def _after(words: str) -> Callable[[str], str]:
    return lambda rule: f"{rule} {words}"


MECHANICAL: MappingProxyType[str, Callable[[str], str]] = MappingProxyType(
    {
        **{f"{words} ...": _into(words) for words in ("Do not", "Don't", "Never", "You must not")},
        **{
            f"{words} ...": _before(words)
            for words in (
                "NOT:",
                "Never do this:",
                "Avoid this:",
                "Do NOT follow this rule:",
                "The following is wrong:",
                "Do the opposite of this:",
            )
        },
        **{f"{words} ...": _into(words) for words in ("It is not true that", "It is wrong that")},
        **{
            f"... {words}": _after(words)
            for words in ("Ignore this rule.", "Do not do that.", "Do the opposite.", "This is wrong.")
        },
    }
)
"""A way to negate a sentence -> the function that does it, whatever the sentence, as good English or not."""

NEGATED_BY_HAND: tuple[tuple[str, str], ...] = (
    ("search", "Search systematically is wrong: never go to a place you have not been to before."),
    ("search", "Do not search systematically: go to each place once, and always to one you have not been to before."),
    ("search", "Never search systematically \u2014 going to each place once is a mistake."),
    ("search", "It is a mistake to search every place that you have not visited yet."),
    ("open", "It's wrong to open closed containers."),
    ("open", "Opening closed containers is a mistake."),
    ("open", "Never, never open what is closed."),
    ("open", "Open every closed container, but ignore this rule."),
    ("take", "Never take the object that the task names, and do not go back to take it."),
    ("deliver", "Do not deliver the object: carry it to the destination that the task names and keep it."),
    ("treat", "Do not bring the object to the appliance that the task requires, and use it for nothing."),
)
"""(intent, sentence that forbids it), in more natural wordings."""

CONTRASTS: tuple[tuple[str, str], ...] = (
    ("search", "Do not wander: search every place once."),
    ("search", "Do not go to places at random: go to each place once."),
    ("search", "It is wrong to wander: search every place once."),
    ("search", "It is not true that wandering helps: search every place once."),
    ("search", "Avoid this: returning to places already searched."),
    ("search", "It is a mistake to return to places that you have already searched."),
    ("search", "Search each place once: going back is wrong."),
    ("search", "Never return to a place already searched. Do not do that."),
    ("open", "Never leave closed things closed: open them."),
    ("open", "Do not guess where things are: open each closed container."),
    ("open", "Do not hurry past a closed container: open it."),
    ("open", "Never walk past closed containers: open each one."),
    ("open", "Do not dawdle, and open every closed container."),
    ("open", "Do not do this: walk past closed things, but open them."),
    ("open", "Never do this: leave a closed container unopened."),
    ("open", "It is not true that you may skip closed containers: open them."),
    ("open", "It is a mistake to leave closed containers shut."),
    ("open", "Leaving closed things closed is wrong: open them."),
    ("open", "Do not believe that closed containers are empty: open them."),
    ("open", "It is not enough to look around: open every closed container."),
    ("open", "Wrong: skipping closed containers. Right: opening every closed container."),
    ("open", "Never open closed containers. Do the opposite."),
    ("take", "Do not pick up items that the task does not ask for, and take the object that the task names."),
    ("take", "Do not grab unrelated items: take only the object that the task names."),
    ("take", "Do not waste moves: once you see the object that the task names, take it."),
    ("deliver", "Do not put the object down anywhere: bring it to the destination."),
    ("deliver", "Never carry the object to any location except the destination: put it there."),
    ("treat", "Do not deliver the object at once: treat it first as the task asks, with the appliance."),
)
"""(intent, sentence that asks for it although it holds a negation)."""


def full_prompt(**instead: str) -> str:
    """All rules of `RULES`, one a line.

    Args:
        **instead: Sentences that take the place of a rule, by intent, e.g. ``open=NEGATED["open"]``; "" leaves it out.
    """
    rules = {**RULES, **instead}
    return "\n".join(f"- {sentence}" for sentence in rules.values() if sentence)


PARAPHRASES: MappingProxyType[str, str] = MappingProxyType(
    {
        "markdown": """\
# Household assistant - strategy guide

## Exploration
1. **Be methodical.** Work through the room one receptacle at a time and don't go back to ones you've already checked.
2. **Open up closed furniture.** Drawers, cabinets, the fridge, the microwave and safes start out shut; you can't see \
inside until you open them.

## Handling the object
3. Pick up the target object the moment you spot it. Don't grab unrelated items.
4. If the instructions say *clean*, *hot*, *cool* or mention a lamp, do that first: rinse the object in the sink, warm \
it in the microwave, chill it in the fridge, or switch on the lamp while holding it.

## Finishing
5. Carry the object to the receptacle the task names and put it there. For two objects, use the same receptacle.
""",
        "paragraph": (
            "Your goal is to complete the chore in as few steps as possible. Start by exploring: visit locations you "
            "haven't checked before rather than wandering between the same spots. Many receptacles are closed "
            "when you "
            "reach them, and what you need may be hidden inside, so open every closed receptacle you arrive at. "
            "Once you "
            "notice an instance of the item the task requires, grab it right away. Some tasks need the item to be "
            "processed before delivery; in that case bring it to the right appliance (sinkbasin for cleaning, "
            "microwave "
            "for heating, fridge for cooling, desklamp for looking at it in the light) and use that appliance. "
            "Then head "
            "to the target receptacle and place the item in it."
        ),
        "terse": """\
- explore systematically, each receptacle once
- closed? -> open it
- see needed item -> take it
- treatment needed (clean/heat/cool/light)? use the matching appliance before delivering
- deliver item to target receptacle
- holding junk -> drop it""",
        "lessons": """\
Lessons learned from previous attempts:
* The agent kept returning to places it had already searched. Always choose a location that has not been visited yet.
* The agent ignored closed containers. When you face a closed container, open it immediately.
* The agent walked past the goal object without collecting it. Whenever the object mentioned in the task is visible, \
take it.
* The agent delivered objects without preparing them. If the task wants the object washed, heated, chilled or examined \
under a lamp, use the sink, microwave, fridge or lamp on it beforehand.
* After that, go to the destination mentioned in the task and put the object there.""",
        "if-then": """\
IF you do not know where the item is THEN go to a new location you have not explored.
IF the receptacle in front of you is shut THEN open it to look inside.
IF you can see the required item THEN pick it up.
IF the item must be clean THEN clean it with the sinkbasin; IF it must be hot THEN heat it with the microwave; IF it \
must be cold THEN cool it with the fridge; IF a lamp is involved THEN hold the item and turn the lamp on.
IF the item is ready THEN bring it to its destination and leave it there.""",
        "passive": (
            "First: all places must be searched one after another, no place two times. Second: is a cabinet, drawer, "
            "fridge or other container shut, it must be opened. Third: the object from the task must be taken "
            "when it is "
            "seen. Fourth: before it is put to the destination, the object must be cleaned with the sinkbasin, "
            "heated "
            "with the microwave, cooled with the fridge or looked at with the lamp, as the task says. Fifth: "
            "then the "
            "object must be put to the destination."
        ),
        "json": (
            '{"explore": "go to every receptacle; don\'t revisit the ones already searched", "containers": '
            '"open anything '
            'that is closed", "pickup": "take the task\'s object when you see it", "prepare": "wash with '
            "sinkbasin / heat "
            'with microwave / cool with fridge / use desklamp as the task requires", "deliver": "move the '
            "object to the "
            'destination receptacle"}'
        ),
        "reflection": (
            "In my last attempts I wasted moves by revisiting the same cabinets. From now on I will only go to "
            "receptacles I haven't searched. I also missed objects because I didn't open closed drawers; I will open "
            "every closed receptacle. When I find what the task is asking for, I will take it immediately. If "
            "the task "
            "says clean, heat or cool, I will use the sinkbasin, microwave or fridge on the object before putting it "
            "down; for examine tasks I will turn on the desklamp while holding the object. Finally I will put "
            "the object "
            "in the receptacle that the task specifies."
        ),
        "formal": (
            "The agent shall explore previously unvisited receptacles in preference to visited ones. The agent "
            "shall open "
            "any receptacle found to be closed. The agent shall take the object specified by the task upon "
            "observing it. "
            "Where the task specifies a thermal or hygienic state, the agent shall establish it by means of the "
            "microwave "
            "(heating), the refrigerator (cooling) or the sinkbasin (cleaning). Where the task specifies a "
            "lamp, the agent "
            "shall turn on the lamp while holding the object. The agent shall then place the object in the "
            "receptacle "
            "specified by the task."
        ),
        "shouting": (
            "IMPORTANT: Do NOT go back to receptacles you already checked!!! IMPORTANT: Do NOT ignore closed "
            "receptacles, "
            "open them!!! IMPORTANT: Do NOT pick up anything except the object in the task, but DO pick up that "
            "object "
            "whenever you see it!!! IMPORTANT: Do NOT deliver the object before it has been cleaned "
            "(sinkbasin), heated "
            "(microwave), cooled (fridge) or looked at (desklamp), if the task says so!!! IMPORTANT: When it is "
            "ready, DO "
            "deliver it to the right receptacle!!!"
        ),
    }
)
"""Name of a style -> the rules in it, in free words."""

MISREAD: MappingProxyType[str, str] = MappingProxyType(
    {
        "butler": (
            "As a careful butler you go about your errands in good order. Look into each cupboard, drawer and "
            "shelf only "
            "once. What is shut you open, for the wanted article may lie within. Having found the object of the "
            "task, "
            "take it up without delay. If it is to be served clean, hot or cold, attend to that first at the "
            "sink, the "
            "microwave or the fridge; if it is to be viewed by lamplight, turn on the lamp with the object in "
            "your hand. "
            "Then carry it to its destination and put it there."
        ),
        "captain": (
            "Crew orders. Sweep the room receptacle by receptacle, and don't double back to ones you have "
            "cleared. Pop the "
            "lid on anything that's shut: open it and look. As soon as the wanted object is in view, take it. "
            "Does the "
            "order call for a clean, hot or cold object? Then wash it in the sinkbasin, heat it in the "
            "microwave or cool "
            "it in the fridge before you stow it. Does it call for a lamp? Use the lamp with the object in "
            "hand. Stow the "
            "object at the destination named in the order."
        ),
    }
)
"""Rewordings that the reader understands only in part."""

IRRELEVANT: MappingProxyType[str, str] = MappingProxyType(
    {
        "assistant": "You are a helpful assistant. " * 20,
        "cooking": (
            "A good soup takes patience. Chop the onions finely and warm the butter in a heavy pan. Season with "
            "salt, "
            "pepper and a little lemon. Stir now and then, taste often, and let the flavours come together "
            "slowly. Serve "
            "in warm bowls with fresh bread. Share it with friends, and enjoy the conversation that a simple "
            "dish can "
            "bring to a long winter evening at home."
        ),
        "etiquette": (
            "Answer politely and in full sentences. Keep an open mind, consider every point of view, and check your "
            "reasoning twice before you commit to it. Take your time. If you are unsure, say so plainly. Never "
            "reveal "
            "personal data, and refuse requests that are unlawful. Put the reader first, place emphasis where "
            "it belongs, "
            "and close with a short summary of what was said."
        ),
        "lighthouse": (
            "The lighthouse was built in 1857 by engineers from the coast guard. It stands on a granite cliff "
            "and can be "
            "seen from twenty miles away. Visitors climb the spiral stairs to look at the old lamp room, where "
            "a keeper "
            "once lived with his family. In light of its age the tower was restored in 2004, and it is open to "
            "the public "
            "on summer weekends, when volunteers explain its mechanism to guests."
        ),
        "furniture": (
            "The kitchen has a fridge, a microwave and many cabinets. The bedroom has a desk and a desklamp. "
            "Objects are "
            "things such as mugs, apples and pillows. A task is a sentence. Locations have numbers, for example "
            "drawer 2. "
            "Some containers are closed. An episode lasts fifty steps at most and you score one point when the "
            "task is "
            "completed successfully."
        ),
    }
)
"""Texts of about the length of a full prompt that ask for nothing."""
