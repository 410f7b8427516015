"""Silver is the state of users and tasks, independent of the events' order of arrival."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.laws import examples
from tests.systems.todo.lake.queries import gold, rows, silver
from tests.systems.todo.lake.record_history import History, Record

from keyplan.clock import ManualClock
from keyplan_systems.todo.lake import silver as silver_module
from keyplan_systems.todo.lake.fold import Fact, merge
from keyplan_systems.todo.lake.lake import Lake


def test_the_last_writer_wins_even_if_it_arrived_first(lake: Lake) -> None:
    history = History()
    records = [history.put_task("ann", "1", title=title) for title in ("first", "second", "third")]
    lake.bronze.write(records[2:])
    lake.refresh()
    lake.bronze.write(records[:2])
    lake.refresh()
    assert rows(lake, "SELECT title, events FROM silver.tasks") == [{"title": "third", "events": 3}]


def test_sequence_numbers_of_different_length_are_compared_as_numbers(lake: Lake) -> None:
    history = History(first=8)
    lake.bronze.write([history.put_task("ann", "1", title="nine"), history.put_task("ann", "1", title="ten")])
    lake.refresh()
    assert rows(lake, "SELECT title FROM silver.tasks") == [{"title": "ten"}]


def test_deletions_and_expiries_are_distinguished_and_the_last_content_is_kept(lake: Lake) -> None:
    history = History()
    records = [history.put_task("ann", number, status="completed") for number in "123"]
    records += [history.delete_task("ann", "1"), history.expire_task("ann", "2")]
    lake.bronze.write(records)
    lake.refresh()
    assert rows(lake, "SELECT task_id FROM silver.tasks") == [{"task_id": "3"}]
    removed = rows(lake, "SELECT task_id, removal, title, status FROM silver.removed_tasks ORDER BY task_id")
    assert removed == [
        {"task_id": "1", "removal": "deleted", "title": "task 1", "status": "completed"},
        {"task_id": "2", "removal": "expired", "title": "task 2", "status": "completed"},
    ]


def test_a_deletion_without_an_old_image_keeps_the_known_content(lake: Lake) -> None:
    history = History()
    response, deleted = history.put_task("ann", "1", title="kept"), history.delete_task("ann", "1")
    del deleted["dynamodb"]["OldImage"]
    lake.bronze.write([deleted])
    lake.refresh()
    assert rows(lake, "SELECT title, item FROM silver.removed_tasks") == [{"title": None, "item": None}]
    lake.bronze.write([response])
    lake.refresh()
    assert rows(lake, "SELECT title, events FROM silver.removed_tasks") == [{"title": "kept", "events": 2}]
    assert rows(lake, "SELECT * FROM silver.tasks") == []


def test_a_task_created_again_after_its_deletion_exists(lake: Lake) -> None:
    history = History()
    lake.bronze.write([history.put_user("ann"), history.delete_user("ann"), history.put_user("ann", name="Ann again")])
    lake.refresh()
    assert rows(lake, "SELECT name FROM silver.users") == [{"name": "Ann again"}]
    assert rows(lake, "SELECT * FROM silver.removed_users") == []


def test_other_items_are_not_in_silver(lake: Lake) -> None:
    lake.bronze.write([History().put("EMAIL#ann@example.org", "METADATA", {}), History().put("JOB#1", "X", {})])
    lake.refresh()
    assert silver(lake) == {"users": [], "tasks": [], "removed_users": [], "removed_tasks": []}
    assert rows(lake, "SELECT entity FROM bronze.events ORDER BY entity") == [
        {"entity": "email"},
        {"entity": "unknown"},
    ]


def test_one_invalid_item_stops_nothing_and_is_visible(lake: Lake) -> None:
    history = History()
    odd = history.put_task("ann", "1", created_at={"S": "yesterday"}, status="done")
    lake.bronze.write([odd, history.put_task("ann", "2")])
    lake.refresh()
    (row,) = rows(lake, "SELECT task_id, created_at, problems FROM silver.tasks WHERE len(problems) > 0")
    assert row["task_id"] == "1"
    assert row["created_at"] is None
    assert len(row["problems"]) == 2


def test_numbers_are_exact_to_the_last_digit(lake: Lake) -> None:
    lake.bronze.write([History().put_task("ann", "1", created_at={"N": "12345678901234567890123456789.123456789"})])
    lake.refresh()
    (row,) = rows(lake, "SELECT created_at FROM silver.tasks")
    assert row["created_at"] == Decimal("12345678901234567890123456789.123456789")


def test_only_buckets_with_new_events_are_rewritten(lake: Lake) -> None:
    history = History()
    lake.bronze.write([history.put_user(f"user-{number}") for number in range(200)])
    before = {file.path for file in lake.refresh().files_of("users")}
    assert len(before) == silver_module.BUCKETS
    lake.bronze.write([history.put_user("user-7", name="changed")])
    after = {file.path for file in lake.refresh().files_of("users")}
    assert len(before - after) == len(after - before) == 1
    assert rows(lake, "SELECT count(*) AS users FROM silver.users") == [{"users": 200}]


def test_a_refresh_without_new_events_changes_nothing(lake: Lake) -> None:
    lake.bronze.write([History().put_user("ann")])
    version = lake.refresh().version
    assert lake.refresh().version == version


def test_ids_with_separators_stay_separate(lake: Lake) -> None:
    history = History()
    lake.bronze.write([history.put_task("a\nb", "c", title="one")])
    lake.refresh()
    lake.bronze.write([history.put_task("a", "b\nc", title="two"), history.put_task("a#b", "c", title="three")])
    lake.refresh()
    assert [row["title"] for row in rows(lake, "SELECT title FROM silver.tasks ORDER BY title")] == [
        "one",
        "three",
        "two",
    ]


@st.composite
def histories(draw: st.DrawFn) -> list[Record]:
    """Draw changes of a few users and tasks, with deletions, expiries, and some removals without an old image."""
    history = History()
    records = []
    for _ in range(draw(st.integers(1, 14))):
        user, task = draw(st.sampled_from("ab")), draw(st.sampled_from(["", "1", "2"]))
        place = (f"TASK#{user}", f"TASK#{task}") if task else (f"USER#{user}", "METADATA")
        history.now_s += draw(st.integers(0, 20_000))
        if place in history.items and draw(st.booleans()):
            records.append(history.delete(*place))
            if draw(st.booleans()):
                records[-1]["userIdentity"] = {"Type": "Service", "PrincipalId": "dynamodb.amazonaws.com"}
            if draw(st.booleans()):
                del records[-1]["dynamodb"]["OldImage"]
        else:
            values: dict[str, Any] = {"name": draw(st.sampled_from("xyz")), "title": draw(st.sampled_from("xyz"))}
            values["status"] = draw(st.sampled_from(["pending", "in_progress", "completed", "cancelled"]))
            records.append(history.put(*place, values | {"created_at": int(history.now_s)}))
    return records


@settings(max_examples=examples(8), deadline=None)
@given(records=histories(), data=st.data())
def test_any_repetition_and_order_of_events_gives_the_same_silver_and_gold(
    tmp_path_factory: pytest.TempPathFactory, records: list[Record], data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("lakes")
    straight = Lake.open(folder / "straight", clock=ManualClock())
    straight.bronze.write(records)
    straight.refresh()
    twisted = Lake.open(folder / "twisted", clock=ManualClock())
    stuttered = data.draw(st.permutations(records + data.draw(st.lists(st.sampled_from(records), max_size=5))))
    while stuttered:
        size = data.draw(st.integers(1, len(stuttered)))
        twisted.bronze.write(stuttered[:size])
        stuttered = stuttered[size:]
        for step in data.draw(st.lists(st.sampled_from(["refresh", "compact", "vacuum", "rebuild"]), max_size=2)):
            {
                "refresh": twisted.refresh,
                "compact": lambda: twisted.compact(min_files=2),
                "vacuum": lambda: twisted.vacuum(retention_s=0),
                "rebuild": twisted.rebuild,
            }[step]()
    twisted.refresh()
    assert silver(twisted) == silver(straight)
    assert gold(twisted) == gold(straight)
    straight.rebuild()
    assert silver(twisted) == silver(straight)


_positions = st.tuples(st.integers(0, 2), st.sampled_from(["", "s"]), st.sampled_from(["", "0", "1", "2"]))
_facts = st.builds(
    Fact,
    position=_positions,
    state=st.sampled_from(["current", "deleted", "expired"]),
    changed_us=st.integers(0, 3),
    source=st.just("stream"),
    image=st.one_of(st.none(), st.sampled_from(["{}", "[]"])),
    image_position=_positions,
    events=st.integers(0, 2),
).map(
    lambda fact: (
        fact if fact.image else Fact(fact.position, fact.state, fact.changed_us, "stream", None, None, fact.events)
    )
)


@given(_facts, _facts, _facts)
def test_merging_facts_is_commutative_and_associative(first: Fact, second: Fact, third: Fact) -> None:
    assert merge(first, second) == merge(second, first)
    assert merge(merge(first, second), third) == merge(first, merge(second, third))
