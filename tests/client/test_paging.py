"""Pages and cursors: whatever their size, pages put together are the whole, in order, each result once."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.client import board
from tests.client.board import Comment, Task, TaskId, UserId
from tests.client.conftest import NOW
from tests.laws import examples

import keyplan
from keyplan.client.errors import CursorError, UnreadableItemError
from keyplan.clock import ManualClock
from keyplan.design.declaring.patterns import Call, Page
from keyplan.engine.engine import Engine

UID, TID = UserId("u"), TaskId("t")
AT = datetime.fromtimestamp(NOW, UTC)


def through(db: Any, call: Call[Page[Any]], **sizes: Any) -> list[list[Any]]:
    """Every page of a call, one after the other."""
    pages, cursor = [], None
    while True:
        page = db.run(call, cursor=cursor, **sizes)
        pages.append(list(page))
        cursor = page.cursor
        if cursor is None:
            return pages


def fill(db: Any) -> None:
    comments = [Comment(user_id=UID, task_id=TID, number=n, text="even" if n % 2 == 0 else "odd") for n in range(11)]
    db.run(board.add_comments(comments))
    for number in range(9):
        name = UserId(f"u{number % 3}")
        due_at = AT + timedelta(minutes=number // 2)
        new = Task(
            user_id=name, task_id=TaskId(f"t{number}"), title="t", due_at=due_at, tags={"x"} if number < 2 else set()
        )
        db.run(board.save_task(new))


def test_pages_of_every_size_add_up_to_the_whole_result(db: Any) -> None:
    fill(db)
    for call in (board.comments(UID, TID), board.all_tasks(), board.tasks_due_of([UserId(f"u{n}") for n in range(4)])):
        expected = db.all(call)
        assert len(expected) in {9, 11}
        for sizes in (
            {"limit": 1},
            {"limit": 4},
            {"limit": 20},
            {"page_size": 1},
            {"page_size": 3},
            {"limit": 5, "page_size": 2},
        ):
            pages = through(db, call, **sizes)
            assert [entity for page in pages for entity in page] == expected, sizes
            if "limit" in sizes:
                assert all(len(page) == sizes["limit"] for page in pages[:-1]), sizes


def test_a_limit_counts_results_after_the_filter(db: Any) -> None:
    for number in range(30):
        tags = {"x"} if number % 10 == 9 else set()
        db.run(board.save_task(Task(user_id=UID, task_id=TaskId(f"t{number:02d}"), title="t", tags=tags)))
    page = db.run(board.tasks_tagged(UID, "x"), limit=2)
    assert [task.task_id for task in page] == ["t09", "t19"]
    assert [task.task_id for task in db.run(board.tasks_tagged(UID, "x"), limit=2, cursor=page.cursor)] == ["t29"]
    assert through(db, board.tasks_tagged(UID, "x"), page_size=10)[0][0].task_id == "t09"


def test_a_cursor_points_after_the_last_result_even_if_more_items_are_written(db: Any) -> None:
    db.run(board.add_comments([Comment(user_id=UID, task_id=TID, number=n, text="") for n in (1, 2, 5)]))
    page = db.run(board.comments(UID, TID), limit=2)
    db.run(board.add_comments([Comment(user_id=UID, task_id=TID, number=n, text="") for n in (0, 3)]))
    assert [comment.number for comment in db.run(board.comments(UID, TID), cursor=page.cursor)] == [3, 5]


def test_partitions_are_merged_in_both_orders(db: Any) -> None:
    fill(db)
    users = [UserId(f"u{n}") for n in range(4)]
    up = db.all(board.tasks_due_of(users))
    assert [task.due_at for task in up] == sorted(task.due_at for task in up)
    down = db.all(board.tasks_due_of_latest_first(users), page_size=1)
    assert [task.due_at for task in down] == [task.due_at for task in reversed(up)]
    assert db.run(board.due_count([*users, users[0]])) == 9
    assert db.all(board.tasks_due_of([])) == []


def test_a_cursor_of_another_pattern_is_rejected(db: Any) -> None:
    fill(db)
    cursor = db.run(board.comments(UID, TID), limit=2).cursor
    for other in (board.tasks(UID), board.comments(UserId("other"), TID), board.last_two(UID), board.all_tasks()):
        with pytest.raises(CursorError, match="damaged, or was made by another pattern"):
            db.run(other, cursor=cursor)
    with pytest.raises(CursorError):
        db.run(board.comments_between(UID, TID, 5, 6), cursor=cursor)
    assert len(db.run(board.comments(UID, TID), cursor=cursor)) == 9


@settings(
    deadline=None,
    max_examples=examples(60),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(st.data())
def test_a_modified_cursor_is_rejected(data: st.DataObject) -> None:
    with Engine.memory() as engine:
        db = keyplan.connect(engine=engine)
        db.run(board.add_comments([Comment(user_id=UID, task_id=TID, number=n, text="") for n in range(4)]))
        cursor = db.run(board.comments(UID, TID), limit=2).cursor
        assert cursor is not None
        place = data.draw(st.integers(0, len(cursor) - 1))
        letter = data.draw(st.sampled_from("ABCxyz019-_é!"))
        changed = data.draw(
            st.sampled_from([cursor[:place], cursor[:place] + letter + cursor[place + 1 :], letter, "é"])
        )
        if changed.rstrip("=") != cursor and not _same_bytes(changed, cursor):
            with pytest.raises(CursorError):
                db.run(board.comments(UID, TID), cursor=changed)


def _same_bytes(text: str, other: str) -> bool:
    """Base64 has letters whose last bits say nothing."""
    import base64  # noqa: PLC0415 - only here

    try:
        return base64.urlsafe_b64decode(text + "==") == base64.urlsafe_b64decode(other + "==")
    except ValueError:
        return False


def test_connections_with_the_same_cursor_key_share_cursors(engine: Engine, clock: ManualClock) -> None:
    first, second = (keyplan.connect(engine=engine, cursor_key=b"secret") for _ in range(2))
    stranger = keyplan.connect(engine=engine)
    fill(first)
    cursor = first.run(board.comments(UID, TID), limit=3).cursor
    assert [comment.number for comment in second.run(board.comments(UID, TID), limit=2, cursor=cursor)] == [3, 4]
    with pytest.raises(CursorError):
        stranger.run(board.comments(UID, TID), cursor=cursor)


def test_a_cursor_works_after_a_restart_with_the_same_key(tmp_path: Path, clock: ManualClock) -> None:
    place = str(tmp_path / "data.db")
    with keyplan.connect(place, clock=clock, cursor_key=b"kept in a secret store") as db:
        fill(db)
        cursor = db.run(board.comments(UID, TID), limit=3).cursor
    with keyplan.connect(place, clock=clock, cursor_key=b"kept in a secret store") as db:
        assert [comment.number for comment in db.run(board.comments(UID, TID), limit=2, cursor=cursor)] == [3, 4]
    with keyplan.connect(place, clock=clock) as db, pytest.raises(CursorError, match="cursor_key"):
        db.run(board.comments(UID, TID), cursor=cursor)


def test_scan_segments_are_disjoint_and_complete(db: Any) -> None:
    fill(db)
    expected = sorted(db.all(board.all_tasks()), key=str)
    for total in (1, 3, 40):
        for sizes in ({}, {"page_size": 1}):
            parts = [list(db.iterate(board.all_tasks(), segment=(number, total), **sizes)) for number in range(total)]
            assert sorted((task for part in parts for task in part), key=str) == expected, (total, sizes)
    pages = [db.run(board.all_tasks(), segment=(number, 4)) for number in range(4)]
    assert sorted((task for page in pages for task in page), key=str) == expected


def test_a_cursor_of_a_segment_works_only_in_that_segment(db: Any) -> None:
    fill(db)
    expected = db.all(board.all_tasks())
    cursor = db.run(board.all_tasks(), segment=(0, 1), limit=2).cursor
    assert list(db.run(board.all_tasks(), segment=(0, 1), cursor=cursor, limit=20)) == expected[2:]
    for other in (None, (0, 2), (1, 2)):
        with pytest.raises(CursorError):
            db.run(board.all_tasks(), segment=other, cursor=cursor)


def test_only_scans_accept_segments_and_the_number_is_below_the_total(db: Any) -> None:
    with pytest.raises(TypeError, match="comments is not a scan"):
        db.run(board.comments(UID, TID), segment=(0, 2))
    for wrong in ((2, 2), (-1, 2), (0, 0), (0, 1_000_001), 3, (1,), ("0", 2)):
        with pytest.raises(ValueError, match=r"segment=.*is the first of four"):
            list(db.iterate(board.all_tasks(), segment=wrong))


def test_sizes_below_one_are_rejected(engine: Engine) -> None:
    db = keyplan.connect(engine=engine)
    with pytest.raises(ValueError, match="limit must be at least 1, not 0"):
        db.run(board.comments(UID, TID), limit=0)


def test_sizes_and_keys_of_the_wrong_type_are_rejected(engine: Engine) -> None:
    db = keyplan.connect(engine=engine)
    with pytest.raises(TypeError, match=r"comments\(\) expects limit as int, got str: '3'"):
        db.run(board.comments(UID, TID), limit="3")  # type: ignore[call-overload]  # wrong on purpose
    with pytest.raises(TypeError, match="cursor_key must be bytes, not str: encode the text"):
        keyplan.connect(engine=engine, cursor_key="secret")  # type: ignore[arg-type]


def spoil(call: Callable[..., Any], table: str, entity: Comment | Task) -> None:
    """As another program may leave an item: a number where its entity has a text."""
    sort = f"TASK#{entity.task_id}" + (f"#COMMENT#{entity.number:04d}" if isinstance(entity, Comment) else "")
    request = {"UpdateExpression": "SET #a = :one", "ExpressionAttributeValues": {":one": {"N": "1"}}}
    request |= {"ExpressionAttributeNames": {"#a": "text" if isinstance(entity, Comment) else "title"}}
    key = {"PK": {"S": f"USER#{entity.user_id}"}, "SK": {"S": sort}}
    call("UpdateItem", {"TableName": table, "Key": key, "ConditionExpression": "attribute_exists(PK)", **request})


@pytest.mark.parametrize("page_size", [None, 1, 3])
@pytest.mark.parametrize(
    "call", [board.comments(UID, TID), board.all_tasks(), board.tasks_due_of([UserId(f"u{n}") for n in range(3)])]
)
def test_iteration_continues_after_unreadable_items(
    db: Any, raw: Any, call: Call[Page[Any]], page_size: int | None
) -> None:
    fill(db)
    entities = db.all(call)
    for entity in entities[1::4]:
        spoil(raw(db), db.table_name(board.app), entity)
    errors: list[UnreadableItemError] = []
    items = list(db.iterate(call, page_size=page_size, unreadable=errors.append))
    assert items == [unreadable for unreadable in entities if unreadable not in entities[1::4]]
    assert [error.entity for error in errors] == [type(entities[0]).__name__] * len(entities[1::4])
    with pytest.raises(UnreadableItemError):
        db.all(call, page_size=page_size)
