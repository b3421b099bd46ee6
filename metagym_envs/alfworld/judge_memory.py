"""What the real engine computes again and again, remembered. Imported only where the engine is installed.

Nothing here restates a rule of the game. Functions of the engine are replaced while one of its calls runs (under the
caller's lock) and put back afterwards; the replacements give equal results sooner:

- the translation of a problem, remembered for the game at hand; the second one, for the planner, is not made at all;
- the parsed grammar, with the task line swapped in; parsed templates and conditions;
- copies of contexts and symbols one level deep, where the engine copies the entities too and never changes them;
- command texts that depend on nothing that play can change.
"""

from __future__ import annotations

import copy
import json
import re
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import fast_downward
from textworld.envs import PddlEnv
from textworld.envs.pddl import logic as pddl_logic
from textworld.envs.pddl import textgen
from textworld.logic import Rule

from metagym_envs.alfworld.engine.fingerprint import task_line

_MARKED = re.compile(r"\b([\w-]+)\(")
_KEPT = 4  # grammars and translations kept: games come one after another, and a translation is 1 MB


class _Recent(OrderedDict[Any, Any]):
    """The last few values, by key."""

    def get_or_make(self, key: Any, make: Callable[[], Any]) -> Any:
        if key in self:
            self.move_to_end(key)
        else:
            self[key] = make()
            while len(self) > _KEPT:
                self.popitem(last=False)
        return self[key]


class _RememberingEnv(PddlEnv):
    """The engine's environment, with a memory. Its planner is never to be asked."""

    def __init__(self, infos: Any) -> None:
        super().__init__(infos)
        self._translations = _Recent()
        self._logics = _Recent()
        self._parsed: dict[Any, Any] = {}
        self._queries: dict[str, Any] = {}
        self._texts: dict[int, str] = {}
        self._fixed: dict[str, bool] = {}
        self.downward_lib.load_sas_replan = lambda *_: None  # on this library object alone

    def load(self, data: Mapping[str, Any]) -> None:
        self._texts.clear()
        self._fixed.clear()
        with self._swapped():
            super().load(data)

    def reset(self) -> Any:
        self._texts.clear()  # names may be given anew after a load
        with self._swapped():
            return super().reset()

    def step(self, command: str) -> Any:
        with self._swapped():
            return super().step(command)

    # --- the replacements

    @contextmanager
    def _swapped(self) -> Iterator[None]:
        swaps: list[tuple[Any, str, Any]] = [
            (fast_downward, "pddl2sas", self._translate),
            (pddl_logic, "GameLogic", self._make_logic),
            (textgen, "_parse_and_convert", self._parse),
            (textgen, "copy_context", _copy_context),
            (textgen, "deepcopy", _copy_symbols),
            (textgen.Symbol, "copy", _copy_symbol),
            (Rule, "parse_conjunctive_query", self._parse_query),
        ]
        before = [owner.__dict__[name] for owner, name, _ in swaps]
        for owner, name, value in swaps:
            setattr(owner, name, value)
        try:
            yield
        finally:
            for (owner, name, _), value in zip(swaps, before, strict=True):
                setattr(owner, name, value)

    def _translate(self, domain: str, problem: str, verbose: bool = False, optimize: bool = False) -> Any:
        if optimize:
            return None, ""  # the planner's
        return self._translations.get_or_make((domain, problem), lambda: _PDDL2SAS(domain, problem, verbose=verbose))

    def _make_logic(self, domain: str, grammar: str) -> Any:
        line = task_line(grammar)
        if line is None or grammar.count(line) != 1:
            return _GAME_LOGIC(domain, grammar)
        blank = grammar.replace(line, "")
        logic = self._logics.get_or_make((domain, blank), lambda: _GAME_LOGIC(domain, blank))
        rules = logic.grammar._rules["task"]
        if len(rules) != 1:
            return _GAME_LOGIC(domain, grammar)
        rules[0].rhs = self._parse(json.loads(f'"{line}"'), rule_name="symbols")
        return logic

    def _parse(self, text: str, **settings: Any) -> Any:
        key = (text, settings.get("rule_name"))
        found = self._parsed.get(key)
        if found is None:
            found = self._parsed[key] = _PARSE(text, **settings)
        return _copy_symbols(found)

    def _parse_query(self, expression: str) -> Any:
        found = self._queries.get(expression)
        if found is None:
            found = self._queries[expression] = _PARSE_QUERY(Rule, expression)
        return found

    # --- the state that follows a step, without deriving each command's text again

    def _gather_infos(self) -> None:
        state, world = self.state, self._pddl_state
        state["command_templates"] = sorted({action.template for action in self._logic.actions.values()})
        state["won"], state["lost"] = world.check_goal(), False
        state["_entity_infos"] = dict(self._entity_infos)
        state["last_action"], state["_last_action"] = None, self._last_action
        actions = state["_valid_actions"] = list(world.all_applicable_actions())
        state["_valid_commands"] = [self._command(action) for action in actions]
        state["admissible_commands"] = sorted(set(state["_valid_commands"]))

    def _command(self, action: Any) -> str:
        found = self._texts.get(action.id)  # one operator of the translated problem: one template, one mapping
        if found is not None:
            action.command_template = found
            return found
        template = action.command_template
        context = {
            "state": self._pddl_state,
            "facts": list(self._pddl_state.facts),
            "variables": {place.name: self._entity_infos[value.name] for place, value in action.mapping.items()},
            "mapping": action.mapping,
            "entity_infos": self._entity_infos,
        }
        action.command_template = self._logic.grammar.derive(template, context)
        text: str = action.format_command({name: info.name for name, info in self._entity_infos.items()})
        if self._is_fixed(template):
            self._texts[action.id] = text
        return text

    def _is_fixed(self, template: str) -> bool:
        """Whether nothing that play can change enters a template: no rule, and no condition on a changing fact."""
        found = self._fixed.get(template)
        if found is None:
            task = self._pddl_state.task
            changing = {effect.literal.predicate for action in task.actions for effect in action.effects}
            changing |= {axiom.name for axiom in task.axioms}
            conditions = set(_MARKED.findall(template))
            found = "#" not in template and not any(name.removeprefix("not_") in changing for name in conditions)
            self._fixed[template] = found
        return found


def remembering_env(infos: Any) -> Any:
    """Makes the environment.

    Args:
        infos: What the engine is asked for (``textworld.EnvInfos``); `policy_commands` must not be among it.
    """
    return _RememberingEnv(infos)


# The engine's own functions, as they were when this module was imported.
_PDDL2SAS = fast_downward.pddl2sas
_GAME_LOGIC = pddl_logic.GameLogic
_PARSE = textgen._parse_and_convert
_PARSE_QUERY = Rule.__dict__["parse_conjunctive_query"].__func__


def _copy_context(context: Mapping[str, Any]) -> dict[str, Any]:
    twin = dict(context)
    twin["variables"], twin["mapping"] = dict(context["variables"]), dict(context["mapping"])
    return twin


def _copy_symbols(symbols: list[Any]) -> list[Any]:
    return [_copy_one(symbol) for symbol in symbols]


def _copy_one(symbol: Any) -> Any:
    twin = copy.copy(symbol)
    if isinstance(twin, textgen.ListSymbol):
        twin.symbol = _copy_one(twin.symbol)
    elif isinstance(twin, textgen.ConditionalSymbol) and isinstance(twin.expression, textgen.Symbol):
        twin.expression = _copy_one(twin.expression)
    return twin


def _copy_symbol(symbol: Any, context: Mapping[str, Any]) -> Any:
    twin = _copy_one(symbol)
    twin.context = _copy_context(context)
    return twin
