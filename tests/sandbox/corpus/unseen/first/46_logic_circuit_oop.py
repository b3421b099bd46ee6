# seed: 63
# actions: ["spec", "add AND g1 a b", "add XOR g2 g1 c", "probe g2 1 1 0", "add FOO g3 a b", "output g2", "verify", "remove g2", "add OR g2 g1 c", "output g2", "verify", "add NOT g3 g2", "output g3", "verify"]
# expect_total: 0.395 after 14 steps
from abc import ABCMeta, abstractmethod
from itertools import product
from operator import and_, or_, xor
import random
from typing import Any, Dict, List, Tuple


class GateMeta(ABCMeta):
    """Metaclass that registers every concrete gate by its upper-case name."""

    gates: Dict[str, type] = {}

    def __new__(mcls, name, bases, namespace, **kwargs):
        cls = super().__new__(mcls, name, bases, namespace, **kwargs)
        if not cls.__abstractmethods__ and name.endswith("Gate"):
            mcls.gates[name[:-4].upper()] = cls
        return cls


class Gate(metaclass=GateMeta):
    arity = 2

    def __init__(self, *inputs: str) -> None:
        if len(inputs) != self.arity:
            raise ValueError(f"{type(self).__name__} needs {self.arity} inputs, got {len(inputs)}")
        self.inputs = inputs

    @abstractmethod
    def compute(self, *values: int) -> int:
        """Compute the output."""


class AndGate(Gate):
    def compute(self, *values):
        return and_(*values)


class OrGate(Gate):
    def compute(self, *values):
        return or_(*values)


class XorGate(Gate):
    def compute(self, *values):
        return xor(*values)


class NotGate(Gate):
    arity = 1

    def compute(self, *values):
        return 1 - values[0]


class Circuit:
    def __init__(self, variables: Tuple[str, ...]) -> None:
        self.variables = variables
        self._gates: Dict[str, Gate] = {}
        self.output = variables[0]

    def __contains__(self, name: str) -> bool:
        return name in self._gates or name in self.variables

    def __setitem__(self, name: str, gate: Gate) -> None:
        for i in gate.inputs:
            if i not in self:
                raise KeyError(i)
        self._gates[name] = gate

    def __delitem__(self, name: str) -> None:
        if any(name in g.inputs for g in self._gates.values()):
            raise ValueError("gate is in use")
        del self._gates[name]

    def __len__(self) -> int:
        return len(self._gates)

    def __call__(self, *bits: int, node: str = None) -> int:
        env: Dict[str, int] = dict(zip(self.variables, bits))

        def visit(name: str) -> int:
            if name not in env:
                gate = self._gates[name]
                env[name] = gate.compute(*(visit(i) for i in gate.inputs))
            return env[name]

        return visit(node or self.output)


class CircuitDesignEnvironment:
    VARIABLES = ("a", "b", "c")

    def __init__(self, budget: int = 20) -> None:
        self.budget = budget

    def reset(self, seed: int = None) -> str:
        rng = random.Random(seed)
        names = sorted(GateMeta.gates)
        hidden = Circuit(self.VARIABLES)
        pool: List[str] = list(self.VARIABLES)
        for k in range(rng.randint(2, 4)):
            cls = GateMeta.gates[rng.choice(names)]
            hidden[f"h{k}"] = cls(*rng.sample(pool, cls.arity))
            pool.append(f"h{k}")
        hidden.output = pool[-1]
        self.table = {bits: hidden(*bits) for bits in product((0, 1), repeat=3)}
        self.optimum = len(hidden)
        self.circuit = Circuit(self.VARIABLES)
        self.steps, self.best = 0, 0.0
        return self._spec()

    def _spec(self) -> str:
        rows = [" ".join(map(str, bits)) + f" | {out}" for bits, out in self.table.items()]
        return "a b c | out\n" + "\n".join(rows) + f"\nGates: {', '.join(sorted(GateMeta.gates))}"

    def step(self, action: str) -> Tuple[str, float, bool, Dict[str, Any]]:
        self.steps += 1
        verb, *args = action.split()
        done, reward = self.steps >= self.budget, -0.01
        try:
            if verb == "spec":
                obs = self._spec()
            elif verb == "add":
                kind, name, *inputs = args
                self.circuit[name] = GateMeta.gates[kind.upper()](*inputs)
                obs = f"{name} = {kind}({', '.join(inputs)})"
            elif verb == "remove":
                del self.circuit[args[0]]
                obs = f"removed {args[0]}"
            elif verb == "output":
                if args[0] not in self.circuit:
                    raise KeyError(args[0])
                self.circuit.output, obs = args[0], f"output is {args[0]}"
            elif verb == "probe":
                obs = str(self.circuit(*map(int, args[1:4]), node=args[0]))
            elif verb == "verify":
                hits = sum(self.circuit(*bits) == out for bits, out in self.table.items())
                score = hits / len(self.table)
                reward += max(0.0, score - self.best)
                self.best = max(self.best, score)
                obs = f"{hits}/{len(self.table)} rows match"
                if hits == len(self.table):
                    reward, done = reward + self.optimum / max(1, len(self.circuit)), True
            else:
                raise ValueError(f"unknown verb {verb}")
        except (KeyError, ValueError, IndexError, TypeError) as error:
            obs, reward = f"{error.__class__.__name__}: {error}", -0.1
        return obs, reward, done, {"gates": len(self.circuit)}
