"""Calls made into programs: what cannot work is refused, the right program is chosen, errors are put in our words."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any

from keyplan.client import pages, reads, tables, transactions, writes
from keyplan.client.errors import KeyValueError
from keyplan.client.failures import refused
from keyplan.client.pages import PageRequest, RangeReader
from keyplan.client.requests import Context, Program
from keyplan.client.tables import OfPlan
from keyplan.design.declaring.patterns import Call, WriteCall
from keyplan.design.declaring.table_faults import table_faults
from keyplan.design.declaring.transactions import Transaction
from keyplan.design.fields.annotations import UnstorableTypeError
from keyplan.design.keys.encodings import MissingField
from keyplan.design.planning.indexes import all_faults
from keyplan.design.planning.plan import Plan
from keyplan.design.requests.writer import Arguments
from keyplan.design.requests.writes import NOW
from keyplan.errors import KeyplanError, ServiceError

EVERYTHING = PageRequest()


@lru_cache(maxsize=4096)
def range_reader(plan: Plan) -> RangeReader:
    """What is worked out once for a plan that reads ranges."""
    return RangeReader(plan)


def run(context: Context, call: Call[Any], wanted: PageRequest = EVERYTHING) -> Program[Any]:
    """Run one call. Raises TypeError for what is none."""
    try:
        plan = call.pattern.plan
    except AttributeError:
        raise TypeError(f"{call!r} is no call of a pattern: run pattern(arguments), not the pattern itself") from None
    if plan not in context.ready:
        yield from _prepare(context, plan)
    return (yield from _guarded(context, [plan], lambda: _program(context, call, plan, wanted)))


def _program(context: Context, call: Call[Any], plan: Plan, wanted: PageRequest) -> Program[Any]:
    operation = plan.operation
    arguments = {**call.arguments, NOW: context.now_s()}
    if operation == "GetItem":
        return reads.get(context, plan, arguments)
    if operation in {"Query", "Scan"}:
        if plan.select == "count":
            return pages.count(context, range_reader(plan), arguments)
        return pages.page(context, range_reader(plan), arguments, wanted)
    if operation == "BatchGetItem":
        return reads.batch_get(context, plan, arguments)
    if operation == "BatchWriteItem":
        return writes.batch_write(context, plan, arguments)
    if operation == "TransactWriteItems":
        return transactions.transact(context, list(flat([call])), None)
    assert isinstance(call, WriteCall), "what is left writes one item"
    return writes.write(context, call, arguments)


def check_pages(call: Call[Any]) -> None:
    """Refuse to go through the pages of what gives none."""
    plan = call.pattern.plan
    if plan.operation not in {"Query", "Scan"} or plan.select == "count":
        raise TypeError(f"{call!r} gives no pages: only queries and scans do; use run for it")


def flat(calls: Sequence[Call[Any]]) -> Iterator[WriteCall[Any]]:
    """The writes of several calls; those of transactions one by one. Raises TypeError for a call that only reads."""
    for call in calls:
        if isinstance(call.pattern, Transaction):
            yield from call.pattern.calls(call.arguments)
        elif isinstance(call, WriteCall):
            yield call
        else:
            raise TypeError(f"{call!r} is no write of one item, and cannot be part of a transaction")


def transact(context: Context, calls: Sequence[Call[Any]], token: str | None) -> Program[None]:
    """Apply the writes of several calls together or not at all."""
    if not calls:
        return
    plans = [call.pattern.plan for call in calls]
    for plan in plans:
        if plan not in context.ready:
            yield from _prepare(context, plan)
    yield from _guarded(context, plans, lambda: transactions.transact(context, list(flat(calls)), token), "transact")


def transact_get(context: Context, calls: Sequence[Call[Any]]) -> Program[tuple[Any, ...]]:
    """Read several items as they are at one moment."""
    return _get_all(context, calls, "transact_get", reads.transact_get)


def batch_get(context: Context, calls: Sequence[Call[Any]]) -> Program[tuple[Any, ...]]:
    """Read several items, each at a moment of its own."""
    return _get_all(context, calls, "batch_get", reads.get_several)


def _get_all(
    context: Context,
    calls: Sequence[Call[Any]],
    name: str,
    read: Callable[[Context, Sequence[tuple[Plan, Arguments]]], Program[tuple[Any, ...]]],
) -> Program[tuple[Any, ...]]:
    gets = []
    for call in calls:
        plan = call.pattern.plan
        if plan.operation != "GetItem":
            raise TypeError(f"{call!r} is not a read of one item")
        if plan not in context.ready:
            yield from _prepare(context, plan)
        gets.append((plan, {**call.arguments, NOW: context.now_s()}))
    if not gets:
        return ()
    plans = [plan for plan, _ in gets]
    found: tuple[Any, ...] = yield from _guarded(context, plans, lambda: read(context, gets), name)
    return found


def _guarded(
    context: Context, plans: Sequence[Plan], begin: Callable[[], Program[Any]], together: str = ""
) -> Program[Any]:
    """A program, begun with its failures put in our words; `together` is what joins calls that no pattern declares."""
    plan = plans[0]
    try:
        program = begin()
        if context.meter is not None:
            names = ", ".join(dict.fromkeys(one.pattern for one in plans))
            program = context.meter.measured(f"{together}({names})" if together else names, program)
        return (yield from program)
    except ServiceError as error:
        raise refused(plan, context.table(plan.schema), error) from error
    except KeyplanError:
        raise
    except (ValueError, MissingField, UnstorableTypeError) as error:
        raise KeyValueError(f"{plan.pattern}: {error}", entity=plan.entity.name) from error


def _prepare(context: Context, plan: Plan) -> Program[None]:
    """Refuse what cannot work, and where tables are made at their first use, make them."""
    for fault in all_faults(plan):
        raise fault.error()
    for part in plan.steps or (plan,):
        if part.schema not in context.tables:
            table = OfPlan(part.schema, part.siblings or part.entities)
            for fault in table_faults(table):
                raise fault.error()
            if context.creates_tables:
                yield from tables.create_tables(context, [table], wait=True)
    context.ready.add(plan)
