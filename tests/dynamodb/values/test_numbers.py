"""Numbers: the canonical spelling, the limits, exact arithmetic."""

from __future__ import annotations

from decimal import Decimal, localcontext

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyplan.dynamodb.messages import items as messages
from keyplan.dynamodb.values import numbers
from keyplan.dynamodb.values.attribute import number_bytes
from keyplan.dynamodb.values.keybytes import number_key
from keyplan.errors import ValidationError

digits = st.integers(0, 10**38 - 1)
NUMBERS = st.builds(
    lambda sign, mantissa, exponent: numbers.canonical(f"{sign}{mantissa}e{exponent}"),
    st.sampled_from(["", "-"]),
    digits,
    st.integers(-120, 80),
)


@pytest.mark.parametrize(
    ("given_text", "stored"),
    [
        ("0", "0"),
        ("-0", "0"),
        ("0.00", "0"),
        ("0e125", "0"),
        ("007", "7"),
        ("+3", "3"),
        ("1.50", "1.5"),
        (".5", "0.5"),
        ("5.", "5"),
        ("1e3", "1000"),
        ("1E-3", "0.001"),
        ("-12.340e1", "-123.4"),
        ("1e125", "1" + "0" * 125),
        ("1e-130", "0." + "0" * 129 + "1"),
        ("9" * 38, "9" * 38),
        ("1" + "0" * 60, "1" + "0" * 60),
    ],
)
def test_numbers_are_stored_in_plain_notation(given_text: str, stored: str) -> None:
    assert numbers.canonical(given_text) == stored
    assert numbers.canonical(stored) == stored


@pytest.mark.parametrize(
    ("given_text", "message"),
    [
        ("", "The parameter cannot be converted to a numeric value: "),
        ("abc", "The parameter cannot be converted to a numeric value: abc"),
        ("1_0", "The parameter cannot be converted to a numeric value: 1_0"),
        (" 5", "The parameter cannot be converted to a numeric value:  5"),
        ("5 ", "The parameter cannot be converted to a numeric value: 5 "),
        ("NaN", "The parameter cannot be converted to a numeric value: NaN"),
        ("Infinity", "The parameter cannot be converted to a numeric value: Infinity"),
        ("1e", "The parameter cannot be converted to a numeric value: 1e"),
        ("٣", "The parameter cannot be converted to a numeric value: ٣"),
        ("1e126", messages.NUMBER_OVERFLOW),
        ("-1e126", messages.NUMBER_OVERFLOW),
        ("1e99999999999", messages.NUMBER_OVERFLOW),
        ("0e126", messages.NUMBER_OVERFLOW),
        ("0e-131", messages.NUMBER_UNDERFLOW),
        ("1e9223372036854775808", "The parameter cannot be converted to a numeric value: 1e9223372036854775808"),
        ("1e-131", messages.NUMBER_UNDERFLOW),
        ("1e-99999999999", messages.NUMBER_UNDERFLOW),
        ("1" * 39, messages.NUMBER_PRECISION),
        ("1." + "1" * 38, messages.NUMBER_PRECISION),
    ],
)
def test_invalid_numbers_are_rejected(given_text: str, message: str) -> None:
    with pytest.raises(ValidationError) as raised:
        numbers.canonical(given_text)
    assert raised.value.message == message


@given(NUMBERS, NUMBERS)
def test_key_bytes_sort_like_the_numbers(left: str, right: str) -> None:
    assert (number_key(left) < number_key(right)) == (Decimal(left) < Decimal(right))
    assert (number_key(left) == number_key(right)) == (left == right)


@given(NUMBERS)
def test_the_size_of_a_number_is_that_of_its_key_bytes(number: str) -> None:
    assert number_bytes(number) == len(number_key(number)) <= 21


@pytest.mark.parametrize(
    ("number", "size"),
    [("0", 1), ("1", 2), ("10", 2), ("12", 2), ("123", 3), ("1.5", 3), ("-1", 3), ("0.01", 2), ("9" * 38, 20)],
)
def test_sizes_of_known_numbers(number: str, size: int) -> None:
    assert number_bytes(number) == size


@given(st.integers(-(10**37), 10**37), st.integers(-(10**37), 10**37))
def test_sums_of_integers_are_exact(left: int, right: int) -> None:
    assert numbers.add(str(left), str(right)) == str(left + right)
    assert numbers.subtract(str(left), str(right)) == str(left - right)


@given(NUMBERS, NUMBERS)
def test_sums_are_exact_or_rejected(left: str, right: str) -> None:
    with localcontext() as context:
        context.prec = 400
        exact = Decimal(left) + Decimal(right)
    too_precise = numbers.significant_digits(exact) > 38
    if exact and (too_precise or not -130 <= exact.adjusted() <= 125):
        with pytest.raises(ValidationError, match=r"Number (over|under)flow"):
            numbers.add(left, right)
    else:
        assert Decimal(numbers.add(left, right)) == exact


def test_a_sum_of_more_than_38_digits_is_an_overflow() -> None:
    with pytest.raises(ValidationError, match="Number overflow"):
        numbers.add(numbers.canonical("1e50"), "1")


def test_a_sum_beyond_the_range_is_an_overflow() -> None:
    largest = numbers.canonical("9.9999999999999999999999999999999999999e125")
    with pytest.raises(ValidationError, match="Number overflow"):
        numbers.add(largest, largest)
