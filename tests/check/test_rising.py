"""Which fields only rise."""

from __future__ import annotations

import pytest

from keyplan.check.field_names import increases_with_time
from keyplan.design import (
    Entity,
    Table,
)
from keyplan.design.entities import spec_of


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("created_at", True),
        ("timestamp", True),
        ("requestedAt", True),
        ("time", True),
        ("due_date", False),
        ("expires_at", False),
        ("start_at", False),
        ("title", False),
    ],
)
def test_a_moment_rises_where_it_is_the_time_of_writing(name: str, expected: bool) -> None:
    table = Table("t-" + name, pk="id")
    model = type("Thing", (Entity,), {"__annotations__": {"id": str, name: str}, "__module__": __name__})
    table.entity()(model)
    assert increases_with_time(spec_of(model).fields[name]) is expected
