"""What calls use while a program runs, by pattern: requests, capacity units, throttles.

The units are the service's own receipts, which a metered connection asks for with every request. The service says
nothing of what a refused request has used, though a condition that is not met costs a write; nor do streams.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field, replace
from typing import TypeVar

from keyplan.client.sending import WRITES, is_throttled
from keyplan.client.steps import Program
from keyplan.cost.spent import READS, Spent, of_receipts
from keyplan.errors import ServiceError

R = TypeVar("R")
_MEASURED = READS | WRITES


@dataclass(frozen=True, slots=True)
class Usage:
    """What the calls of one pattern have used."""

    calls: int = 0
    requests: int = 0
    """How many were sent for them: pages, what is read before and after a write, repetitions."""
    throttled: int = 0
    """Of these, how many were refused for more than the table can take."""
    spent: Spent = field(default_factory=Spent)
    """Capacity units by table, and table/index."""

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.calls + other.calls,
            self.requests + other.requests,
            self.throttled + other.throttled,
            self.spent + other.spent,
        )

    @property
    def per_call(self) -> Spent:
        """Units of an average call."""
        return self.spent.divided_by(max(1, self.calls))


class Meter:
    """Counts what a connection's calls use, as in `connect("data.db", meter=meter)`. Connections may share one."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._used: dict[str, Usage] = {}

    def read(self) -> dict[str, Usage]:
        """By pattern, what was used since this meter was made, or last taken.

        What no pattern declares has names like `transact(take, give)` and `transact_get(task, user)`.
        """
        with self._lock:
            return dict(self._used)

    def take(self) -> dict[str, Usage]:
        """The same, and begin anew: for whoever reports it now and then."""
        with self._lock:
            used, self._used = self._used, {}
        return used

    def measured(self, name: str, program: Program[R]) -> Program[R]:
        """The program of a call of the pattern, with what it uses noted."""
        usage = Usage(calls=1)
        try:
            step = next(program)
            while True:
                if not isinstance(step, tuple):
                    step = program.send((yield step))
                    continue
                operation, request = step
                if operation in _MEASURED:
                    request = {**request, "ReturnConsumedCapacity": "INDEXES"}
                usage = replace(usage, requests=usage.requests + 1)
                try:
                    answer = yield operation, request
                except ServiceError as error:
                    usage = replace(usage, throttled=usage.throttled + is_throttled(error))
                    step = program.throw(error)
                else:
                    usage = replace(usage, spent=usage.spent + of_receipts(operation, answer))
                    step = program.send(answer)
        except StopIteration as done:
            result: R = done.value
            return result
        finally:
            program.close()
            with self._lock:
                self._used[name] = self._used.get(name, Usage()) + usage
