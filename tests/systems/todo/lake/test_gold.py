"""Gold: the documented figures of existing items."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

from tests.systems.todo.lake.queries import gold, rows
from tests.systems.todo.lake.record_history import NOON_S, History

from keyplan_systems.todo.lake.lake import Lake

DAY_S = 86_400


def filled(lake: Lake) -> None:
    """Store Ann with four tasks, one expired and one deleted; Bob without tasks; Cid's task without Cid."""
    history = History()
    records = [history.put_user("ann", name="Ann"), history.put_user("bob"), history.put_user("eve")]
    records.append(history.delete_user("eve"))
    for number, status in enumerate(["pending", "in_progress", "completed", "completed", "completed", "cancelled"]):
        at = NOON_S + number * DAY_S
        completion = {"completed_at": at + DAY_S} if status == "completed" else {}
        records.append(
            history.put_task("ann", str(number), status=status, created_at=at, category="home", **completion)
        )
    records += [history.expire_task("ann", "4"), history.delete_task("ann", "5")]
    records.append(history.put_task("cid", "1", priority="high"))
    lake.bronze.write(records)
    lake.refresh()


def test_user_totals_count_existing_and_archived_tasks_separately(lake: Lake) -> None:
    filled(lake)
    ann, bob, cid = rows(lake, "SELECT * FROM gold.user_totals ORDER BY user_id")
    assert ann == {
        "user_id": "ann",
        "name": "Ann",
        "total": 4,
        "pending": 1,
        "in_progress": 1,
        "completed": 2,
        "cancelled": 0,
        "archived": 1,
        "completion_rate": Decimal("0.5"),
        "first_created_on": date(2025, 11, 20),
        "last_created_on": date(2025, 11, 23),
        "last_completed_on": date(2025, 11, 24),
    }
    assert (bob["total"], bob["completion_rate"], bob["first_created_on"]) == (0, None, None)
    assert (cid["name"], cid["total"], cid["pending"]) == (None, 1, 1)


def test_archived_tasks_count_nowhere_else(lake: Lake) -> None:
    history = History()
    records = [history.put_user("dan")]
    for number, status in enumerate(["completed", "cancelled", "pending", "in_progress", "cancelled", "completed"]):
        at = NOON_S + number * DAY_S
        completion = {"completed_at": at + DAY_S} if status == "completed" else {}
        records.append(
            history.put_task("dan", str(number), status=status, created_at=at, category="home", **completion)
        )
    records += [history.expire_task("dan", number) for number in "02345"]
    lake.bronze.write(records)
    lake.refresh()
    counts = {"total": 1, "pending": 0, "in_progress": 0, "completed": 0, "cancelled": 1, "archived": 5}
    (totals,) = rows(lake, "SELECT * EXCLUDE (user_id, name) FROM gold.user_totals")
    day = date(2025, 11, 21)
    dates = {"first_created_on": day, "last_created_on": day, "last_completed_on": None}
    assert totals == {**counts, "completion_rate": Decimal(0), **dates}
    (category,) = rows(lake, "SELECT * EXCLUDE (category) FROM gold.category_totals")
    assert category == {**counts, "completion_rate": Decimal(0)}
    (figures,) = rows(lake, "SELECT * EXCLUDE (as_of, users, deleted_users) FROM gold.kpis")
    counts["tasks"] = counts.pop("total")
    assert figures == {**counts, "completion_rate": Decimal(0), "deleted_tasks": 0}


def test_category_totals_have_a_row_for_tasks_without_a_category(lake: Lake) -> None:
    filled(lake)
    home, none = rows(lake, "SELECT category, total, completed, archived FROM gold.category_totals")
    assert home == {"category": "home", "total": 4, "completed": 2, "archived": 1}
    assert none == {"category": None, "total": 1, "completed": 0, "archived": 0}


def test_key_figures_count_users_tasks_and_removals(lake: Lake) -> None:
    filled(lake)
    (figures,) = rows(lake, "SELECT * EXCLUDE (as_of) FROM gold.kpis")
    assert figures == {
        "users": 2,
        "tasks": 5,
        "pending": 2,
        "in_progress": 1,
        "completed": 2,
        "cancelled": 0,
        "archived": 1,
        "completion_rate": Decimal("0.4"),
        "deleted_users": 1,
        "deleted_tasks": 1,
    }


def test_a_rate_of_a_third_is_rounded_to_six_decimals(lake: Lake) -> None:
    history = History()
    lake.bronze.write(
        [history.put_task("ann", status[:3], status=status) for status in ("completed", "pending", "cancelled")]
    )
    lake.refresh()
    assert rows(lake, "SELECT completion_rate FROM gold.kpis") == [{"completion_rate": Decimal("0.333333")}]


def test_gold_of_an_empty_lake_is_empty_before_and_zero_after_a_refresh(lake: Lake) -> None:
    assert gold(lake) == {"user_totals": [], "category_totals": [], "kpis": []}
    lake.refresh()
    (figures,) = rows(lake, "SELECT users, tasks, completion_rate, as_of FROM gold.kpis")
    assert figures == {"users": 0, "tasks": 0, "completion_rate": None, "as_of": None}


def test_silver_and_gold_of_a_query_belong_to_the_same_version(lake: Lake) -> None:
    filled(lake)
    history = History(first=10**21)
    lake.bronze.write([history.put_user("new")])
    sql = "SELECT (SELECT count(*) FROM silver.users) - (SELECT users FROM gold.kpis) AS difference"
    assert rows(lake, sql) == [{"difference": 0}]
    assert rows(lake, "SELECT users FROM gold.kpis") == [{"users": 2}]
