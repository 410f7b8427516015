"""Load on the most used key is rates times shares times units, key by key."""

from __future__ import annotations

from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyplan.check.heat import HotKey
from keyplan.check.subject import Subject
from keyplan.design import (
    GSI,
    LSI,
    Bytes,
    Change,
    Cond,
    Design,
    Distinct,
    Entity,
    Items,
    Rate,
    Table,
    add,
    attr,
    every_shard,
    key,
    key_of,
    pk,
    put,
    set_,
)


def subject(*tables: Table) -> Subject:
    return Subject(Design("d", tables))


def one_key(found: tuple[HotKey, ...], name: str) -> HotKey:
    (hot,) = [hot for hot in found if hot.name == name]
    return hot


def board(shards: int, average: float, peak: float) -> tuple[Table, type[Entity]]:
    template = "ALL" if shards == 1 else f"ALL#{{player:shard({shards})}}"
    table = Table("board", pk="player", indexes=[GSI("top", pk="board", sk="points")])

    @table.entity(indexes={"top": key(template, attr("points"))}, items=Items(count=50_000, bytes=Bytes(200)))
    class Score(Entity):
        player: str
        points: int

    @table.update(Score, rate=Rate(average=average, peak=peak))
    def add_points(player: str, points: int) -> Change:
        return key_of(player=player) & add(points=points)

    return table, Score


@given(shards=st.integers(1, 200), average=st.integers(1, 500), more=st.integers(0, 5_000))
def test_shards_divide_the_load_of_an_index_whose_key_changes(shards: int, average: int, more: int) -> None:
    table, _ = board(shards, average, average + more)
    hot = one_key(subject(table).hot_keys, "top")
    share = max(1 / shards, 1 / 50_000)
    assert hot.write(peak=False) == pytest.approx(2 * average * share)
    assert hot.write(peak=True) == pytest.approx(2 * (average + more) * share)
    assert hot.sharded == (0 if shards == 1 else shards)
    assert hot.constant == (shards == 1)


def test_a_read_of_every_shard_asks_each_of_them() -> None:
    table, score = board(4, 10, 10)

    @table.query(score, index="top", returns=1, rate=Rate(average=100))
    def top() -> Cond:
        return pk(player=every_shard())

    hot = one_key(subject(table).hot_keys, "top")
    # Four reads of half a unit a call, a hundred calls a second: fifty units on each shard.
    assert hot.read(peak=True) == pytest.approx(50)


def tasks() -> tuple[Table, type[Entity]]:
    table = Table("tasks", pk="user_id", sk="task_id", indexes=[LSI("by_state", sk="state")])

    @table.entity(items=Items(count=1_000, bytes=Bytes(900), distinct={"user_id": Distinct(100, hottest=0.25)}))
    class Task(Entity):
        user_id: str
        task_id: str
        state: Literal["open", "done"]
        note: str | None = None

    return table, Task


def test_a_local_index_adds_to_the_partition_of_its_table() -> None:
    table, task = tasks()

    @table.update(task, rate=Rate(average=40))
    def finish(user_id: str, task_id: str) -> Change:
        return key_of(user_id=user_id, task_id=task_id) & set_(state="done")

    (hot,) = subject(table).hot_keys
    assert hot.name == "tasks"
    assert hot.write(peak=True) == pytest.approx(40 * 0.25 * 3)


def test_patterns_that_meet_on_one_key_are_added_up_and_named_by_their_part() -> None:
    table, task = tasks()

    @table.create(task, rate=Rate(average=10))
    def create(item: Any) -> Change:
        return put(item)

    @table.update(task, rate=Rate(average=20))
    def annotate(user_id: str, task_id: str, note: str) -> Change:
        return key_of(user_id=user_id, task_id=task_id) & set_(note=note)

    (hot,) = subject(table).hot_keys
    assert hot.write(peak=True) == pytest.approx(0.25 * (10 * 2 + 20 * 2))
    assert hot.main("write") == ["annotate", "create"]
    assert hot.share_of("write") == 0.25
    assert hot.main("read") == []


def test_a_constant_in_a_call_is_the_same_key_every_time() -> None:
    table, task = tasks()

    @table.query(task, returns=1, rate=Rate(average=8))
    def of_admin() -> Cond:
        return pk(user_id="admin")

    (hot,) = subject(table).hot_keys
    assert hot.read(peak=True) == pytest.approx(8 * 0.5)


def test_nothing_is_said_of_fields_without_numbers_or_of_patterns_without_a_rate() -> None:
    table = Table("notes", pk="user_id", sk="note_id")

    @table.entity(items=Items(count=1_000))
    class Note(Entity):
        user_id: str
        note_id: str

    @table.create(Note, rate=Rate(average=5_000))
    def create(note: Note) -> Change:
        return put(note)

    @table.create(Note)
    def create_rarely(note: Note) -> Change:
        return put(note)

    assert subject(table).hot_keys == ()


def test_an_index_that_is_asked_for_one_text_gets_the_writes_of_those_expected_in_it() -> None:
    table = Table("stats", pk="user_id", indexes=[GSI("top", pk="board", sk="points")])

    @table.entity(items=Items(count=1_000, bytes=Bytes(1_500)))
    class Stats(Entity):
        user_id: str
        points: int
        name: str

    @table.query(Stats, index="top")
    def top() -> Cond:
        return pk.text("board")

    @table.update(Stats, rate=Rate(average=10))
    def add_points(user_id: str) -> Change:
        return key_of(user_id=user_id) & add(points=1)

    @table.update(Stats, rate=Rate(average=1))
    def rename(user_id: str, name: str) -> Change:
        return key_of(user_id=user_id) & set_(name=name)

    hot = one_key(subject(table).hot_keys, "top")
    assert hot.constant
    assert hot.shape == "board = board"
    assert hot.write(peak=True) == pytest.approx(10 * 2 * 2 + 1 * 2)
