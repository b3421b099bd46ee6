"""Containers and iterators: ``collections``, ``itertools``, ``heapq``, ``queue``, ``copy``, ``weakref`` and others."""

from __future__ import annotations

import array as real_array
import collections
import copy
import heapq
import queue
from collections.abc import Iterable
from typing import Any, Generic, NoReturn, TypeVar

from metagym.sandbox.facades.facade import Table
from metagym.sandbox.facades.records import namedtuple

T = TypeVar("T")

_PLAIN = "a container in C or Python that runs the methods of what it holds and nothing else"
_ABSTRACT = "abstract classes for isinstance and as bases"

COLLECTIONS = (
    Table("collections")
    .real(_PLAIN, "ChainMap Counter OrderedDict UserDict UserList defaultdict deque")
    .ours("the names are checked before the library builds a class from them", namedtuple=namedtuple)
    .refuse("its format method follows attributes; subclass str or keep the text in a field", "UserString")
)

COLLECTIONS_ABC = (
    Table("collections.abc")
    .real(
        _ABSTRACT,
        "Callable Collection Container Generator Hashable ItemsView Iterable Iterator KeysView Mapping MappingView "
        "MutableMapping MutableSequence MutableSet Reversible Sequence Set Sized ValuesView",
    )
    .real(_ABSTRACT, "ByteString Buffer", newer=True)
    .real(_ABSTRACT, "AsyncGenerator AsyncIterable AsyncIterator Awaitable Coroutine")
)

ITERTOOLS = (
    Table("itertools")
    .real(
        "iterators over the given data; endless ones are stopped by the limit on time",
        "accumulate chain combinations combinations_with_replacement compress count cycle dropwhile filterfalse "
        "groupby islice pairwise permutations product repeat starmap takewhile tee zip_longest",
    )
    .real("iterators over the given data", "batched", newer=True)
)

HEAPQ = Table("heapq").real(
    "orders a list by comparing its items", "heapify heappop heappush heappushpop heapreplace merge nlargest nsmallest"
)

BISECT = Table("bisect").real(
    "searches a sorted list by comparing its items", "bisect bisect_left bisect_right insort insort_left insort_right"
)


def _replace() -> dict[str, Any]:
    real = getattr(copy, "replace", None)
    if real is None:
        return {}

    def replace(obj: Any, /, **changes: Any) -> Any:
        """``copy.replace``; the fields of a namespace could else get names that the interpreter looks for."""
        if any(name.startswith("__") for name in changes):
            raise TypeError("copy.replace changes fields without leading double underscores")
        return real(obj, **changes)

    return {"replace": replace}


COPY = (
    Table("copy")
    .real(
        "copies fields and items; the hooks it looks for have dunder names, and no program can put one on an object "
        "other than by a method that the language layer lets it define",
        "copy deepcopy Error error",
    )
    .ours("calls the constructor with changed fields, under names that the source could write", **_replace())
)

GRAPHLIB = Table("graphlib").real("orders a graph of given nodes", "CycleError TopologicalSorter")

WEAKREF = (
    Table("weakref")
    .real("references to objects that the program has", "ReferenceType WeakKeyDictionary WeakSet ref")
    .real("references to objects that the program has", "WeakMethod WeakValueDictionary getweakrefcount getweakrefs")
    .refuse("it runs at the end of the process; use a context manager", "finalize")
    .refuse("it stands in for an object past the guards; use weakref.ref", "proxy ProxyType CallableProxyType")
    .refuse("use weakref.ref", "ProxyTypes")
)


class Queue(Generic[T]):
    """``queue.Queue`` for one thread: where the real one would wait, it raises `queue.Empty` or `queue.Full` at once.

    Args:
        maxsize: Most items; 0 for any number.
    """

    def __init__(self, maxsize: int = 0) -> None:
        self.maxsize = maxsize
        self.unfinished_tasks = 0
        self.queue: Any = self._container()

    def _container(self) -> Any:
        return collections.deque()

    def _put(self, item: T) -> None:
        self.queue.append(item)

    def _get(self) -> T:
        return self.queue.popleft()

    def qsize(self) -> int:
        """How many items it holds."""
        return len(self.queue)

    def empty(self) -> bool:
        """Whether it holds none."""
        return not self.queue

    def full(self) -> bool:
        """Whether it holds `maxsize` items."""
        return 0 < self.maxsize <= len(self.queue)

    def put(self, item: T, block: bool = True, timeout: float | None = None) -> None:
        """Adds an item.

        Raises:
            queue.Full: There is no room; nobody else could make some.
        """
        if self.full():
            raise queue.Full
        self._put(item)
        self.unfinished_tasks += 1

    def get(self, block: bool = True, timeout: float | None = None) -> T:
        """Takes the next item.

        Raises:
            queue.Empty: There is none; nobody else could add one.
        """
        if not self.queue:
            raise queue.Empty
        return self._get()

    def put_nowait(self, item: T) -> None:
        """The same as `put`."""
        self.put(item)

    def get_nowait(self) -> T:
        """The same as `get`."""
        return self.get()

    def task_done(self) -> None:
        """Marks one item as dealt with.

        Raises:
            ValueError: There was none left.
        """
        if self.unfinished_tasks <= 0:
            raise ValueError("task_done() called too many times")
        self.unfinished_tasks -= 1

    def join(self) -> None:
        """Does nothing: there is nobody to wait for."""


class LifoQueue(Queue[T]):
    """``queue.LifoQueue`` for one thread (see `Queue`)."""

    def _container(self) -> Any:
        return []

    def _get(self) -> T:
        return self.queue.pop()


class PriorityQueue(LifoQueue[T]):
    """``queue.PriorityQueue`` for one thread (see `Queue`)."""

    def _put(self, item: T) -> None:
        heapq.heappush(self.queue, item)

    def _get(self) -> T:
        return heapq.heappop(self.queue)


class SimpleQueue(Queue[T]):
    """``queue.SimpleQueue`` for one thread (see `Queue`)."""


QUEUE = (
    Table("queue")
    .ours(
        "for one thread: they raise where the real ones would wait for ever",
        Queue=Queue,
        LifoQueue=LifoQueue,
        PriorityQueue=PriorityQueue,
        SimpleQueue=SimpleQueue,
    )
    .real("exception classes", "Empty Full")
    .refuse("there are no threads", "ShutDown")
)


class array(real_array.array):  # noqa: N801  (the name of the real class)
    """``array.array`` without files and addresses."""

    __slots__ = ()

    def _refused(self, *_: Any) -> NoReturn:
        raise TypeError("an array has no files and no address here")

    tofile = fromfile = buffer_info = _refused


ARRAY = (
    Table("array")
    .ours("numbers in a row; without files and addresses", array=array, ArrayType=array)
    .real("constants", "typecodes")
)

TABLES: Iterable[Table] = (
    COLLECTIONS, COLLECTIONS_ABC, ITERTOOLS, HEAPQ, BISECT, COPY, GRAPHLIB, WEAKREF, QUEUE, ARRAY,
)  # fmt: skip
