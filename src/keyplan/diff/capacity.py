"""How long a backfill takes at the capacity that the declared load leaves, and what its units cost."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from keyplan.cost.estimate import Estimate
from keyplan.cost.prices import PriceBook
from keyplan.design.schema import Schema
from keyplan.design.workload import Provisioned


def seconds_of(
    written: float, indexes: Mapping[str, float], schema: Schema, month: Estimate, before: Schema | None = None
) -> float | None:
    """How long write units of a table and its indexes take: the longest of them; None where nothing is left.

    Local indexes take the table's capacity. `before`: the table as it was, where that had more.
    """
    of_table, of_indexes = written, {}
    for name, units in indexes.items():
        index = schema.index(name)
        if index is not None and index.kind == "LSI":
            of_table += units
        else:
            of_indexes[name] = units
    return longest(
        _time(units, _spare(schema, month, holder, before)) for holder, units in ((None, of_table), *of_indexes.items())
    )


def _time(units: float, left: float) -> float | None:
    """How long so many units take of what is left a second; None where nothing is."""
    if not units:
        return 0.0
    return units / left if left > 0 else None


def longest(times: Iterable[float | None]) -> float | None:
    """The longest of several times; None where one of them has no end."""
    told = list(times)
    ended = [time for time in told if time is not None]
    return max(ended) if len(ended) == len(told) else None


def _spare(schema: Schema, month: Estimate, index: str | None, before: Schema | None) -> float:
    """Write units a second that the declared load leaves of a table's or an index's capacity, on average.

    On demand: of what a table serves at once; more once the service has grown it. Capacity is raised before a
    backfill and lowered after it.
    """
    name = schema.name if index is None else f"{schema.name}/{index}"
    load = sum(part.write for table in month.tables for part in table.parts if part.name == name)
    has = _write_capacity(schema, index)
    if before is not None and before.provisioned and schema.provisioned:
        has = max(has, _write_capacity(before, index))
    return has - load


def _write_capacity(schema: Schema, index: str | None) -> float:
    declared = None if index is None else schema.index(index)
    bought = (declared and declared.billing) or schema.billing
    return bought.write if isinstance(bought, Provisioned) else bought.served[1]


def price_of(written: float, read: float, schema: Schema, book: PriceBook) -> float:
    """Dollars of units; those of capacity that is bought by the hour cost nothing more."""
    if schema.provisioned:
        return 0.0
    return book.on_demand(read, written, schema.table_class)
