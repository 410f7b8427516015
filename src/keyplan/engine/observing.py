"""Observation of an engine: reports of data operations, with their duration and their consumed capacity or error."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any, NamedTuple, TypeAlias

from keyplan.dynamodb.values.encoding import Form
from keyplan.engine.database import Command
from keyplan.engine.items.transactions import AddedDetail
from keyplan.errors import ServiceError

Request: TypeAlias = dict[str, Any]
Answer: TypeAlias = Callable[[Command, Request, Form], Request]

DATA_OPERATIONS = frozenset(
    {
        "BatchExecuteStatement",
        "BatchGetItem",
        "BatchWriteItem",
        "DeleteItem",
        "ExecuteStatement",
        "ExecuteTransaction",
        "GetItem",
        "PutItem",
        "Query",
        "Scan",
        "TransactGetItems",
        "TransactWriteItems",
        "UpdateItem",
    }
)
"""Operations that read or write items. Their responses report the consumed capacity."""
_BURST_S = 1.0
_DETAIL = "ReturnConsumedCapacity"
_RECEIPTS = "ConsumedCapacity"
_ADDED_DETAIL = AddedDetail("INDEXES")


class Observation(NamedTuple):
    """A report of one data operation, or of a sampled operation that represents several."""

    operation: str
    request: Request
    """The request as the client sent it."""
    receipts: Any
    """The ConsumedCapacity of the response, including the capacity consumed on each index, or None if the operation
    failed.
    """
    error: ServiceError | None
    elapsed_s: float
    """Duration of the operation in seconds."""
    weight: int
    """The number of operations that this observation represents. It is more than 1 if only a sample is reported."""


Observer: TypeAlias = Callable[[Observation], None]
"""A function that is called after each observed operation."""


def with_observer(answer: Answer, observer: Observer, most_per_s: float) -> Answer:
    """Return a function with the same results as `answer` that also reports data operations to the observer.

    If the rate of operations exceeds `most_per_s` per second for more than about one second, only a sample is reported.
    The weight of each report is one plus the number of unreported operations before it. The only additional cost of an
    unreported operation is one reading of the clock.
    """
    interval_s = 1 / most_per_s
    burst_s = _BURST_S
    due_at = perf_counter() - burst_s
    unreported = 0

    def run(command: Command, request: Request, form: Form) -> Request:
        nonlocal due_at, unreported
        operation = command.operation
        if operation not in DATA_OPERATIONS:
            return answer(command, request, form)
        unreported += 1  # no lock: it would cost more than an occasional lost count
        start = perf_counter()
        if start < due_at:
            return answer(command, request, form)
        due_at = max(due_at, start - burst_s) + interval_s
        weight, unreported = unreported, 0
        requested_detail = request.get(_DETAIL)
        # A token is bound to the client's parameters, so the added parameter must not be part of them.
        detail: str = _ADDED_DETAIL if "ClientRequestToken" in request else "INDEXES"
        # An invalid value is kept, so that the engine rejects it.
        has_detail = requested_detail not in (None, "NONE", "TOTAL") or (
            requested_detail == "TOTAL" and detail is _ADDED_DETAIL
        )
        detailed_request = request if has_detail else {**request, _DETAIL: detail}
        try:
            response = answer(command, detailed_request, form)
        except ServiceError as error:
            observer(Observation(operation, request, None, error, perf_counter() - start, weight))
            raise
        receipts = response.get(_RECEIPTS)
        observer(Observation(operation, request, receipts, None, perf_counter() - start, weight))
        if not has_detail and receipts is not None:
            if requested_detail == "TOTAL":
                response[_RECEIPTS] = _totals(receipts)
            else:
                del response[_RECEIPTS]
        return response

    return run


def _totals(receipts: Any) -> Any:
    if isinstance(receipts, list):
        return [_totals(receipt) for receipt in receipts]
    return {name: value for name, value in receipts.items() if name == "TableName" or name.endswith("CapacityUnits")}
