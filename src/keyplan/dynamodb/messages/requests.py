"""Messages about requests that are invalid for every table, and messages about streams."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from keyplan.dynamodb.messages import Template1, Template2, Template3
from keyplan.dynamodb.messages.items import PARAMETER_INVALID, SEVERAL_TYPES

ENVELOPE = "1 validation error detected: "
_DETECTED = re.compile(r"\d+ validation errors? detected: ")

# The service sends this error without a message.
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

not_convertible: Template2 = "{} cannot be converted to {}".format
unrecognized_collection: Template1 = "Unrecognized collection type {}".format
base64_length: Template1 = "Base64 encoded length is expected a multiple of 4 bytes but found: {}".format
base64_character: Template1 = "Invalid Base64 character: '{}'".format
not_unicode: Template1 = "The text of {} is not valid Unicode".format  # keyplan's own: JSON cannot hold such text


def unknown_member(name: str, known_names: Iterable[str]) -> str:
    """Return the message for an unknown parameter in a Python call. This message is keyplan's own.

    Over HTTP, unknown parameters are ignored, as in DynamoDB.
    """
    return f'Unknown parameter in input: "{name}", must be one of: {", ".join(sorted(known_names))}'


# Constraints of members (ValidationException).
NOT_NULL = "Member must not be null"

TABLE_NAME_REQUIRED = "The parameter 'TableName' is required but was not present in the request"
TABLE_NAME_LENGTH = "TableName must be at least 3 characters long and at most 255 characters long"

min_length: Template1 = "Member must have length greater than or equal to {}".format
max_length: Template1 = "Member must have length less than or equal to {}".format
min_value: Template1 = "Member must have value greater than or equal to {}".format
max_value: Template1 = "Member must have value less than or equal to {}".format
pattern: Template1 = "Member must satisfy regular expression pattern: {}".format


def enum(values: Sequence[str]) -> str:
    """Return the text of the constraint that requires a string to be one of these values."""
    return f"Member must satisfy enum value set: [{', '.join(values)}]"


def map_keys(constraints: Sequence[str]) -> str:
    """Return the text of the constraint that requires the keys of a map to satisfy the given constraints."""
    return f"Map keys must satisfy constraint: [{', '.join(constraints)}]"


def map_values(constraints: Sequence[str]) -> str:
    """Return the text of the constraint that requires the values of a map to satisfy the given constraints."""
    return f"Map value must satisfy constraint: [{', '.join(constraints)}]"


constraint: Template3 = "Value {} at '{}' failed to satisfy constraint: {}".format
front_constraint: Template2 = "Value at '{}' failed to satisfy constraint: {}".format


def newer_enum(values: Sequence[str]) -> str:
    """Return the message of DynamoDB's newer validation code for an invalid enum value. The message does not contain
    the member name.
    """
    return f"Failed to satisfy constraint: {enum(values)}"


def detected(faults: Sequence[str]) -> str:
    """Return a single message that lists all violated constraints of a request."""
    plural = "" if len(faults) == 1 else "s"
    return f"{len(faults)} validation error{plural} detected: {'; '.join(faults)}"


def enveloped(message: str) -> str:
    """Return the message with the prefix that PutItem, UpdateItem and DeleteItem add to errors that are found before
    the table is read. A message that already has such a prefix is returned unchanged.
    """
    return message if _DETECTED.match(message) else ENVELOPE + message


# Rules of item operations that need neither a table nor an item.
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


def mixed_parameters(legacy_parameters: Sequence[str], expressions: Sequence[str]) -> str:
    """Return the message for a request with both expression parameters and legacy parameters."""
    return (
        "Can not use both expression and non-expression parameters in the same request: "
        f"Non-expression parameters: {{{', '.join(legacy_parameters)}}} Expression parameters:"
        f" {{{', '.join(expressions)}}}"
    )


only_with_expressions: Template1 = "{} can only be specified when using expressions".format


def projection_with_select(parameter: str, select: str) -> str:
    """Return the message for a projection in a request whose Select does not allow projections."""
    chosen = "only the Count" if select == "COUNT" else select
    return f"Cannot specify the {parameter} when choosing to get {chosen}"


too_many_items: Template1 = "Too many items requested for the {} call".format
unsupported_parameter: Template1 = "The parameter {} is not supported by keyplan".format  # keyplan's own

# Tags.
ARN_MISSING = "Invalid TableArn"
NO_TAGS = "Atleast one Tag needs to be provided as Input."
NO_TAG_KEYS = "Atleast one Tag Key needs to be provided as Input."

invalid_arn: Template1 = "Invalid TableArn: Invalid ResourceArn provided as input {}".format


def other_region(arn: str) -> str:
    """Return the message that table operations return for the ARN of a table in another Region."""
    return detected([f"Invalid AWS region in '{arn}'"])


no_arn: Template1 = (PARAMETER_INVALID + "ARNs must start with 'arn:': {}").format
foreign_arn: Template1 = (PARAMETER_INVALID + "Provided Arn is not a DynamoDB resource arn: {}").format
index_arn: Template1 = (
    PARAMETER_INVALID + "Invalid resource arn provided, only table or stream is accepted. Provided resource arn: {}"
).format

# Streams.
iterator_needs: Template2 = (PARAMETER_INVALID + "{} must be specified when ShardIteratorType is {}").format
iterator_takes_no: Template2 = (PARAMETER_INVALID + "{} cannot be specified when ShardIteratorType is {}").format

INVALID_ARN = "Invalid StreamArn"
INVALID_ITERATOR = "Invalid ShardIterator"
INVALID_SEQUENCE_NUMBER = "Invalid SequenceNumber"
SHARD_NOT_FOUND = "Requested resource not found: Shard does not exist"
SHARD_OF_ITERATOR_NOT_FOUND = "Invalid ShardId in ShardIterator"
TRIMMED = "The data you are trying to access has been trimmed"
ITERATOR_EXPIRED = "The shard iterator has expired. Shard iterators are only valid for 15 minutes"

stream_not_found: Template1 = "Requested resource not found: Stream: {} not found".format
