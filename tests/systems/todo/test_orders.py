"""Lists in an order combined with filters, and days as they are written."""

from __future__ import annotations

import pytest
from tests.systems.todo.stage import Caller


def titles(ada: Caller, **filters: str) -> str:
    """Return the content of a list, as single letters."""
    response = ada.get("/tasks", **filters)
    assert response.status_code == 200, response.text
    return "".join(task["title"] for task in response.json()["tasks"])


def test_an_order_applies_with_any_filter(ada: Caller) -> None:
    for number, (status, priority, day) in enumerate(
        [("pending", "low", "2025-12-03"), ("completed", "high", "2025-12-02"), ("pending", "high", "2025-12-01")]
    ):
        ada.task(str(number), status=status, priority=priority, due_date=day, category="x")
    ada.task("3", priority=None)
    for parameters, expected in [
        ({"status": "pending", "order": "due_date"}, "20"),
        ({"category": "x", "order": "due_date"}, "210"),
        ({"category": "x", "order": "priority", "status": "pending"}, "20"),
        ({"due_from": "2025-12-02", "order": "priority"}, "10"),
        ({"due_to": "2025-12-02", "order": "priority"}, "12"),
        ({"due_from": "2025-12-01", "order": "due_date"}, "210"),
        ({"due_on": "2025-12-03", "order": "priority"}, "0"),
        ({"status": "pending", "order": "urgency"}, "20"),
        ({"status": "pending", "order": "status"}, "023"),
        ({"priority": "high", "order": "status"}, "12"),
    ]:
        assert titles(ada, **parameters) == expected, parameters


@pytest.mark.embedded("refused before any table is met")
@pytest.mark.parametrize("day", ["0", "86400", "2025-11-30T00:00:00", "2025-2-3", "today", ""])
def test_a_day_has_one_valid_notation(ada: Caller, day: str) -> None:
    for name in ("due_on", "due_from", "due_to"):
        assert ada.get("/tasks", **{name: day}).json()["error"]["details"][0]["field"] == name
