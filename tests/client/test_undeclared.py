"""Ad-hoc calls: create, put, get, delete and query without a declared pattern, on every transport."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.client import board
from tests.client.board import Comment, Profile, Task, TaskId, UserId
from tests.client.conftest import NOW

import keyplan
from keyplan import (
    GSI,
    Created,
    DesignError,
    Entity,
    F,
    KeyCondition,
    Page,
    Table,
    Updated,
    View,
    each,
    every_shard,
    key,
    pk,
)
from keyplan.client.connection import Connection
from keyplan.client.errors import (
    AlreadyExistsError,
    CursorError,
    KeyValueError,
    TooManyResultsError,
    UniqueTakenError,
    UnreadableItemError,
)
from keyplan.client.requests import Meter
from keyplan.clock import ManualClock
from keyplan.engine.engine import Engine

UID, TID = UserId("u"), TaskId("t1")
AT = datetime.fromtimestamp(NOW, UTC)


@pytest.fixture
def memory(engine: Engine) -> Iterator[Connection]:
    """Yield a connection to the engine in this process."""
    with keyplan.connect(engine=engine) as db:
        yield db


def a_task(task_id: str = "t1", **fields: Any) -> Task:
    return Task(user_id=UID, task_id=TaskId(task_id), title="t", **fields)


def test_an_item_is_created_once_read_and_deleted(db: Any) -> None:
    task = db.create(a_task(due_at=AT))
    assert task == a_task(due_at=AT, version=1)
    assert db.get(Task, user_id="u", task_id="t1") == task == db.run(board.task(UID, TID))
    with pytest.raises(AlreadyExistsError, match="PK='USER#u' SK='TASK#t1'"):
        db.create(a_task())
    assert db.delete(Task, user_id="u", task_id="t1") == task
    assert db.delete(Task, user_id="u", task_id="t1") is None
    assert db.get(Task, user_id="u", task_id="t1") is None


def test_a_put_overwrites_and_increments_the_version(db: Any) -> None:
    first = db.put(a_task())
    second = db.put(first.model_copy(update={"title": "new"}))
    assert (first.version, second.version) == (1, 2)
    assert db.get(Task, user_id="u", task_id="t1", consistent=True) == second


def test_writes_keep_unique_values_and_index_keys(db: Any) -> None:
    db.create(a_task("t1", external_ref="x", due_at=AT))
    with pytest.raises(UniqueTakenError):
        db.put(a_task("t2", external_ref="x"))
    assert db.query(Task, pk(user_id="u"), index="due") == [a_task("t1", external_ref="x", due_at=AT, version=1)]
    db.delete(Task, user_id="u", task_id="t1")
    assert db.query(Task, pk(user_id="u"), index="due") == []
    assert db.create(a_task("t2", external_ref="x")).external_ref == "x"


def test_an_expired_item_is_returned_only_on_request(db: Any, clock: ManualClock) -> None:
    task = db.create(a_task(expires_at=AT + timedelta(seconds=60)))
    clock.advance(60)
    assert db.get(Task, user_id="u", task_id="t1") is None
    assert db.get(Task, user_id="u", task_id="t1", expired=True) == task
    assert not db.query(Task, pk(user_id="u"))
    assert db.query(Task, pk(user_id="u"), expired=True) == [task]
    assert db.create(a_task()).version == 1, "an expired item does not exist for a create"


def test_a_query_reads_a_range_of_an_index(db: Any) -> None:
    for number in range(5):
        db.create(a_task(f"t{number}", due_at=AT + timedelta(hours=number)))

    def due(condition: KeyCondition, **options: Any) -> list[str]:
        return [task.task_id for task in db.query(Task, condition, index="due", **options)]

    mine, hour = pk(user_id="u"), timedelta(hours=1)
    assert due(mine) == ["t0", "t1", "t2", "t3", "t4"]
    assert due(mine.sk < AT + 2 * hour) == ["t0", "t1"]
    assert due(mine.sk < AT + 3 * hour) == ["t0", "t1", "t2"]
    assert due(mine.sk.gte(due_at=AT + 3 * hour), descending=True) == ["t4", "t3"]
    assert due(mine.sk.between(AT + hour, AT + 2 * hour)) == ["t1", "t2"]
    assert due(mine, limit=2) == ["t0", "t1"]
    assert due(mine.filter((F.title == "t") & F.task_id.is_in("t1", "t4", "t9"))) == ["t1", "t4"]
    assert due(mine.filter(~(F.title == "t") | F.due_at.between(AT, AT) | (F.title.size() > 3))) == ["t0"]
    assert due(mine.filter(F.title.begins_with("t") & F.tags.missing() & (F.task_id != F.title))) == due(mine)


def test_pages_continue_at_their_cursor(db: Any) -> None:
    for number in range(5):
        db.create(a_task(f"t{number}"))
    task_ids, cursor = [], None
    while True:
        page = db.query(Task, pk(user_id="u"), limit=2, cursor=cursor)
        task_ids += [task.task_id for task in page]
        cursor = page.cursor
        if cursor is None:
            break
    assert task_ids == ["t0", "t1", "t2", "t3", "t4"]
    first = db.query(Task, pk(user_id="u"), limit=2)
    with pytest.raises(CursorError):
        db.query(Task, pk(user_id="v"), limit=2, cursor=first.cursor)
    with pytest.raises(CursorError):
        db.query(Task, Profile, pk(user_id="u"), limit=2, cursor=first.cursor)


def test_every_page_of_a_query_is_read(db: Any) -> None:
    expected = [f"t{number}" for number in range(5)]
    for name in expected:
        db.create(a_task(name, due_at=AT + timedelta(hours=int(name[1]))))
    profile, mine = db.create(Profile(user_id=UID, email="a@b")), pk(user_id="u")
    assert [task.task_id for task in db.iterate(Task, mine, page_size=2)] == expected
    assert [task.task_id for task in db.all(Task, mine, page_size=2)] == expected
    assert [task.task_id for task in db.all(Task, mine, index="due", descending=True)] == expected[::-1]
    assert [task.task_id for task in db.all(Task, mine.filter(F.task_id.is_in("t1", "t3")))] == ["t1", "t3"]
    assert profile in db.all(Task, Profile, mine, page_size=1)
    assert len(db.all(Task, mine, at_most=5)) == 5
    with pytest.raises(TooManyResultsError, match=r"query\(Task\) has more than 4 results"):
        db.all(Task, mine, at_most=4, page_size=1)


def test_a_range_is_counted(db: Any, clock: ManualClock) -> None:
    for number in range(3):
        db.create(a_task(f"t{number}", due_at=AT + timedelta(hours=number)))
    db.create(a_task("t3", expires_at=AT + timedelta(seconds=60)))
    db.create(Profile(user_id=UID, email="a@b"))
    mine = pk(user_id="u")
    assert db.count(Task, mine) == 4
    assert db.count(Task, Profile, mine, consistent=True) == 5
    assert db.count(Task, mine.sk < AT + timedelta(hours=1), index="due") == 1
    assert db.count(Task, mine.filter(F.task_id == "t1")) == 1
    clock.advance(60)
    assert (db.count(Task, mine), db.count(Task, mine, expired=True)) == (3, 4)


def test_a_count_accepts_no_page_options(memory: Connection) -> None:
    count: Any = memory.count
    with pytest.raises(DesignError, match="descending"):
        count(Task, pk(user_id="u"), descending=True)
    with pytest.raises(TypeError, match=r"count\(\) expects entities and then a key condition"):
        count(Task, Profile)


def test_every_page_of_a_call_or_of_entities_is_read(memory: Connection) -> None:
    for method in ("iterate", "all"):
        read: Any = getattr(memory, method)
        with pytest.raises(TypeError, match=rf"{method}\(\) expects entities and then a key condition"):
            read(Task, Profile)
        with pytest.raises(TypeError, match="expected a pattern call"):
            read(Task)
        with pytest.raises(TypeError, match=rf"{method}\(\) expects an entity class"):
            read("Task", pk(user_id="u"))
        with pytest.raises(DesignError, match="limit"):
            read(Task, pk(user_id="u"), limit=1)


def test_several_entities_are_read_by_one_query(db: Any) -> None:
    task = db.create(a_task())
    profile = db.create(Profile(user_id=UID, email="a@b"))
    comment = db.create(Comment(user_id=UID, task_id=TID, number=1, text="x"))
    page = db.query(Task, Comment, Profile, pk(user_id="u"))
    assert set(map(type, page)) == {Task, Comment, Profile}
    assert (page.of(Task), page.of(Profile), page.of(Comment)) == ([task], [profile], [comment])
    assert db.query(Comment, pk(user_id="u").sk(task_id="t1")) == [comment]
    assert db.query(Comment, pk(user_id="u").sk(task_id="t1").sk.between(2, 3)) == []


def test_partitions_and_texts_are_accepted_as_in_patterns(db: Any) -> None:
    task = db.create(a_task(due_at=AT))
    db.create(Task(user_id=UserId("v"), task_id=TID, title="t", due_at=AT))
    both = db.query(Task, pk(user_id=each(["u", "v", "w"])), index="due")
    assert [owned.user_id for owned in both] == ["u", "v"]
    assert db.query(Task, pk.text("USER#u").sk.text("begins_with", "TASK#")) == [task]
    assert db.query(Task, pk.text("USER#u").sk.text("between", "TASK#", "TASK#s")) == []
    assert db.query(Task, pk.text("USER#{user_id}")) == [], "braces are plain text: an ad-hoc call has no parameters"


def test_the_end_of_a_sort_key_condition_may_be_none(db: Any) -> None:
    comments = [db.create(Comment(user_id=UID, task_id=TID, number=n, text="x")) for n in (1, 2)]
    mine = pk(user_id="u")
    assert db.query(Comment, mine.sk(task_id=None, number=None)) == comments
    assert db.query(Comment, mine.sk(task_id="t1", number=None)) == comments
    assert db.query(Comment, mine.sk(task_id="t1", number=2)) == comments[1:]
    with pytest.raises(
        TypeError, match=r"query\(Comment\) expects task_id with number, got None: the sort key contains"
    ):
        db.query(Comment, mine.sk(task_id=None, number=2))


def test_values_of_the_wrong_type_raise_the_error_of_patterns(db: Any) -> None:
    with pytest.raises(TypeError, match=r"^get\(Task\) expects task_id as str, got int: 5$"):
        db.get(Task, user_id="u", task_id=5)
    with pytest.raises(TypeError, match=r"^delete\(Task\) expects task_id as str, got int: 5$"):
        db.delete(Task, user_id="u", task_id=5)
    with pytest.raises(TypeError, match=r"^query\(Task, index=\"by_points\"\) expects points as int, got str: 'a'"):
        db.query(Task, pk(priority="low").sk < "a", index="by_points")
    with pytest.raises(TypeError, match=r"^query\(Task\) expects status as Literal\['open', 'done'\], got str: 'opne'"):
        db.query(Task, pk(user_id="u").filter(F.status == "opne"))
    with pytest.raises(TypeError, match=r"^count\(Task\) expects user_id as str, got int: 5$"):
        db.count(Task, pk(user_id=5))
    with pytest.raises(TypeError, match=r"^query\(Task\) expects user_id as str, got int: 5$"):
        db.all(Task, pk(user_id=5))
    with pytest.raises(KeyValueError, match=r"get\(Task\): the field 'task_id' .* has no value"):
        db.get(Task, user_id="u", task_id=None)
    with pytest.raises(KeyValueError, match="got Each"):
        db.get(Task, user_id="u", task_id=each(["t1"]))


def test_wrong_kinds_of_arguments_are_rejected_by_name(db: Any) -> None:
    calls: list[tuple[Callable[[], Any], str]] = [
        (lambda: db.create({"user_id": "u"}), r"create\(\) expects an object of an entity, got dict"),
        (lambda: db.get("Task", user_id="u"), r"get\(\) expects an entity class, got str: 'Task'"),
        (lambda: db.query(Task), r"query\(\) expects entities and then a key condition"),
        (lambda: db.query(pk(user_id="u")), r"query\(\) expects entities and then a key condition"),
        (lambda: db.query("Task", pk(user_id="u")), r"query\(\) expects an entity class, got str"),
    ]
    for call, message in calls:
        with pytest.raises(TypeError, match=message):
            call()


def test_an_invalid_call_is_rejected_at_its_line(memory: Connection) -> None:
    db: Any = memory
    calls: list[tuple[Any, str, str]] = [
        (lambda: db.get(Task, user_id="u"), "KP301", 'db.get(Task, user_id="u")'),
        (lambda: db.delete(Task, usr="u"), "KP201", 'usr="u"'),
        (lambda: db.query(Task, pk(task_id="t")), "KP301", 'db.query(Task, pk(task_id="t"))'),
        (lambda: db.query(Profile, pk(user_id="u"), index="due"), "KP301", "db.query(Profile, "),
        (lambda: db.query(Task, pk(user_id="u"), index="due", consistent=True), "KP304", "db.query("),
        (lambda: db.query(Task, pk(user_id="u"), index="no"), "None", 'index="no"'),
        (lambda: db.query(Task, pk(user_id="u"), limt=3), "None", "limt=3"),
        (lambda: db.get(Task, user_id="u", task_id="t", consistent=1.5), "None", "consistent=1.5"),
        (lambda: db.get(Entity, user_id="u"), "None", "db.get(Entity"),
    ]
    for call, code, text in calls:
        for _ in range(2):
            with pytest.raises(DesignError) as refused:
                call()
            assert str(refused.value.code) == code
            place = refused.value.place
            assert Path(place.file) == Path(__file__)
            assert text in Path(place.file).read_text().splitlines()[place.line - 1]


def test_a_fault_names_each_call_that_has_it(memory: Connection) -> None:
    lines = []
    calls: list[Callable[[], Any]] = [
        lambda: memory.query(Task, pk(user_id="u"), index="due", consistent=True),
        lambda: memory.query(Task, pk(user_id="u"), index="due", consistent=True),
    ]
    for call in calls:
        with pytest.raises(DesignError) as refused:
            call()
        lines.append(refused.value.place.line)
    assert lines[0] + 1 == lines[1]


def test_an_awaited_call_is_rejected_at_its_line_even_in_a_separate_task(engine: Engine) -> None:
    async def use() -> None:
        async with await keyplan.connect_async(engine=engine) as db:
            with pytest.raises(DesignError) as refused:
                await asyncio.create_task(db.query(Profile, pk(user_id="u"), index="due"))
            source = Path(__file__).read_text().splitlines()[refused.value.place.line - 1]
            assert "await asyncio.create_task(db.query(Profile" in source
            task = await db.create(a_task())
            assert await db.get(Task, user_id="u", task_id="t1") == task
            assert await db.query(Task, Profile, pk(user_id="u")) == [task]

    asyncio.run(use())


def test_a_meter_shows_the_calls_as_undeclared(db: Any) -> None:
    context = getattr(db, "_connection", db).context
    meter = context.meter = Meter()
    db.create(a_task(due_at=AT))
    db.put(a_task("t2"))
    db.get(Task, user_id="u", task_id="t1")
    db.query(Task, pk(user_id="u").sk < AT, index="due")
    db.query(Task, Profile, pk(user_id="u"))
    db.query(Task, Profile, pk(user_id="v"))
    db.all(Task, pk(user_id="u"))
    db.count(Task, pk(user_id="u"))
    db.delete(Task, user_id="u", task_id="t1")
    assert {name: usage.calls for name, usage in meter.read().items()} == {
        "undeclared create Task": 1,
        "undeclared put Task": 1,
        "undeclared get Task": 1,
        "undeclared query Task on due": 1,
        "undeclared query Task": 1,
        "undeclared count Task": 1,
        "undeclared query Task, Profile": 2,
        "undeclared delete Task": 1,
    }


def test_unreadable_items_are_reported_or_raised(db: Any, raw: Any) -> None:
    db.create(a_task())
    key = {"PK": {"S": "USER#u"}, "SK": {"S": "TASK#t9"}}
    raw(db)("PutItem", {"TableName": db.table_name(board.app), "Item": {**key, "title": {"S": ""}}})
    with pytest.raises(UnreadableItemError):
        db.query(Task, pk(user_id="u"))
    errors: list[UnreadableItemError] = []
    assert len(db.query(Task, pk(user_id="u"), unreadable=errors.append)) == 1
    assert len(errors) == 1


def test_key_fields_named_like_an_option_are_rejected_by_get_only() -> None:
    odd = Table("odd", pk="PK")

    @odd.entity(key=key("ODD#{expired}"))
    class Odd(Entity):
        expired: str

    with keyplan.connect(":memory:") as db:
        db.create(Odd(expired="yes"))
        with pytest.raises(
            DesignError, match="cannot name the key field expired, which is also an option of get"
        ) as refused:
            db.get(Odd, expired="yes")  # type: ignore[arg-type]
        assert "declare a pattern with @odd.get(Odd)" in str(refused.value)
        assert db.query(Odd, pk(expired="yes")) == [Odd(expired="yes")]
        assert db.delete(Odd, expired="yes") == Odd(expired="yes")


def test_keys_without_fields_shards_and_views_are_supported() -> None:
    table = Table("various", pk="PK", sk="SK", indexes=[GSI("by_kind", pk="GSI1PK", sk="SK", project=["size"])])

    @table.entity(key=key("SETTINGS", "ALL"))
    class Settings(Entity):
        theme: str = "dark"

    @table.entity(
        key=key("NOTE#{owner}", "{number:04d}"), indexes={"by_kind": key("{kind}#{owner:shard(3)}", "{number:04d}")}
    )
    class Note(Entity):
        owner: str
        number: int
        kind: str
        size: int
        text: str

    class NoteSize(View[Note]):
        owner: str
        number: int
        size: int

    with keyplan.connect(":memory:") as db:
        assert db.get(Settings) is None
        db.put(Settings())
        assert db.get(Settings) == Settings()
        for number in range(6):
            db.create(Note(owner=f"o{number}", number=number, kind="k", size=number, text="x"))
        shards = pk(kind="k", owner=every_shard())
        assert [note.number for note in db.query(NoteSize, shards, index="by_kind")] == list(range(6))
        assert isinstance(db.query(NoteSize, shards, index="by_kind")[0], NoteSize)
        assert db.get(NoteSize, owner="o1", number=1) == NoteSize(owner="o1", number=1, size=1)
        with pytest.raises(DesignError, match="KP306"):
            db.query(Note, shards, index="by_kind")
        assert [note.text for note in db.query(Note, shards, index="by_kind", hydrate=True)] == ["x"] * 6
        unchecked: Any = db
        with pytest.raises(TypeError, match="delete\\(\\) expects an entity class"):
            unchecked.delete(NoteSize, owner="o1", number=1)


def test_a_subclass_of_an_entity_is_written_as_the_entity() -> None:
    table = Table("kinds", pk="PK")

    @table.entity(key=key("{name}"))
    class Base(Entity):
        name: str

    class Special(Base):
        extra: int = 0

    class Stray(Entity):
        name: str

    with keyplan.connect(":memory:") as db:
        db.create(Special(name="a", extra=3))
        assert db.get(Base, name="a") == Base(name="a")
        with pytest.raises(DesignError, match="Stray is not an entity of a table"):
            db.create(Stray(name="a"))
        with pytest.raises(DesignError, match="Special is not an entity of a table"):
            db.get(Special, name="a")


def test_write_timestamps_are_set_as_in_patterns(engine: Engine, clock: ManualClock) -> None:
    table = Table("stamped", pk="PK")

    @table.entity(key=key("S#{name}"))
    class Stamped(Entity):
        name: str
        created_at: datetime = Created()
        updated_at: datetime = Updated()

    with keyplan.connect(engine=engine) as db:
        first = db.create(Stamped(name="a"))
        clock.advance(60)
        second = db.put(first)
        assert (first.created_at, first.updated_at) == (AT, AT)
        assert (second.created_at, second.updated_at) == (AT, AT + timedelta(seconds=60))
        assert db.get(Stamped, name="a") == second


def test_a_page_is_a_sequence_of_its_items() -> None:
    page = Page(("a", "b", "c"), "cursor")
    assert (page[0], page[-1], page[1:], len(page), bool(page)) == ("a", "c", ["b", "c"], 3, True)
    assert page == ["a", "b", "c"] == list(page)
    assert page == ("a", "b", "c")
    assert page == Page(("a", "b", "c"))
    assert page not in (["a"], "abc")
    assert not Page(())
    assert "b" in page
    assert page.index("c") == 2
    assert list(reversed(page)) == ["c", "b", "a"]
    assert page.of(str) == ["a", "b", "c"]
    assert page.of(int) == []
    with pytest.raises(IndexError):
        page[3]
    with pytest.raises(TypeError, match="unhashable"):
        hash(page)
