"""What the service says of queries and scans."""

from __future__ import annotations

from collections.abc import Iterable

from keyplan.dynamodb.messages.values import PARAMETER_INVALID as _INVALID

_START = "The provided starting key is invalid"

CONSISTENT_GLOBAL_READ = "Consistent reads are not supported on global secondary indexes"
KEY_TYPE = _INVALID + "Condition parameter type does not match schema type"
START_KEY_INVALID = _START
START_KEY_OUTSIDE = "The provided starting key is outside query boundaries based on provided conditions"
START_KEY_PREDICATE = "The provided starting key does not match the range key predicate"
START_KEY_SINGLE_ROW = "The query can return at most one row and cannot be restarted"


def start_key_problem(problem: str) -> str:
    """A start key whose table key part is wrong."""
    return f"{_START}: {problem}"


def start_key_segment(segment: int, total: int) -> str:
    """A start key of another segment of a parallel scan."""
    return start_key_problem(
        "Invalid ExclusiveStartKey. Please use ExclusiveStartKey with correct Segment. "
        f"TotalSegments: {total} Segment: {segment}"
    )


def filter_on_key(parameter: str, name: str) -> str:
    """A query's filter on a key attribute."""
    told = "Filter Expression" if parameter == "FilterExpression" else parameter
    return f"{told} can only contain non-primary key attributes: Primary key attribute: {name}"


def nested_key(name: str, *, of_index: bool) -> str:
    """A path into a key attribute."""
    kind = "IndexKey" if of_index else "Key"
    return f"Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: {kind}: {name}"


def all_attributes(index: str) -> str:
    """ALL_ATTRIBUTES asked of a global index that holds only some."""
    return (
        f"{_INVALID}Select type ALL_ATTRIBUTES is not supported for global secondary index {index} "
        "because its projection type is not ALL"
    )


def not_projected(index: str, names: Iterable[str]) -> str:
    """Attributes asked of a global index that does not hold them."""
    return f"{_INVALID}Global secondary index {index} does not project [{', '.join(names)}]"


def filter_not_projected(index: str, names: Iterable[str]) -> str:
    """Attributes that a query filters by and the index that it reads, global or local, does not hold."""
    listed = ", ".join(names)
    return f"{_INVALID}Secondary index {index} does not project one or more filter attributes: [{listed}]"


def backfilling(index: str) -> str:
    """A read of a global index that is still being built."""
    return f"Cannot read from backfilling global secondary index: {index}"
