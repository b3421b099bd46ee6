# seed: 3
# actions: ["go"]
# expect_total: 1.0 after 1 steps
from __future__ import annotations
from typing import (Any, Callable, Dict, Final, Generic, Iterator, List, Literal, NamedTuple, Optional, Protocol, Tuple, TypedDict, TypeVar, Union, cast, overload, runtime_checkable, Annotated, TYPE_CHECKING, Self, assert_never, NewType, get_type_hints)
if TYPE_CHECKING:
    from collections.abc import Sequence
T = TypeVar("T", bound="Comparable")
UserId = NewType("UserId", int)
Cmd = Literal["go", "stop"]
class Info(TypedDict, total=False):
    turn: int
class Pt(NamedTuple):
    x: int
    y: int = 0
    def norm(self) -> int: return abs(self.x) + abs(self.y)
@runtime_checkable
class HasName(Protocol):
    name: str
class Box(Generic[T]):
    def __init__(self, v: T) -> None: self.v: Final[T] = v
    def get(self) -> T: return self.v
class Named:
    name = "n"
class Env:
    MAX: Final = 3
    def reset(self, *, seed: Optional[int] = None, options: dict[str, Any] | None = None) -> tuple[str, Info]:
        return "x", Info(turn=0)
    def step(self, action: Cmd) -> Tuple[str, float, bool, bool, Info]:
        b = Box[int](4)
        match Pt(1, 2):
            case Pt(x=1, y=yy): r = yy
            case _: r = None
        shown = f"{Pt(3)} {Pt(1,2).norm()} {isinstance(Named(), HasName)} {b.get()} {r} {UserId(4)} {Pt(1)._replace(y=5)} {Pt._fields}"
        expected = "Pt(x=3, y=0) 3 True 4 2 4 Pt(x=1, y=5) ('x', 'y')"
        return shown, float(shown == expected), True, False, {"turn": 1}
