"""Numbers as the service keeps them: 38 significant digits, exact, in one canonical spelling.

The canonical spelling is plain notation without exponent, leading or trailing zeros ("1E+3" is
kept as "1000", "-0" as "0"), so two numbers are equal exactly when their texts are.

Source: developer guide, "Naming rules and data types", Number: up to 38 digits of precision,
magnitude 1E-130 to 9.9999999999999999999999999999999999999E+125.
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
"""Whether a text is written as a number is: if so, a match."""

# Wide enough that no intermediate result of one addition is rounded before it is checked.
_EXACT = decimal.Context(
    prec=limits.NUMBER_MAX_EXPONENT - limits.NUMBER_MIN_EXPONENT + 2 * limits.NUMBER_DIGITS,
    Emax=decimal.MAX_EMAX,
    Emin=decimal.MIN_EMIN,
    traps=[decimal.InvalidOperation],
)
_EXPONENT_DIGITS = 6  # more digits than this in an exponent is out of range whatever they are
_LARGEST_INT = 2**31 - 1
_LARGEST_LONG = 2**63 - 1


def canonical(text: str) -> str:
    """The canonical spelling of a number. Raises ValidationError with the service's text."""
    # Most numbers come as they are kept, and this short they are neither too large nor too precise.
    if len(text) <= limits.NUMBER_DIGITS and _CANONICAL(text):
        return text
    return _plain(_checked(_parse(text)))


def as_decimal(text: str) -> Decimal:
    """The value of a canonical number."""
    return Decimal(text)


def add(left: str, right: str) -> str:
    """The sum of two canonical numbers, exact. Raises ValidationError if it is out of range or too precise."""
    if len(left) < 18 and len(right) < 18 and "." not in left and "." not in right:
        return str(int(left) + int(right))
    return _result(_EXACT.add(Decimal(left), Decimal(right)))


def subtract(left: str, right: str) -> str:
    """The difference of two canonical numbers, exact. Raises ValidationError as `add` does."""
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
    """The service reads an exponent of 64 bits; its older reading, Java's, wraps at 32.

    Seen on the service, October 2026; what the older one says beyond 32 bits follows from Java's.
    """
    if len(exponent.lstrip("+-0")) > len(str(_LARGEST_LONG)) or not -_LARGEST_LONG <= int(exponent) <= _LARGEST_LONG:
        return _not_a_number(text)
    told = messages.NUMBER_UNDERFLOW if exponent.startswith("-") else messages.NUMBER_OVERFLOW
    if int(exponent) == _LARGEST_INT:
        return InvalidValueError(told, messages.NUMBER_UNDERFLOW)
    if not -_LARGEST_INT <= int(exponent) <= _LARGEST_INT:
        return InvalidValueError(told, messages.not_a_number_older(text))
    return InvalidValueError(told)


def _checked(number: Decimal) -> Decimal:
    # Zero too has an exponent as it is written: "0e126" is out of range.
    exponent = number.adjusted()
    if exponent > limits.NUMBER_MAX_EXPONENT:
        raise ValidationError(messages.NUMBER_OVERFLOW)
    if exponent < limits.NUMBER_MIN_EXPONENT:
        raise ValidationError(messages.NUMBER_UNDERFLOW)
    if significant_digits(number) > limits.NUMBER_DIGITS:
        raise ValidationError(messages.NUMBER_PRECISION)
    return number


def significant_digits(number: Decimal) -> int:
    """How many digits are left without leading and trailing zeros; at least 1."""
    digits = "".join(map(str, number.as_tuple().digits)).strip("0")
    return max(len(digits), 1)


def _result(number: Decimal) -> str:
    if not number:
        return "0"
    if significant_digits(number) > limits.NUMBER_DIGITS:
        # The service says so of every sum it cannot hold, however small (1E+50 + 1 among them).
        raise ValidationError(messages.NUMBER_OVERFLOW)
    return _plain(_checked(number))


def _plain(number: Decimal) -> str:
    if not number:
        return "0"
    text = format(number, "f")
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return text
