"""Items changed so that a condition is true of them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from keyplan import Entity, F, Table, key
from keyplan.design.conditions.conditions import Condition
from keyplan.design.conditions.evaluation import holds
from keyplan.design.entities import spec_of
from keyplan.design.requests.items import absent_as_none
from keyplan.verify.targets import satisfying_changes

rooms = Table("rooms", pk="PK")


@rooms.entity(key=key("ROOM#{room_id}"))
class Room(Entity):
    room_id: str
    name: str
    seats: int
    tags: frozenset[str] = frozenset()
    guests: list[str]
    opened_at: datetime | None = None
    closed: bool = False


VALUES: dict[str, Any] = {
    "room_id": "r", "name": "blue", "seats": 8, "tags": frozenset({"a", "b", "c"}), "guests": ["x"], "opened_at": None,
    "closed": False,
}  # fmt: skip
CHOSEN: dict[str, Any] = {
    "name": "green", "seats": 3, "tags": frozenset({"d", "e"}), "guests": ["y", "z"],
    "opened_at": datetime(2026, 1, 1, tzinfo=UTC), "closed": True,
}  # fmt: skip


def suited(condition: Condition) -> dict[str, Any]:
    """Return the first values that make the condition true."""
    for changes in satisfying_changes(condition, spec_of(Room), VALUES, CHOSEN.__getitem__):
        if holds(condition, {name: absent_as_none(value) for name, value in {**VALUES, **changes}.items()}) is True:
            return changes
    raise AssertionError("no way leads there")


@pytest.mark.parametrize(
    ("condition", "changes"),
    [
        (F.seats == 8, {}),
        (F.seats > 8, {"seats": 9}),
        (F.seats < 8, {"seats": 7}),
        (F.seats.between(20, 30), {"seats": 20}),
        (F.name.is_in("red", "white"), {"name": "red"}),
        (F.name != "blue", {"name": "green"}),
        (F.name.begins_with("re"), {"name": "re"}),
        (F.opened_at.exists(), {"opened_at": CHOSEN["opened_at"]}),
        (F.tags.contains("z"), {"tags": {"z"}}),
        (F.tags.missing(), {"tags": frozenset()}),
        ((F.seats > 8) & (F.name == "red"), {"seats": 9, "name": "red"}),
        ((F.seats > 8) | (F.name == "red"), {"seats": 9}),
        (~(F.seats == 8), {"seats": 3}),
        (~(F.seats <= 8), {"seats": 9}),
        (~F.opened_at.missing(), {"opened_at": CHOSEN["opened_at"]}),
        (~((F.seats == 8) & (F.name == "blue")), {"seats": 3}),
        (~((F.seats == 8) | (F.name == "blue")), {"seats": 3, "name": "green"}),
        (~~(F.seats > 8), {"seats": 9}),
        (~F.tags.contains("a"), {"tags": CHOSEN["tags"]}),
        (F.tags.size() < 2, {"tags": frozenset({"a"})}),
        (F.tags.size() >= 5, {"tags": frozenset({"a", "b", "c", "d", "e"})}),
        (F.guests.size() == 4, {"guests": ["x", "y", "z", "y"]}),
        (F.guests.size() <= 0, {"guests": []}),
        (F.name.size() > 6, {"name": "bluexxx"}),
        (F.name.size().between(2, 3), {"name": "bl"}),
    ],
)
def test_an_item_is_changed_to_satisfy_the_condition(condition: Condition, changes: dict[str, Any]) -> None:
    assert suited(condition) == changes


def test_every_branch_is_a_separate_solution() -> None:
    condition = F.opened_at.exists() | (F.seats > 8) | (F.name == "red")
    results = list(satisfying_changes(condition, spec_of(Room), VALUES, CHOSEN.__getitem__))
    assert results == [{"opened_at": CHOSEN["opened_at"]}, {"seats": 9}, {"name": "red"}]


def test_an_unsatisfiable_condition_has_no_solution() -> None:
    for condition in (F.seats.size() > 2, F.tags.size() > 9, F.guests["x"] == "y"):
        assert list(satisfying_changes(condition, spec_of(Room), VALUES, CHOSEN.__getitem__)) == []
