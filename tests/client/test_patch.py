"""Patches change only the fields that a call gives, and index keys stay right for every choice of fields."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime, timedelta
from itertools import combinations
from typing import Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, Field, ValidationError
from tests.client.conftest import NOW
from tests.laws import examples

import keyplan
from keyplan import (
    GSI,
    UNSET,
    Created,
    DesignError,
    Entity,
    F,
    ItemKey,
    ItemWrite,
    KeyCondition,
    Table,
    Unset,
    Updated,
    WriteCall,
    item,
    key,
    pk,
    transaction,
)
from keyplan.client.connection import Connection
from keyplan.client.errors import ConditionFailedError, NotFoundError, UniqueTakenError, VersionConflictError
from keyplan.clock import ManualClock
from keyplan.design.requests.build import build
from keyplan.design.requests.items import item_builder
from keyplan.engine.engine import Engine

Status = Literal["open", "done"]
START = datetime.fromtimestamp(NOW, UTC)


class Place(BaseModel):
    city: str
    room: str = ""


table = Table(
    "patched",
    pk="PK",
    sk="SK",
    indexes=[
        GSI("due", pk="D", sk="DS"),
        GSI("ranked", pk="R", sk="RS"),
        GSI("labelled", pk="label", sk="LS"),
    ],
)


@table.entity(
    key=key("USER#{user}", "TASK#{task}"),
    indexes={
        "due": key("DUE#{user}", "{due}", only_if=F.status == "open"),
        "ranked": key("RANK#{status}", "{rank:03d}#{task}"),
        "labelled": key("{label}", "{rank:03d}"),
    },
    version="version",
    unique=["code"],
)
class Task(Entity):
    """A task that is in up to three indexes."""

    user: str
    task: str
    title: str = "title"
    status: Status = "open"
    due: date | None = None
    rank: int = 0
    label: str | None = None
    code: str | None = None
    tags: set[str] = Field(default_factory=set)
    place: Place | None = None
    created_at: datetime = Created()
    updated_at: datetime = Updated()
    version: int = 0


class Changes(BaseModel):
    """The body of a request."""

    title: str | Unset = UNSET
    code: str | Unset | None = UNSET


@table.create(Task)
def add(task: Task) -> ItemWrite:
    return item(task)


@table.get(Task)
def one(user: str, task: str) -> ItemKey:
    return item(user=user, task=task)


@table.query(Task, index="due")
def due_tasks(user: str) -> KeyCondition:
    return pk(user=user)


@table.update(Task)
def edit(
    user: str,
    task: str,
    *,
    title: str | Unset = UNSET,
    tags: set[str] | Unset = UNSET,
    city: str | Unset = UNSET,
    version: int | None = None,
) -> ItemWrite:
    change = item(user=user, task=task).patch(title=title, tags=tags).patch(F.place["city"], city)
    return change.condition(F.status == "open")


@table.update(Task)
def edit_version(user: str, task: str, version: int, title: str | Unset = UNSET) -> ItemWrite:
    return item(user=user, task=task).patch(title=title).if_version(version)


@table.update(Task)
def schedule(user: str, task: str, due: date | Unset | None = UNSET, title: str | Unset = UNSET) -> ItemWrite:
    return item(user=user, task=task).patch(due=due, title=title).assuming(status="open")


@table.update(Task)
def apply(user: str, task: str, changes: Changes) -> ItemWrite:
    return item(user=user, task=task).patch(title=changes.title, code=changes.code)


@table.update(Task, upsert=True)
def save(user: str, task: str, title: str | Unset = UNSET) -> ItemWrite:
    return item(user=user, task=task).set(status="open", rank=1, label=None, due=None).patch(title=title)


@transaction()
def edit_two(first: str, second: str, title: str | Unset = UNSET) -> list[WriteCall[Task]]:
    return [edit("u", first, title=title), edit("u", second, title="second")]


@pytest.fixture
def tasks(db: Any) -> Any:
    """Return a connection to the table with one task."""
    db.create_tables(table)
    db.run(add(Task(user="u", task="t", tags={"a"}, place=Place(city="Rome", room="1"))))
    return db


def test_a_create_that_keeps_unique_values_returns_the_stored_times(tasks: Any, clock: ManualClock) -> None:
    clock.advance(0.125)
    assert tasks.run(add(Task(user="u", task="new", code="c"))) == tasks.run(one("u", "new"))


def test_unset_is_a_falsy_singleton_with_a_name() -> None:
    assert not UNSET
    assert repr(UNSET) == "UNSET"
    assert copy.deepcopy(UNSET) is pickle.loads(pickle.dumps(UNSET)) is UNSET


def test_models_accept_unset_as_a_default_and_not_as_input() -> None:
    assert Changes().title is UNSET
    assert Changes(title="a").model_dump(exclude_unset=True) == {"title": "a"}
    with pytest.raises(ValidationError):
        Changes.model_validate_json('{"title": null}')
    assert Changes.model_json_schema()["properties"]["code"]["anyOf"] == [{"type": "string"}, {"type": "null"}]


def test_only_given_fields_are_written(tasks: Any) -> None:
    assert set(
        build(edit("u", "t", title="n").pattern.plan, edit("u", "t", title="n").arguments)["ExpressionAttributeValues"]
    ) == {":title", ":updated_at", ":one", ":status"}
    changed = tasks.run(edit("u", "t", title="new"))
    assert (changed.title, changed.tags, changed.place.city) == ("new", {"a"}, "Rome")
    changed = tasks.run(edit("u", "t", city="Oslo"))
    assert (changed.title, changed.place) == ("new", Place(city="Oslo", room="1"))


def test_none_and_an_empty_set_remove_a_field(tasks: Any) -> None:
    assert tasks.run(schedule("u", "t", due=date(2026, 5, 4))).due == date(2026, 5, 4)
    assert [due_task.task for due_task in tasks.run(due_tasks("u"))] == ["t"]
    assert tasks.run(schedule("u", "t", title="later")).due == date(2026, 5, 4)
    assert tasks.run(schedule("u", "t", due=None)).due is None
    assert tasks.run(due_tasks("u")).items == ()
    assert tasks.run(edit("u", "t", tags=set())).tags == set()


def test_a_call_without_fields_returns_the_item_unchanged(tasks: Any, clock: ManualClock) -> None:
    before = tasks.run(one("u", "t"))
    clock.advance(10)
    assert "UpdateExpression" not in build(edit("u", "t").pattern.plan, edit("u", "t").arguments)
    assert tasks.run(edit("u", "t")) == before
    assert tasks.run(apply("u", "t", Changes())) == before
    assert tasks.run(edit("u", "t", title="new")).updated_at == START + timedelta(seconds=10)


def test_a_call_without_fields_checks_condition_and_version(tasks: Any) -> None:
    with pytest.raises(NotFoundError):
        tasks.run(edit("u", "none"))
    with pytest.raises(VersionConflictError):
        tasks.run(edit_version("u", "t", 7))
    assert tasks.run(edit_version("u", "t", 1)).version == 1
    assert tasks.run(edit_version("u", "t", 1, title="new")).version == 2
    tasks.run(add(Task(user="u", task="done", status="done")))
    with pytest.raises(ConditionFailedError):
        tasks.run(edit("u", "done"))


def test_unique_values_are_updated(tasks: Any) -> None:
    assert tasks.run(apply("u", "t", Changes(code="c"))).code == "c"
    tasks.run(add(Task(user="u", task="other")))
    with pytest.raises(UniqueTakenError):
        tasks.run(apply("u", "other", Changes(code="c")))
    assert tasks.run(apply("u", "t", Changes(title="new"))).code == "c"
    assert tasks.run(apply("u", "t", Changes(code=None))).code is None
    assert tasks.run(apply("u", "other", Changes(code="c"))).code == "c"


def test_a_transaction_leaves_omitted_fields_unchanged(tasks: Any) -> None:
    tasks.run(add(Task(user="u", task="other")))
    tasks.run(edit_two("t", "other"))
    assert [tasks.run(one("u", name)).title for name in ("t", "other")] == ["title", "second"]
    tasks.run(edit_two("t", "other", title="first"))
    assert [tasks.run(one("u", name)).title for name in ("t", "other")] == ["first", "second"]
    tasks.transact(edit("u", "t"), edit("u", "other", title="third"))
    assert tasks.run(one("u", "other")).title == "third"


def test_an_upsert_creates_the_item_with_the_given_fields(tasks: Any) -> None:
    assert tasks.run(save("u", "new")).title == "title"
    assert tasks.run(save("u", "new", title="given")).title == "given"
    assert tasks.run(save("u", "new")).title == "given"


def test_a_value_of_the_wrong_type_is_rejected() -> None:
    with pytest.raises(TypeError, match="expects city as str"):
        edit("u", "t", city=3)  # type: ignore[arg-type]


# Laws.

VALUES: Mapping[str, st.SearchStrategy[Any]] = {
    "title": st.sampled_from(["a", "b"]),
    "status": st.sampled_from(["open", "done"]),
    "due": st.none() | st.dates(date(2026, 1, 1), date(2026, 1, 5)),
    "rank": st.integers(0, 3),
    "label": st.none() | st.sampled_from(["x", "y"]),
    "tags": st.sets(st.sampled_from("ab")),
}
_TYPES = {
    "title": "str",
    "status": "Status",
    "due": "date | None",
    "rank": "int",
    "label": "str | None",
    "tags": "set[str]",
}


def patch_of(names: tuple[str, ...], assumed: tuple[str, ...]) -> Any:
    """Declare a patch of some fields that assumes the stored values of others."""
    parameters = [f"was_{name}: {_TYPES[name]}" for name in assumed]
    parameters += [f"{name}: {_TYPES[name]} | Unset = UNSET" for name in names]
    body = f"item(user=user, task=task).patch({', '.join(f'{name}={name}' for name in names)})"
    if assumed:
        body += f".assuming({', '.join(f'{name}=was_{name}' for name in assumed)})"
    text = f"def patch(user: str, task: str, {', '.join(parameters)}):\n    return {body}\n"
    space = {"item": item, "Status": Status, "date": date, "Unset": Unset, "UNSET": UNSET}
    exec(text, space)
    return space["patch"]


@pytest.fixture(scope="module")
def memory() -> Iterator[Connection]:
    """Yield a database with the table, for the property test."""
    with Engine.memory(clock=ManualClock(NOW)) as engine, keyplan.connect(engine=engine) as db:
        db.create_tables(table)
        yield db


@settings(max_examples=examples(150), deadline=None)
@given(data=st.data())
def test_stored_items_after_any_subset_of_fields_equal_the_whole_entity(
    memory: Connection, data: st.DataObject
) -> None:
    names = data.draw(st.lists(st.sampled_from(sorted(VALUES)), min_size=1, unique=True).map(tuple))
    some = st.lists(st.sampled_from(["status", "due", "rank", "label"]), unique=True).map(tuple)
    assumed = data.draw(st.just(("status", "due", "rank", "label")) | some)
    pattern = table.update(Task)(patch_of(names, assumed))
    table.patterns.remove(pattern)
    if pattern.plan.faults:
        assert {fault.code for fault in pattern.plan.faults} == {"KP401"}
        assert {"status", "due", "rank", "label"} & set(names)
        return
    stored = Task(user="u", task="law", **{name: data.draw(VALUES[name], label=name) for name in VALUES})
    for _ in range(3):
        before = memory.put(stored)
        values = {name: data.draw(VALUES[name], label=name) for name in names if data.draw(st.booleans())}
        after = memory.run(pattern("u", "law", **{f"was_{name}": getattr(before, name) for name in assumed}, **values))
        expected = before.model_copy(update={**values, "version": before.version + bool(values)})
        assert after == expected
        raw = memory.transport.call(
            "GetItem", {"TableName": "patched", "Key": {"PK": {"S": "USER#u"}, "SK": {"S": "TASK#law"}}}
        )["Item"]
        assert raw == item_builder(keyplan.design.entities.spec_of(Task)).item(expected)
        stored = after


def test_every_patch_that_needs_an_unknown_field_is_rejected() -> None:
    faulty = set()
    for size in (1, 2, 3, 4):
        for names in combinations(("due", "label", "rank", "status"), size):
            pattern = table.update(Task)(patch_of(names, ()))
            table.patterns.remove(pattern)
            if pattern.plan.faults:
                faulty.add(names)
                with pytest.raises(DesignError), keyplan.connect(":memory:") as db:
                    db.run(pattern("u", "t"))
    # A label alone needs the rank, and so on: no index key here consists of one field that can be patched.
    assert faulty == {
        names for size in (1, 2, 3, 4) for names in combinations(("due", "label", "rank", "status"), size)
    }
