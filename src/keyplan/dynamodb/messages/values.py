"""What the service says of attribute values, numbers and keys."""

from __future__ import annotations

from collections.abc import Sequence

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
"""How many of the service's sentences begin, also those about requests, tables and items."""

NULL_NOT_TRUE = PARAMETER_INVALID + "Null attribute value types must have the value of true"
EMPTY_STRING_SET = PARAMETER_INVALID + "An string set  may not be empty"
NULL_STRING = PARAMETER_INVALID + "An string set may not have a null string as a member"
EMPTY_NUMBER_SET = PARAMETER_INVALID + "An number set  may not be empty"
EMPTY_BINARY_SET = PARAMETER_INVALID + "Binary sets should not be empty"
EMPTY_NAME = "Empty attribute name"
NAME_TOO_LONG = "Attribute name is too large, must be less than 65536 bytes"
NUMBER_SET_DUPLICATES = PARAMETER_INVALID + "Input collection contains duplicates."
NUMBER_SET_DUPLICATES_OLDER = "Input collection contains duplicates"


def not_a_number(text: str) -> str:
    """A number that cannot be read."""
    return f"{NOT_A_NUMBER_EMPTY}: {text}"


def not_a_number_older(text: str) -> str:
    """The same in the older wording, which has no colon where there is no text."""
    return not_a_number(text) if text else NOT_A_NUMBER_EMPTY


def string_set_duplicates(members: Sequence[str]) -> str:
    """A string set with the same member twice; members are quoted."""
    listed = ", ".join(f'"{member}"' for member in members)
    return f"{PARAMETER_INVALID}Input collection [{listed}] contains duplicates."


def string_set_duplicates_older(members: Sequence[str]) -> str:
    """The same in the older wording."""
    return f"{PARAMETER_INVALID}Input collection [{', '.join(members)}] contains duplicates."


def binary_set_duplicates(members: Sequence[str]) -> str:
    """A binary set with the same member twice; members are quoted, without blanks between them."""
    listed = ",".join(f'"{member}"' for member in members)
    return f"{PARAMETER_INVALID}Input collection [{listed}]of type BS contains duplicates."


def binary_set_duplicates_older(members: Sequence[str]) -> str:
    """The same in the older wording."""
    return f"{PARAMETER_INVALID}Input collection [{', '.join(members)}]of type BS contains duplicates."


def value_invalid(problem: str, key: str) -> str:
    """What is wrong with one of ExpressionAttributeValues, in the older wording."""
    return f"ExpressionAttributeValues contains invalid value: {problem} for key {key}"
