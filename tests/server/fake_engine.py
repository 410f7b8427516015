"""A stand-in for the engine: items in a dictionary, groups that can fail, recorded calls."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import orjson

from keyplan.errors import ConditionalCheckFailedError, ValidationError

OPERATIONS = frozenset(
    {
        "CreateTable",
        "DeleteItem",
        "GetItem",
        "GetRecords",
        "ListStreams",
        "ListTables",
        "PutItem",
        "Query",
        "Scan",
        "TagResource",
        "UpdateItem",
    }
)


class FakeEngine:
    """Engine of a few operations; `raises` maps an operation to the errors of its next calls."""

    operations = OPERATIONS
    region = "us-east-1"

    def __init__(self) -> None:
        self.items: dict[str, dict[str, Any]] = {}
        self.calls: list[str] = []
        self.groups: list[list[str]] = []
        self.raises: dict[str, Exception] = {}
        self.commit_fails: Exception | None = None
        self.begin_fails: Exception | None = None
        self.gate: threading.Event | None = None
        self._open: list[str] | None = None
        self.waits_for_disk = False

    @contextmanager
    def group(self) -> Iterator[None]:
        if self.begin_fails is not None:
            raise self.begin_fails
        saved = dict(self.items)
        self._open = []
        try:
            yield
        finally:
            self.groups.append(self._open)
            self._open = None
        if self.commit_fails is not None:
            self.items = saved
            raise self.commit_fails

    def call_wire(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        self.calls.append(operation)
        if self._open is not None:
            self._open.append(operation)
        if self.gate is not None:
            self.gate.wait()
        if operation in self.raises:
            raise self.raises[operation]
        if operation == "PutItem":
            return self._put(request)
        if operation == "GetItem":
            item = self.items.get(str(request.get("Key")))
            return {} if item is None else {"Item": orjson.Fragment(orjson.dumps(item))}
        if operation == "Scan":
            size = request.get("Size", 1)
            return {"Filler": "x" * (min(size, 10_000_000) if isinstance(size, int) else 1)}
        if operation == "Query":
            raise ValidationError("no such index")
        return {"TableNames": sorted(self.items)} if operation == "ListTables" else {}

    def _put(self, request: dict[str, Any]) -> dict[str, Any]:
        item = request.get("Item")
        if not isinstance(item, dict):
            raise ValidationError("an item is needed")
        key = {"p": item.get("p")}
        if request.get("ConditionExpression") and str(key) in self.items:
            raise ConditionalCheckFailedError("The conditional request failed", Item=key)
        self.items[str(key)] = item
        return {}
