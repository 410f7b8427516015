"""Rules of keys, indexes and projections, shared by CreateTable and UpdateTable."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from keyplan import limits
from keyplan.dynamodb.messages import schemas as messages
from keyplan.errors import ValidationError

_TABLE_CLASSES = ("STANDARD", "STANDARD_INFREQUENT_ACCESS")


def names_of(schema: Iterable[dict[str, Any]]) -> list[str]:
    """The attribute names of a key schema or of attribute definitions, in order."""
    return [element["AttributeName"] for element in schema]


def check_table_keys(schema: Sequence[dict[str, Any]], definitions: Sequence[str]) -> None:
    """A table's own key: one HASH attribute and perhaps one RANGE attribute, both defined."""
    keys = names_of(schema)
    undefined = any(key not in definitions for key in keys)
    if len(keys) == 1 and undefined and definitions:
        raise ValidationError(messages.keys_undefined(keys, definitions))
    # A single definition for a doubled name counts as one that is missing.
    doubled = len(keys) > 1 and keys[0] == keys[1] and len(definitions) == 1
    if undefined or doubled:
        raise ValidationError(messages.KEY_UNDEFINED)
    _check_pair(schema)


def check_definitions(definitions: Sequence[str]) -> None:
    """No attribute is defined twice."""
    for place, name in enumerate(definitions):
        if name in definitions[:place]:
            raise ValidationError(messages.definition_twice(name))


def _check_pair(schema: Sequence[dict[str, Any]]) -> None:
    keys, kinds = names_of(schema), [element["KeyType"] for element in schema]
    if len(keys) > 1 and keys[0] == keys[1]:
        raise ValidationError(messages.KEY_NAMES_SAME)
    if kinds[0] != "HASH":
        raise ValidationError(messages.FIRST_KEY_NOT_HASH)
    if len(kinds) > 1 and kinds[1] != "RANGE":
        raise ValidationError(messages.SECOND_KEY_NOT_RANGE)


def check_defined(schema: Sequence[dict[str, Any]], definitions: Sequence[str]) -> None:
    """Every key attribute of an index is defined."""
    keys = names_of(schema)
    if any(key not in definitions for key in keys):
        raise ValidationError(messages.keys_undefined(keys, definitions))


def check_local_index(index: dict[str, Any], table_hash: str) -> None:
    """A local index: its table's HASH attribute and a RANGE attribute of its own."""
    schema, name = index["KeySchema"], index["IndexName"]
    _check_pair(schema)
    if len(schema) == 1:
        raise ValidationError(messages.local_index_without_range(name))
    own_hash = schema[0]["AttributeName"]
    if own_hash != table_hash:
        raise ValidationError(messages.local_index_other_hash(name, own_hash, table_hash))
    check_projection(index["Projection"])


def check_distinct_keys(index: dict[str, Any]) -> None:
    """Raise ValidationError if the key schema of a global index names an attribute twice."""
    keys = names_of(index["KeySchema"])
    if len(set(keys)) < len(keys):
        raise ValidationError(messages.KEY_NAMES_REPEATED)


def check_global_index(index: dict[str, Any]) -> None:
    """A global index: up to four HASH attributes, then up to four RANGE attributes, all different."""
    check_distinct_keys(index)
    schema = index["KeySchema"]
    kinds = [element["KeyType"] for element in schema]
    if kinds[0] != "HASH":
        raise ValidationError(messages.FIRST_KEY_NOT_HASH)
    if kinds != sorted(kinds):  # HASH sorts before RANGE
        raise ValidationError(messages.HASH_AFTER_RANGE)
    for role in ("HASH", "RANGE"):
        if kinds.count(role) > limits.KEY_ATTRIBUTES_PER_ROLE:
            raise ValidationError(messages.too_many_key_attributes(role))
    check_projection(index["Projection"])


def check_projection(projection: dict[str, Any]) -> None:
    """Attributes are named exactly where the projection type takes them."""
    kind: str | None = projection.get("ProjectionType")
    named: list[str] | None = projection.get("NonKeyAttributes")
    if kind is None:
        raise ValidationError(messages.PROJECTION_TYPE_MISSING)
    if kind != "INCLUDE" and named is not None:
        raise ValidationError(messages.non_key_attributes_unwanted(kind))
    if kind == "INCLUDE" and named is None:
        raise ValidationError(messages.NON_KEY_ATTRIBUTES_MISSING)
    seen: set[str] = set()
    for name in named or ():
        if name in seen:
            raise ValidationError(messages.projected_twice(name))
        seen.add(name)


def check_stream(specification: dict[str, Any] | None, *, of_new_table: bool) -> None:
    """A stream that is on has a view type, one that is off has none."""
    if specification is None:
        return
    enabled, view = specification["StreamEnabled"], specification.get("StreamViewType")
    if enabled and view is None:
        raise ValidationError(messages.NEW_STREAM_VIEW_MISSING if of_new_table else messages.STREAM_VIEW_MISSING)
    if not enabled and view is not None:
        raise ValidationError(messages.NEW_STREAM_VIEW_UNWANTED if of_new_table else messages.STREAM_VIEW_UNWANTED)


def check_table_class(table_class: str | None) -> None:
    """The class is one that there is; an enum, but not told as one."""
    if table_class is not None and table_class not in _TABLE_CLASSES:
        raise ValidationError(messages.TABLE_CLASS_UNKNOWN)
