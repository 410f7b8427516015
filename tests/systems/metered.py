"""A transport that notes what goes through it, and what the service bills for it."""

from __future__ import annotations

from typing import Any

from keyplan.client.connection import Connection
from keyplan.client.requests import Transport
from keyplan.engine.faults.injector import READS, WRITES


class Metered:
    """A transport over another one."""

    def __init__(self, inner: Transport) -> None:
        self.inner = inner
        self.sent: list[str] = []
        self.requests: list[dict[str, Any]] = []
        self.read = self.write = 0.0

    def call(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        """Pass a request on, and ask what it costs."""
        self.sent.append(operation)
        self.requests.append(request)
        if operation not in READS | WRITES:
            return self.inner.call(operation, request)
        answer = self.inner.call(operation, {**request, "ReturnConsumedCapacity": "TOTAL"})
        told = answer.get("ConsumedCapacity", [])
        units = sum(one["CapacityUnits"] for one in (told if isinstance(told, list) else [told]))
        if operation in READS:
            self.read += units
        else:
            self.write += units
        return answer

    def close(self) -> None:
        """Close what is below."""
        self.inner.close()

    @property
    def units(self) -> float:
        """Read and write units together."""
        return self.read + self.write

    def reset(self) -> None:
        """Begin to count anew."""
        self.sent.clear()
        self.requests.clear()
        self.read = self.write = 0.0


def metered(below: Connection) -> tuple[Connection, Metered]:
    """A connection like another one, and what goes through it."""
    meter = Metered(below.transport)
    return Connection(meter, below.context), meter
