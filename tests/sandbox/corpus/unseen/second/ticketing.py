# seed: 6
# actions: ["list", "view 1", "route 1 billing", "route 2 technical", "close 2", "route 3 account", "route 9 account", "close 3", "route 4 billing", "done"]
# expect_total: -1.6 after 10 steps
from __future__ import annotations

import enum
import random
import re
import textwrap
from collections import Counter
from dataclasses import dataclass, field
from typing import ClassVar, Final, Iterator


class Queue(str, enum.Enum):
    BILLING = "billing"
    TECHNICAL = "technical"
    ACCOUNT = "account"

    def __str__(self) -> str:
        return self.value


class Status(enum.IntEnum):
    OPEN = 0
    ROUTED = 1
    CLOSED = 2


TEMPLATES: Final = {
    Queue.BILLING: ["I was charged twice for order {n}.", "My invoice #{n} shows the wrong amount."],
    Queue.TECHNICAL: ["The app crashes with error {n} when I open it.", "Upload stops at {n} percent."],
    Queue.ACCOUNT: ["I can't log in after {n} attempts.", "Please change the email on profile {n}."],
}


@dataclass(slots=True)
class Ticket:
    number: int
    body: str
    truth: Queue
    status: Status = Status.OPEN
    queue: Queue | None = None
    log: list[str] = field(default_factory=list)

    def headline(self) -> str:
        return f"#{self.number} [{self.status.name}] {textwrap.shorten(self.body, width=30, placeholder='...')}"


class TicketRoutingEnv:
    COMMAND: ClassVar[re.Pattern[str]] = re.compile(
        r"^(?P<verb>list|view|route|close|done)(?:\s+(?P<id>\d+))?(?:\s+(?P<queue>\w+))?$", re.IGNORECASE
    )

    def __init__(self, num_tickets: int = 4, max_steps: int = 16) -> None:
        self.num_tickets = num_tickets
        self.max_steps = max_steps

    def _generate(self, rng: random.Random) -> Iterator[Ticket]:
        for number in range(1, self.num_tickets + 1):
            queue = rng.choice(list(Queue))
            body = rng.choice(TEMPLATES[queue]).format(n=rng.randint(10, 9999))
            yield Ticket(number=number, body=body, truth=queue)

    def reset(self, seed: int | None = None) -> tuple[str, dict[str, int]]:
        self.tickets = {t.number: t for t in self._generate(random.Random(seed))}
        self.steps = 0
        return self._listing(), {"tickets": len(self.tickets)}

    def _listing(self) -> str:
        counts = Counter(t.status.name for t in self.tickets.values())
        summary = ", ".join(f"{name.lower()}: {count}" for name, count in sorted(counts.items()))
        return "\n".join([*(t.headline() for t in self.tickets.values()), f"({summary})"])

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, object]]:
        self.steps += 1
        truncated = self.steps >= self.max_steps
        match = self.COMMAND.match(action.strip())
        if match is None:
            return "Syntax error.", -0.1, False, truncated, {}
        verb, ident, queue_name = match.group("verb").lower(), match["id"], match["queue"]
        if verb == "list":
            return self._listing(), 0.0, False, truncated, {}
        if verb == "done":
            unresolved = sum(t.status is not Status.CLOSED for t in self.tickets.values())
            return f"Shift over, {unresolved} unresolved.", -0.25 * unresolved, True, False, {"unresolved": unresolved}
        ticket = self.tickets.get(int(ident)) if ident else None
        if ticket is None:
            return "No such ticket.", -0.1, False, truncated, {}
        match verb:
            case "view":
                return f"{ticket.headline()}\n{ticket.body}\nlog: {ticket.log}", 0.0, False, truncated, {}
            case "route":
                try:
                    ticket.queue = Queue((queue_name or "").lower())
                except ValueError as err:
                    return str(err), -0.1, False, truncated, {}
                ticket.status = Status.ROUTED
                ticket.log.append(f"routed to {ticket.queue}")
                return ticket.headline(), 0.5 if ticket.queue is ticket.truth else -0.5, False, truncated, {}
            case "close" if ticket.status == Status.ROUTED:
                ticket.status = Status.CLOSED
                good = ticket.queue == ticket.truth
                return "Closed.", 1.0 if good else -1.0, False, truncated, {"good": good}
            case _:
                return "Route the ticket before closing it.", -0.1, False, truncated, {}
