# seed: 27
# actions: ["show", "probe 0 0 1", "probe 1 1 0", "probe 1 0 1", "probe 2 0 0", "replace g9 AND", "replace g2 OR", "replace g2 NOR", "replace g1 NAND"]
# expect_total: 1.69 after 9 steps
from __future__ import annotations

import random
from dataclasses import dataclass, replace
from enum import Enum
from itertools import product
from operator import and_, or_, xor
from typing import Callable, Mapping, Sequence


class GateType(Enum):
    AND = "AND"
    OR = "OR"
    XOR = "XOR"
    NAND = "NAND"
    NOR = "NOR"

    @property
    def fn(self) -> Callable[[int, int], int]:
        return _GATE_FUNCTIONS[self]


_GATE_FUNCTIONS: Mapping[GateType, Callable[[int, int], int]] = {
    GateType.AND: and_,
    GateType.OR: or_,
    GateType.XOR: xor,
    GateType.NAND: lambda a, b: 1 - (a & b),
    GateType.NOR: lambda a, b: 1 - (a | b),
}


@dataclass(frozen=True)
class Gate:
    name: str
    type: GateType
    inputs: tuple[str, str]


class Circuit:
    def __init__(self, inputs: Sequence[str], gates: Sequence[Gate]) -> None:
        self.inputs = list(inputs)
        self.gates = list(gates)

    def evaluate(self, bits: Sequence[int]) -> dict[str, int]:
        wires = dict(zip(self.inputs, bits, strict=True))
        for gate in self.gates:
            a, b = (wires[i] for i in gate.inputs)
            wires[gate.name] = gate.type.fn(a, b)
        return wires

    def output(self, bits: Sequence[int]) -> int:
        return self.evaluate(bits)[self.gates[-1].name]

    def truth_table(self) -> tuple[int, ...]:
        return tuple(self.output(bits) for bits in product((0, 1), repeat=len(self.inputs)))

    def with_gate(self, index: int, new_type: GateType) -> "Circuit":
        gates = self.gates.copy()
        gates[index] = replace(gates[index], type=new_type)
        return Circuit(self.inputs, gates)


class CircuitDebugEnv:
    """One gate of the built circuit differs from the schematic. Find and repair it."""

    INPUTS = ("a", "b", "c")

    def __init__(self, n_gates: int = 4, max_steps: int = 14) -> None:
        self.n_gates = n_gates
        self.max_steps = max_steps

    def reset(self, seed: int | None = None) -> str:
        rng = random.Random(seed)
        while True:
            wires = list(self.INPUTS)
            gates = []
            for i in range(1, self.n_gates + 1):
                pair = rng.sample(wires[-3:], 2)
                gates.append(Gate(f"g{i}", rng.choice(list(GateType)), (pair[0], pair[1])))
                wires.append(f"g{i}")
            self.schematic = Circuit(self.INPUTS, gates)
            index = rng.randrange(self.n_gates)
            fault = rng.choice([t for t in GateType if t is not gates[index].type])
            self.built = self.schematic.with_gate(index, fault)
            if self.built.truth_table() != self.schematic.truth_table():
                break
        self.steps = 0
        return self.describe()

    def describe(self) -> str:
        lines = ["Schematic:"] + [f"  {g.name} = {g.type.value}({', '.join(g.inputs)})" for g in self.schematic.gates]
        return "\n".join(lines) + "\nCommands: show, probe a b c, replace GATE TYPE"

    def agreement(self) -> float:
        pairs = list(zip(self.built.truth_table(), self.schematic.truth_table()))
        return sum(x == y for x, y in pairs) / len(pairs)

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, float]]:
        self.steps += 1
        truncated = self.steps >= self.max_steps
        try:
            match action.split():
                case ["show"]:
                    return self.describe(), 0.0, False, truncated, {}
                case ["probe", *bits] if len(bits) == 3 and set(bits) <= {"0", "1"}:
                    wires = self.built.evaluate([int(b) for b in bits])
                    text = " ".join(f"{k}={v}" for k, v in wires.items())
                    return text, -0.02, False, truncated, {}
                case ["replace", name, kind]:
                    index = [g.name for g in self.built.gates].index(name)
                    before = self.agreement()
                    self.built = self.built.with_gate(index, GateType[kind.upper()])
                    after = self.agreement()
                    solved = after == 1.0
                    return f"Agreement {after:.0%}", after - before - 0.1 + 2.0 * solved, solved, truncated, {"agreement": after}
                case _:
                    raise ValueError("bad command")
        except (ValueError, KeyError) as error:
            return f"Error: {error}", -0.1, False, truncated, {}
