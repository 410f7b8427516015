"""Import of items from JSON, DynamoDB JSON lines or CSV, which are the formats of the console's exports."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from keyplan.console.data.documents import DocumentError, Item, cell, read_items, read_plain
from keyplan.console.data.exports import FORMULA_STARTS, OTHER_ATTRIBUTES
from keyplan.console.data.facts import TableFacts, describe
from keyplan.console.data.search import key_of, scalar
from keyplan.console.frame import Frame, PostedForm, error_text, posted_form
from keyplan.console.source import Source
from keyplan.errors import ConditionalCheckFailedError, ServiceError

_MAX_ITEMS: Final = 20_000
_MAX_PROBLEMS: Final = 20
_NUMBER: Final = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")


@dataclass
class ImportResult:
    """The numbers of items that an import wrote, skipped and rejected."""

    written: int = 0
    existing: int = 0
    """The number of items that were not written because an item with the same key exists."""
    refused: int = 0
    problems: list[str] = field(default_factory=list)
    """The error messages for the first rejected items."""


def routes(console: Frame) -> list[Route]:
    """Return the routes for importing items."""

    def import_items(request: Request) -> Response:
        facts = describe(console.source, request.path_params["table"])
        posted = posted_form(request) if request.method == "POST" else PostedForm([])
        errors: dict[str, str] = {}
        result = None
        if request.method == "POST":
            try:
                items = parse_items(posted["text"], posted["format"], facts)
                result = write_items(console.source, facts, items, replace=posted["replace"] == "yes")
            except DocumentError as error:
                errors["text"] = str(error)
        return console.render(
            request,
            "data/import.html.j2",
            400 if errors else 200,
            facts=facts,
            tab="items",
            posted=posted,
            errors=errors,
            result=result,
        )

    return [console.route("/data/tables/{table}/import", import_items, methods=("GET", "POST"))]


def parse_items(text: str, text_format: str, facts: TableFacts) -> list[Item]:
    """Parse the items in `text`, which has the format `text_format`. `facts` describes the table to import them into.

    Raises DocumentError if an item is invalid, if the text contains no items, or if it contains too many. The message
    about an invalid item contains its position in the text.
    """
    items = list(_csv_items(text, facts)) if text_format == "csv" else read_items(text)
    if not items:
        raise DocumentError("the text contains no items")
    if len(items) > _MAX_ITEMS:
        raise DocumentError(f"{len(items):,} items: import at most {_MAX_ITEMS:,} at once")
    return items


def _csv_items(text: str, facts: TableFacts) -> Iterator[Item]:
    reader = csv.DictReader(io.StringIO(text, newline=""), strict=True)
    try:
        for number, row in enumerate(reader, 2):
            if None in row:
                raise DocumentError(f"line {number}: more values than columns")
            try:
                yield _row_item(row, facts)
            except DocumentError as error:
                raise DocumentError(f"line {number}: {error}") from None
    except csv.Error as error:
        raise DocumentError(f"line {reader.line_num}: not valid CSV: {error}") from None


def _row_item(row: Mapping[str, str | None], facts: TableFacts) -> Item:
    item: Item = {}
    for column, value in row.items():
        name, text = _without_apostrophe(column), _without_apostrophe(value or "")
        if name == OTHER_ATTRIBUTES and text:
            item.update(read_plain(text))
        elif text:
            item[name] = scalar(facts.type_of(name), text, name) if facts.is_key(name) else _value(text, name)
    return item


def _without_apostrophe(text: str) -> str:
    """Return a string without the apostrophe that exports add in front of formulas."""
    return text[1:] if text.startswith("'") and text[1:].startswith(FORMULA_STARTS) else text


def _value(text: str, name: str) -> dict[str, Any]:
    """Convert the text in a CSV cell to an attribute value: a number, a boolean, JSON, or a string."""
    if _NUMBER.fullmatch(text):
        return {"N": text}
    if text in {"true", "false"}:
        return {"BOOL": text == "true"}
    if text[0] in "[{":
        try:
            return read_plain(f'{{"value": {text}}}')["value"]
        except DocumentError:
            pass  # a text that only looks like JSON
    return scalar("S", text, name)


def write_items(source: Source, facts: TableFacts, items: list[Item], *, replace: bool) -> ImportResult:
    """Write items one by one. If `replace` is False, skip items whose key already exists."""
    result = ImportResult()
    put_request: dict[str, Any] = {"TableName": facts.name}
    if not replace:
        put_request["ConditionExpression"] = "attribute_not_exists(#key)"
        put_request["ExpressionAttributeNames"] = {"#key": facts.keys.pk}
    for number, item in enumerate(items, 1):
        try:
            source.call("PutItem", {**put_request, "Item": item})
            result.written += 1
        except ConditionalCheckFailedError:
            result.existing += 1
        except ServiceError as error:
            problem = error_text(error)
            result.refused += 1
            if len(result.problems) < _MAX_PROBLEMS:
                key = key_of(item, facts.keys) or {}
                text = " / ".join(cell(value).text for value in key.values())
                result.problems.append(f"item {number}{f' ({text})' if text else ''}: {problem}")
    return result
