"""How an environment behaves: Gymnasium's own checker, ends, nonsense, texts, stand-ins, documentation, speed."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from time import process_time
from typing import Any

import gymnasium
from gymnasium.envs.registration import EnvSpec
from gymnasium.utils.env_checker import check_env

from metagym import chat
from metagym.checks import shown
from metagym.conformance.findings import Fault
from metagym.conformance.texts import faults_of, faults_of_legal
from metagym.conformance.walks import NONSENSE, Step, Subject, Walk, difference, opened, walked
from metagym.episodes import Status, success_rate
from metagym.families import _factory, family_names
from metagym.ict.reflector import ReflectorSettings, reflect
from metagym.playing import PlaySettings, play, sync

HEADINGS = ("Description", "Observation", "Actions", "Rewards", "Episode end", "Arguments", "Source")
"""Headings of the docstring of an environment (or of the function that builds the family)."""

_COLOURS = re.compile(r"\x1b\[[0-9;]*m")


@contextmanager
def _strict() -> Iterator[None]:
    """Inside, warnings are errors; deprecations of libraries are not the family's affair."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", DeprecationWarning)
        yield


@contextmanager
def _refused(what: str) -> Iterator[None]:
    """Inside, Gymnasium's checker looks at something; what it, or the environment, raises is the finding."""
    try:
        with _strict():
            yield
    except Exception as error:
        said = " ".join(_COLOURS.sub("", str(error)).split()).removeprefix("WARN: ")
        raise Fault(f"gymnasium's check_env refuses {what}: {said or type(error).__name__}") from error


def _small(subject: Subject) -> dict[str, Any]:
    """Arguments that keep a meta-episode small."""
    return {"batch_size": min(2, len(subject.tasks)), "meta_turns": 2}


def api(subject: Subject) -> str:
    """Both ids, and the environment of a task, pass Gymnasium's ``check_env`` without a warning."""
    inner = f"the environment of task {subject.tasks[0].key}"
    with opened(subject.family, subject.tasks[0]) as env, _refused(inner):
        warnings.filterwarnings("ignore", ".*is different from the unwrapped version")  # wrappers belong to it
        check_env(env, skip_render_check=True, skip_close_check=True)  # these two need an id
    few: dict[str, Any] = {**subject.options, "max_steps": 5}  # a cap of 1, as some families have, the checker refuses
    for id_, arguments in ((subject.plain, few), (subject.ict, few | _small(subject))):
        env = gymnasium.make(id_, **arguments)
        try:
            with _refused(id_):
                check_env(env.unwrapped)
        finally:
            env.close()
    return f"{subject.plain}, {subject.ict}"


def spec(subject: Subject) -> str:
    """The spec survives JSON, and ``gymnasium.make_vec`` works."""
    env = gymnasium.make(subject.plain, **subject.options)
    found = env.spec
    env.close()
    if found is None:
        raise Fault(f"{subject.plain} loses its spec: options of the family must be JSON, not live objects")
    gymnasium.make(EnvSpec.from_json(found.to_json())).close()
    with _strict():
        envs = gymnasium.make_vec(subject.plain, num_envs=2, vectorization_mode="sync", **subject.options)
        try:
            envs.reset(seed=0)
            envs.step(("look", "look"))
        finally:
            envs.close()
    return "make_vec of 2, spec to JSON and back"


def ends(subject: Subject) -> str:
    """Terminated, truncated and success are three things, each of its own type."""
    counts = {"terminated": 0, "cut": 0, "solved": 0, "unknown": 0}
    for task in subject.tasks:
        with opened(subject.family, task) as env:
            env.reset(seed=task.seed)
            raw = env.step(walked(subject, task, 1)[-1].action or "look")
        for name, value in zip(("terminated", "truncated"), raw[2:4], strict=True):
            if not isinstance(value, bool):
                raise Fault(f"task {task.key}: {name} is of type {type(value).__name__}: return True or False")
        steps = walked(subject, task, subject.family.max_steps)
        if steps[0].success is True:
            raise Fault(f"task {task.key} counts as solved before the first action: success is False until it is done")
        for step in steps:
            if step.success not in (True, False, None):
                raise Fault(f"task {task.key}: success is {shown(step.success)}: it is True, False or None (unknown)")
        last = steps[-1]
        counts["terminated"] += last.terminated
        counts["cut"] += not last.terminated
        counts["solved"] += last.success is True
        counts["unknown"] += last.success is None
    unknown = f", {counts['unknown']} unknown" if counts["unknown"] else ""
    return (
        f"{len(subject.tasks)} random walks: {counts['terminated']} terminated, {counts['cut']} cut, "
        f"{counts['solved']} solved{unknown}"
    )


def actions(subject: Subject) -> str:
    """A command that means nothing is answered; it ends nothing and leaves nothing behind."""
    task = subject.tasks[0]
    clean = walked(subject, task)
    with opened(subject.family, task) as env:
        walk = Walk(env, task, subject.family)
        for action in NONSENSE:
            command = subject.family.clean(action, walk.steps[-1].admissible).command
            if not command:
                continue
            if walk.done:
                walk = Walk(env, task, subject.family)
            try:
                walk.take(command)
            except Exception as error:  # whatever it raises is the finding
                raise Fault(
                    f"task {task.key}: the command {shown(command)} raised {type(error).__name__} ({error}): answer "
                    "what the environment does not know with a text"
                ) from error
        again = Walk(env, task, subject.family).on(subject.steps)
    if where := difference(clean, again):
        raise Fault(
            f"task {task.key} plays otherwise after an episode of nonsense, from {where} on: let reset clear counters"
        )
    return f"{len(NONSENSE)} meaningless commands answered"


def text(subject: Subject) -> str:
    """Texts are clean and of bounded length; legal actions are lines that the cleaning rule leaves alone."""
    family = subject.family
    fixed = {"instructions": family.instructions, "system prompt": family.system_prompt}
    for what, value in fixed.items():
        for fault in faults_of(value):
            raise Fault(f"the {what} of family {family.name} {fault}")
    longest, listed = 0, 0
    for task in subject.tasks:
        steps = walked(subject, task)
        if not steps[0].observation.strip():
            raise Fault(f"task {task.key} begins with an empty text: say what is seen and what is to be done")
        for number, step in enumerate([*steps, *_answers(subject)] if task is subject.tasks[0] else steps):
            for fault in faults_of(step.observation):
                raise Fault(f"task {task.key}, step {number}: the observation {fault}")
            for fault in faults_of_legal(step.admissible, family.clean):
                raise Fault(f"task {task.key}, step {number}: info['admissible'] {fault}")
            longest = max(longest, len(step.observation))
            listed += step.admissible is not None
    if not listed and not family.instructions.strip():
        raise Fault(
            f"family {family.name} has neither instructions nor info['admissible']: no actor can know its commands"
        )
    return f"longest observation {longest:,} characters"


def _answers(subject: Subject) -> list[Step]:
    """What the first task's environment says to nonsense."""
    task = subject.tasks[0]
    with opened(subject.family, task) as env:
        walk = Walk(env, task, subject.family)
        for action in NONSENSE:
            command = subject.family.clean(action, walk.steps[-1].admissible).command
            if command and not walk.done:
                walk.take(command)
        return walk.steps


def stand_ins(subject: Subject) -> str:
    """The scripted stand-ins of the seats play."""
    family = subject.family
    said = []
    if "actor" in family.stand_ins:
        settings = PlaySettings(max_failures=1.0)
        episodes = play(subject.tasks, "rules", family=family, system_prompt=family.system_prompt, settings=settings)
        for episode in episodes:
            if episode.status is Status.ERROR:
                raise Fault(f"the stand-in of the actor fails at task {episode.task.key}: {episode.cause}")
        rate = success_rate(episodes)
        said.append(f"actor solves {'an unknown share' if rate is None else format(rate, '.2f')} of {len(episodes)}")
    if "reflector" in family.stand_ins:
        said.append(f"reflector: {_reflected(subject)}")
    return "; ".join(said) + " (scripted)" if said else "none: demos and tests of others will need a model"


def _reflected(subject: Subject) -> str:
    """What the stand-in of the reflector makes of a first batch."""
    env = gymnasium.make(subject.ict, **subject.options, **_small(subject))
    try:
        observation, info = env.reset(seed=0)
    finally:
        env.close()
    model = chat.load("rules", seat="reflector", family=subject.family)
    reflection = sync.run(reflect(model, observation, info["system_prompt"], ReflectorSettings(), 0))
    if reflection.outcome not in ("improved", "unchanged"):
        raise Fault(
            f"the stand-in of the reflector writes no prompt ({reflection.outcome}: {reflection.cause}): "
            "end its reply with 'IMPROVED PROMPT:' and the whole prompt"
        )
    return reflection.outcome


def docs(subject: Subject) -> str:
    """The environment, or the function that builds the family, is documented under the fixed headings."""
    with opened(subject.family, subject.tasks[0]) as env:
        places: list[Any] = [type(env)]
        inner: Any = env
        while isinstance(inner, gymnasium.Wrapper):
            inner = inner.env
            places.append(type(inner))
    if subject.name in family_names():
        places.append(_factory(subject.name))
    missing = {place: _missing(place) for place in places}
    best = min(places, key=lambda place: len(missing[place]))
    if missing[best]:
        raise Fault(f"the docstring of {best.__name__} lacks {', '.join(missing[best])}: write each as '## Heading'")
    return f"docstring of {best.__name__}"


def _missing(place: Any) -> list[str]:
    written = place.__doc__ or ""
    return [name for name in HEADINGS if not re.search(rf"^\s*#+ *{name}\s*$", written, re.MULTILINE)]


def speed(subject: Subject) -> str:
    """What a reset and a step cost; told, not judged."""
    resets, steps, taken = 0.0, 0.0, 0
    for task in subject.tasks:
        with opened(subject.family, task) as env:
            started = process_time()
            walk = Walk(env, task, subject.family)
            begun = process_time()
            walk.on(subject.steps)
            resets, steps = resets + begun - started, steps + process_time() - begun
            taken += len(walk.steps) - 1
    each = f", step {1e6 * steps / taken:,.0f} us" if taken else ""
    return f"reset {1e3 * resets / len(subject.tasks):,.2f} ms{each} of CPU (told, not judged)"
