"""The requests of a design's patterns as they go out, run on generated data by `keyplan verify`'s machinery."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from keyplan.client.connection import Connection
from keyplan.client.requests import Context
from keyplan.design.declaring.design import Design
from keyplan.design.declaring.patterns import Call
from keyplan.design.schema import Schema
from keyplan.verify import run as verifying

SYSTEMS = ("ask_a_human", "forum", "thinking_trainer", "todo", "venue_booking")
AS_WRITTEN = tuple(sorted((Path(__file__).parents[2] / "examples" / "as_written").glob("*.py")))
ITEMS = 300
_NAMES = ("KeyConditionExpression", "ProjectionExpression", "ExpressionAttributeNames", "ExpressionAttributeValues")
_RECORDED = ("TableName", "IndexName", "Key", "Item", "RequestItems", "TransactItems", "Select", *_NAMES)


@dataclass(frozen=True)
class RecordedRequest:
    """A request, and the pattern that sent it."""

    pattern: str
    operation: str
    request: Mapping[str, Any]


@cache
def design_of(name: str) -> Design:
    """Return a system's design, or that of a file."""
    return Design.load(name if name.endswith(".py") else f"keyplan_systems.{name}.design")


def schemas_of(design: Design) -> dict[str, Schema]:
    """Every table that the design's patterns touch, by name."""
    plans = [step for pattern in design.patterns for step in pattern.plan.steps or (pattern.plan,)]
    return {plan.schema.name: plan.schema for plan in plans}


@cache
def requests_of(name: str) -> tuple[RecordedRequest, ...]:
    """Return the requests of every pattern that can run."""
    requests: list[RecordedRequest] = []

    class RecordingConnection(Connection):
        """A connection that notes what it sends for whom."""

        def __init__(self, transport: Any, context: Context) -> None:
            super().__init__(self, context)
            self.inner, self.pattern = transport, ""

        def call(self, operation: str, request: dict[str, Any]) -> Any:
            """Send a request."""
            values = {member: value for member, value in request.items() if member in _RECORDED}
            requests.append(RecordedRequest(self.pattern, operation, values))
            return self.inner.call(operation, request)

        def run(self, call: Call[Any], **options: Any) -> Any:
            """Run a call."""
            self.pattern = call.pattern.name
            return super().run(call, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(verifying, "Connection", RecordingConnection)
        verifying.verify(design_of(name), items=ITEMS)
    return tuple(requests)
