"""Exact numbers with up to 38 significant digits, in the same canonical form as in DynamoDB.

The canonical form is decimal notation without an exponent, leading zeros or trailing zeros. For example, "1E+3" becomes
"1000" and "-0" becomes "0". Two numbers are equal if and only if their canonical forms are equal.

Source: developer guide, "Naming rules and data types". A Number has up to 38 digits of precision, and a magnitude from
1E-130 to 9.9999999999999999999999999999999999999E+125.
"""

from __future__ import annotations

import decimal
import re
from decimal import Decimal

from keyplan import limits
from keyplan.dynamodb.messages import items as messages
from keyplan.dynamodb.values.types import InvalidValueError
from keyplan.errors import ValidationError

_CANONICAL = re.compile(r"(?:0|-?[1-9][0-9]*|-?(?:0|[1-9][0-9]*)\.[0-9]*[1-9])\Z", re.ASCII).match
is_number = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?\Z", re.ASCII).match
"""A function that returns a match if a string has the syntax of a number, and None otherwise."""

# Precise enough that the result of one addition is not rounded before it is checked.
_EXACT = decimal.Context(
    prec=limits.NUMBER_MAX_EXPONENT - limits.NUMBER_MIN_EXPONENT + 2 * limits.NUMBER_DIGITS,
    Emax=decimal.MAX_EMAX,
    Emin=decimal.MIN_EMIN,
    traps=[decimal.InvalidOperation],
)
_EXPONENT_DIGITS = 6  # an exponent with more digits is out of range
_LARGEST_INT = 2**31 - 1
_LARGEST_LONG = 2**63 - 1


def canonical(text: str) -> str:
    """Return the canonical form of a number. Raises ValidationError if the number is invalid, out of range or too
    precise.
    """
    # Most numbers are canonical already, and a number this short is neither too large nor too precise.
    if len(text) <= limits.NUMBER_DIGITS and _CANONICAL(text):
        return text
    return _plain(_checked(_parse(text)))


def as_decimal(text: str) -> Decimal:
    """Return a canonical number as a Decimal."""
    return Decimal(text)


def add(left: str, right: str) -> str:
    """Return the exact sum of two canonical numbers. Raises ValidationError if the sum is out of range or
    too precise.
    """
    if len(left) < 18 and len(right) < 18 and "." not in left and "." not in right:
        return str(int(left) + int(right))
    return _result(_EXACT.add(Decimal(left), Decimal(right)))


def subtract(left: str, right: str) -> str:
    """Return the exact difference of two canonical numbers. Raises the same errors as `add`."""
    if len(left) < 18 and len(right) < 18 and "." not in left and "." not in right:
        return str(int(left) - int(right))
    return _result(_EXACT.subtract(Decimal(left), Decimal(right)))


def _parse(text: str) -> Decimal:
    if not is_number(text):
        raise _not_a_number(text)
    exponent = text.lower().partition("e")[2]
    if len(exponent.lstrip("+-0")) > _EXPONENT_DIGITS:
        raise _far_out_of_range(text, exponent)
    return Decimal(text)


def _not_a_number(text: str) -> InvalidValueError:
    return InvalidValueError(messages.not_a_number(text), messages.not_a_number_older(text))


def _far_out_of_range(text: str, exponent: str) -> InvalidValueError:
    """Return the error for an exponent with too many digits.

    DynamoDB parses exponents as 64-bit integers. Its older validation layer overflows at 32 bits, like Java's parser
    (observed in DynamoDB, October 2026; the older message beyond 32 bits is inferred from Java's behaviour).
    """
    if len(exponent.lstrip("+-0")) > len(str(_LARGEST_LONG)) or not -_LARGEST_LONG <= int(exponent) <= _LARGEST_LONG:
        return _not_a_number(text)
    message = messages.NUMBER_UNDERFLOW if exponent.startswith("-") else messages.NUMBER_OVERFLOW
    if int(exponent) == _LARGEST_INT:
        return InvalidValueError(message, messages.NUMBER_UNDERFLOW)
    if not -_LARGEST_INT <= int(exponent) <= _LARGEST_INT:
        return InvalidValueError(message, messages.not_a_number_older(text))
    return InvalidValueError(message)


def _checked(number: Decimal) -> Decimal:
    # The exponent of zero counts too: "0e126" is out of range.
    exponent = number.adjusted()
    if exponent > limits.NUMBER_MAX_EXPONENT:
        raise ValidationError(messages.NUMBER_OVERFLOW)
    if exponent < limits.NUMBER_MIN_EXPONENT:
        raise ValidationError(messages.NUMBER_UNDERFLOW)
    if significant_digits(number) > limits.NUMBER_DIGITS:
        raise ValidationError(messages.NUMBER_PRECISION)
    return number


def significant_digits(number: Decimal) -> int:
    """Return the number of significant digits, excluding leading and trailing zeros. The result is at least 1."""
    digits = "".join(map(str, number.as_tuple().digits)).strip("0")
    return max(len(digits), 1)


def _result(number: Decimal) -> str:
    if not number:
        return "0"
    if significant_digits(number) > limits.NUMBER_DIGITS:
        # The service reports overflow for every sum that it cannot store, such as 1E+50 + 1.
        raise ValidationError(messages.NUMBER_OVERFLOW)
    return _plain(_checked(number))


def _plain(number: Decimal) -> str:
    if not number:
        return "0"
    text = format(number, "f")
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return text
