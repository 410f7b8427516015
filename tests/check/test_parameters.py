"""Which parameters fit which fields."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from enum import Enum, StrEnum
from typing import Annotated, Any, Literal, NewType
from uuid import UUID

import pytest
from pydantic import Field, create_model

from keyplan.check.rules.patterns.parameters import mismatch, optional_param
from keyplan.design.fields.stored import StoredField, stored_field

UserId = NewType("UserId", str)
TaskId = NewType("TaskId", str)


class Colour(StrEnum):
    RED = "red"


class Plain(Enum):
    ONE = "one"


def field(annotation: Any) -> StoredField:
    model = create_model("Model", value=(annotation, ...))
    return stored_field("value", model.model_fields["value"])


@pytest.mark.parametrize(
    ("value", "declared"),
    [
        (str, str),
        (UserId, str),
        (str, UserId),
        (UserId, Annotated[UserId, Field(max_length=4)]),
        (int, float),
        (int, Decimal),
        (Decimal, Decimal),
        (Literal["a"], Literal["a", "b"]),
        (str, Literal["a", "b"]),
        (str, Colour),
        (Colour, str),
        (datetime | None, datetime | None),
        (list[str], list[str]),
        (UUID, UUID),
        (Any, int),
        (int | str, int),
    ],
    ids=str,
)
def test_matching_types_are_accepted(value: Any, declared: Any) -> None:
    assert mismatch(value, field(declared), is_list=False) is None


@pytest.mark.parametrize(
    ("value", "declared"),
    [
        (UserId, TaskId),
        (UserId, TaskId | None),
        (int, str),
        (str, int),
        (float, int),
        (date, datetime),
        (datetime, date),
        (bool, int),
        (int, bool),
        (str, UUID),
        (Plain, str),
        (Literal["c"], Literal["a", "b"]),
        (str, list[str]),
    ],
    ids=str,
)
def test_a_mismatch_names_both_types(value: Any, declared: Any) -> None:
    problem = mismatch(value, field(declared), is_list=False)
    assert problem is not None
    assert problem.startswith("is ")
    assert "the field is" in problem


def test_list_parameters_are_compared_by_member_type() -> None:
    assert mismatch(list[str], field(str), is_list=True) is None
    assert mismatch(list[int], field(str), is_list=True) is not None
    assert mismatch(list, field(str), is_list=True) is None
    assert mismatch(Annotated[list[str], Field(max_length=9)], field(str), is_list=True) is None
    assert mismatch(Annotated[list[int], Field(max_length=9)], field(str), is_list=True) is not None


def test_optional_parameters_are_recognized_under_annotations() -> None:
    assert optional_param(Annotated[str, Field()] | None)
    assert not optional_param(UserId)
