"""Every kind of pattern, run: what it writes, what it reads, what it gives."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.client import board
from tests.client.board import Comment, Counter, Place, Priority, Profile, Reading, Task, TaskId, UserId
from tests.client.conftest import NOW

import keyplan
from keyplan.client.errors import (
    AlreadyExistsError,
    ConditionFailedError,
    KeyValueError,
    NotFoundError,
    TooManyResultsError,
    VersionConflictError,
)
from keyplan.engine.engine import Engine

UID, TID = UserId("u1"), TaskId("t1")
AT = datetime.fromtimestamp(NOW, UTC)


def a_task(task_id: str = "t1", **fields: Any) -> Task:
    return Task(**{"user_id": UID, "task_id": TaskId(task_id), "title": f"Task {task_id}", **fields})


def test_a_created_item_is_read_back_with_every_field(db: Any) -> None:
    full = a_task(
        external_ref="ext",
        priority=Priority.high,
        points=5,
        due_at=AT + timedelta(microseconds=123),
        tags={"a", "ü"},
        notes=["one", ""],
        place=Place(city="Bern", street="Gasse"),
        tally={"yes": 2},
        expires_at=AT + timedelta(days=1),
    )
    stored = db.run(board.add_task(full))
    assert stored == full.model_copy(update={"version": 1})
    assert db.run(board.task(UID, TID)) == stored


def test_a_missing_item_is_none(db: Any) -> None:
    assert db.run(board.task(UID, TID)) is None


def test_create_does_not_overwrite_and_names_the_existing_item(db: Any) -> None:
    db.run(board.add_task(a_task()))
    with pytest.raises(
        AlreadyExistsError, match="Task PK='USER#u1' SK='TASK#t1': create failed: item already exists"
    ) as caught:
        db.run(board.add_task(a_task(title="other")))
    assert caught.value.entity == "Task"
    assert caught.value.key == {"PK": "USER#u1", "SK": "TASK#t1"}
    assert caught.value.code == "ConditionalCheckFailedException"


def test_create_does_not_overwrite_an_entity_without_unique_values(db: Any) -> None:
    new = Comment(user_id=UID, task_id=TID, number=1, text="first")
    assert db.run(board.comment(new)) == new
    with pytest.raises(AlreadyExistsError) as caught:
        db.run(board.comment(new))
    assert caught.value.item == new
    assert caught.value.code == "ConditionalCheckFailedException"


def test_create_replaces_an_item_that_matches_its_condition(db: Any) -> None:
    db.run(board.add_task(a_task()))
    with pytest.raises(AlreadyExistsError):
        db.run(board.reopen(a_task(title="again")))
    db.run(board.finish(UID, TID))
    assert db.run(board.reopen(a_task(title="again"))).title == "again"


def test_put_writes_whether_or_not_an_item_exists(db: Any) -> None:
    assert db.run(board.save_task(a_task())).version == 1
    assert db.run(board.save_task(a_task(title="b", version=1))).version == 2
    assert db.run(board.task(UID, TID)).title == "b"


def test_replace_requires_the_item_at_its_version(db: Any) -> None:
    with pytest.raises(NotFoundError):
        db.run(board.replace_task(a_task()))
    first = db.run(board.add_task(a_task()))
    second = db.run(board.replace_task(first.model_copy(update={"title": "b"})))
    assert (second.title, second.version) == ("b", 2)
    with pytest.raises(
        VersionConflictError, match=r"version check failed: version == 1 \(item has version 2\)"
    ) as caught:
        db.run(board.replace_task(first))
    assert (caught.value.expected, caught.value.found) == (1, 2)


def test_update_returns_the_updated_item(db: Any) -> None:
    db.run(board.add_task(a_task(points=1)))
    finished = db.run(board.finish(UID, TID))
    assert (finished.status, finished.points, finished.version) == ("done", 1, 2)


def test_update_does_not_create(db: Any) -> None:
    with pytest.raises(NotFoundError, match="update failed: item does not exist"):
        db.run(board.finish(UID, TID))
    assert db.run(board.task(UID, TID)) is None


def test_a_failed_condition_is_shown_in_design_terms_with_the_item(db: Any) -> None:
    stored = db.run(board.add_task(a_task(points=2)))
    with pytest.raises(ConditionFailedError, match=r"condition failed: points >= 3 \(item has points 2\)") as caught:
        db.run(board.finish_if(UID, TID, 3))
    assert caught.value.item == stored
    assert db.run(board.finish_if(UID, TID, 2)).status == "done"


def test_a_version_conflict_shows_both_versions(db: Any) -> None:
    db.run(board.add_task(a_task()))
    assert db.run(board.rename(UID, TID, "b", 1)).version == 2
    with pytest.raises(VersionConflictError) as caught:
        db.run(board.rename(UID, TID, "c", 1))
    assert (caught.value.expected, caught.value.found) == (1, 2)
    assert db.run(board.task(UID, TID)).title == "b"


def test_nested_and_collection_updates_are_applied(db: Any) -> None:
    db.run(board.add_task(a_task(place=Place(city="Bern"), tally={"yes": 1}, tags={"a"})))
    db.run(board.tag(UID, TID, {"b", "c"}, ""))
    db.run(board.untag(UID, TID, "a"))
    db.run(board.note(UID, TID, "one"))
    db.run(board.note(UID, TID, "two"))
    db.run(board.drop_first_note(UID, TID))
    db.run(board.vote(UID, TID, "yes", 2))
    db.run(board.vote(UID, TID, "no", 5))
    db.run(board.unvote(UID, TID, "no", 4))
    db.run(board.move(UID, TID, "Gasse"))
    result = db.run(board.task(UID, TID))
    assert result.tags == {"b", "c"}
    assert result.notes == ["two"]
    assert result.tally == {"yes": 3, "no": 1}
    assert result.place == Place(city="Bern", street="Gasse")
    assert result.title == "Task t1"
    assert db.run(board.forget_place(UID, TID)).place is None
    assert result.version == 10


def test_an_empty_set_is_not_stored(db: Any) -> None:
    db.run(board.add_task(a_task(tags={"a"})))
    assert db.run(board.untag(UID, TID, "a")).tags == set()
    assert db.run(board.tag(UID, TID, set(), "")).tags == set()


def test_delete_returns_the_deleted_item(db: Any) -> None:
    assert db.run(board.drop(UID, TID)) is None
    stored = db.run(board.add_task(a_task(external_ref="x")))
    with pytest.raises(ConditionFailedError, match=r"condition failed: status == 'done'"):
        db.run(board.drop_done(UID, TID))
    assert db.run(board.drop(UID, TID)) == stored
    assert db.run(board.task(UID, TID)) is None


def test_an_upsert_creates_and_adds(db: Any) -> None:
    assert db.run(board.hit("a", 2)) == Counter(name="a", count=2)
    assert db.run(board.hit("a", 3)) == Counter(name="a", count=5)
    assert db.run(board.counter("a")).count == 5
    assert db.run(board.reset(Counter(name="a"))).count == 0
    assert db.run(board.forget("a")) == Counter(name="a", count=0)


def test_a_query_returns_only_its_entities_in_order(db: Any) -> None:
    for number in (3, 1, 2):
        db.run(board.add_task(a_task(f"t{number}", external_ref=f"x{number}")))
    db.run(board.comment(Comment(user_id=UID, task_id=TaskId("t1"), number=1, text="c")))
    db.run(board.join(Profile(user_id=UID, email="a@b.c")))
    assert [task.task_id for task in db.run(board.tasks(UID))] == ["t1", "t2", "t3"]
    assert [task.task_id for task in db.run(board.last_two(UID))] == ["t3", "t2"]
    assert db.run(board.task_count(UID)) == 3
    assert [type(entity).__name__ for entity in db.run(board.everything_of(UID))] == [
        "Profile",
        "Task",
        "Comment",
        "Task",
        "Task",
    ]


def test_a_filter_and_a_range_restrict_the_results(db: Any) -> None:
    db.run(board.add_task(a_task("t1", tags={"x"})))
    db.run(board.add_task(a_task("t2", tags={"y"})))
    assert [task.task_id for task in db.run(board.tasks_tagged(UID, "y"))] == ["t2"]
    for number in range(1, 6):
        db.run(board.comment(Comment(user_id=UID, task_id=TID, number=number, text="")))
    assert [comment.number for comment in db.run(board.comments_between(UID, TID, 2, 4))] == [2, 3, 4]
    assert len(db.run(board.comments_between(UID, TID, 4, 2))) == 0
    assert len(db.run(board.comments(UID, TID))) == 5


def test_items_enter_and_leave_an_index(db: Any) -> None:
    soon = AT + timedelta(hours=1)
    db.run(board.add_task(a_task("t1", due_at=AT)))
    db.run(board.add_task(a_task("t2", due_at=soon)))
    db.run(board.add_task(a_task("t3")))
    later = AT + timedelta(days=1)
    assert [task.task_id for task in db.run(board.tasks_due(UID, later))] == ["t1", "t2"]
    assert [task.task_id for task in db.run(board.tasks_due(UID, soon))] == ["t1"]
    db.run(board.finish(UID, TaskId("t1")))
    assert [task.task_id for task in db.run(board.tasks_due(UID, later))] == ["t2"]
    db.run(board.set_due(UID, TaskId("t3"), AT, "open"))
    assert [task.task_id for task in db.run(board.tasks_due(UID, later))] == ["t3", "t2"]
    db.run(board.set_due(UID, TaskId("t3"), None, "open"))
    assert [task.task_id for task in db.run(board.tasks_due(UID, later))] == ["t2"]


def test_known_values_passed_by_the_caller_are_checked(db: Any) -> None:
    db.run(board.add_task(a_task()))
    with pytest.raises(ConditionFailedError, match=r"assumption failed: status == 'done' \(item has status 'open'\)"):
        db.run(board.set_due(UID, TID, AT, "done"))
    with pytest.raises(ConditionFailedError):
        db.run(board.set_status(UID, TID, "done", AT))
    assert db.run(board.set_status(UID, TID, "done", None)).status == "done"


def test_fields_stored_only_in_keys_are_read_from_them(db: Any, raw: Any) -> None:
    db.run(board.join(Profile(user_id=UID, email="a@b.c")))
    key = {"PK": {"S": "USER#u1"}, "SK": {"S": "PROFILE"}}
    stored = raw(db)("GetItem", {"TableName": db.table_name(board.app), "Key": key})["Item"]
    assert "user_id" not in stored
    assert db.run(board.profile(UID)) == Profile(user_id=UID, email="a@b.c")
    assert db.run(board.all_profiles()).items == (Profile(user_id=UID, email="a@b.c"),)


def test_a_scan_returns_the_requested_entities(db: Any) -> None:
    db.run(board.add_task(a_task("t1", external_ref="e")))
    db.run(board.join(Profile(user_id=UID, email="a@b.c")))
    assert [task.task_id for task in db.iterate(board.all_tasks())] == ["t1"]


def test_a_batch_get_returns_one_entry_per_requested_key(db: Any) -> None:
    for number in range(0, 130, 2):
        db.run(board.save_task(a_task(f"t{number}")))
    ids = [TaskId(f"t{number}") for number in range(130)] + [TaskId("t2"), TaskId("t1")]
    tasks = db.run(board.some_tasks(UID, ids))
    expected = [task_id if int(task_id[1:]) % 2 == 0 else None for task_id in ids]
    assert [task and task.task_id for task in tasks] == expected
    assert db.run(board.some_tasks(UID, [])) == []


def test_a_batch_writes_everything_and_the_last_duplicate_wins(db: Any) -> None:
    new = [Comment(user_id=UID, task_id=TID, number=number, text="old") for number in range(60)]
    db.run(board.add_comments([*new, *(comment.model_copy(update={"text": "new"}) for comment in new[:30])]))
    comments = db.all(board.comments(UID, TID))
    assert [comment.text for comment in comments] == ["new"] * 30 + ["old"] * 30
    db.run(board.drop_comments(UID, TID, [*range(59), 0, 1]))
    assert [comment.number for comment in db.run(board.comments(UID, TID))] == [59]


def test_all_fails_above_the_callers_limit(db: Any) -> None:
    db.run(board.add_comments([Comment(user_id=UID, task_id=TID, number=n, text="") for n in range(5)]))
    assert len(db.all(board.comments(UID, TID), at_most=5, page_size=2)) == 5
    with pytest.raises(TooManyResultsError, match="more than 4"):
        db.all(board.comments(UID, TID), at_most=4, page_size=2)


def test_multi_attribute_keys_and_shards_are_queried(db: Any) -> None:
    for number in range(12):
        at = AT + timedelta(minutes=number)
        db.run(board.read_sensor(Reading(sensor=f"s{number}", at=at, level=number)))
    db.run(board.read_sensor(Reading(sensor="s-none", at=AT)))
    db.run(board.sound(board.Alarm(sensor="s3", at=AT, text="hot")))
    assert [reading.level for reading in db.run(board.levels("heat", "roof", 8))] == [9, 10, 11]
    items = db.all(board.latest())
    assert [reading.at for reading in items] == sorted(reading.at for reading in items)
    assert len(items) == 13
    assert len(db.all(board.all_latest())) == 14
    assert db.run(board.alarm_count()) == 1


def test_a_value_that_would_forge_another_key_is_rejected_before_anything_is_sent(db: Any) -> None:
    with pytest.raises(KeyValueError, match="delimiter"):
        db.run(board.comments(UID, TaskId("t#1")))
    with pytest.raises(KeyValueError, match="empty"):
        db.run(board.task(UserId(""), TID))
    with pytest.raises(KeyValueError, match="time zone"):
        db.run(board.expire(UID, TID, datetime(2026, 1, 1)))


def test_items_of_several_tables_are_written_in_one_transaction(db: Any) -> None:
    db.run(board.join(Profile(user_id=UID, email="a@b.c")))
    db.run(board.open_task(UID, a_task()))
    db.transact(board.hit("tasks", 1), board.count_task(UID, 1), board.add_task(a_task("t2")))
    assert db.run(board.profile(UID)).open_tasks == 2
    assert db.run(board.counter("tasks")).count == 1
    first, second, none = db.transact_get(board.task(UID, TID), board.profile(UID), board.task(UID, TaskId("no")))
    assert (first.task_id, second.open_tasks, none) == ("t1", 2, None)
    greetings = [Comment(user_id=UID, task_id=TID, number=n, text="hi") for n in range(3)]
    db.run(board.greet_all(UID, greetings))
    assert db.all(board.comments(UID, TID)) == greetings


def test_items_of_several_tables_are_read_in_batches(db: Any) -> None:
    db.run(board.join(Profile(user_id=UID, email="a@b.c")))
    db.run(board.add_task(a_task()))
    for number in range(3):
        db.run(board.hit(f"c{number}", number))
    task, profile, counter, none, again = db.batch_get(
        board.task(UID, TID),
        board.profile(UID),
        board.counter("c2"),
        board.task(UID, TaskId("no")),
        board.task(UID, TID),
    )
    assert (task.task_id, profile.email, counter.count, none) == ("t1", "a@b.c", 2, None)
    assert again == task
    counters = db.batch_get(*[board.counter(f"c{number % 150}") for number in range(300)])
    assert [entity and entity.count for entity in counters] == [0, 1, 2, *[None] * 147] * 2
    assert db.batch_get() == ()
    with pytest.raises(TypeError, match="is not a read of one item"):
        db.batch_get(board.hit("c", 1))


def test_a_batch_sends_each_key_once_and_reads_consistently_if_one_read_requires_it(engine: Engine) -> None:
    db = keyplan.connect(engine=engine)
    db.run(board.hit("a", 1))
    sent: list[dict[str, Any]] = []

    def call(operation: str, request: dict[str, Any]) -> dict[str, Any]:
        if operation == "BatchGetItem":
            sent.append(request["RequestItems"])
        return engine.call(operation, request)

    db._call = call
    db.batch_get(board.counter("a"), board.counter("a"), board.task(UID, TID), board.task_now(UID, TID))
    ((app, counters),) = [(request["app"], request["counters"]) for request in sent]
    assert (len(app["Keys"]), app["ConsistentRead"]) == (1, True)
    assert counters == {"Keys": [{"name": {"S": "a"}}]}


@pytest.mark.parametrize("wrong", [Profile(user_id=UID, email="a@b"), {"user_id": UID}, None], ids=repr)
def test_objects_of_other_types_are_not_written(db: Any, wrong: Any) -> None:
    for write in (board.save_task, board.replace_task, board.add_task):
        with pytest.raises(TypeError, match=rf"{write.name}\(\) expects new as Task, got \w+: "):
            db.run(write(wrong))
        with pytest.raises(TypeError, match=rf"{write.name}\(\) expects new as Task, got \w+: "):
            db.transact(write(wrong))
    with pytest.raises(TypeError, match=r"add_comments\(\) expects new as list\[Comment\], got list: \["):
        db.run(board.add_comments([wrong]))


def test_uncalled_patterns_and_calls_without_pages_raise_type_error(db: Any) -> None:
    with pytest.raises(TypeError, match="got the pattern itself"):
        db.run(board.task)
    for call in (board.task(UID, TID), board.task_count(UID), board.rename(UID, TID, "x", 1)):
        with pytest.raises(TypeError, match="does not return pages"):
            db.all(call)
