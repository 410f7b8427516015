"""Capacity units: the documented oracles."""

from __future__ import annotations

import pytest

from keyplan.dynamodb.values import units

KIB = 1024


@pytest.mark.parametrize(
    ("size", "consistent", "expected"),
    [
        (8 * KIB, True, 2.0),
        (8 * KIB, False, 1.0),
        (0, True, 1.0),
        (0, False, 0.5),
        (4 * KIB + 1, True, 2.0),
        (4000, False, 0.5),  # a Query of 40 items of 100 bytes
    ],
)
def test_read_units(size: int, consistent: bool, expected: float) -> None:
    assert units.read_units(size, consistent=consistent) == expected


def test_a_transactional_read_costs_double() -> None:
    assert units.transactional_read_units(8 * KIB) == 4.0


@pytest.mark.parametrize(("size", "expected"), [(0, 1.0), (1, 1.0), (KIB, 1.0), (KIB + 1, 2.0), (3 * KIB, 3.0)])
def test_write_units(size: int, expected: float) -> None:
    assert units.write_units(size) == expected


@pytest.mark.parametrize(
    ("old", "new", "same_key", "same_content", "expected"),
    [
        (None, None, False, False, 0.0),
        (None, 1500, False, False, 2.0),
        (1500, None, False, False, 2.0),
        (1500, 1500, True, True, 0.0),
        (500, 2500, True, False, 3.0),
        (2560, 2560, False, True, 6.0),
        (1500, 2500, False, False, 5.0),
        (2500, 500, True, False, 3.0),
    ],
)
def test_index_write_units(
    old: int | None, new: int | None, same_key: bool, same_content: bool, expected: float
) -> None:
    assert units.index_write_units(old, new, same_key=same_key, same_content=same_content) == expected
