"""Recovery from a full export, when the stream no longer contains everything since the last event stored."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.laws import examples
from tests.systems.todo.lake.queries import gold, rows, silver
from tests.systems.todo.lake.record_history import NOON_S, History, key

from keyplan.clock import ManualClock
from keyplan_systems.todo.lake import refresh
from keyplan_systems.todo.lake.errors import BadRecordError, LakeBusyError, LakeError, StaleExportError
from keyplan_systems.todo.lake.lake import Lake

LATER_S = NOON_S + 3 * 86_400
LATER = datetime.fromtimestamp(LATER_S, UTC)


def titles(lake: Lake) -> dict[str, str]:
    return {row["task_id"]: row["title"] for row in rows(lake, "SELECT task_id, title FROM silver.tasks")}


def gap(lake: Lake) -> History:
    """Return three tasks that the lake knows and whose changes it misses: changed, deleted, expired, and one new."""
    history = History()
    lake.bronze.write([history.put_user("ann"), history.put_task("ann", "1", title="old")])
    expiring = {"expiration_timestamp": NOON_S + 3600, "status": "completed"}
    lake.bronze.write([history.put_task("ann", "2"), history.put_task("ann", "3", **expiring)])
    lake.refresh()
    history.put_task("ann", "1", title="changed in the gap")
    history.put_task("ann", "4", title="made in the gap")
    history.delete_task("ann", "2")
    history.expire_task("ann", "3")
    history.put("IDEMPOTENCY#ann:1", "METADATA", {"response_data": "secret"})
    history.put("EMAIL#ann", "METADATA", {})
    history.now_s = LATER_S
    return history


def test_an_export_replaces_missed_changes(lake: Lake) -> None:
    history = gap(lake)
    lake.rebuild_from_items(history.items.values(), LATER)
    assert titles(lake) == {"1": "changed in the gap", "4": "made in the gap"}
    removed = rows(
        lake, "SELECT task_id, removal, removal_source, removed_at, title FROM silver.removed_tasks ORDER BY task_id"
    )
    assert removed == [
        {"task_id": "2", "removal": "deleted", "removal_source": "export", "removed_at": LATER, "title": "task 2"},
        {"task_id": "3", "removal": "expired", "removal_source": "export", "removed_at": LATER, "title": "task 3"},
    ]
    assert rows(lake, "SELECT tasks, archived, deleted_tasks FROM gold.kpis") == [
        {"tasks": 2, "archived": 1, "deleted_tasks": 1}
    ]


def test_later_events_apply_on_top_of_the_export_in_any_order_of_arrival(lake: Lake) -> None:
    history = gap(lake)
    current = list(history.items.values())
    before, after = history.put_task("ann", "1", title="early"), history.put_task("ann", "4", title="late")
    lake.bronze.write([before])
    lake.refresh()
    lake.rebuild_from_items(current, LATER)
    assert titles(lake) == {"1": "early", "4": "made in the gap"}
    lake.bronze.write([after])
    lake.refresh()
    assert titles(lake) == {"1": "early", "4": "late"}


def test_late_earlier_events_do_not_restore_items_missing_from_the_export(lake: Lake) -> None:
    history = gap(lake)
    lake.rebuild_from_items(history.items.values(), LATER)
    missed = History(first=10**20 + 50)
    lake.bronze.write([missed.put_task("ann", "9"), missed.put_task("ann", "1", title="lost")])
    lake.refresh()
    assert titles(lake) == {"1": "changed in the gap", "4": "made in the gap"}
    assert {"task_id": "9", "removal": "deleted"} in rows(lake, "SELECT task_id, removal FROM silver.removed_tasks")


def test_a_known_sequence_number_takes_precedence_over_the_time(lake: Lake) -> None:
    history = History(now_s=LATER_S)
    included = history.put_task("ann", "1", title="included")
    current = list(history.items.values())
    deleted = history.delete_task("ann", "1")
    number = included["dynamodb"]["SequenceNumber"]
    lake.bronze.write([included, deleted])
    lake.rebuild_from_items(current, LATER + timedelta(minutes=5), sequence=number)
    assert titles(lake) == {}
    assert rows(lake, "SELECT removal_source FROM silver.removed_tasks") == [{"removal_source": "stream"}]


def test_events_in_the_second_of_the_export_count_as_after_it(lake: Lake) -> None:
    history = History(now_s=LATER_S)
    lake.bronze.write([history.put_task("ann", "1")])
    lake.rebuild_from_items([], LATER + timedelta(milliseconds=900))
    assert list(titles(lake)) == ["1"]


def test_the_same_export_again_changes_nothing(lake: Lake) -> None:
    items = list(gap(lake).items.values())
    before = lake.rebuild_from_items(items, LATER)
    again = lake.rebuild_from_items(items, LATER.astimezone(timezone(timedelta(hours=5))))
    assert again.files == before.files
    assert again.baselines == before.baselines


def test_an_older_or_different_export_of_the_same_time_is_rejected(lake: Lake) -> None:
    items = list(gap(lake).items.values())
    lake.rebuild_from_items(items, LATER)
    for as_of, other in ((LATER - timedelta(seconds=1), items), (LATER, items[1:])):
        with pytest.raises(StaleExportError, match="apply a later export"):
            lake.rebuild_from_items(other, as_of)
    assert lake.snapshot.files_of("staged") == []
    assert len(lake.snapshot.baselines) == 1


def test_a_second_export_builds_on_the_first(lake: Lake) -> None:
    history = gap(lake)
    lake.rebuild_from_items(history.items.values(), LATER)
    history.delete_task("ann", "4")
    lake.rebuild_from_items(history.items.values(), LATER + timedelta(days=2))
    assert titles(lake) == {"1": "changed in the gap"}
    removed = {row["task_id"]: row["removed_at"] for row in rows(lake, "SELECT * FROM silver.removed_tasks")}
    assert removed == {"2": LATER, "3": LATER, "4": LATER + timedelta(days=2)}


def test_large_exports_are_written_in_parts(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(refresh, "_ITEMS_PER_FILE", 10)
    history = History()
    for number in range(35):
        history.put_task("ann", str(number))
    lake.rebuild_from_items(history.items.values(), LATER)
    assert len(lake.snapshot.files_of("baseline")) == 4
    assert len(titles(lake)) == 35


def test_an_export_with_an_invalid_item_changes_nothing(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(refresh, "_ITEMS_PER_FILE", 1)
    before = silver(lake)
    good, bad = key("USER#ann", "METADATA"), key("USER#bob", "METADATA") | {"n": 1}
    with pytest.raises(BadRecordError, match="record 1 of the batch: attribute n"):
        lake.rebuild_from_items([good, bad], LATER)
    assert silver(lake) == before
    assert lake.snapshot.files == ()


def test_a_time_without_a_zone_and_an_invalid_sequence_are_rejected(lake: Lake) -> None:
    with pytest.raises(LakeError, match="must have a time zone"):
        lake.rebuild_from_items([], LATER.replace(tzinfo=None))
    with pytest.raises(LakeError, match=r"sequence must be text of up to .* digits, not 'x'"):
        lake.rebuild_from_items([], LATER, sequence="x")


def test_vacuum_during_an_import_keeps_its_files(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(refresh, "_ITEMS_PER_FILE", 5)
    history = gap(lake)

    def items() -> Iterator[dict[str, Any]]:
        for at, item in enumerate(history.items.values()):
            yield item
            if at == 2:
                lake.vacuum(retention_s=0)

    lake.rebuild_from_items(items(), LATER)
    lake.vacuum(retention_s=0)
    lake.rebuild()
    assert titles(lake) == {"1": "changed in the gap", "4": "made in the gap"}


def test_one_of_two_concurrent_imports_must_start_over(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(refresh, "_ITEMS_PER_FILE", 1)

    def items() -> Iterator[dict[str, Any]]:
        yield key("USER#ann", "METADATA")
        lake.rebuild_from_items([key("USER#bob", "METADATA")], LATER)
        yield key("USER#cid", "METADATA")

    with pytest.raises(LakeBusyError, match="another export was applied concurrently"):
        lake.rebuild_from_items(items(), LATER + timedelta(days=1))
    assert rows(lake, "SELECT user_id FROM silver.users") == [{"user_id": "bob"}]
    assert lake.snapshot.files_of("staged") == []


def test_a_deletion_after_an_export_without_the_item_keeps_its_time(lake: Lake) -> None:
    history = History()
    response, deleted = history.put_task("ann", "1"), history.delete_task("ann", "1")
    lake.bronze.write([response])
    lake.rebuild_from_items([], LATER)
    lake.bronze.write([deleted])
    lake.refresh()
    removed = rows(lake, "SELECT removed_at, removal_source FROM silver.removed_tasks")
    assert removed == [{"removed_at": datetime.fromtimestamp(NOON_S, UTC), "removal_source": "stream"}]


@settings(max_examples=examples(8), deadline=None)
@given(data=st.data())
def test_exports_and_events_in_any_order_give_the_same_silver(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    history = History()
    records, exports = [], []
    for step in range(data.draw(st.integers(4, 10))):
        history.now_s += 100
        user = data.draw(st.sampled_from("ab"))
        is_removed = ("TASK#" + user, "TASK#1") in history.items and data.draw(st.booleans())
        record = history.delete_task(user, "1") if is_removed else history.put_task(user, "1", title=str(step))
        records.append(record)
        if data.draw(st.booleans()):
            exports.append((datetime.fromtimestamp(history.now_s + 50, UTC), list(history.items.values())))
    delivered = [record for record in records if data.draw(st.booleans())]  # the others were lost with the stream
    folder = tmp_path_factory.mktemp("lakes")
    straight, twisted = (Lake.open(folder / name, clock=ManualClock()) for name in ("straight", "twisted"))
    straight.bronze.write(delivered)
    for as_of, items in exports:
        straight.rebuild_from_items(items, as_of)
        cut = data.draw(st.integers(0, len(delivered)))
        twisted.bronze.write(delivered[cut:])
        if data.draw(st.booleans()):
            twisted.refresh()
        twisted.rebuild_from_items(items, as_of)
    for record in data.draw(st.permutations(delivered)):
        twisted.bronze.write([record])
        twisted.refresh()
    for lake in (straight, twisted):
        lake.refresh()
    assert silver(twisted) == silver(straight)
    assert gold(twisted) == gold(straight)
    twisted.rebuild()
    assert silver(twisted) == silver(straight)
