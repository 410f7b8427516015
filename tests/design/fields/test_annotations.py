"""Which attribute type the values of a Python type are stored as."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Annotated, Any, Literal
from uuid import UUID

import pytest
from pydantic import JsonValue
from tests.design.stored import Colour, Level, Point, Street, UserId
from typing_extensions import TypeAliasType

from keyplan.design.fields.annotations import type_code, without_none

CODES: list[tuple[Any, str]] = [
    (str, "S"), (UserId, "S"), (int, "N"), (bool, "BOOL"), (float, "N"), (Decimal, "N"), (bytes, "B"),
    (datetime, "S"), (date, "S"), (time, "S"), (timedelta, "N"), (UUID, "S"), (Colour, "S"), (Level, "N"),
    (list[str], "L"), (tuple[int, ...], "L"), (dict[str, int], "M"), (Street, "M"), (set[str], "SS"),
    (set[int], "NS"), (frozenset[bytes], "BS"), (int | Decimal, "N"), (int | str, "ANY"), (Any, "ANY"), (object, "ANY"),
    (Literal["a", "b"], "S"), (Literal["a", 1], "ANY"), (Literal["a", None], "S"), (str | None, "S"), (Point, "L"),
]  # fmt: skip


@pytest.mark.parametrize(("annotation", "code"), CODES, ids=[str(case[0]) for case in CODES])
def test_the_attribute_type_follows_from_the_annotation(annotation: Any, code: str) -> None:
    assert type_code(annotation) == code


NAMED: list[tuple[Any, str]] = [
    (TypeAliasType("Name", str), "S"),
    (TypeAliasType("Sizes", set[int]), "NS"),
    (TypeAliasType("Name", TypeAliasType("Inner", Annotated[int, "a mark"])), "N"),
    (JsonValue, "ANY"),  # named in what it stands for
]
"""What `type Name = ...` makes from Python 3.12 on."""


@pytest.mark.parametrize(("annotation", "code"), NAMED, ids=[str(case[1]) for case in NAMED])
def test_a_named_type_is_stored_like_its_target(annotation: Any, code: str) -> None:
    assert type_code(annotation) == code


def test_a_named_type_may_be_none() -> None:
    assert without_none(TypeAliasType("Maybe", str | None)) == (str, True)
