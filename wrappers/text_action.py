"""TextAction: actions of any space from text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, get_args

import gymnasium

from metagym.errors import BadInput
from metagym.spaces import FreeText
from metagym_wrappers.actions import MAX_LISTED, ActionReader, OutOfRange
from metagym_wrappers.base import Answering, Step
from metagym_wrappers.plain import Unfit

Invalid = Literal["answer", "raise"]


class TextAction(Answering):
    """Takes actions as text, by the one rule that `metagym_wrappers.actions` states.

    Where the actions have names, ``info["admissible"]`` lists them; where the environment gives an
    ``info["action_mask"]``, those alone that it allows, in place of the mask.

    Args:
        env: Any environment.
        names: Of the actions of a ``Discrete``, in the order of their numbers.
        aliases: Further names of actions: alias to name or number.
        out_of_range: ``"reject"`` refuses a number out of range, ``"clip"`` takes the nearest bound.
        invalid: A text that is no action is answered (``"answer"``: nothing changes, the observation says why, see
            `base.Answering`), or raises `BadInput` (``"raise"``).

    Raises:
        BadInput: The action space has no text form, or an argument does not fit it.
    """

    def __init__(
        self,
        env: gymnasium.Env[Any, Any],
        names: Sequence[str] | None = None,
        aliases: Mapping[str, str | int] | None = None,
        out_of_range: OutOfRange = "reject",
        invalid: Invalid = "answer",
    ) -> None:
        super().__init__(env, names=names, aliases=aliases, out_of_range=out_of_range, invalid=invalid)
        if invalid not in get_args(Invalid):
            raise BadInput(f"invalid is one of {', '.join(get_args(Invalid))}, got {invalid!r}")
        try:
            self.reader = ActionReader(env.action_space, names, aliases, out_of_range)
        except BadInput as error:
            raise BadInput(f"{self.called}: {error}") from error
        self.action_space = FreeText()
        self._raise = invalid == "raise"
        self._exact = self.reader.exact
        listed = self.reader.names
        self._admissible = listed if listed is not None and len(listed) <= MAX_LISTED else None

    def step(self, action: str) -> Step:
        """Takes one action.

        Raises:
            BadInput: It is not text; or it is no action, with ``invalid="raise"``.
        """
        found = self._exact.get(self._text(action))
        if found is None:
            try:
                found = self.reader.read(action)
            except Unfit as error:
                if self._raise:
                    raise
                return self._refused(str(error))
        return self._taken(found)

    def _told(self, info: dict[str, Any]) -> dict[str, Any]:
        names = self._admissible
        if names is None:
            return info
        out = {**info, "admissible": names}
        mask = info.get("action_mask")
        if mask is not None and len(mask) == len(names):
            out["admissible"] = tuple(name for name, allowed in zip(names, mask, strict=True) if allowed)
            del out["action_mask"]
        return out
