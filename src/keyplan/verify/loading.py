"""Tables created in an embedded engine, and filled with generated items."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from keyplan import limits
from keyplan.client.tables import OfPlan, create_request
from keyplan.design.design import Design
from keyplan.design.entities import Entity, EntitySpec
from keyplan.design.faults import table_faults
from keyplan.design.places import Fault
from keyplan.design.requests_items import Item, maker_of
from keyplan.design.schema import Schema
from keyplan.design.tables import Table
from keyplan.design.template_errors import MissingField, TemplateError
from keyplan.errors import ServiceError
from keyplan.verify.errors import SampleError
from keyplan.verify.generating import Maker
from keyplan.verify.recording import Recorder
from keyplan.verify.report import Problem, TableResult
from keyplan.verify.shelves import Shelf, canonical
from keyplan.verify.stock import Stock, sentinels_of

Progress = Callable[[str, int, int], None]
"""Told what is loaded, how many items are, and how many will be."""


@dataclass(frozen=True)
class Loaded:
    """What there is to run patterns on."""

    schemas: Mapping[str, Schema]
    """By name, the tables that were created."""
    results: tuple[TableResult, ...]


def load(
    design: Design, makers: Mapping[EntitySpec, Maker], recorder: Recorder, stock: Stock, progress: Progress
) -> Loaded:
    """Create what can be created, and fill it."""
    schemas: dict[str, Schema] = {}
    results = []
    wanted = sum(maker.amount.count for maker in makers.values())
    done = 0
    for table in design.tables:
        problems = _create(table, recorder)
        loaded: list[tuple[str, int, int | None]] = []
        if problems is None:
            schemas[table.name] = table.schema
            # Of a table that can be created all the same.
            problems = [Problem("wrong", fault_text(fault)) for fault in table_faults(table)]
            for spec in table.entities:
                try:
                    for count in _fill(spec, makers[spec], recorder, stock):
                        progress(spec.name, done + count, wanted)
                except (SampleError, ServiceError, TemplateError, MissingField) as error:
                    problems.append(Problem("failed", f"{spec.name} could not be loaded in full: {error}"))
                done += len(stock.all(spec))
                loaded.append((spec.name, len(stock.all(spec)), makers[spec].amount.declared))
        results.append(TableResult(table.name, tuple(loaded), tuple(problems)))
    return Loaded(schemas, tuple(results))


def _create(table: Table, recorder: Recorder) -> list[Problem] | None:
    """Create a table; None where that worked, else why it did not."""
    plain = replace(table.schema, stream=None)  # who reads changes does not matter here
    try:
        recorder.engine.call("CreateTable", create_request(OfPlan(plain, table.entities), table.name))
    except ServiceError as error:
        faults = table_faults(table)
        return [Problem("not run", fault_text(fault)) for fault in faults] or [Problem("not run", error.message)]
    recorder.shelves[table.name] = Shelf(table.schema)
    return None


def fault_text(fault: Fault) -> str:
    """A fault in one line."""
    return f"{fault.code}: {fault.problem}; fix: {fault.fix}"


def _fill(spec: EntitySpec, maker: Maker, recorder: Recorder, stock: Stock) -> Iterator[int]:
    """Write the items of an entity; how many are written, now and then."""
    waiting: list[Item] = []
    try:
        for number, entity in enumerate(maker.all(), 1):
            if stock.is_there(spec, entity):
                continue  # another entity has the same key: one of both can be stored
            stock.add(spec, entity)
            waiting += [maker_of(spec).item(entity), *sentinels_of(spec, entity)]
            if len(waiting) >= limits.BATCH_WRITE_ITEMS:
                _write(spec.schema.name, waiting, recorder)
                waiting = []
                yield number
    finally:
        _write(spec.schema.name, waiting, recorder)  # also where no more can be made up


def store(spec: EntitySpec, entity: Entity, recorder: Recorder, stock: Stock) -> None:
    """Write one entity more, or in another's place, with what keeps its unique values."""
    there = stock.at(spec, entity)
    stock.add(spec, entity)
    if there is not None:
        _delete(spec.schema.name, sentinels_of(spec, there), recorder)
    _write(spec.schema.name, [maker_of(spec).item(entity), *sentinels_of(spec, entity)], recorder)


def _delete(table: str, items: list[Item], recorder: Recorder) -> None:
    """Delete items that are there."""
    shelf = recorder.shelves[table]
    for item in items:
        key = {name: item[name] for name in shelf.schema.key}
        recorder.engine.call("DeleteItem", {"TableName": table, "Key": key})
        shelf.put(item, None)


def _write(table: str, items: list[Item], recorder: Recorder) -> None:
    """Write items."""
    shelf = recorder.shelves[table]
    for start in range(0, len(items), limits.BATCH_WRITE_ITEMS):
        puts = [{"PutRequest": {"Item": item}} for item in items[start : start + limits.BATCH_WRITE_ITEMS]]
        recorder.engine.call("BatchWriteItem", {"RequestItems": {table: puts}})
    for item in items:
        shelf.put(item, canonical(item))
