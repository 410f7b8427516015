"""The query and scan builder, which converts form fields to requests and to links to other searches."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlencode

from starlette.datastructures import QueryParams

from keyplan.console.data.documents import DocumentError, Item, decoded_key, read_value
from keyplan.console.data.facts import IndexKeys, TableFacts

PAGE: Final = 50
FILTERED_PAGE: Final = 300
MAX_LIMIT: Final = 1000
SORT_CONDITIONS: Final = (
    ("=", "equals"),
    ("begins_with", "starts with"),
    ("between", "between"),
    ("<", "less than"),
    ("<=", "at most"),
    (">", "greater than"),
    (">=", "at least"),
)
FILTERS: Final = (
    ("=", "equals"),
    ("<>", "differs from"),
    ("<", "less than"),
    ("<=", "at most"),
    (">", "greater than"),
    (">=", "at least"),
    ("between", "between (low, high)"),
    ("in", "is one of (a, b, c)"),
    ("begins_with", "starts with"),
    ("contains", "contains"),
    ("not_contains", "does not contain"),
    ("exists", "exists"),
    ("not_exists", "does not exist"),
    ("type", "has type"),
)
VALUE_TYPES: Final = ("S", "N", "B", "BOOL", "NULL")
_STEP: Final = re.compile(r'"([^"]+)"|([^."\[\]]+)|\[([0-9]+)\]')
_PATH: Final = re.compile(r'(?:"[^"]+"|[^."\[\]]+)(?:\[[0-9]+\]|\.(?:"[^"]+"|[^."\[\]]+))*')


class SearchError(ValueError):
    """Raised for a form field with an invalid value. `name` is the name of the field."""

    def __init__(self, name: str, message: str) -> None:
        super().__init__(message)
        self.name, self.message = name, message


@dataclass(frozen=True)
class AttributeFilter:
    """A condition on an attribute in the search form."""

    attribute: str
    operator: str = "="
    type_code: str = "S"
    value: str = ""


@dataclass
class Search:
    """The fields of the search form."""

    index: str = ""
    pk: str = ""
    sk_operator: str = "="
    sk: str = ""
    sk_high: str = ""
    filters: list[AttributeFilter] = field(default_factory=list)
    limit: int = 0
    """The number of items to read for a page, or 0 for the default."""
    descending: bool = False
    consistent: bool = False
    attributes: str = ""
    """The comma-separated paths of the attributes to return, or an empty string for all attributes."""
    columns: list[str] = field(default_factory=list)
    sort: str = ""
    """The attribute to sort the page by, with a leading "-" for descending order."""
    grouped: bool = True
    start: str = ""

    @classmethod
    def from_query(cls, params: QueryParams) -> Search:
        """Return the search that the query parameters of a URL describe. Invalid numbers are ignored."""
        names = params.getlist("f_name")
        parts = [params.getlist(name) for name in ("f_op", "f_type", "f_value")]
        padded = [[*part, *[""] * (len(names) - len(part))] for part in parts]
        limit = params.get("limit", "")
        return cls(
            index=params.get("index", ""),
            pk=params.get("pk", ""),
            sk_operator=params.get("sk_op", "="),
            sk=params.get("sk", ""),
            sk_high=params.get("sk_high", ""),
            filters=[
                AttributeFilter(name.strip(), operator or "=", type_code or "S", value)
                for name, operator, type_code, value in zip(names, *padded, strict=False)
                if name.strip()
            ],
            limit=min(int(limit), MAX_LIMIT) if limit.isdecimal() and len(limit) < 6 else 0,
            descending=params.get("order") == "desc",
            consistent=params.get("consistent") == "yes",
            attributes=params.get("attributes", ""),
            columns=params.getlist("column"),
            sort=params.get("sort", ""),
            grouped=params.get("group", "yes") != "no",
            start=params.get("start", ""),
        )

    @property
    def page_size(self) -> int:
        """Return the number of items to read for a page."""
        return self.limit or (FILTERED_PAGE if self.filters else PAGE)

    @property
    def is_query(self) -> bool:
        """Return True if the form contains a partition key. The search is then a query, and otherwise a scan."""
        return self.pk != ""

    @property
    def is_changed(self) -> bool:
        """Return True if a partition key, a filter, descending order, consistent reads or a limit is set."""
        return bool(self.pk or self.filters or self.descending or self.consistent or self.limit)

    def link(self, **changes: Any) -> str:
        """Return the query string of this search, with the given fields changed. The link opens the first page of the
        results.
        """
        return "?" + urlencode(self.pairs(**{"start": "", **changes}))

    def pairs(self, **changes: Any) -> list[tuple[str, str]]:
        """Return the names and values of the search's fields, with the given fields changed."""
        values = {**self.__dict__, **changes}
        pairs = [
            ("index", values["index"]),
            ("pk", values["pk"]),
            ("sk_op", values["sk_operator"] if values["sk"] else ""),
            ("sk", values["sk"]),
            ("sk_high", values["sk_high"] if values["sk"] else ""),
        ]
        for filter_row in values["filters"]:
            pairs += [
                ("f_name", filter_row.attribute),
                ("f_op", filter_row.operator),
                ("f_type", filter_row.type_code),
                ("f_value", filter_row.value),
            ]
        pairs += [
            ("limit", str(values["limit"] or "")),
            ("order", "desc" if values["descending"] else ""),
            ("consistent", "yes" if values["consistent"] else ""),
            ("attributes", values["attributes"]),
            *(("column", name) for name in values["columns"]),
            ("sort", values["sort"]),
            ("group", "" if values["grouped"] else "no"),
            ("start", values["start"]),
        ]
        return [(name, value) for name, value in pairs if value or name.startswith("f_")]

    def request(self, facts: TableFacts) -> tuple[str, dict[str, Any]]:
        """Return the operation and the request for this search.

        Raises SearchError for a form field with an invalid value.
        """
        keys = facts.keys_of(self.index)
        if keys is None:
            raise SearchError("index", f"the table has no index {self.index!r}")
        names, values = _Names(), _Values()
        request: dict[str, Any] = {"TableName": facts.name}
        if self.index:
            request["IndexName"] = self.index
        if self.is_query:
            request["KeyConditionExpression"] = self._key_condition(facts, keys, names, values)
        elif self.sk:
            raise SearchError("pk", f"enter a value for the partition key {keys.pk}: a query requires it")
        if self.filters:
            request["FilterExpression"] = " AND ".join(
                _condition(attribute_filter, names, values) for attribute_filter in self.filters
            )
        self._project(request, [*facts.keys.names, *keys.names], names)
        names.add_to(request)
        values.add_to(request)
        if self.descending and self.is_query:
            request["ScanIndexForward"] = False
        if self.consistent:
            request["ConsistentRead"] = True
        request["Limit"] = self.page_size
        if self.start:
            try:
                request["ExclusiveStartKey"] = decoded_key(self.start)
            except DocumentError as error:
                raise SearchError("start", str(error)) from None
        return "Query" if self.is_query else "Scan", request

    def _project(self, request: dict[str, Any], keys: Sequence[str], names: _Names) -> None:
        """Add a projection to the request, so that the response contains only the chosen attributes and those in
        `keys`.

        The key attributes are required for links to items.
        """
        paths = [path.strip() for path in self.attributes.split(",") if path.strip()]
        if paths:
            projected = [*map(names.alias, keys), *map(names.path, paths)]
            request["ProjectionExpression"] = ", ".join(dict.fromkeys(projected))

    def _key_condition(self, facts: TableFacts, keys: IndexKeys, names: _Names, values: _Values) -> str:
        pk = values.add(key_value("pk", facts.type_of(keys.pk), self.pk))
        condition = f"{names.alias(keys.pk)} = {pk}"
        if not self.sk:
            return condition
        if not keys.sk:
            raise SearchError("sk", f"{self.index or 'the table'} has no sort key")
        type_code = facts.type_of(keys.sk)
        name, low = names.alias(keys.sk), values.add(key_value("sk", type_code, self.sk))
        if self.sk_operator == "between":
            return (
                f"{condition} AND {name} BETWEEN {low} AND {values.add(key_value('sk_high', type_code, self.sk_high))}"
            )
        if self.sk_operator == "begins_with":
            return f"{condition} AND begins_with({name}, {low})"
        if self.sk_operator not in {operator for operator, _ in SORT_CONDITIONS}:
            raise SearchError("sk_op", f"unknown comparison {self.sk_operator!r}")
        return f"{condition} AND {name} {self.sk_operator} {low}"


def key_value(field_name: str, type_code: str, text: str) -> dict[str, Any]:
    """Convert the text in a form field to the value of a key attribute of the type `type_code`. Binary values are
    base64.

    Raises SearchError for an invalid value.
    """
    if not text:
        raise SearchError(field_name, "enter a value")
    try:
        return scalar(type_code, text, field_name)
    except DocumentError as error:
        raise SearchError(field_name, str(error).partition(": ")[2] or str(error)) from None


def scalar(type_code: str, text: str, name: str) -> dict[str, Any]:
    """Convert the text in a form field to an attribute value of the type `type_code`.

    `name` is the name of the attribute for error messages. Raises DocumentError if the text does not represent a value
    of this type.
    """
    if type_code == "NULL":
        return {"NULL": True}
    if type_code == "BOOL":
        if text.strip().lower() not in {"true", "false"}:
            raise DocumentError(f"{name}: expected true or false, got {text!r}")
        return {"BOOL": text.strip().lower() == "true"}
    if type_code == "N":
        if not re.fullmatch(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", text.strip()):
            raise DocumentError(f"{name}: expected a number, got {text!r}")
        return {"N": text.strip()}
    if type_code == "B":
        return read_value('{"B": "' + text.strip().replace('"', "") + '"}', name)
    return {"S": text}


class _Names:
    """The placeholders for attribute names in expressions."""

    def __init__(self) -> None:
        self.by_name: dict[str, str] = {}

    def alias(self, name: str) -> str:
        return self.by_name.setdefault(name, f"#n{len(self.by_name)}")

    def add_to(self, request: dict[str, Any]) -> None:
        if self.by_name:
            request["ExpressionAttributeNames"] = {alias: name for name, alias in self.by_name.items()}

    def path(self, text: str) -> str:
        """Return the expression for an attribute path such as address.city, tags[0] or "name.with.dots".

        Placeholders are added for the names in the path.
        """
        if not _PATH.fullmatch(text):
            return self.alias(text)
        path = ""
        for step in _STEP.finditer(text):
            if step[3] is not None:
                path += f"[{step[3]}]"
            else:
                path += ("." if path else "") + self.alias(step[1] or step[2])
        return path


class _Values:
    """The placeholders for values in expressions."""

    def __init__(self) -> None:
        self.by_placeholder: Item = {}

    def add_to(self, request: dict[str, Any]) -> None:
        if self.by_placeholder:
            request["ExpressionAttributeValues"] = self.by_placeholder

    def add(self, value: dict[str, Any]) -> str:
        name = f":v{len(self.by_placeholder)}"
        self.by_placeholder[name] = value
        return name


def _condition(attribute_filter: AttributeFilter, names: _Names, values: _Values) -> str:
    path, operator = names.path(attribute_filter.attribute), attribute_filter.operator
    if operator == "exists":
        return f"attribute_exists({path})"
    if operator == "not_exists":
        return f"attribute_not_exists({path})"
    if operator == "type":
        return f"attribute_type({path}, {values.add({'S': attribute_filter.value.strip().upper()})})"
    if operator in {"between", "in"}:
        parts = [_filter_value(attribute_filter, part.strip()) for part in attribute_filter.value.split(",")]
        if operator == "in":
            return f"{path} IN ({', '.join(values.add(part) for part in parts)})"
        if len(parts) != 2:
            raise SearchError(
                "f_value", f"{attribute_filter.attribute}: enter the lowest and the highest value, separated by a comma"
            )
        return f"{path} BETWEEN {values.add(parts[0])} AND {values.add(parts[1])}"
    value = values.add(_filter_value(attribute_filter, attribute_filter.value))
    if operator in {"begins_with", "contains"}:
        return f"{operator}({path}, {value})"
    if operator == "not_contains":
        return f"NOT contains({path}, {value})"
    if operator not in {operator_name for operator_name, _ in FILTERS}:
        raise SearchError("f_op", f"unknown comparison {operator!r}")
    return f"{path} {operator} {value}"


def _filter_value(attribute_filter: AttributeFilter, text: str) -> dict[str, Any]:
    try:
        return scalar(attribute_filter.type_code, text, attribute_filter.attribute)
    except DocumentError as error:
        raise SearchError("f_value", str(error)) from None


def key_of(item: Mapping[str, Any], keys: IndexKeys) -> Item | None:
    """Return the primary key in an item, or None if the item does not contain all key attributes."""
    if any(name not in item for name in keys.names):
        return None
    return {name: item[name] for name in keys.names}
