"""Which attribute type the values of a Python type are stored as."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, Literal
from uuid import UUID

import pytest
from tests.design.stored import Colour, Level, Point, Street, UserId

from keyplan.design.field_types import type_code

CODES: list[tuple[Any, str]] = [
    (str, "S"), (UserId, "S"), (int, "N"), (bool, "BOOL"), (float, "N"), (Decimal, "N"), (bytes, "B"),
    (datetime, "S"), (date, "S"), (time, "S"), (timedelta, "N"), (UUID, "S"), (Colour, "S"), (Level, "N"),
    (list[str], "L"), (tuple[int, ...], "L"), (dict[str, int], "M"), (Street, "M"), (set[str], "SS"),
    (set[int], "NS"), (frozenset[bytes], "BS"), (int | Decimal, "N"), (int | str, "ANY"), (Any, "ANY"), (object, "ANY"),
    (Literal["a", "b"], "S"), (Literal["a", 1], "ANY"), (Literal["a", None], "S"), (str | None, "S"), (Point, "L"),
]  # fmt: skip


@pytest.mark.parametrize(("annotation", "code"), CODES, ids=[str(one[0]) for one in CODES])
def test_the_attribute_type_follows_from_the_annotation(annotation: Any, code: str) -> None:
    assert type_code(annotation) == code
