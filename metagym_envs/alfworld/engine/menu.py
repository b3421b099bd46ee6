"""The list of admissible commands, in the engine's order."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from metagym_envs.alfworld.engine.play import Player


def admissible_commands(player: Player) -> list[str]:
    """Every command that does something in the player's state: sorted, no duplicates.

    All commands of one verb stand together in a sorted list, so only each verb's own commands are sorted here and the
    verbs are put in alphabetical order.
    """
    game, held = player.game, player.held
    clean: list[str] = []
    closing: list[str] = []
    cool: list[str] = []
    examine: list[str] = []
    heat: list[str] = []
    put: list[str] = []
    opening: list[str] = []
    slicing: list[str] = []
    take: list[str] = []
    use: list[str] = []
    objects, words = game.object_names, game.wording
    thing = objects[held] if held >= 0 else ""
    for r in game.receptacles_at[player.here]:
        name = game.receptacle_names[r]
        examine.append("examine " + name)
        within_reach = True
        if game.openable[r]:
            if player.opened >> r & 1:
                closing.append("close " + name)
            else:
                opening.append("open " + name)
                within_reach = False
        for o in player.contents[r]:
            if within_reach and held < 0 and game.pickupable[o]:
                take.append(f"take {objects[o]} from {name}")
            if game.toggleable[o]:
                use.append("use " + objects[o])
        if held >= 0:
            if within_reach and held in game.accepts[r]:
                put.append(f"{words.put_verb} {thing}{words.put_join}{name}")
            if game.is_sink[r] and game.cleanable[held]:
                clean.append(f"clean {thing} with {name}")
            if game.is_fridge[r] and game.coolable[held]:
                cool.append(f"cool {thing} with {name}")
            if game.is_microwave[r] and game.heatable[held]:
                heat.append(f"heat {thing} with {name}")
    if held >= 0:
        examine.append("examine " + thing)
        if game.is_knife[held]:
            here = player.here
            slicing = [
                f"slice {objects[o]} with {thing}"
                for o, spots in enumerate(player.spots)
                if here in spots and game.sliceable[o]
            ]
    for group in (clean, closing, cool, examine, heat, put, opening, slicing, take):
        if len(group) > 1:
            group.sort()
    if len(use) > 1:
        use = sorted(set(use))  # a lamp may lie in two receptacles
    always = ("help", "inventory", "look") if words.has_help else ("inventory", "look")
    goto = game.goto_commands[player.here]
    if words.put_verb == "move":
        return [*clean, *closing, *cool, *examine, *goto, *heat, *always, *put, *opening, *slicing, *take, *use]
    return [*clean, *closing, *cool, *examine, *goto, *heat, *always, *opening, *put, *slicing, *take, *use]
