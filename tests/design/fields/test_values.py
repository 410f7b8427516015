"""Python values as attribute values and back."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from tests.design.stored import TIMESTAMPS, Level, Point, Street, Town, Word

from keyplan.design.fields.annotations import UnstorableTypeError, type_code
from keyplan.design.fields.stored import decode_value, encode_value, timestamp_text


def test_numbers_are_exact() -> None:
    assert encode_value(Decimal("0.10")) == {"N": "0.10"}
    assert encode_value(Decimal("1E+20")) == {"N": "1" + "0" * 20}
    assert encode_value(0.1) == {"N": "0.1"}
    assert encode_value(1e22) == {"N": "1e+22"}
    assert decode_value({"N": "12345678901234567890123456789012345678"}) == 12345678901234567890123456789012345678
    assert decode_value({"N": "0.1"}) == Decimal("0.1")


@pytest.mark.parametrize("value", [float("nan"), float("inf"), Decimal("-Infinity"), Decimal("NaN")])
def test_a_number_that_is_not_finite_is_rejected(value: Any) -> None:
    with pytest.raises(ValueError, match="cannot be stored: a Number is finite"):
        encode_value(value)


def test_none_and_empty_sets_are_not_stored() -> None:
    assert encode_value(Street(name="x")) == {"M": {"n": {"S": "x"}}}
    town = Town(streets=[], names=set(), pair=("a", Street(name="b")))
    assert set(encode_value(town)["M"]) == {"streets", "by_name", "pair"}
    with pytest.raises(UnstorableTypeError, match="an empty set cannot be stored"):
        encode_value([set()])


def test_sets_contain_one_type() -> None:
    with pytest.raises(UnstorableTypeError, match="only strings, only numbers or only binary"):
        encode_value({"a", 1})
    with pytest.raises(UnstorableTypeError, match="only strings, only numbers or only binary"):
        encode_value({(1, 2)})


def test_values_of_subclasses_are_stored_like_their_base_type() -> None:
    class Long(int):
        pass

    assert encode_value(Long(3)) == {"N": "3"}
    assert encode_value({"a": Level.HIGH, "b": Word.YES}) == {"M": {"a": {"N": "2"}, "b": {"S": "yes"}}}
    assert encode_value(Point(1, 2)) == {"L": [{"N": "1"}, {"N": "2"}]}
    with pytest.raises(UnstorableTypeError, match="object has no attribute type"):
        encode_value(object())
    assert type_code(Long) == "N"


def test_timestamps_are_texts_of_fixed_width_that_sort_by_time() -> None:
    assert timestamp_text(datetime(7, 1, 2, 3, 4, 5, 6, tzinfo=UTC)) == "0007-01-02T03:04:05.000006Z"
    east = datetime(2026, 1, 1, 1, tzinfo=timezone(timedelta(hours=2)))
    assert timestamp_text(east) == "2025-12-31T23:00:00.000000Z"


@given(first=TIMESTAMPS, second=TIMESTAMPS)
def test_timestamp_texts_sort_like_the_timestamps(first: datetime, second: datetime) -> None:
    assert (first < second) == (timestamp_text(first) < timestamp_text(second))


def test_a_timestamp_without_a_time_zone_is_rejected() -> None:
    naive = datetime(2026, 1, 1)
    with pytest.raises(ValueError, match="has no time zone"):
        encode_value(naive)
    with pytest.raises(ValueError, match="has no time zone"):
        encode_value(Street(name="x", built=naive))
