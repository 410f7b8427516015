"""Pages of Query and Scan: rows of one span, filtered, projected and counted as the service does.

Limit counts rows before the filter; a page evaluates 1 MB and ends with the row that crosses it; what
a page costs is the sum of its rows' sizes, rounded once. Stored bodies go into the answer as they are
unless a projection cuts them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from keyplan import limits
from keyplan.engine.catalog import Index, Table
from keyplan.engine.ranges import Span
from keyplan.engine.receipts import Receipt
from keyplan.store.rows import Row, View
from keyplan.values import encoding, units
from keyplan.values.encoding import Form
from keyplan.values.types import Item

if TYPE_CHECKING:
    from keyplan.engine.engine import Engine

SMALL_LIMIT = 64  # up to here rows are fetched in one go: at most 25 MB, mostly far less


@dataclass(slots=True)
class Reading:
    """What to read and what to make of it."""

    table: Table
    index: Index | None
    span: Span
    reverse: bool = False
    limit: int | None = None
    consistent: bool = False
    test: Callable[[Item], bool] | None = None
    project: Callable[[Item], Item] | None = None
    count_only: bool = False
    fetch: bool = False
    """Whether a local index must fetch the whole item from the table."""


@dataclass(slots=True)
class Page:
    """What was read."""

    scanned: int = 0
    evaluated_bytes: int = 0
    fetched_units: float = 0.0
    last: bytes | None = None
    """Body of the row at which the page stopped; None at the end of the span."""
    bodies: list[bytes] = field(default_factory=list)
    items: list[Item] = field(default_factory=list)
    count: int = 0


def read(engine: Engine, reading: Reading) -> Page:
    """Read one page."""
    if reading.fetch:
        with engine.moment() as view:
            return _page(reading, view)
    return _page(reading, engine.view())


def _page(reading: Reading, view: View) -> Page:
    tree = reading.table.tree if reading.index is None else reading.index.tree
    limit = reading.limit
    rows: Iterable[Row]
    if limit is not None and limit <= SMALL_LIMIT:
        rows = view.rows(tree, *reading.span, reverse=reading.reverse, limit=limit)
    else:
        rows = view.span(tree, *reading.span, reverse=reading.reverse, limit=-1 if limit is None else limit)
    page = Page()
    if reading.test is None and reading.project is None and not reading.fetch:
        _take_all(page, rows, limit, count_only=reading.count_only)
    else:
        _take_some(page, rows, limit, _taker(reading, page, view))
    return page


def _take_all(page: Page, rows: Iterable[Row], limit: int | None, *, count_only: bool) -> None:
    bodies = page.bodies
    total = scanned = 0
    body = b""
    for _, size, row_body in rows:
        if total >= limits.PAGE_BYTES:
            page.last = body
            break
        body = row_body
        total += size
        scanned += 1
        bodies.append(body)
    if scanned == limit:
        page.last = body
    page.scanned = page.count = scanned
    page.evaluated_bytes = total
    if count_only:
        bodies.clear()


def _take_some(page: Page, rows: Iterable[Row], limit: int | None, take: Callable[[bytes], None]) -> None:
    total = scanned = 0
    body = b""
    for _, size, row_body in rows:
        if total >= limits.PAGE_BYTES:
            page.last = body
            break
        body = row_body
        total += size
        scanned += 1
        take(body)
    if scanned == limit:
        page.last = body
    page.scanned = scanned
    page.evaluated_bytes = total


def _taker(reading: Reading, page: Page, view: View) -> Callable[[bytes], None]:
    """What is done with each row: fetch, filter, project, keep."""
    test, project, count_only = reading.test, reading.project, reading.count_only
    table = reading.table

    def take(body: bytes) -> None:
        item = encoding.decode(body)
        if reading.fetch:
            row = view.point(table.tree, table.key.of_item(item))
            if row is None:
                return
            size, body = row
            page.fetched_units += units.read_units(size, consistent=reading.consistent)
            item = encoding.decode(body)
        if test is not None and not test(item):
            return
        page.count += 1
        if count_only:
            return
        if project is None:
            page.bodies.append(body)
        else:
            page.items.append(project(item))

    return take


def answer(reading: Reading, page: Page, form: Form, request: dict[str, Any]) -> dict[str, Any]:
    """The answer of Query and Scan."""
    detail = request.get("ReturnConsumedCapacity", "NONE")
    told: dict[str, Any] = {"Count": page.count, "ScannedCount": page.scanned}
    if not reading.count_only:
        told["Items"] = form.page(page.bodies) if reading.project is None else form.items(page.items)
    if page.last is not None:
        told["LastEvaluatedKey"] = form.item(_last_key(reading, encoding.decode(page.last)))
    if detail != "NONE":
        told["ConsumedCapacity"] = receipt(reading, page).render(detail, request["TableName"])
    return told


def _last_key(reading: Reading, item: Item) -> Item:
    names = reading.table.key.names
    if reading.index is not None:
        names = (*names, *(name for name in reading.index.key.schema.names if name not in names))
    return {name: item[name] for name in names}


def receipt(reading: Reading, page: Page) -> Receipt:
    """What the page consumed."""
    made = Receipt(reading.table)
    read_units = units.read_units(page.evaluated_bytes, consistent=reading.consistent)
    if reading.index is None:
        made.table_units = read_units
    else:
        made.add_index(reading.index, read_units)
        made.table_units = page.fetched_units
    return made
