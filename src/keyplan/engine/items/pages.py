"""Pages of Query and Scan: the rows in a range of keys, filtered, projected and counted as in DynamoDB.

Limit is the maximum number of rows to evaluate, including rows that the filter excludes. A page ends with the row at
which the total size of the evaluated rows reaches 1 MB. If a page ends because of Limit or its size, its response
contains the key of its last row, whether or not more rows follow. The consumed capacity of a page is computed from the
sum of the row sizes, rounded once. Stored bodies are returned unchanged unless a projection is applied. If the bytes of
a row show that the row does not match the filter, the row is counted but not decoded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from keyplan import limits
from keyplan.dynamodb.values import encoding, units
from keyplan.dynamodb.values.encoding import Form
from keyplan.dynamodb.values.types import Item
from keyplan.engine.items.ranges import Span
from keyplan.engine.items.receipts import Receipt
from keyplan.engine.store.rows import Row, StoreView
from keyplan.engine.tables.catalog import Index, Table

if TYPE_CHECKING:
    from keyplan.engine.database import Database

SMALL_LIMIT = 100  # pages with at most this Limit are fetched at once: up to 40 MB, usually far less


@dataclass(slots=True)
class PageRequest:
    """The range of rows to read, and how to filter and project the rows."""

    table: Table
    index: Index | None
    span: Span
    reverse: bool = False
    limit: int | None = None
    consistent: bool = False
    test: Callable[[Item], bool] | None = None
    traces: tuple[bytes, ...] = ()
    """Byte strings that occur in the stored body of every matching item. Bodies that do not contain all of these
    strings are not decoded.
    """
    project: Callable[[Item], Item] | None = None
    count_only: bool = False
    fetch: bool = False
    """Whether a query on a local index must fetch whole items from the table, because the index does not project all
    requested attributes.
    """


@dataclass(slots=True)
class ItemPage:
    """The items and totals of one page of a Query or Scan."""

    scanned: int = 0
    evaluated_bytes: int = 0
    fetched_units: float = 0.0
    last: bytes | None = None
    """The stored body of the page's last row if Limit or the maximum size ended the page, or None if the page ends at
    the end of the range.
    """
    bodies: list[bytes] = field(default_factory=list)
    """Stored bodies of the returned items. The list is empty if a projection is applied."""
    items: list[Item] = field(default_factory=list)
    """The returned items in decoded form. The list is empty if the items did not have to be decoded."""
    count: int = 0


def read(database: Database, page_request: PageRequest) -> ItemPage:
    """Read and return one page of a Query or Scan."""
    if page_request.fetch:
        with database.snapshot() as view:
            return _page(page_request, view)
    return _page(page_request, database.view())


def _page(page_request: PageRequest, view: StoreView) -> ItemPage:
    tree = page_request.table.tree if page_request.index is None else page_request.index.tree
    limit = page_request.limit
    traces = () if page_request.fetch else page_request.traces
    page = ItemPage()
    bodies: Iterable[bytes]
    if limit is not None and limit <= SMALL_LIMIT:
        row_list = view.rows(tree, *page_request.span, reverse=page_request.reverse, limit=limit)
        bodies = _evaluate_at_once(page, row_list, limit, traces)
    else:
        rows = view.span(tree, *page_request.span, reverse=page_request.reverse, limit=-1 if limit is None else limit)
        bodies = _evaluate(page, rows, limit, traces)
    if page_request.fetch:
        bodies = _fetch_items(page, bodies, page_request, view)
    if page_request.test is None and page_request.project is None and not page_request.fetch:
        _add_all(page, bodies, page_request)
    else:
        _add_matching(page, bodies, page_request)
    return page


def _evaluate_at_once(page: ItemPage, rows: list[Row], limit: int, traces: tuple[bytes, ...]) -> Iterable[bytes]:
    """Add the totals of all rows to the page, and return the bodies that contain all byte strings in `traces`.

    If all rows fit in the page, they are processed together, which is faster than one by one as in `_evaluate`.
    """
    total = sum([size for _, size, _ in rows])
    if total >= limits.PAGE_BYTES:
        return _evaluate(page, rows, limit, traces)
    bodies = [body for _, _, body in rows]
    if len(bodies) == limit:
        page.last = bodies[-1]
    page.scanned = len(bodies)
    page.evaluated_bytes = total
    for trace in traces:
        bodies = [body for body in bodies if body.rfind(trace) >= 0]
    return bodies


def _evaluate(page: ItemPage, rows: Iterable[Row], limit: int | None, traces: tuple[bytes, ...]) -> Iterator[bytes]:
    """Yield the bodies that contain all byte strings in `traces`, and add the totals of all rows to the page.

    Searching a body for bytes is much faster than decoding it. In bodies of up to a few kilobytes, searching backwards
    from the end is faster than searching from the start. A damaged body is detected when it is decoded.
    """
    total = scanned = 0
    body = b""
    for _, size, row_body in rows:
        if total >= limits.PAGE_BYTES:
            break
        body = row_body
        total += size
        scanned += 1
        for trace in traces:
            if body.rfind(trace) < 0:
                break
        else:
            yield body
    if scanned == limit or total >= limits.PAGE_BYTES:
        page.last = body
    page.scanned = scanned
    page.evaluated_bytes = total


def _fetch_items(
    page: ItemPage, entries: Iterable[bytes], page_request: PageRequest, view: StoreView
) -> Iterator[bytes]:
    """Yield the stored bodies of the table items that the given local index entries refer to."""
    table = page_request.table
    for entry in entries:
        row = view.point(table.tree, table.key.of_item(encoding.decode(entry)))
        if row is not None:
            size, body = row
            page.fetched_units += units.read_units(size, consistent=page_request.consistent)
            yield body


def _add_all(page: ItemPage, bodies: Iterable[bytes], page_request: PageRequest) -> None:
    returned_bodies = list(bodies)
    page.count = len(returned_bodies)
    if not page_request.count_only:
        page.bodies = returned_bodies


def _add_matching(page: ItemPage, bodies: Iterable[bytes], page_request: PageRequest) -> None:
    """Decode the given bodies, and count the items that match the filter. Project these items and add them to the page,
    unless only their number is requested.
    """
    test, project, count_only = page_request.test, page_request.project, page_request.count_only
    for body in bodies:
        item = encoding.decode(body)
        if test is not None and not test(item):
            continue
        page.count += 1
        if count_only:
            continue
        if project is None:
            page.bodies.append(body)
            page.items.append(item)
        else:
            page.items.append(project(item))


def answer(page_request: PageRequest, page: ItemPage, form: Form, request: dict[str, Any]) -> dict[str, Any]:
    """Build the response of a Query or Scan from a page."""
    detail = request.get("ReturnConsumedCapacity") or "NONE"
    response: dict[str, Any] = {"Count": page.count, "ScannedCount": page.scanned}
    if not page_request.count_only:
        response["Items"] = (
            form.page(page.bodies, page.items) if page_request.project is None else form.items(page.items)
        )
    if page.last is not None:
        response["LastEvaluatedKey"] = form.item(last_key(page_request, encoding.decode(page.last)))
    if detail != "NONE":
        response["ConsumedCapacity"] = receipt(page_request, page).render(detail, request["TableName"])
    return response


def last_key(page_request: PageRequest, item: Item) -> Item:
    """Return the LastEvaluatedKey for a page that ends with this item."""
    names = page_request.table.key.names
    if page_request.index is not None:
        names = (*names, *(name for name in page_request.index.key.schema.names if name not in names))
    return {name: item[name] for name in names}


def receipt(page_request: PageRequest, page: ItemPage) -> Receipt:
    """Return the capacity units that reading the page consumed."""
    receipt = Receipt()
    read_units = units.read_units(page.evaluated_bytes, consistent=page_request.consistent)
    if page_request.index is None:
        receipt.table_units = read_units
    else:
        receipt.add_index(page_request.index, read_units)
        receipt.table_units = page.fetched_units
    return receipt
