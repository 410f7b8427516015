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
from keyplan.console.data.search import MAX_LIMIT, Search, SearchError
from keyplan.console.frame import Frame
from keyplan.console.source import Source

_TYPES: Final = {
    "json": "application/json",
    "jsonl": "application/x-ndjson",
    "csv": "text/csv; charset=utf-8",
}
OTHER_ATTRIBUTES: Final = "(other attributes)"
"""The CSV column for all attributes that do not occur on the first page of results."""
FORMULA_STARTS: Final = ("=", "+", "-", "@", "\t", "\r", "|")
"""The first characters of strings that a spreadsheet would evaluate as a formula."""
_NUMBER: Final = re.compile(r"-?[0-9][0-9.]*([eE][+-]?[0-9]+)?")


def routes(console: Frame) -> list[Route]:
    """Return the routes for exporting items."""

    def export(request: Request) -> Response:
        facts = describe(console.source, request.path_params["table"])
        search = Search.from_query(request.query_params)
        export_format = request.query_params.get("format", "json")
        if export_format not in _TYPES:
            return console.error_page(
                request, 400, "Bad Request", f"unknown format {export_format!r}: expected json, jsonl or csv"
            )
        all_pages = request.query_params.get("pages") == "all"
        try:
            operation, call = search.request(facts)
        except SearchError as error:
            return console.error_page(request, 400, "Bad Request", error.message)
        if all_pages:
            call["Limit"] = MAX_LIMIT
        pages = _pages(console.source, operation, call, all_pages=all_pages)
        first_items = next(pages)  # a refused request becomes an error page, not a broken file
        keys = facts.keys_of(search.index) or facts.keys
        names = list(dict.fromkeys([*keys.names, *facts.keys.names]))
        items = _chain(first_items, pages)
        text = (
            csv_of(items, first_items, names, search.columns)
            if export_format == "csv"
            else json_of(items, export_format)
        )
        name = re.sub(r"[^A-Za-z0-9._-]", "_", facts.name)
        return StreamingResponse(
            _encode_chunks(text),
            media_type=_TYPES[export_format],
            headers={"Content-Disposition": f'attachment; filename="{name}.{export_format}"'},
        )

    return [console.route("/data/tables/{table}/export", export)]


def _pages(
    source: Source, operation: str, call: dict[str, Any], *, all_pages: bool
) -> Iterator[list[Mapping[str, Any]]]:
    while True:
        response = source.call(operation, call)
        yield response.get("Items", [])
        last = response.get("LastEvaluatedKey")
        if not last or not all_pages:
            return
        call = {**call, "ExclusiveStartKey": last}


def _chain(
    first_items: list[Mapping[str, Any]], pages: Iterator[list[Mapping[str, Any]]]
) -> Iterator[Mapping[str, Any]]:
    yield from first_items
    for page in pages:
        yield from page


def _encode_chunks(texts: Iterator[str]) -> Iterator[bytes]:
    """Combine small strings into larger chunks, encoded as UTF-8."""
    buffered: list[str] = []
    size = 0
    for text in texts:
        buffered.append(text)
        size += len(text)
        if size > 64 * 1024:
            yield "".join(buffered).encode()
            buffered, size = [], 0
    yield "".join(buffered).encode()


def json_of(items: Iterator[Mapping[str, Any]], export_format: str) -> Iterator[str]:
    """Yield items as text.

    If `export_format` is "jsonl", each item is a line of DynamoDB JSON, as in exports to S3. Otherwise, the text is a
    single array of items in plain JSON.
    """
    if export_format == "jsonl":
        for item in items:
            yield f'{{"Item":{typed_text(item, None)}}}\n'
        return
    yield "["
    for index, item in enumerate(items):
        yield (",\n " if index else "\n ") + plain_text(item, None)
    yield "\n]\n"


def csv_of(
    items: Iterator[Mapping[str, Any]],
    first_items: Sequence[Mapping[str, Any]],
    keys: list[str],
    chosen_columns: list[str],
) -> Iterator[str]:
    """Yield CSV rows with a column for each attribute on the first page, and one for all other attributes.

    `first_items` contains the items on the first page. If `chosen_columns` is not empty, only these attributes and
    those in `keys` have columns. A string that a spreadsheet would evaluate as a formula is prefixed with an
    apostrophe.
    """
    columns = columns_of(first_items, keys, chosen_columns)
    names = columns.visible if chosen_columns else [*keys, *(name for name in columns.available if name not in keys)]
    buffer = io.StringIO()
    writer = csv.writer(buffer)

    def drain() -> str:
        text = buffer.getvalue()
        buffer.seek(0)
        buffer.truncate()
        return text

    writer.writerow([_escape_formula(name) for name in names] + ([] if chosen_columns else [OTHER_ATTRIBUTES]))
    for item in items:
        row = [_csv_text(item[name]) if name in item else "" for name in names]
        other_values = {name: value for name, value in item.items() if name not in names}
        writer.writerow(row + ([] if chosen_columns else [plain_text(other_values, None) if other_values else ""]))
        yield drain()
    yield drain()


def _csv_text(value: Mapping[str, Any]) -> str:
    type_code = next(iter(value))
    if type_code in {"S", "B", "N"}:
        text = key_text(value)
    elif type_code in {"BOOL", "NULL"}:
        text = cell(value).text
    else:
        text = plain_value(value)
    return text if type_code == "N" and _NUMBER.fullmatch(text) else _escape_formula(text)


def _escape_formula(text: str) -> str:
    return "'" + text if text.startswith(FORMULA_STARTS) else text
