"""Messages about requests before any table is read, and about streams."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from keyplan.dynamodb.messages.items import PARAMETER_INVALID, SEVERAL_TYPES

ENVELOPE = "1 validation error detected: "
_DETECTED = re.compile(r"\d+ validation errors? detected: ")

# The service gives the type of this fault and no sentence.
UNKNOWN_OPERATION = ""

# Types of the JSON (SerializationException).
UNREADABLE = "Unexpected token received from parser"
UNEXPECTED_FIELD = "Unexpected field type"
UNEXPECTED_VALUE = "Unexpected value type in payload"
STRUCTURE_NOT_EXPECTED = "Start of structure or map found where not expected"
NOT_BASE64 = "only base-64-encoded strings are convertible to bytes"
BASE64_LAST_CHARACTER = "Invalid last non-pad Base64 character dectected"
PARAMETERIZED_CAST = (
    "class sun.reflect.generics.reflectiveObjects.ParameterizedTypeImpl cannot be cast to class java.lang.Class "
    "(sun.reflect.generics.reflectiveObjects.ParameterizedTypeImpl and java.lang.Class are in module java.base "
    "of loader 'bootstrap')"
)


def not_convertible(token: str, kind: str) -> str:
    """A scalar of the wrong type."""
    return f"{token} cannot be converted to {kind}"


def unrecognized_collection(java_type: str) -> str:
    """A list where something else belongs."""
    return f"Unrecognized collection type {java_type}"


def base64_length(length: int) -> str:
    """Base64 text whose length is no multiple of four."""
    return f"Base64 encoded length is expected a multiple of 4 bytes but found: {length}"


def base64_character(character: str) -> str:
    """A character outside the base64 alphabet."""
    return f"Invalid Base64 character: '{character}'"


def not_unicode(name: str) -> str:
    """Text in Python that has no UTF-8 form; JSON cannot hold it, so the wording is keyplan's own."""
    return f"The text of {name} is not valid Unicode"


def unknown_member(name: str, known: Iterable[str]) -> str:
    """A misspelt parameter of a call in Python; the wording is keyplan's own, for the service ignores it."""
    return f'Unknown parameter in input: "{name}", must be one of: {", ".join(sorted(known))}'


# Constraints of members (ValidationException).
NOT_NULL = "Member must not be null"


TABLE_NAME_REQUIRED = "The parameter 'TableName' is required but was not present in the request"
TABLE_NAME_LENGTH = "TableName must be at least 3 characters long and at most 255 characters long"


def min_length(limit: int) -> str:
    """Too short a text, list or map."""
    return f"Member must have length greater than or equal to {limit}"


def max_length(limit: int) -> str:
    """Too long a text, list or map."""
    return f"Member must have length less than or equal to {limit}"


def min_value(limit: int) -> str:
    """Too small a number."""
    return f"Member must have value greater than or equal to {limit}"


def max_value(limit: int) -> str:
    """Too large a number."""
    return f"Member must have value less than or equal to {limit}"


def pattern(expression: str) -> str:
    """Text that does not match."""
    return f"Member must satisfy regular expression pattern: {expression}"


def enum(values: Sequence[str]) -> str:
    """Text that is none of the words allowed."""
    return f"Member must satisfy enum value set: [{', '.join(values)}]"


def map_keys(constraints: Sequence[str]) -> str:
    """A map with a key that breaks the constraints of its keys."""
    return f"Map keys must satisfy constraint: [{', '.join(constraints)}]"


def map_values(constraints: Sequence[str]) -> str:
    """A map with a value that breaks the constraints of its values."""
    return f"Map value must satisfy constraint: [{', '.join(constraints)}]"


def constraint(shown: str, path: str, text: str) -> str:
    """One fault, value echoed; `shown` is "null" or the value in quotes."""
    return f"Value {shown} at '{path}' failed to satisfy constraint: {text}"


def front_constraint(path: str, text: str) -> str:
    """One fault as the front layer words it: the value is not echoed."""
    return f"Value at '{path}' failed to satisfy constraint: {text}"


def newer_enum(values: Sequence[str]) -> str:
    """An enum fault as the newer layers word it: the member is not named."""
    return f"Failed to satisfy constraint: {enum(values)}"


def detected(faults: Sequence[str]) -> str:
    """All faults in one message."""
    plural = "" if len(faults) == 1 else "s"
    return f"{len(faults)} validation error{plural} detected: {'; '.join(faults)}"


def enveloped(message: str) -> str:
    """A message in the envelope that PutItem, UpdateItem and DeleteItem put around what needs no table."""
    return message if _DETECTED.match(message) else ENVELOPE + message


# Rules of item operations that need neither table nor item.
RETURN_VALUES_OLD_OR_NONE = "ReturnValues can only be ALL_OLD or NONE"
NO_KEY_CONDITION = "Either the KeyConditions or KeyConditionExpression parameter must be specified in the request."
SPECIFIC_ATTRIBUTES_MISSING = (
    "Must specify the AttributesToGet or ProjectionExpression when choosing to get SPECIFIC_ATTRIBUTES"
)
ALL_PROJECTED_WITHOUT_INDEX = "ALL_PROJECTED_ATTRIBUTES can be used only when Querying using an IndexName"
TOTAL_SEGMENTS_MISSING = (
    "The TotalSegments parameter is required but was not present in the request when Segment parameter is present"
)
SEGMENT_MISSING = (
    "The Segment parameter is required but was not present in the request when parameter TotalSegments is present"
)
SEGMENT_TOO_LARGE = "The Segment parameter is zero-based and must be less than parameter TotalSegments"
SEVERAL_WRITES_IN_ONE = SEVERAL_TYPES
SEVERAL_ACTIONS_IN_ONE = "TransactItems can only contain one of Check, Put, Update or Delete"


def mixed_parameters(others: Sequence[str], expressions: Sequence[str]) -> str:
    """Expression parameters beside those they replaced."""
    return (
        "Can not use both expression and non-expression parameters in the same request: "
        f"Non-expression parameters: {{{', '.join(others)}}} Expression parameters: {{{', '.join(expressions)}}}"
    )


def only_with_expressions(parameter: str) -> str:
    """ExpressionAttributeNames or ExpressionAttributeValues without an expression."""
    return f"{parameter} can only be specified when using expressions"


def projection_with_select(parameter: str, select: str) -> str:
    """A projection beside a Select that leaves no choice."""
    chosen = "only the Count" if select == "COUNT" else select
    return f"Cannot specify the {parameter} when choosing to get {chosen}"


def too_many_items(operation: str) -> str:
    """A batch over its limit, summed over its tables."""
    return f"Too many items requested for the {operation} call"


def unsupported_parameter(name: str) -> str:
    """A parameter of the service's that keyplan does not have; the wording is keyplan's own."""
    return f"The parameter {name} is not supported by keyplan"


# Tags.
ARN_MISSING = "Invalid TableArn"
NO_TAGS = "Atleast one Tag needs to be provided as Input."
NO_TAG_KEYS = "Atleast one Tag Key needs to be provided as Input."


def invalid_arn(arn: str) -> str:
    """An ARN with no table name that could be one, or of another region."""
    return f"Invalid TableArn: Invalid ResourceArn provided as input {arn}"


def other_region(arn: str) -> str:
    """The ARN of a table elsewhere in place of a table's name, said by the table operations."""
    return detected([f"Invalid AWS region in '{arn}'"])


def no_arn(text: str) -> str:
    """Text that is no ARN at all."""
    return f"{PARAMETER_INVALID}ARNs must start with 'arn:': {text}"


def foreign_arn(arn: str) -> str:
    """The ARN of something else than a table and what belongs to one; a backup counts as something else."""
    return f"{PARAMETER_INVALID}Provided Arn is not a DynamoDB resource arn: {arn}"


def index_arn(arn: str) -> str:
    """The ARN of an index."""
    return (
        f"{PARAMETER_INVALID}Invalid resource arn provided, only table or stream is accepted. "
        f"Provided resource arn: {arn}"
    )


# Streams.
def iterator_needs(member: str, kind: str) -> str:
    """An iterator type that starts at a place which is not given."""
    return f"{PARAMETER_INVALID}{member} must be specified when ShardIteratorType is {kind}"


def iterator_takes_no(member: str, kind: str) -> str:
    """A place to start at beside an iterator type that has its own."""
    return f"{PARAMETER_INVALID}{member} cannot be specified when ShardIteratorType is {kind}"


INVALID_ARN = "Invalid StreamArn"
INVALID_ITERATOR = "Invalid ShardIterator"
INVALID_SEQUENCE_NUMBER = "Invalid SequenceNumber"
SHARD_NOT_FOUND = "Requested resource not found: Shard does not exist"
SHARD_OF_ITERATOR_NOT_FOUND = "Invalid ShardId in ShardIterator"
TRIMMED = "The data you are trying to access has been trimmed"
ITERATOR_EXPIRED = "The shard iterator has expired. Shard iterators are only valid for 15 minutes"


def stream_not_found(arn: str) -> str:
    """A well-formed ARN of no stream that can be read."""
    return f"Requested resource not found: Stream: {arn} not found"
