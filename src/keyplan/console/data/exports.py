"""Export of query and scan results as JSON, DynamoDB JSON lines or CSV, streamed page by page."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from keyplan.console.data.documents import cell, key_text, plain_text, plain_value, typed_text
from keyplan.console.data.facts import describe
from keyplan.console.data.rows import columns_of
from keyplan.console.data.search import MOST, Search, SearchError
from keyplan.console.frame import Frame
from keyplan.console.source import Source

_TYPES: Final = {
    "json": "application/json",
    "jsonl": "application/x-ndjson",
    "csv": "text/csv; charset=utf-8",
}
REST: Final = "(other attributes)"
"""The CSV column for all attributes that do not occur on the first page of results."""
FORMULA: Final = ("=", "+", "-", "@", "\t", "\r", "|")
"""The first characters of strings that a spreadsheet would evaluate as a formula."""
_NUMBER: Final = re.compile(r"-?[0-9][0-9.]*([eE][+-]?[0-9]+)?")


def routes(console: Frame) -> list[Route]:
    """Return the routes for exporting items."""

    def export(request: Request) -> Response:
        facts = describe(console.source, request.path_params["table"])
        search = Search.of(request.query_params)
        kind = request.query_params.get("format", "json")
        if kind not in _TYPES:
            return console.refused(request, 400, "Bad Request", f"unknown format {kind!r}: json, jsonl or csv")
        is_whole = request.query_params.get("pages") == "all"
        try:
            operation, call = search.request(facts)
        except SearchError as error:
            return console.refused(request, 400, "Bad Request", error.message)
        if is_whole:
            call["Limit"] = MOST
        pages = _pages(console.source, operation, call, is_whole=is_whole)
        first = next(pages)  # a refused request becomes an error page, not a broken file
        keys = facts.keys_of(search.index) or facts.keys
        names = list(dict.fromkeys([*keys.names, *facts.keys.names]))
        items = _chain(first, pages)
        text = csv_of(items, first, names, search.columns) if kind == "csv" else json_of(items, kind)
        name = re.sub(r"[^A-Za-z0-9._-]", "_", facts.name)
        return StreamingResponse(
            _encoded(text),
            media_type=_TYPES[kind],
            headers={"Content-Disposition": f'attachment; filename="{name}.{kind}"'},
        )

    return [console.route("/data/tables/{table}/export", export)]


def _pages(
    source: Source, operation: str, call: dict[str, Any], *, is_whole: bool
) -> Iterator[list[Mapping[str, Any]]]:
    while True:
        response = source.call(operation, call)
        yield response.get("Items", [])
        last = response.get("LastEvaluatedKey")
        if not last or not is_whole:
            return
        call = {**call, "ExclusiveStartKey": last}


def _chain(first: list[Mapping[str, Any]], pages: Iterator[list[Mapping[str, Any]]]) -> Iterator[Mapping[str, Any]]:
    yield from first
    for page in pages:
        yield from page


def _encoded(parts: Iterator[str]) -> Iterator[bytes]:
    """Combine small strings into larger chunks, encoded as UTF-8."""
    waiting: list[str] = []
    size = 0
    for part in parts:
        waiting.append(part)
        size += len(part)
        if size > 64 * 1024:
            yield "".join(waiting).encode()
            waiting, size = [], 0
    yield "".join(waiting).encode()


def json_of(items: Iterator[Mapping[str, Any]], kind: str) -> Iterator[str]:
    """Yield items as text.

    If `kind` is "jsonl", each item is a line of DynamoDB JSON, as in exports to S3. Otherwise, the text is one array of
    plain JSON.
    """
    if kind == "jsonl":
        for item in items:
            yield f'{{"Item":{typed_text(item, None)}}}\n'
        return
    yield "["
    for place, item in enumerate(items):
        yield (",\n " if place else "\n ") + plain_text(item, None)
    yield "\n]\n"


def csv_of(
    items: Iterator[Mapping[str, Any]], first: Sequence[Mapping[str, Any]], keys: list[str], chosen: list[str]
) -> Iterator[str]:
    """Yield CSV rows with a column for each attribute on the first page, and one for all other attributes.

    `first` contains the items on the first page. If `chosen` is not empty, only these attributes and those in `keys`
    have columns. A string that a spreadsheet would evaluate as a formula is prefixed with an apostrophe.
    """
    columns = columns_of(first, keys, chosen)
    names = columns.shown if chosen else [*keys, *(name for name in columns.offered if name not in keys)]
    buffer = io.StringIO()
    writer = csv.writer(buffer)

    def drained() -> str:
        text = buffer.getvalue()
        buffer.seek(0)
        buffer.truncate()
        return text

    writer.writerow([_safe(name) for name in names] + ([] if chosen else [REST]))
    for item in items:
        row = [_csv_text(item[name]) if name in item else "" for name in names]
        rest = {name: value for name, value in item.items() if name not in names}
        writer.writerow(row + ([] if chosen else [plain_text(rest, None) if rest else ""]))
        yield drained()
    yield drained()


def _csv_text(value: Mapping[str, Any]) -> str:
    kind = next(iter(value))
    if kind in {"S", "B", "N"}:
        text = key_text(value)
    elif kind in {"BOOL", "NULL"}:
        text = cell(value).text
    else:
        text = plain_value(value)
    return text if kind == "N" and _NUMBER.fullmatch(text) else _safe(text)


def _safe(text: str) -> str:
    return "'" + text if text.startswith(FORMULA) else text
