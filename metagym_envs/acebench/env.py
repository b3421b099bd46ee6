"""One agent task of ACEBench as a Gymnasium environment, text in and text out."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import gymnasium

from metagym.errors import BadInput
from metagym.spaces import FreeText
from metagym_envs.acebench import judging, prompts
from metagym_envs.acebench.entries import Entry
from metagym_envs.acebench.users import FINISH, OPENS, SCRIPTED, ModelUser, ScriptedUser, User, model
from metagym_envs.acebench.world import FAILED, UNKNOWN, UsedUp, World
from metagym_envs.bfcl.calls import Call, read_calls

NO_CALL = 'That is no call. Nobody answers questions here: go on with what you know, or say "finish conversation".'
NOT_RUN = f"{FAILED}not called, since a call before it failed"
_APART = " (a script: not comparable with published figures)"
LONGEST = 20_000
"""Characters of one observation."""


class AgentTask(gymnasium.Env[str, str]):
    """A task for an agent with tools, alone (multi_step) or with a user who is asked and answers (multi_turn).

    ## Description
    The agent reads rules, documents of functions and a request, and calls functions of back ends that keep a state
    (reminders, messages, orders, flights). In multi_turn it talks to a simulated user, who tells bit by bit what it
    wants.

    ## Observation
    `FreeText`: at first rules, functions and request; then results of calls as JSON, or what the user says.

    ## Actions
    `FreeText`: calls as ``[function(name='value')]`` (also in the other forms that `metagym_envs.bfcl.calls` reads), or
    plain words: to the user, or ``finish conversation``. Nothing of it is ever evaluated.

    ## Rewards
    At the end 1.0 where the final state is the gold one, else 0.0; 0.0 before.

    ## Episode end
    Terminated by ``finish conversation``, the agent's or the user's; truncated after `turns` messages that follow the
    first, of all sides together, and judged all the same. Calls that take more than a conversation may end it, and its
    state counts as not reached: else an agent could take itself out of the mean. `info` holds ``success``, ``engine``
    (who played the user, and what confined the back ends), and at the end ``scores``: ``end_to_end``, ``process``
    (share of milestones; 1.0 where the state is reached, None without any), ``official_end_to_end`` and
    ``official_process`` (as the official scorer counts them, which leaves out classes whose names it does not find and
    compares milestones as texts), ``faults`` (what differs) and ``final_answer`` None.

    ## Arguments
    * ``path``: the checkout.
    * ``entry``: the task.
    * ``user``: ``"scripted"`` or a model spec.
    * ``temperature``: the user's.
    * ``turns``: most messages.

    ## Source
    Chen et al., "ACEBench: Who Wins the Match Point in Tool Usage?", 2025 (arXiv 2501.12851); data, documents and back
    ends come from a checkout of its public repository, the scoring is our own.
    """

    metadata = {"render_modes": []}

    def __init__(
        self, path: str, entry: Entry, user: str = SCRIPTED, temperature: float = 0.0, turns: int = 40
    ) -> None:
        self.path, self.entry, self.user, self.temperature, self.turns = path, entry, user, temperature, turns
        self.observation_space, self.action_space = FreeText(), FreeText()
        self._world: World | None = None
        self._user: User | None = None
        self._open = False
        self._messages = 0
        self._sent: list[str] = []
        self._called = self._ran = False
        self._end: dict[str, Any] = {}

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        """Begins the task; in multi_turn the user speaks first.

        Args:
            seed: Of the user's samples.
            options: None.

        Raises:
            BadInput: An option is given, or the checkout lacks a back end.
            EngineError: A back end does not begin.
            SandboxUnavailable: A layer of the sandbox is missing.
            ChatError: The model that plays the user failed.
        """
        super().reset(seed=seed)
        if options:
            raise BadInput(f"reset of an agent task knows no option, got {sorted(map(str, options))}")
        self.close()
        self._world = World(self.path, self.entry)
        self._messages, self._sent, self._end = 0, [], {}
        self._called = self._ran = False
        self._open, self._user = True, None
        request = self.entry.question
        if self.entry.kind == "multi_turn":
            drawn = int(self.np_random.integers(2**62))
            self._user = _user_of(self.path, self.entry, self.user, self.temperature, drawn)
            request = self._user.say(OPENS)
        return _cut(f"{prompts.agent(self.path, self.entry)}\n\nUser: {request}", 200_000), self._info()

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Takes one message of the agent.

        Raises:
            BadInput: The action is no text, or the episode is over or has not begun.
            EngineError: The back ends ended.
            ChatError: The model that plays the user failed.
        """
        if not isinstance(action, str):
            raise BadInput(f"an agent says text, got {type(action).__name__}")
        if not self._open or self._world is None:
            raise BadInput("this episode is over or has not begun: call reset before step")
        self._messages += 1
        calls = read_calls(action)
        if FINISH in action.casefold() and not calls:
            return self._over("", False)
        if self._messages >= self.turns:
            return self._over("", True)
        asked = None if calls else self._user
        try:
            answer = asked.say(action) if asked is not None else self._execute(action, calls)
        except UsedUp as spent:
            return self._over("", False, str(spent))
        self._messages += 1
        if asked is not None and FINISH in answer.casefold():
            return self._over("", False)
        return self._over("", True) if self._messages >= self.turns else (_cut(answer), 0.0, False, False, self._info())

    def _execute(self, action: str, calls: Sequence[Call]) -> str:
        """Runs the calls of a message; without a user, whatever an agent says goes here, and milestones count it so."""
        self._sent.append(action)
        if not calls:
            return NO_CALL
        results: list[Any] = []
        stopped = False
        for call in calls:
            result = NOT_RUN if stopped else self._result(call)
            # In a dialogue, a call that fails ends its message, but not one of no function that comes after others: as
            # officially, so that the states are the same.
            fails = isinstance(result, str) and result.startswith(FAILED) and self._user is not None
            stopped = stopped or (fails and not (results and result.startswith(UNKNOWN)))
            results.append(result)
        self._called, self._ran = True, self._ran or not stopped
        return f"Results: {json.dumps(results, ensure_ascii=False, default=str)}"

    def _result(self, call: Call) -> Any:
        assert self._world is not None
        if call.fault or call.args:
            return f"{FAILED}{call.fault or 'arguments are given by name'}"
        return self._world.call(call.name, call.kwargs)

    def _over(self, observation: str, cut: bool, spent: str = "") -> tuple[str, float, bool, bool, dict[str, Any]]:
        """The end; `spent` tells that the agent used up what the back ends may take, which leaves no state to reach."""
        assert self._world is not None
        try:
            state = {} if spent else self._world.state()
        except UsedUp as error:
            state, spent = {}, str(error)
        faults = [spent] if spent else judging.state_faults(self.entry, state)
        reached = not faults and self._called
        # Without a message whose calls ran, the official harness has no instances, and so no state to be right.
        official = not spent and self._ran and judging.official(self.entry, state)
        self._end = {
            "success": reached,
            "scores": {
                "end_to_end": float(reached),
                "process": 1.0 if reached else judging.process(self.entry, self._sent),
                "official_end_to_end": float(official),
                "official_process": 1.0 if official else judging.process(self.entry, self._sent, as_text=True),
            },
            "faults": faults or ([] if reached else ["no function was called"]),
            "final_answer": None,
        }
        self._open = False
        info = self._info()
        self.close()
        return observation, float(reached), not cut, cut, info

    def _info(self) -> dict[str, Any]:
        from metagym_envs.acebench.world import pool

        who = "no user" if self._user is None else f"user: {label(self.user)}"
        return {"success": False, "engine": f"{who}; back ends confined by {', '.join(pool().layers)}", **self._end}

    def close(self) -> None:
        """Ends the back ends."""
        if self._world is not None:
            self._world.close()
            self._world = None


def label(user: str) -> str:
    """How records and tables call a user: by the model's own id, and that a script compares with nothing."""
    if user == SCRIPTED:
        return f"scripted{_APART}"
    found = model(user)
    return f"{found.id}{_APART if found.backend == 'scripted' else ''}"


def _user_of(path: str, entry: Entry, user: str, temperature: float, seed: int) -> User:
    if user == SCRIPTED:
        return ScriptedUser(entry.question)
    return ModelUser(user, prompts.user(path, entry), temperature, seed)


def _cut(text: str, longest: int = LONGEST) -> str:
    return text if len(text) <= longest else f"{text[: longest - 20]} ... (cut)"
