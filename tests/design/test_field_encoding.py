"""Values of Python as attribute values."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from tests.design.stored import Level, Point, Street, Town, Word

from keyplan.design.field_decoding import decode_value
from keyplan.design.field_encoding import encode_value
from keyplan.design.field_types import UnstorableTypeError, type_code


def test_numbers_are_exact() -> None:
    assert encode_value(Decimal("0.10")) == {"N": "0.10"}
    assert encode_value(Decimal("1E+20")) == {"N": "1" + "0" * 20}
    assert encode_value(0.1) == {"N": "0.1"}
    assert encode_value(1e22) == {"N": "1e+22"}
    assert decode_value({"N": "12345678901234567890123456789012345678"}) == 12345678901234567890123456789012345678
    assert decode_value({"N": "0.1"}) == Decimal("0.1")


@pytest.mark.parametrize("value", [float("nan"), float("inf"), Decimal("-Infinity"), Decimal("NaN")])
def test_what_is_no_finite_number_is_refused(value: Any) -> None:
    with pytest.raises(ValueError, match="cannot be stored: a Number is finite"):
        encode_value(value)


def test_nothing_is_stored_of_none_and_of_empty_sets() -> None:
    assert encode_value(Street(name="x")) == {"M": {"n": {"S": "x"}}}
    town = Town(streets=[], names=set(), pair=("a", Street(name="b")))
    assert set(encode_value(town)["M"]) == {"streets", "by_name", "pair"}
    with pytest.raises(UnstorableTypeError, match="an empty set cannot be stored"):
        encode_value([set()])


def test_sets_hold_one_type() -> None:
    with pytest.raises(UnstorableTypeError, match="only strings, only numbers or only binary"):
        encode_value({"a", 1})
    with pytest.raises(UnstorableTypeError, match="only strings, only numbers or only binary"):
        encode_value({(1, 2)})


def test_values_of_subclasses_are_stored_as_what_they_are() -> None:
    class Long(int):
        pass

    assert encode_value(Long(3)) == {"N": "3"}
    assert encode_value({"a": Level.HIGH, "b": Word.YES}) == {"M": {"a": {"N": "2"}, "b": {"S": "yes"}}}
    assert encode_value(Point(1, 2)) == {"L": [{"N": "1"}, {"N": "2"}]}
    with pytest.raises(UnstorableTypeError, match="object has no attribute type"):
        encode_value(object())
    assert type_code(Long) == "N"
