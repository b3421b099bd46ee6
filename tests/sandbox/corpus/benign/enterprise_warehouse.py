# seed: 5
# actions: ["RECEIVE SKU-1 10", "SHIP SKU-1 4", "SHIP SKU-9 1", "AUDIT", "RECEIVE SKU-2 3", "SHIP SKU-2 3", "CLOSE"]
# expect_total: 2.76 after 7 steps
"""
Warehouse Management Environment
================================

Author:  Platform Simulation Team
Version: 2.4.1
"""
from abc import ABC, abstractmethod
from enum import Enum, IntEnum, unique
from typing import ClassVar, Dict, Generic, Iterable, List, Optional, Type, TypeVar, Union

T = TypeVar("T")
K = TypeVar("K", bound="str")


@unique
class CommandType(Enum):
    RECEIVE = "RECEIVE"
    SHIP = "SHIP"
    AUDIT = "AUDIT"
    CLOSE = "CLOSE"


class ResultCode(IntEnum):
    OK = 0
    OUT_OF_STOCK = 10
    UNKNOWN_COMMAND = 20

    def is_error(self) -> bool:
        return self >= ResultCode.OUT_OF_STOCK


class WarehouseException(Exception):
    """Base class of all warehouse errors."""

    def __init__(self, message: str, code: ResultCode) -> None:
        super().__init__(message)
        self._code = code

    @property
    def code(self) -> ResultCode:
        return self._code


class OutOfStockException(WarehouseException):
    def __init__(self, sku: str) -> None:
        super().__init__("Insufficient stock for {sku}".format(sku=sku), ResultCode.OUT_OF_STOCK)


class Repository(Generic[T]):
    """A generic in-memory repository."""

    def __init__(self) -> None:
        self.__items: Dict[str, T] = {}

    def find_by_id(self, key: str) -> Optional[T]:
        return self.__items.get(key)

    def save(self, key: str, value: T) -> None:
        self.__items[key] = value

    def find_all(self) -> Iterable[T]:
        return self.__items.values()

    def __len__(self) -> int:
        return len(self.__items)


class StockItem:
    def __init__(self, sku: str, quantity: int = 0) -> None:
        self.__sku = sku
        self.__quantity = quantity

    def get_sku(self) -> str:
        return self.__sku

    @property
    def quantity(self) -> int:
        return self.__quantity

    @quantity.setter
    def quantity(self, value: int) -> None:
        if value < 0:
            raise OutOfStockException(self.__sku)
        self.__quantity = value


class AbstractCommand(ABC):
    COMMAND_TYPE: ClassVar[CommandType]

    def __init__(self, repository: "Repository[StockItem]", arguments: List[str]) -> None:
        self._repository = repository
        self._arguments = arguments

    @abstractmethod
    def execute(self) -> float:
        """Run the command and return the reward."""
        raise NotImplementedError

    def _resolve_item(self) -> StockItem:
        sku = self._arguments[0]
        item = self._repository.find_by_id(sku)
        if item is None:
            item = StockItem(sku)
            self._repository.save(sku, item)
        return item


class ReceiveCommand(AbstractCommand):
    COMMAND_TYPE = CommandType.RECEIVE

    def execute(self) -> float:
        self._resolve_item().quantity += int(self._arguments[1])
        return 0.1


class ShipCommand(AbstractCommand):
    COMMAND_TYPE = CommandType.SHIP

    def execute(self) -> float:
        amount = int(self._arguments[1])
        self._resolve_item().quantity -= amount
        return 0.5 * amount


class AuditCommand(AbstractCommand):
    COMMAND_TYPE = CommandType.AUDIT

    def execute(self) -> float:
        return 0.01 * sum(i.quantity for i in self._repository.find_all())


class CommandFactory:
    """Creates commands from raw text."""

    _registry: Dict[CommandType, Type[AbstractCommand]] = {
        c.COMMAND_TYPE: c for c in (ReceiveCommand, ShipCommand, AuditCommand)
    }

    @classmethod
    def create(cls, repo: "Repository[StockItem]", line: str) -> Optional[AbstractCommand]:
        name, *args = line.split(" ")
        try:
            command_type = CommandType(name)
        except ValueError as error:
            raise WarehouseException("Unknown command " + name, ResultCode.UNKNOWN_COMMAND) from error
        clazz = cls._registry.get(command_type)
        return None if clazz is None else clazz(repo, args)


class WarehouseEnvironment(object):
    def reset(self, seed: Union[int, None] = None) -> Dict[str, int]:
        self.__repository: Repository[StockItem] = Repository()
        self.__closed = False
        return self.__get_observation()

    def __get_observation(self) -> Dict[str, int]:
        return {item.get_sku(): item.quantity for item in self.__repository.find_all()}

    def step(self, action: str):
        reward: float = 0.0
        result: ResultCode = ResultCode.OK
        try:
            command = CommandFactory.create(self.__repository, action)
            if command is None:
                self.__closed = True
            else:
                reward = command.execute()
        except WarehouseException as exception:
            result = exception.code
            reward = -1.0 if result.is_error() else 0.0
        finally:
            observation = self.__get_observation()
        return observation, reward, self.__closed, {"code": int(result), "name": result.name}
