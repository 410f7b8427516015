"""What the service says of items and their keys."""

from __future__ import annotations

from keyplan.dynamodb.messages.values import PARAMETER_INVALID as _INVALID

_NOT_VALID = "One or more parameter values are not valid. "

KEY_MISMATCH = "The provided key element does not match the schema"
CONDITION_FAILED = "The conditional request failed"
ITEM_TOO_LARGE = "Item size has exceeded the maximum allowed size"
UPDATED_ITEM_TOO_LARGE = "Item size to update has exceeded the maximum allowed size"
PARTITION_KEY_TOO_LONG = _INVALID + "Size of hashkey has exceeded the maximum size limit of2048 bytes"
SORT_KEY_TOO_LONG = _INVALID + "Aggregated size of all range keys has exceeded the size limit of 1024 bytes"
UPDATED_INDEX_KEY_TYPE = "The update expression attempted to update the secondary index key to unsupported type"
COLLECTION_TOO_LARGE = "Collection size exceeded."


def missing_key(name: str) -> str:
    """A put item without one of its key attributes."""
    return f"{_INVALID}Missing the key {name} in the item"


def key_type(name: str, expected: str, actual: str) -> str:
    """A put item whose key attribute has another type."""
    return f"{_INVALID}Type mismatch for key {name} expected: {expected} actual: {actual}"


def empty_key(name: str, kind: str) -> str:
    """An empty string or binary as a key attribute."""
    what = "string" if kind == "S" else "binary"
    return f"{_NOT_VALID}The AttributeValue for a key attribute cannot contain an empty {what} value. Key: {name}"


def index_key_type(name: str, expected: str, actual: str, index: str) -> str:
    """An item whose attribute is an index key of another type."""
    return f"{_INVALID}Type mismatch for Index Key {name} Expected: {expected} Actual: {actual} IndexName: {index}"


def empty_index_key(name: str, kind: str, index: str) -> str:
    """An empty string or binary as an index key."""
    what = "string" if kind == "S" else "binary"
    return (
        f"{_NOT_VALID}A value specified for a secondary index key is not supported. "
        f"The AttributeValue for a key attribute cannot contain an empty {what} value. "
        f"IndexName: {index}, IndexKey: {name}"
    )


def empty_updated_index_key(kind: str) -> str:
    """An empty string or binary that an update gives an index key."""
    what = "string" if kind == "S" else "binary"
    return (
        f"{_NOT_VALID}The update expression attempted to update a secondary index key to a value that is not "
        f"supported. The AttributeValue for a key attribute cannot contain an empty {what} value."
    )


def key_update(name: str) -> str:
    """An update of a primary key attribute."""
    return f"{_INVALID}Cannot update attribute {name}. This attribute is part of the key"
