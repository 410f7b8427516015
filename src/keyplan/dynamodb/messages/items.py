"""Messages about values, items, queries, batches and transactions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from keyplan.dynamodb.messages import Template1, Template2, Template3

# Attribute values.
NOT_A_NUMBER_EMPTY = "The parameter cannot be converted to a numeric value"
NUMBER_OVERFLOW = "Number overflow. Attempting to store a number with magnitude larger than supported range"
NUMBER_UNDERFLOW = "Number underflow. Attempting to store a number with magnitude smaller than supported range"
NUMBER_PRECISION = "Attempting to store more than 38 significant digits in a Number"
EMPTY_VALUE = "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes"
SEVERAL_TYPES = (
    "Supplied AttributeValue has more than one datatypes set, must contain exactly one of the supported datatypes"
)
NESTING = (
    "Nesting Levels have exceeded supported limits: Attributes in the item have nested levels beyond supported limit"
)

PARAMETER_INVALID = "One or more parameter values were invalid: "
"""The prefix of many messages about requests, tables and items."""

NULL_NOT_TRUE = PARAMETER_INVALID + "Null attribute value types must have the value of true"
EMPTY_STRING_SET = PARAMETER_INVALID + "An string set  may not be empty"
NULL_STRING = PARAMETER_INVALID + "An string set may not have a null string as a member"
EMPTY_NUMBER_SET = PARAMETER_INVALID + "An number set  may not be empty"
EMPTY_BINARY_SET = PARAMETER_INVALID + "Binary sets should not be empty"
EMPTY_NAME = "Empty attribute name"
NAME_TOO_LONG = "Attribute name is too large, must be less than 65536 bytes"
NUMBER_SET_DUPLICATES = PARAMETER_INVALID + "Input collection contains duplicates."
NUMBER_SET_DUPLICATES_OLDER = "Input collection contains duplicates"

not_a_number: Template1 = (NOT_A_NUMBER_EMPTY + ": {}").format


def not_a_number_older(text: str) -> str:
    """Return the message of DynamoDB's older validation code for an invalid number.

    The message for an empty string does not contain a colon.
    """
    return not_a_number(text) if text else NOT_A_NUMBER_EMPTY


def string_set_duplicates(members: Sequence[str]) -> str:
    """Return the message of DynamoDB's newer validation code for a string set with duplicates. The message quotes the
    elements.
    """
    elements = ", ".join(f'"{member}"' for member in members)
    return f"{PARAMETER_INVALID}Input collection [{elements}] contains duplicates."


def string_set_duplicates_older(members: Sequence[str]) -> str:
    """Return the message of DynamoDB's older validation code for a string set with duplicates."""
    return f"{PARAMETER_INVALID}Input collection [{', '.join(members)}] contains duplicates."


def binary_set_duplicates(members: Sequence[str]) -> str:
    """Return the message of DynamoDB's newer validation code for a binary set with duplicates.

    The message quotes the elements and does not separate them by spaces.
    """
    elements = ",".join(f'"{member}"' for member in members)
    return f"{PARAMETER_INVALID}Input collection [{elements}]of type BS contains duplicates."


def binary_set_duplicates_older(members: Sequence[str]) -> str:
    """Return the message of DynamoDB's older validation code for a binary set with duplicates."""
    return f"{PARAMETER_INVALID}Input collection [{', '.join(members)}]of type BS contains duplicates."


value_invalid: Template2 = "ExpressionAttributeValues contains invalid value: {} for key {}".format

# Items and keys.
_NOT_VALID = "One or more parameter values are not valid. "

KEY_MISMATCH = "The provided key element does not match the schema"
CONDITION_FAILED = "The conditional request failed"
ITEM_TOO_LARGE = "Item size has exceeded the maximum allowed size"
UPDATED_ITEM_TOO_LARGE = "Item size to update has exceeded the maximum allowed size"
PARTITION_KEY_TOO_LONG = PARAMETER_INVALID + "Size of hashkey has exceeded the maximum size limit of2048 bytes"
SORT_KEY_TOO_LONG = PARAMETER_INVALID + "Aggregated size of all range keys has exceeded the size limit of 1024 bytes"
UPDATED_INDEX_KEY_TYPE = "The update expression attempted to update the secondary index key to unsupported type"
COLLECTION_TOO_LARGE = "Collection size exceeded."

missing_key: Template1 = (PARAMETER_INVALID + "Missing the key {} in the item").format
key_type: Template3 = (PARAMETER_INVALID + "Type mismatch for key {} expected: {} actual: {}").format


def empty_key(name: str, kind: str) -> str:
    """Return the message for a key attribute with an empty string or binary value."""
    type_name = "string" if kind == "S" else "binary"
    return f"{_NOT_VALID}The AttributeValue for a key attribute cannot contain an empty {type_name} value. Key: {name}"


def index_key_type(name: str, expected: str, actual: str, index: str) -> str:
    """Return the message for an item whose index key attribute has the wrong type."""
    types = f"Expected: {expected} Actual: {actual} IndexName: {index}"
    return f"{PARAMETER_INVALID}Type mismatch for Index Key {name} {types}"


def empty_index_key(name: str, kind: str, index: str) -> str:
    """Return the message for an index key attribute with an empty string or binary value."""
    type_name = "string" if kind == "S" else "binary"
    return (
        f"{_NOT_VALID}A value specified for a secondary index key is not supported. "
        f"The AttributeValue for a key attribute cannot contain an empty {type_name} value. "
        f"IndexName: {index}, IndexKey: {name}"
    )


def empty_updated_index_key(kind: str) -> str:
    """Return the message for an update that sets an index key attribute to an empty string or binary value."""
    type_name = "string" if kind == "S" else "binary"
    return (
        f"{_NOT_VALID}The update expression attempted to update a secondary index key to a value that is not "
        f"supported. The AttributeValue for a key attribute cannot contain an empty {type_name} value."
    )


key_update: Template1 = (PARAMETER_INVALID + "Cannot update attribute {}. This attribute is part of the key").format

# Queries and scans.
CONSISTENT_GLOBAL_READ = "Consistent reads are not supported on global secondary indexes"
KEY_TYPE = PARAMETER_INVALID + "Condition parameter type does not match schema type"
START_KEY_INVALID = "The provided starting key is invalid"
START_KEY_OUTSIDE = "The provided starting key is outside query boundaries based on provided conditions"
START_KEY_PREDICATE = "The provided starting key does not match the range key predicate"
START_KEY_SINGLE_ROW = "The query can return at most one row and cannot be restarted"

start_key_problem: Template1 = (START_KEY_INVALID + ": {}").format


def start_key_segment(segment: int, total: int) -> str:
    """Return the message for an exclusive start key that belongs to a different segment of a parallel scan."""
    return start_key_problem(
        "Invalid ExclusiveStartKey. Please use ExclusiveStartKey with correct Segment. "
        f"TotalSegments: {total} Segment: {segment}"
    )


def filter_on_key(parameter: str, name: str) -> str:
    """Return the message for a query whose filter contains a key attribute."""
    label = "Filter Expression" if parameter == "FilterExpression" else parameter
    return f"{label} can only contain non-primary key attributes: Primary key attribute: {name}"


def nested_key(name: str, *, of_index: bool) -> str:
    """Return the message for a document path inside a key attribute. `of_index` is True for a key attribute of an
    index.
    """
    kind = "IndexKey" if of_index else "Key"
    return f"Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: {kind}: {name}"


all_attributes: Template1 = (
    PARAMETER_INVALID + "Select type ALL_ATTRIBUTES is not supported for global secondary index {} "
    "because its projection type is not ALL"
).format


def not_projected(index: str, names: Iterable[str]) -> str:
    """Return the message for requested attributes that a global index does not project."""
    return f"{PARAMETER_INVALID}Global secondary index {index} does not project [{', '.join(names)}]"


def filter_not_projected(index: str, names: Iterable[str]) -> str:
    """Return the message for a filter on attributes that the queried index does not project."""
    names_text = ", ".join(names)
    return f"{PARAMETER_INVALID}Secondary index {index} does not project one or more filter attributes: [{names_text}]"


backfilling: Template1 = "Cannot read from backfilling global secondary index: {}".format

# Batches and transactions.
DUPLICATE_KEYS = "Provided list of item keys contains duplicates"
SEVERAL_ON_ONE_ITEM = "Transaction request cannot include multiple operations on one item"

# From the API reference: no record of the service's own text was found.
OTHER_PARAMETERS = (
    "DynamoDB rejected the request because you retried a request with a different payload but with an idempotent token "
    "that was already used."
)


def cancelled(codes: Iterable[str]) -> str:
    """Return the message for a cancelled transaction, which lists the reason codes of all actions in order."""
    return f"Transaction cancelled, please refer cancellation reasons for specific reasons [{', '.join(codes)}]"


def payload_too_large(size_bytes: int) -> str:
    """Return the message for a transaction larger than 4 MB. As in DynamoDB, the text occurs twice in the message."""
    text = "Transaction payload size cannot exceed 4MB. Payload Size: "
    return f"{text}: {text}{size_bytes}"
