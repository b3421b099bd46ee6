# seed: 88
# actions: [{"name": "list_waiting", "arguments": {}}, {"name": "examine", "arguments": {"patient_id": 1}}, {"name": "treat", "arguments": {"patient_id": 1}}, {"name": "examine", "arguments": {"patient_id": 77}}, {"name": "treat", "arguments": {"patient_id": 2}}, {"name": "wait", "arguments": {"minutes": 10}}, {"name": "treat", "arguments": {}}, {"name": "discharge", "arguments": {"patient_id": 3}}, {"name": "treat", "arguments": {"patient_id": 4}}, {"name": "treat", "arguments": {"patient_id": 3}}, {"name": "list_waiting", "arguments": {}}, {"name": "treat", "arguments": {"patient_id": 5}}, {"name": "treat", "arguments": {"patient_id": 6}}]
# expect_total: 6.881807081807082 after 13 steps
"""Emergency department triage with function-calling tools derived from type hints."""
import inspect
import json
import random
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, Dict, List, Optional, get_type_hints

JSON_TYPES = {int: "integer", str: "string", float: "number", bool: "boolean"}


def tool(fn):
    fn.is_tool = True
    return fn


class Severity(IntEnum):
    MINOR = 1
    MODERATE = 2
    SERIOUS = 3
    CRITICAL = 4


@dataclass
class Patient:
    patient_id: int
    complaint: str
    severity: Severity
    waiting: int = 0
    examined: bool = False
    outcome: Optional[str] = None

    def deteriorates_after(self) -> int:
        return {Severity.MINOR: 240, Severity.MODERATE: 90, Severity.SERIOUS: 45, Severity.CRITICAL: 20}[self.severity]


class ToolEnv(ABC):
    """Base class that turns methods decorated with @tool into callable tools."""

    def tools(self) -> List[Dict[str, Any]]:
        specs = []
        for name, method in inspect.getmembers(self, predicate=inspect.ismethod):
            if not getattr(method, "is_tool", False):
                continue
            hints = get_type_hints(method)
            params = inspect.signature(method).parameters
            specs.append(
                {
                    "name": name,
                    "description": inspect.getdoc(method),
                    "parameters": {
                        "type": "object",
                        "properties": {p: {"type": JSON_TYPES[hints[p]]} for p in params},
                        "required": [p for p, v in params.items() if v.default is inspect.Parameter.empty],
                    },
                }
            )
        return specs

    def call(self, action: Dict[str, Any]) -> Dict[str, Any]:
        spec = next((s for s in self.tools() if s["name"] == action.get("name")), None)
        if spec is None:
            return {"error": f"unknown tool {action.get('name')}"}
        args = action.get("arguments", {})
        missing = [r for r in spec["parameters"]["required"] if r not in args]
        if missing:
            return {"error": f"missing arguments: {missing}"}
        return getattr(self, spec["name"])(**args)

    @abstractmethod
    def reset(self, seed: Optional[int] = None): ...

    @abstractmethod
    def step(self, action): ...


@dataclass
class TriageEnv(ToolEnv):
    n_patients: int = 6
    patients: Dict[int, Patient] = field(default_factory=dict)
    clock: int = 0
    reward_buffer: float = 0.0

    COMPLAINTS = {1: "sprained ankle", 2: "high fever", 3: "deep cut", 4: "chest pain"}

    def reset(self, seed: Optional[int] = None):
        rng = random.Random(seed)
        self.clock, self.reward_buffer = 0, 0.0
        self.patients = {}
        for pid in range(1, self.n_patients + 1):
            severity = rng.choices(list(Severity), weights=[4, 3, 2, 1])[0]
            self.patients[pid] = Patient(pid, self.COMPLAINTS[severity] if rng.random() < 0.8 else "feels unwell", severity)
        return json.dumps({"task": "Treat everyone before they deteriorate.", "tools": self.tools()}), {}

    def _advance(self, minutes: int) -> None:
        self.clock += minutes
        for p in self.patients.values():
            if p.outcome is None:
                p.waiting += minutes
                if p.waiting > p.deteriorates_after():
                    p.outcome = "deteriorated"
                    self.reward_buffer -= float(p.severity)

    def _get(self, patient_id: int) -> Patient:
        patient = self.patients.get(patient_id)
        if patient is None or patient.outcome is not None:
            raise LookupError(f"no waiting patient {patient_id}")
        return patient

    @tool
    def list_waiting(self) -> Dict[str, Any]:
        """List waiting patients with their complaints."""
        return {"waiting": [{"id": p.patient_id, "complaint": p.complaint, "minutes": p.waiting} for p in self.patients.values() if p.outcome is None]}

    @tool
    def examine(self, patient_id: int) -> Dict[str, Any]:
        """Measure vital signs (5 minutes)."""
        p = self._get(patient_id)
        p.examined = True
        self._advance(5)
        return {"patient": patient_id, "severity": p.severity.name}

    @tool
    def treat(self, patient_id: int) -> Dict[str, Any]:
        """Treat a patient (15 minutes)."""
        p = self._get(patient_id)
        p.outcome = "treated"
        self.reward_buffer += p.severity / (1 + p.waiting / 60)
        self._advance(15)
        return {"treated": patient_id}

    @tool
    def wait(self, minutes: int = 5) -> Dict[str, Any]:
        """Do nothing."""
        self._advance(minutes)
        return {"clock": self.clock}

    def step(self, action):
        self.reward_buffer = 0.0
        try:
            result = self.call(action)
        except LookupError as exc:
            result = {"error": str(exc)}
        if "error" in result:
            self.reward_buffer -= 0.2
        done = all(p.outcome for p in self.patients.values())
        return json.dumps(result), self.reward_buffer, done, self.clock > 300, {"clock": self.clock}
