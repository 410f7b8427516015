"""Ad-hoc calls: the same requests as declared patterns, compiled once for each shape."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Literal

import pytest
from pydantic import Field

from keyplan import (
    GSI,
    Attribute,
    Entity,
    F,
    ItemKey,
    ItemWrite,
    KeyCondition,
    Table,
    each,
    every_shard,
    item,
    key,
    pk,
)
from keyplan.design.declaring import undeclared
from keyplan.design.declaring.patterns import Call
from keyplan.design.declaring.undeclared import delete_call, get_call, put_call, query_call
from keyplan.design.requests.build import build

AT = datetime(2026, 5, 4, 12, tzinfo=UTC)
LATER = AT + timedelta(days=1)
Status = Literal["open", "done"]

app = Table(
    "app", pk="PK", sk="SK", ttl="until", indexes=[GSI("due", pk="GSI1PK", sk="GSI1SK"), GSI("shards", pk="GSI2PK")]
)


@app.entity(
    key=key("USER#{user_id}", "TASK#{task_id}"),
    version="version",
    indexes={"due": key("DUE#{user_id}", "{status}#{due:utc_ms}"), "shards": key("T#{task_id:shard(4)}")},
)
class Task(Entity):
    user_id: str
    task_id: str
    status: Status = "open"
    due: datetime = AT
    until: Annotated[datetime | None, Attribute("until")] = None
    tags: set[str] = Field(default_factory=set)
    place: dict[str, str] = Field(default_factory=dict)
    version: int = 0


@app.entity(key=key("USER#{user_id}", "NOTE#{number:04d}"))
class Note(Entity):
    user_id: str
    number: int


@app.create(Task)
def create(task: Task) -> ItemWrite:
    return item(task)


@app.put(Task)
def put(task: Task) -> ItemWrite:
    return item(task)


@app.get(Task)
def get(user_id: str, task_id: str) -> ItemKey:
    return item(user_id=user_id, task_id=task_id)


@app.get(Task, consistent=True, expired=True)
def get_now(user_id: str, task_id: str) -> ItemKey:
    return item(user_id=user_id, task_id=task_id)


@app.delete(Task)
def delete(user_id: str, task_id: str) -> ItemWrite:
    return item(user_id=user_id, task_id=task_id)


@app.query(Task)
def all_of(user_id: str) -> KeyCondition:
    return pk(user_id=user_id)


@app.query(Task, Note)
def everything_of(user_id: str) -> KeyCondition:
    return pk(user_id=user_id)


@app.query(Task, index="due", descending=True)
def due(user_id: str, status: Status, start: datetime, end: datetime) -> KeyCondition:
    return pk(user_id=user_id).sk(status=status).sk.between(start, end)


@app.query(Task, index="due")
def before(user_id: str, status: Status, end: datetime) -> KeyCondition:
    return pk(user_id=user_id).sk(status=status).sk < end


@app.query(Task)
def filtered(user_id: str, tag: str, city: str, end: datetime) -> KeyCondition:
    condition = F.tags.contains(tag) & ((F.place["city"] == city) | ~F.due.between(end, end)) & (F.tags.size() > 2)
    return pk(user_id=user_id).filter(condition & F.until.missing() & F.status.is_in("open", "done"))


@app.query(Task)
def of_several(user_ids: list[str]) -> KeyCondition:
    return pk(user_id=each(user_ids))


@app.query(Task, index="shards")
def of_all_shards() -> KeyCondition:
    return pk(task_id=every_shard())


@app.query(Task)
def by_text(user_id: str) -> KeyCondition:
    return pk.text("USER#{user_id}").sk.text("between", "TASK#", "TASK#m")


TASK = Task(user_id="u", task_id="t")
MINE = pk(user_id="u")
FILTER = (
    F.tags.contains("a")
    & ((F.place["city"] == "Bern") | ~F.due.between(AT, AT))
    & (F.tags.size() > 2)
    & F.until.missing()
    & F.status.is_in("open", "done")
)


@pytest.mark.parametrize(
    ("declared", "adhoc"),
    [
        (create(TASK), put_call("create", TASK)),
        (put(TASK), put_call("put", TASK)),
        (get("u", "t"), get_call(Task, {"task_id": "t", "user_id": "u"}, consistent=False, expired=False)),
        (get_now("u", "t"), get_call(Task, {"user_id": "u", "task_id": "t"}, consistent=True, expired=True)),
        (delete("u", "t"), delete_call(Task, {"user_id": "u", "task_id": "t"})),
        (all_of("u"), query_call([Task, MINE], {})),
        (everything_of("u"), query_call([Task, Note, MINE], {})),
        (
            due("u", "open", AT, LATER),
            query_call(
                [Task, MINE.sk(status="open").sk.between(due=(AT, LATER))], {"index": "due", "descending": True}
            ),
        ),
        (before("u", "done", AT), query_call([Task, MINE.sk(status="done").sk < AT], {"index": "due"})),
        (filtered("u", "a", "Bern", AT), query_call([Task, MINE.filter(FILTER)], {})),
        (of_several(["u", "v"]), query_call([Task, pk(user_id=each(["u", "v"]))], {})),
        (of_all_shards(), query_call([Task, pk(task_id=every_shard())], {"index": "shards"})),
        (
            by_text("u"),
            query_call([Task, pk.text("USER#u").sk.text("between", "TASK#", "TASK#m")], {}),
        ),
    ],
    ids=lambda call: call.pattern.name,
)
def test_an_ad_hoc_call_sends_the_request_of_the_declared_pattern(declared: Call[Any], adhoc: Call[Any]) -> None:
    assert type(adhoc) is type(declared)
    assert build(adhoc.pattern.plan, adhoc.arguments) == build(declared.pattern.plan, declared.arguments)
    assert adhoc.pattern.plan.expired == declared.pattern.plan.expired


def test_a_shape_depends_on_everything_but_values() -> None:
    def shape(condition: KeyCondition, **options: Any) -> int:
        return id(query_call([Task, condition], options).pattern)

    same = [
        (MINE, pk(user_id="v")),
        (MINE.sk(task_id="a"), MINE.sk(task_id="b")),
        (MINE.filter(F.status == "open"), MINE.filter(F.status == "done")),
        (pk(user_id=each(["a"])), pk(user_id=each(["a", "b"]))),
        (pk.text("USER#a"), pk.text("USER#b")),
    ]
    different: list[Callable[[], int]] = [
        lambda: shape(MINE),
        lambda: shape(MINE, descending=True),
        lambda: shape(MINE, index="due"),
        lambda: shape(MINE.sk(task_id="a")),
        lambda: shape(MINE.sk.lt(task_id="a")),
        lambda: shape(MINE.sk.lte(task_id="a")),
        lambda: shape(MINE.sk < "a"),
        lambda: shape(MINE.filter(F.status == "open")),
        lambda: shape(MINE.filter(F.status != "open")),
        lambda: shape(MINE.filter(~(F.status == "open"))),
        lambda: shape(MINE.filter(F.place["a"] == "x")),
        lambda: shape(MINE.filter(F.place["b"] == "x")),
        lambda: shape(MINE.filter((F.status == "open") & (F.version > 1) & (F.version < 3))),
        lambda: shape(MINE.filter((F.status == "open") & ((F.version > 1) | (F.version < 3)))),
        lambda: shape(MINE.filter(F.status.is_in("open"))),
        lambda: shape(MINE.filter(F.status.is_in("open", "done"))),
        lambda: shape(pk(user_id=each(["a"]))),
        lambda: shape(pk.text("USER#a")),
    ]
    for first, other in same:
        assert shape(first) == shape(other)
    shapes = [make() for make in different]
    assert len(set(shapes)) == len(shapes)
    assert shapes == [make() for make in different]


def test_plans_of_reads_and_writes_are_compiled_once() -> None:
    key_fields = {"user_id": "u", "task_id": "t"}
    first = get_call(Task, key_fields, consistent=False, expired=False)
    assert first.pattern is get_call(Task, {**key_fields, "user_id": "v"}, consistent=False, expired=False).pattern
    assert put_call("put", TASK).pattern is put_call("put", Task(user_id="v", task_id="t")).pattern
    assert delete_call(Task, key_fields).pattern is delete_call(Task, key_fields).pattern


def test_the_number_of_shapes_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(undeclared, "_shapes", {})
    monkeypatch.setattr(undeclared, "_MAX_SHAPES", 3)
    calls = [lambda member=member: query_call([Task, MINE.filter(F.place[member] == "x")], {}) for member in "abcde"]
    with ThreadPoolExecutor(4) as threads:
        patterns = [call.pattern for call in threads.map(lambda call: call(), calls * 5)]
    assert 1 <= len(undeclared._shapes) <= 3
    assert all(build(pattern.plan, {"user_id": "u", "city": "x", "place": "x"}) for pattern in patterns)


def test_repeated_names_of_values_are_numbered() -> None:
    call = query_call([Task, MINE.sk.between(task_id=("a", "b")).filter(F.version.between(1, 2))], {})
    assert call.arguments == {"user_id": "u", "task_id": "a", "task_id (2)": "b", "version": 1, "version (2)": 2}
    with pytest.raises(
        TypeError, match=r"^query\(Task\) expects version \(2\) as int \| float \| Decimal, got str: 'x'$"
    ):
        query_call([Task, MINE.filter(F.version.between(1, "x"))], {})
