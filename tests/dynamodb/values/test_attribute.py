"""Attribute values of requests: canonical form and errors."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyplan.dynamodb.messages import items as messages
from keyplan.dynamodb.values import attribute, encoding, numbers
from keyplan.dynamodb.values.attribute import normalise, normalise_item
from keyplan.errors import SerializationError, ValidationError


@pytest.mark.parametrize(
    ("given_value", "canonical", "size"),
    [
        ({"S": "abc"}, {"S": "abc"}, 3),
        ({"S": ""}, {"S": ""}, 0),
        ({"S": "é"}, {"S": "é"}, 2),
        ({"N": "1.0"}, {"N": "1"}, 2),
        ({"B": b"\x00\x01"}, {"B": "AAE="}, 2),
        ({"B": bytearray(b"abc")}, {"B": "YWJj"}, 3),
        ({"B": memoryview(b"a-b-c")[::2]}, {"B": "YWJj"}, 3),
        ({"B": "text"}, {"B": "dGV4dA=="}, 4),
        ({"B": b""}, {"B": ""}, 0),
        ({"BOOL": False}, {"BOOL": False}, 1),
        ({"NULL": True}, {"NULL": True}, 1),
        ({"SS": ["a", ""]}, {"SS": ["", "a"]}, 1),
        ({"NS": ["1.0", "2e1"]}, {"NS": ["1", "20"]}, 4),
        ({"BS": [b"a", b""]}, {"BS": ["", "YQ=="]}, 1),
        ({"L": []}, {"L": []}, 3),
        ({"L": [{"S": "a"}, {"N": "01"}]}, {"L": [{"S": "a"}, {"N": "1"}]}, 3 + 1 + 1 + 1 + 2),
        ({"M": {}}, {"M": {}}, 3),
        ({"M": {"ab": {"BOOL": True}}}, {"M": {"ab": {"BOOL": True}}}, 3 + 1 + 2 + 1),
        ({"S": "a", "N": None}, {"S": "a"}, 1),
    ],
)
def test_values_become_canonical(given_value: dict[str, Any], canonical: dict[str, Any], size: int) -> None:
    assert normalise(given_value, wire=False) == (canonical, size)
    assert attribute.value_bytes(canonical) == size


@pytest.mark.parametrize(
    ("given_value", "message"),
    [
        ({}, messages.EMPTY_VALUE),
        ({"X": "a"}, messages.EMPTY_VALUE),
        ({"S": None}, messages.EMPTY_VALUE),
        ({"S": "a", "N": "1"}, messages.SEVERAL_TYPES),
        ({"S": "a", "N": "x"}, messages.not_a_number("x")),
        ({"NULL": False}, messages.NULL_NOT_TRUE),
        ({"SS": []}, "One or more parameter values were invalid: An string set  may not be empty"),
        ({"NS": []}, "One or more parameter values were invalid: An number set  may not be empty"),
        ({"BS": []}, "One or more parameter values were invalid: Binary sets should not be empty"),
        (
            {"SS": ["a", "a"]},
            'One or more parameter values were invalid: Input collection ["a", "a"] contains duplicates.',
        ),
        (
            {"SS": ["b", "a", "b", "0"]},
            'One or more parameter values were invalid: Input collection ["a", "b", "b", "0"] contains duplicates.',
        ),
        (
            {"NS": ["1", "1.0"]},
            "One or more parameter values were invalid: Input collection contains duplicates.",
        ),
        ({"L": [{"N": "x"}]}, messages.not_a_number("x")),
        ({"M": {"a": {}}}, messages.EMPTY_VALUE),
    ],
)
def test_invalid_values_are_rejected(given_value: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError) as raised:
        normalise(given_value, wire=False)
    assert raised.value.message == message


_DIGITS = st.text("0123456789", max_size=40)


@given(st.builds("{}{}{}{}".format, st.sampled_from(["", "-", "+"]), _DIGITS, st.sampled_from(["", "."]), _DIGITS))
def test_numbers_have_the_size_of_their_canonical_text(text: str) -> None:
    assert measured(text) == measured_at_length(text)
    assert measured(text) == measured_at_length(text)  # now from the cache


def measured(text: str) -> tuple[str, int] | str:
    """Return a normalised number with its size, or why it is refused."""
    try:
        value, size = normalise({"N": text}, wire=True)
    except ValidationError as error:
        return error.message
    return value["N"], size


def measured_at_length(text: str) -> tuple[str, int] | str:
    """Return the same from the parts that do not depend on the number's length."""
    try:
        canonical = numbers.canonical(text)
    except ValidationError as error:
        return error.message
    return canonical, attribute.number_bytes(canonical)


@pytest.mark.parametrize("text", ["²", "1.²", "٣", "1٣", "1.٣", "1.2.3", "1..2", ".", "", "0.", "1 ", "1_0", "1,5"])
def test_digits_of_other_scripts_and_fragments_are_not_numbers(text: str) -> None:
    assert measured(text) == measured_at_length(text)


def test_numbers_stay_correct_when_the_cache_is_full() -> None:
    for number in range(5000):
        assert measured(f"{number}.50") == (f"{number}.5", attribute.number_bytes(f"{number}.5"))


@pytest.mark.parametrize("kind", ["L", "M"])
def test_values_nest_up_to_32_levels(kind: str) -> None:
    value: dict[str, Any] = {"S": "deep"}
    for _ in range(31):
        value = {"L": [value]} if kind == "L" else {"M": {"a": value}}
    normalise(value, wire=False)
    with pytest.raises(ValidationError, match="Nesting Levels have exceeded"):
        normalise({"L": [value]}, wire=False)


def test_binary_on_the_wire_must_be_base64() -> None:
    assert normalise({"B": "YWJj"}, wire=True) == ({"B": "YWJj"}, 3)
    with pytest.raises(SerializationError):
        normalise({"B": "a"}, wire=True)


SCALARS = st.one_of(
    st.text(max_size=8).map(lambda text: {"S": text}),
    st.integers(-(10**30), 10**30).map(lambda number: {"N": str(number)}),
    st.binary(max_size=8).map(lambda binary: {"B": binary}),
    st.booleans().map(lambda flag: {"BOOL": flag}),
    st.just({"NULL": True}),
    st.sets(st.text(max_size=4), min_size=1, max_size=3).map(lambda members: {"SS": sorted(members)}),
    st.sets(st.integers(-(10**30), 10**30), min_size=1, max_size=3).map(
        lambda members: {"NS": [str(number) for number in sorted(members)]}
    ),
    st.sets(st.binary(max_size=4), min_size=1, max_size=3).map(lambda members: {"BS": sorted(members)}),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3).map(lambda members: {"L": members})
        | st.dictionaries(st.text(min_size=1, max_size=4), inner, max_size=3).map(lambda members: {"M": members})
    ),
    max_leaves=8,
)
ITEMS = st.dictionaries(st.text(min_size=1, max_size=4), VALUES, max_size=5)


@given(ITEMS)
def test_an_item_survives_storage_in_the_python_form(item: dict[str, Any]) -> None:
    canonical, size = normalise_item(item, wire=False)
    body = encoding.encode(canonical)
    assert encoding.PYTHON.from_body(body) == item
    assert encoding.PYTHON.page([body, body]) == [item, item]
    assert size == attribute.item_bytes(encoding.decode(body))


@given(ITEMS)
def test_canonical_items_are_not_changed(item: dict[str, Any]) -> None:
    canonical, size = normalise_item(item, wire=False)
    assert normalise_item(canonical, wire=True) == (canonical, size)


@pytest.mark.parametrize("value", [{"S": None}, {"N": None}, {"L": None}, {}])
def test_items_with_an_empty_value_are_rejected(value: dict[str, Any]) -> None:
    with pytest.raises(ValidationError) as raised:
        normalise_item({"a": value}, wire=True)
    assert raised.value.message == messages.EMPTY_VALUE
