"""The form for editing an item, with a field for each attribute and its type."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from keyplan.console.data.documents import (
    SETS,
    DocumentError,
    Item,
    plain_value,
    read_plain,
    read_value,
    typed_text,
)
from keyplan.console.data.search import scalar

FORM_ATTRIBUTES: Final = 200
"""The maximum number of attributes of an item that can be edited in the form. Larger items are edited as JSON."""
FORM_BYTES: Final = 64 * 1024
"""The maximum size in bytes of an item that can be edited in the form."""
FIELD_TYPES: Final = (
    ("S", "S string"),
    ("N", "N number"),
    ("BOOL", "BOOL true or false"),
    ("NULL", "NULL"),
    ("M", "M map, as JSON"),
    ("L", "L list, as JSON"),
    ("SS", "SS strings, one per line"),
    ("NS", "NS numbers, one per line"),
    ("B", "B binary, base64"),
    ("BS", "BS binary, base64 lines"),
    ("JSON", "DynamoDB JSON"),
)


@dataclass(frozen=True)
class AttributeField:
    """The form field for one attribute of an item."""

    name: str
    type_name: str = "S"
    text: str = ""
    error: str = ""

    @property
    def lines(self) -> int:
        """Return the number of lines that the form field shows."""
        return min(12, max(1, self.text.count("\n") + 1, len(self.text) // 90))


def field_of(name: str, value: Mapping[str, Any]) -> AttributeField:  # noqa: PLR0911 - one for each type
    """Return the form field for an attribute value.

    If the field is submitted unchanged, its text is converted to the same value.
    """
    type_code, content = next(iter(value.items()))
    if type_code == "S" and "\r" not in content:
        return AttributeField(name, type_code, content)
    if type_code == "N":
        return AttributeField(name, type_code, content)
    if type_code == "BOOL":
        return AttributeField(name, type_code, str(content).lower())
    if type_code == "NULL":
        return AttributeField(name, type_code)
    if type_code == "B":
        return AttributeField(name, type_code, base64.b64encode(content).decode())
    if type_code == "BS" and all(content):
        return AttributeField(name, type_code, "\n".join(base64.b64encode(member).decode() for member in content))
    if type_code in SETS and all(member and member.isprintable() for member in content):
        return AttributeField(name, type_code, "\n".join(content))
    if type_code in {"L", "M"} and not has_plain_loss(value):
        return AttributeField(name, type_code, plain_value(value))
    return AttributeField(name, "JSON", typed_text(value, None))


def has_plain_loss(value: Mapping[str, Any]) -> bool:
    """Return True if a value contains sets or binary values at any depth. Plain JSON cannot represent these types."""
    type_code, content = next(iter(value.items()))
    if type_code == "M":
        return any(has_plain_loss(member) for member in content.values())
    if type_code == "L":
        return any(has_plain_loss(member) for member in content)
    return type_code in SETS or type_code == "B"


def fields_of(item: Mapping[str, Any], keys: Sequence[str]) -> list[AttributeField]:
    """Return the form fields of all attributes except the key attributes, sorted by name."""
    return [field_of(name, value) for name, value in sorted(item.items()) if name not in keys]


def read_fields(
    names: Sequence[str], type_names: Sequence[str], texts: Sequence[str], removed_rows: Sequence[str]
) -> tuple[Item, list[AttributeField]]:
    """Return the item in the rows of a posted form, and the form fields with their errors.

    The arguments `names`, `type_names` and `texts` contain the attribute name, the type and the text of each row. Empty
    rows and the rows whose numbers are in `removed_rows` are skipped.
    """
    item: Item = {}
    fields: list[AttributeField] = []
    for number, (name, type_name, text) in enumerate(zip(names, type_names, texts, strict=False)):
        if str(number) in removed_rows or not (name or text):
            continue
        input_field = AttributeField(name, type_name, text.replace("\r\n", "\n"))
        try:
            if not name:
                raise DocumentError("enter a name")
            if name in item:
                raise DocumentError(f"{name}: another field has the same name")
            item[name] = _value(input_field)
        except DocumentError as error:
            input_field = AttributeField(name, type_name, input_field.text, str(error).removeprefix(f"{name}: "))
        fields.append(input_field)
    return item, fields


def _value(field: AttributeField) -> dict[str, Any]:
    if field.type_name == "JSON":
        return read_value(field.text, field.name)
    if field.type_name in {"M", "L"}:
        value = read_plain(f'{{"value": {field.text or "null"}}}')["value"]
        if field.type_name not in value:
            raise DocumentError("expected a JSON object" if field.type_name == "M" else "expected a JSON array")
        return value
    if field.type_name in SETS:
        lines = [line for line in field.text.split("\n") if line.strip()]
        if not lines:
            raise DocumentError("a set needs at least one value")
        return {field.type_name: [scalar(field.type_name[0], line, field.name)[field.type_name[0]] for line in lines]}
    return scalar(field.type_name, field.text, field.name)
