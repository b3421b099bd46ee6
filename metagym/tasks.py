"""What is played: `Task`, sets of them, and the one stream that hands them out unseen."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Any, Literal, overload

from metagym.checks import shown, whole
from metagym.errors import BadInput, NoTasks, TasksExhausted, UnknownName
from metagym.seeding import check_seed, rng

Exhaustion = Literal["error", "wrap"]


@dataclass(frozen=True)
class Task:
    """The identity of one thing to play. Groups, caches and reports key on it, never on prompt text.

    Attributes:
        family: Name of the family that can open it.
        id: Unique within the family, portable between machines (no absolute paths).
        type: Task type, e.g. ``pick_heat_then_place_in_recep``; empty where the family has none.
        split: The split it belongs to.
        seed: Seed of the inner environment's ``reset``; >= 0.
        params: Further JSON data that the family needs to open it.
    """

    family: str
    id: str
    type: str = ""
    split: str = ""
    seed: int = 0
    params: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Checks the fields and freezes the parameters."""
        if not isinstance(self.id, str) or not self.id:
            raise BadInput(f"a task id is non-empty text, got {self.id!r}")
        object.__setattr__(self, "seed", check_seed(self.seed, f"seed of task {self.id}"))
        object.__setattr__(self, "params", MappingProxyType(dict(self.params)))

    @cached_property
    def key(self) -> str:
        """Family, id and seed (and parameters, where there are some): equal keys are equal games."""
        tail = "?" + json.dumps(dict(self.params), sort_keys=True, ensure_ascii=False) if self.params else ""
        return f"{self.family}/{self.id}#{self.seed}{tail}"

    def __hash__(self) -> int:
        """Hashes the key."""
        return hash(self.key)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickles by value: a mapping proxy does not pickle."""
        return Task, (self.family, self.id, self.type, self.split, self.seed, dict(self.params))

    def to_json(self) -> dict[str, Any]:
        """The task as a JSON object."""
        return {
            "family": self.family,
            "id": self.id,
            "type": self.type,
            "split": self.split,
            "seed": self.seed,
            "params": dict(self.params),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Task:
        """The inverse of `to_json`."""
        try:
            return cls(**data)
        except TypeError as error:
            raise BadInput(f"not a task: {error}") from error


class TaskSet(Sequence[Task]):
    """An ordered set of tasks with unique ids.

    Args:
        tasks: The tasks; ids must differ.
        name: How error messages call the set, e.g. ``"ALFWorld/train"``.

    Raises:
        NoTasks: There is none: an empty set is never a valid one.
        BadInput: Two tasks share an id.
    """

    def __init__(self, tasks: Iterable[Task], name: str = "task set") -> None:
        self._tasks = tuple(tasks)
        self.name = name
        if not self._tasks:
            raise NoTasks(f"{name} holds no task")
        self._by_id = {task.id: task for task in self._tasks}
        if len(self._by_id) != len(self._tasks):
            seen: set[str] = set()
            twice = next(t.id for t in self._tasks if t.id in seen or seen.add(t.id))  # type: ignore[func-returns-value]
            raise BadInput(f"{name} holds task id {twice!r} twice")

    def __len__(self) -> int:
        """Number of tasks."""
        return len(self._tasks)

    @overload
    def __getitem__(self, index: int) -> Task: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Task]: ...
    def __getitem__(self, index: int | slice) -> Task | Sequence[Task]:
        """A task by position."""
        return self._tasks[index]

    def __iter__(self) -> Iterator[Task]:
        """The tasks in order."""
        return iter(self._tasks)

    def __contains__(self, task: object) -> bool:
        """Whether this very task (all fields) is in the set."""
        return isinstance(task, Task) and self._by_id.get(task.id) == task

    @cached_property
    def types(self) -> tuple[str, ...]:
        """Task types that occur, in order of first appearance."""
        return tuple(dict.fromkeys(task.type for task in self._tasks))

    def by_id(self, task_id: str) -> Task:
        """The task with this id.

        Raises:
            UnknownName: It is not in this set (it may be of another split: that is an error too).
        """
        try:
            return self._by_id[task_id]
        except (KeyError, TypeError):
            raise UnknownName(f"{self.name} has no task {task_id!r}") from None

    def of_types(self, types: Iterable[str] | None) -> TaskSet:
        """The tasks of the given types (None: all of them).

        Raises:
            UnknownName: A type does not occur here; the message lists those that do.
            BadInput: `types` is no list of names.
        """
        if types is None:
            return self
        if not isinstance(types, Iterable):
            there = ", ".join(self.types)
            raise BadInput(f"task types are a list of names, got {shown(types)}; {self.name} has {there}")
        wanted = (types,) if isinstance(types, str) else tuple(types)
        for name in wanted:
            if name not in self.types:
                raise UnknownName(f"{self.name} has no task type {name!r}; it has {', '.join(self.types)}")
        if not wanted:
            raise NoTasks(f"{self.name}: an empty list of task types selects nothing; use None for all types")
        return TaskSet((t for t in self._tasks if t.type in wanted), self.name)

    def sample(self, count: int, seed: int) -> list[Task]:
        """`count` distinct tasks, spread evenly over the task types, the same for equal seeds.

        Raises:
            BadInput: `count` is below 1 or above the size of the set.
        """
        if (count := whole("the number of tasks to draw", count, 1)) > len(self):
            raise BadInput(f"cannot draw {count} distinct tasks from {self.name}, which holds {len(self)}")
        order = TaskStream(self, seed).take(len(self))
        queues = {name: [t for t in order if t.type == name] for name in self.types}
        picked: list[Task] = []
        while len(picked) < count:
            for queue in queues.values():
                if queue and len(picked) < count:
                    picked.append(queue.pop(0))
        return picked


class TaskStream:
    """One shared, seeded, shuffled cursor over a `TaskSet`: no task twice before the set is used up.

    (The public ICT code lets each worker walk a cursor of its own, and repeats 4 of 15 "unseen" games at batch
    size 3; notes on that repository, defect 1.)

    Args:
        tasks: The set to walk.
        seed: Decides the order; >= 0.
        when_exhausted: ``"error"`` raises `TasksExhausted` where fewer tasks are left than asked for;
            ``"wrap"`` starts a second, newly shuffled pass and counts it in `epoch`.
    """

    def __init__(self, tasks: TaskSet, seed: int, when_exhausted: Exhaustion = "error") -> None:
        if when_exhausted not in ("error", "wrap"):
            raise BadInput(f"when_exhausted is 'error' or 'wrap', got {when_exhausted!r}")
        if not isinstance(tasks, TaskSet):
            raise BadInput(f"a TaskStream walks a TaskSet, got {shown(tasks)}; write TaskStream(TaskSet(tasks), seed)")
        self.tasks = tasks
        self.seed = check_seed(seed)
        self.when_exhausted = when_exhausted
        self.epoch = 0
        self._held_back: set[str] = set()
        self._queue = self._shuffled()

    def _shuffled(self) -> list[Task]:
        order = [task for task in self.tasks if task.id not in self._held_back]
        rng(self.seed, "task-stream", self.epoch).shuffle(order)
        order.reverse()  # taken from the end
        return order

    def __len__(self) -> int:
        """Tasks left before the current pass is used up."""
        return len(self._queue)

    def hold_back(self, ids: Iterable[str]) -> None:
        """Takes tasks out of the stream for good, e.g. those that the caller plays himself."""
        self._held_back.update(ids)
        self._queue = [task for task in self._queue if task.id not in self._held_back]

    def take(self, count: int) -> list[Task]:
        """The next `count` tasks, all distinct.

        Raises:
            BadInput: `count` is below 1.
            TasksExhausted: Fewer are left (or the whole set is smaller than `count`); nothing is consumed.
        """
        count = whole("the number of tasks of a batch", count, 1)
        if count <= len(self._queue):
            return [self._queue.pop() for _ in range(count)]
        size = len(self.tasks) - len(self._held_back & {task.id for task in self.tasks})
        if self.when_exhausted == "error":
            raise TasksExhausted(
                f"{self.tasks.name}: {count} unseen tasks wanted, {len(self._queue)} left of {size}; use fewer or "
                "smaller batches, or when_exhausted='wrap'"
            )
        if count > size:
            raise TasksExhausted(f"{self.tasks.name} holds {size} tasks, too few for a batch of {count} distinct ones")
        batch = self._queue[::-1]
        self.epoch += 1
        here = {task.id for task in batch}
        fresh = self._shuffled()
        taken = [task for task in fresh[::-1] if task.id not in here][: count - len(batch)]
        gone = {task.id for task in taken}
        self._queue = [task for task in fresh if task.id not in gone]
        return batch + taken

    def put_back(self, tasks: Sequence[Task]) -> None:
        """Undoes the last `take`: these tasks come next again, in the same order."""
        self._queue += list(tasks)[::-1]

    def state(self) -> dict[str, Any]:
        """The cursor as JSON; `restore` continues from it."""
        return {
            "seed": self.seed,
            "epoch": self.epoch,
            "left": [task.id for task in self._queue],
            "held_back": sorted(self._held_back),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continues where `state` was taken.

        Raises:
            BadInput: The state belongs to another seed.
            UnknownName: It names tasks that this set lacks.
        """
        if state["seed"] != self.seed:
            raise BadInput(f"the saved cursor has seed {state['seed']}, this stream {self.seed}")
        self._queue = [self.tasks.by_id(task_id) for task_id in state["left"]]
        self._held_back = set(state["held_back"])
        self.epoch = int(state["epoch"])
