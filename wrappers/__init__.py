"""Gymnasium wrappers that turn any environment into one that is read and played as text.

* `TextObservation`: observations as text; `TextAction`: actions from text, by one rule (`actions`).
* `ToolCalls`: actions as tool calls with a JSON schema; `ChoiceList`: actions picked from a numbered list.
* `TaskDescription`, `HistoryWindow`: what is told before the first observation, and what came before the present one.
* `StepBudget`, `SuccessFrom`: when an episode is cut, and what counts as success (`predicates`).

Each works in ``make`` and ``make_vec`` (``wrappers=``, ``WrapperSpec``), pickles, and stands in ``env.spec``, so that
``spec.make()`` builds the same stack again.
"""

from metagym_wrappers.actions import ActionReader
from metagym_wrappers.choice_list import ChoiceList
from metagym_wrappers.history_window import HistoryWindow
from metagym_wrappers.predicates import Predicate, parse_predicate
from metagym_wrappers.step_budget import StepBudget
from metagym_wrappers.success_from import SuccessFrom
from metagym_wrappers.task_description import TaskDescription
from metagym_wrappers.text_action import TextAction
from metagym_wrappers.text_observation import TextObservation
from metagym_wrappers.tool_calls import ToolCalls

__all__ = [
    "ActionReader",
    "ChoiceList",
    "HistoryWindow",
    "Predicate",
    "StepBudget",
    "SuccessFrom",
    "TaskDescription",
    "TextAction",
    "TextObservation",
    "ToolCalls",
    "parse_predicate",
]
