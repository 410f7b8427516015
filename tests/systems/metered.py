"""Transport that records its requests, and the units that the service bills."""

from __future__ import annotations

from typing import Any

from keyplan.client.connection import Connection
from keyplan.client.requests import Transport
from keyplan.engine.faults.injector import READS, WRITES


class Metered:
    """Transport that wraps another one."""

    def __init__(self, inner: Transport) -> None:
        self.inner = inner
        self.operations: list[str] = []
        self.requests: list[dict[str, Any]] = []
        self.read = self.write = 0.0

    def call(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        """Pass a request on, and request its consumed capacity."""
        self.operations.append(operation)
        self.requests.append(request)
        if operation not in READS | WRITES:
            return self.inner.call(operation, request)
        response = self.inner.call(operation, {**request, "ReturnConsumedCapacity": "TOTAL"})
        result = response.get("ConsumedCapacity", [])
        units = sum(capacity["CapacityUnits"] for capacity in (result if isinstance(result, list) else [result]))
        if operation in READS:
            self.read += units
        else:
            self.write += units
        return response

    def close(self) -> None:
        """Close the wrapped transport."""
        self.inner.close()

    @property
    def units(self) -> float:
        """Sum of read and write units."""
        return self.read + self.write

    def reset(self) -> None:
        """Reset the counts."""
        self.operations.clear()
        self.requests.clear()
        self.read = self.write = 0.0


def metered(unmetered: Connection) -> tuple[Connection, Metered]:
    """Return a connection with the settings of another, and its meter."""
    meter = Metered(unmetered.transport)
    return Connection(meter, unmetered.context), meter
