"""What a pattern is expected to cost: how many items it reads of each entity, and which share an index holds."""

from __future__ import annotations

from datetime import date, datetime
from enum import StrEnum
from typing import Annotated, Any, Literal

import pytest
from pydantic import Field
from tests.cost.lending import loans

from keyplan import (
    GSI,
    LSI,
    Bytes,
    Entity,
    F,
    ItemKey,
    ItemWrite,
    KeyCondition,
    Table,
    Volume,
    attr,
    each,
    every_shard,
    everything,
    item,
    key,
    pk,
    transaction,
)
from keyplan.cost.expected import expected, pages
from keyplan.design.declaring.patterns import Pattern, WriteCall


class Level(StrEnum):
    """What the index sorts by."""

    LOW = "low"
    HIGH = "high"


def test_the_share_of_a_sparse_index_depends_only_on_fields_of_its_condition() -> None:
    table = Table("lessons", pk="lesson_id", indexes=[GSI("on_offer", pk="offer", sk="level_key")])

    @table.entity(
        indexes={"on_offer": key("ON", "{level:rank(low,high)}#{level}", only_if=F.active == True)},  # noqa: E712
        volume=Volume(
            count=100,
            bytes=Bytes(900),
            distinct={"level": {Level.LOW: 0.5, Level.HIGH: 0.5}, "active": {True: 0.75, False: 0.25}},
        ),
    )
    class Lesson(Entity):
        lesson_id: str
        level: Level
        active: bool

    @table.create(Lesson)
    def add(lesson: Lesson) -> ItemWrite:
        return item(lesson)

    assert expected(add).units.indexes == {"on_offer": pytest.approx(0.75)}


def shop(readings: dict[str, int]) -> Table:
    """Few large devices, and many small readings in the partition of each."""
    table = Table("devices", pk="PK", sk="SK")

    @table.entity(key=key("DEVICE#{device_id}", "META"), volume=Volume(count=100, bytes=Bytes(4_000)))
    class Device(Entity):
        device_id: str
        city: str

    @table.entity(
        key=key("DEVICE#{device_id}", "READ#{number:06d}"),
        volume=Volume(count=90_000, bytes=Bytes(100), distinct=readings),
    )
    class Reading(Entity):
        device_id: str
        number: int

    @table.query(Device, Reading)
    def all_of(device_id: str) -> KeyCondition:
        return pk(device_id=device_id)

    @table.scan(Device)
    def devices_of(city: str) -> KeyCondition:
        return everything().filter(F.city == city)

    @table.scan(Device, limit=10)
    def some_devices() -> KeyCondition:
        return everything()

    return table


def test_a_partition_of_few_large_and_many_small_items_has_their_total_size() -> None:
    all_of, _, _ = shop({"device_id": 100}).patterns
    estimate = expected(all_of)
    assert estimate.evaluated == 901
    assert estimate.units.read == pytest.approx(0.5 * -(-(4_000 + 900 * 100) // 4096))


def test_a_scan_also_reads_items_of_other_entities() -> None:
    _, devices_of, some_devices = shop({"device_id": 100}).patterns
    estimate = expected(devices_of)
    assert (estimate.evaluated, estimate.returned) == (90_100, 100)
    assert estimate.units.read == pytest.approx(0.5 * -(-(100 * 4_000 + 90_000 * 100) // 4096))
    assert expected(some_devices).evaluated == 10 + 9_000, "a tenth of the devices, after as much of the rest"


def test_a_scan_of_an_index_reads_its_entries() -> None:
    table = Table("papers", pk="PK", indexes=[GSI("dated", pk="day")])

    @table.entity(key=key("INVOICE#{number}"), volume=Volume(400, bytes=Bytes(600), present={"day": 0.25}))
    class Invoice(Entity):
        number: str
        day: str | None = None

    @table.entity(key=key("RECEIPT#{number}"), volume=Volume(50, bytes=Bytes(600)))
    class Receipt(Entity):
        number: str
        day: str

    @table.entity(key=key("NOTE#{number}"), volume=Volume(9_000, bytes=Bytes(600)))
    class Note(Entity):
        number: str

    @table.scan(Invoice, index="dated")
    def dated() -> KeyCondition:
        return everything()

    assert expected(dated).evaluated == 100 + 50


def test_a_query_of_a_partition_also_reads_the_items_that_it_does_not_return() -> None:
    table = Table("chat", pk="PK", sk="SK")

    @table.entity(key=key("ROOM#{room}", "ROOM"), volume=Volume(100, bytes=Bytes(200)))
    class Room(Entity):
        room: str

    @table.entity(key=key("ROOM#{room}", "MEMBER#{name}"), volume=Volume(500, bytes=Bytes(200), distinct={"room": 100}))
    class Member(Entity):
        room: str
        name: str

    @table.entity(
        key=key("ROOM#{of}", "SAID#{number:08d}"), volume=Volume(40_000, bytes=Bytes(400), distinct={"of": 100})
    )
    class Message(Entity):
        of: str
        number: int

    @table.entity(key=key("USER#{name}", "USER"), volume=Volume(9_000, bytes=Bytes(400)))
    class User(Entity):
        name: str

    @table.query(Room, Member)
    def room(room: str) -> KeyCondition:
        return pk(room=room)

    @table.query(Room, Member, expected_items=6)
    def expected_in(room: str) -> KeyCondition:
        return pk(room=room)

    @table.query(Room, Member, expected_items=12)
    def rooms(rooms: list[str]) -> KeyCondition:
        return pk(room=each(rooms))

    @table.query(Room, Member, limit=3)
    def some(room: str) -> KeyCondition:
        return pk(room=room)

    @table.query(Room, Member, expected_scanned=50)
    def known(room: str) -> KeyCondition:
        return pk(room=room)

    @table.query(Member)
    def members(room: str) -> KeyCondition:
        return pk(room=room)

    of = (1 + 5 + 400, 6)
    assert [(expected(pattern).evaluated, expected(pattern).returned) for pattern in (room, expected_in)] == [of, of]
    assert expected(room).units.read == pytest.approx(0.5 * -(-(6 * 200 + 400 * 400) // 4096))
    assert (expected(rooms).evaluated, expected(rooms).returned) == (2 * 406, 12)
    assert expected(some).evaluated == 3 + 200, "half of what is asked for, after as much of the rest"
    assert expected(known).evaluated == 50
    assert expected(members).evaluated == 5, "its range holds no others"


def test_a_field_that_is_the_whole_key_has_as_many_values_as_items() -> None:
    all_of, _, _ = shop({}).patterns
    estimate = expected(all_of)
    assert estimate.evaluated == 901
    assert estimate.guesses == ("Reading.device_id is assumed to have one value per Device",)


def jobs() -> Table:
    """Few open jobs among many, in a sparse index, a whole one, and one that is spread over shards."""
    table = Table(
        "jobs",
        pk="job_id",
        indexes=[
            GSI("open", pk="OpenPK", sk="job_id"),
            GSI("all", pk="state", sk="job_id"),
            GSI("spread", pk="ShardPK"),
            GSI("loud", pk="LoudPK"),
        ],
    )

    @table.entity(
        indexes={
            "open": key("{state}", attr("job_id"), only_if=(F.state == "open") & (F.urgent == False)),  # noqa: E712
            "spread": key("{state}#{job_id:shard(4)}"),
            "loud": key("STATE#{state:upper}"),
        },
        volume=Volume(100_000, bytes=Bytes(400), distinct={"state": {"open": 0.01, "done": 0.99}}),
    )
    class Job(Entity):
        job_id: str
        state: Literal["open", "done"] = "open"
        urgent: bool = False

    @table.query(Job, index="open")
    def open_jobs() -> KeyCondition:
        return pk(state="open")

    @table.query(Job, index="all")
    def all_open() -> KeyCondition:
        return pk(state="open")

    @table.query(Job, index="all")
    def of_state(state: Literal["open", "done"]) -> KeyCondition:
        return pk(state=state)

    @table.query(Job, index="all")
    def of_both() -> KeyCondition:
        return pk(state=each(["open", "done"]))

    @table.query(Job, index="spread")
    def spread_open() -> KeyCondition:
        return pk(state="open", job_id=every_shard())

    @table.query(Job, index="loud")
    def written_out() -> KeyCondition:
        return pk.text("STATE#OPEN")

    @table.query(Job, index="spread")
    def one_shard(job_id: str) -> KeyCondition:
        return pk(state="open", job_id=job_id)

    return table


@pytest.mark.parametrize(
    ("pattern", "evaluated"),
    [
        ("open_jobs", 1_000),
        ("all_open", 1_000),
        ("of_state", 50_000),
        ("of_both", 100_000),
        ("spread_open", 1_000),
        ("written_out", 1_000),
        ("one_shard", 250),
    ],
)
def test_a_read_evaluates_the_share_of_items_that_its_key_selects(pattern: str, evaluated: float) -> None:
    (matching_count,) = [pattern_cost for pattern_cost in jobs().patterns if pattern_cost.name == pattern]
    assert expected(matching_count).evaluated == pytest.approx(evaluated)


def test_a_constant_partition_contains_every_item() -> None:
    table = Table("tools", pk="PK", sk="SK")

    @table.entity(key=key("TOOLS", "TOOL#{tool}"), volume=Volume(8_000, bytes=Bytes(128)))
    class Tool(Entity):
        tool: str

    @table.query(Tool)
    def tools() -> KeyCondition:
        return pk()

    assert expected(tools).evaluated == 8_000
    assert expected(tools).units.read == 125


def test_entities_of_one_partition_may_name_its_fields_differently() -> None:
    table = Table("shop", pk="PK", sk="SK")

    @table.entity(key=key("CUSTOMER#{username}", "CUSTOMER"), volume=Volume(100, bytes=Bytes(400)))
    class Customer(Entity):
        username: str

    @table.entity(
        key=key("CUSTOMER#{customer}", "ORDER#{number:06d}"),
        volume=Volume(900, bytes=Bytes(400), distinct={"customer": 100}),
    )
    class Order(Entity):
        customer: str
        number: int

    @table.query(Customer, Order)
    def all_of(username: str) -> KeyCondition:
        return pk(username=username)

    assert (expected(all_of).evaluated, expected(all_of).guesses) == (10, ())


def test_the_number_of_values_of_a_field_follows_from_its_type_or_another_entity() -> None:
    table = Table("shop", pk="PK", sk="SK", indexes=[GSI("of_order", pk="order_id"), GSI("of_state", pk="state")])

    @table.entity(key=key("OF#{customer}", "ORDER#{order_id}"), volume=Volume(600, bytes=Bytes(400)))
    class Order(Entity):
        customer: str
        order_id: str
        state: Literal["open", "paid", "sent"]

    @table.entity(
        key=key("LINES#{order_id}", "{line:03d}"), volume=Volume(1_200, bytes=Bytes(90), distinct={"order_id": 600})
    )
    class Line(Entity):
        order_id: str
        line: int

    @table.query(Order, index="of_order")
    def order(order_id: str) -> KeyCondition:
        return pk(order_id=order_id)

    @table.query(Order, index="of_state")
    def in_state(state: str) -> KeyCondition:
        return pk(state=state)

    assert expected(order).returned == 1
    assert expected(order).guesses == ("Order.order_id is assumed to have as many values as Line.order_id",)
    assert expected(in_state).evaluated == 200
    assert expected(in_state).guesses == ("the 3 values of Order.state are assumed to be used equally",)


def test_fields_of_one_name_and_different_types_are_not_assumed_to_have_equal_values() -> None:
    table = Table("shop", pk="PK", sk="SK", indexes=[GSI("of_shop", pk="shop")])

    @table.entity(key=key("SHOP#{shop}", "SHOP"), volume=Volume(50, bytes=Bytes(400)))
    class Shop(Entity):
        shop: str

    @table.entity(key=key("SALE#{sale}", "SALE"), volume=Volume(600, bytes=Bytes(400)))
    class Sale(Entity):
        sale: str
        shop: int

    @table.query(Sale, index="of_shop")
    def sales_of(shop: int) -> KeyCondition:
        return pk(shop=shop)

    assert expected(sales_of).evaluated == 600
    assert expected(sales_of).guesses == ("the number of values of Sale.shop is not declared",)


def test_a_prefix_of_a_field_is_estimated_like_a_range() -> None:
    table = Table("logs", pk="PK", sk="SK")

    @table.entity(
        key=key("DEVICE#{device}", "AT#{at}"), volume=Volume(count=300, bytes=Bytes(99), distinct={"device": 3})
    )
    class Log(Entity):
        device: str
        at: str

    @table.query(Log)
    def on(device: str, day: str) -> KeyCondition:
        return pk(device=device).sk.text("begins_with", "AT#{day}")

    estimate = expected(on)
    assert (estimate.evaluated, estimate.guesses) == (100, ())


def test_a_query_of_several_partitions_reads_the_limit_from_each() -> None:
    table = Table("scores", pk="PK", sk="points")

    @table.entity(
        key=key("GAME#{game}#{player:shard(8)}", attr("points")),
        volume=Volume(count=8_000, bytes=Bytes(4_096), distinct={"game": 10}),
    )
    class Score(Entity):
        game: str
        player: str
        points: int

    @table.query(Score, limit=10)
    def best(game: str) -> KeyCondition:
        return pk(game=game, player=every_shard())

    @table.query(Score, limit=1_000)
    def all_of(game: str) -> KeyCondition:
        return pk(game=game, player=every_shard())

    rows = Table("rows", pk="board", sk="place")

    @rows.entity(volume=Volume(240, bytes=Bytes(300), distinct={"board": 24}))
    class Row(Entity):
        board: str
        place: int

    @rows.query(Row, limit=5)
    def first(boards: Annotated[list[str], Field(max_length=8)]) -> KeyCondition:
        return pk(board=each(boards))

    @rows.query(Row, limit=15)
    def of_two() -> KeyCondition:
        return pk(board=each(("a", "b")))

    estimate = expected(best)
    assert (estimate.evaluated, estimate.returned, estimate.units.read) == (80, 10, 40)
    assert expected(first).evaluated == 8 * 5
    assert expected(of_two).evaluated == 2 * 10
    assert expected(all_of).evaluated == 800


def test_the_size_of_a_batch_is_declared_or_assumed_to_be_one() -> None:
    table = Table("notes", pk="id")

    @table.entity(volume=Volume(count=9, bytes=Bytes(99)))
    class Note(Entity):
        id: str

    @table.batch_delete(Note)
    def drop(ids: list[str]) -> ItemWrite:
        return item(id=each(ids))

    @table.batch_delete(Note)
    def drop_both() -> ItemWrite:
        return item(id=each(["a", "b"]))

    @table.batch_get(Note, expected_items=3)
    def notes(ids: list[str]) -> ItemKey:
        return item(id=each(ids))

    estimates = [expected(pattern) for pattern in (drop, drop_both, notes)]
    assert [estimate.evaluated for estimate in estimates] == [1, 2, 3]
    assert [estimate.guesses for estimate in estimates] == [("each call of drop handles one item",), (), ()]


def test_fields_before_a_range_select_and_the_range_does_not() -> None:
    table = Table("logs", pk="device", sk="SK")

    @table.entity(
        key=key("{device}", "{state}#{cell}#{at:06d}"),
        volume=Volume(count=600, bytes=Bytes(99), distinct={"device": 3, "state": 2, "cell": 100, "at": 10}),
    )
    class Log(Entity):
        device: str
        state: str
        cell: str
        at: int

    @table.query(Log)
    def between(device: str, state: str, cell: str, low: int, high: int) -> KeyCondition:
        return pk(device=device).sk(state=state, cell=cell).sk.between(at=(low, high))

    @table.query(Log)
    def since(device: str, state: str, cell: str, low: int) -> KeyCondition:
        return pk(device=device).sk(state=state, cell=cell).sk.gte(at=low)

    @table.query(Log)
    def near(device: str, state: str, area: str) -> KeyCondition:
        return pk(device=device).sk(state=state).sk.begins_with(cell=area)

    assert [expected(pattern).evaluated for pattern in (between, since, near)] == [1, 1, 100]


def test_a_query_of_several_named_partitions_is_one_request_per_partition() -> None:
    table = Table("boards", pk="board", sk="place")

    @table.entity(volume=Volume(24_000, bytes=Bytes(300), distinct={"board": 24}))
    class Row(Entity):
        board: str
        place: int

    @table.query(Row, expected_items=200)
    def rows(boards: Annotated[list[str], Field(max_length=8)]) -> KeyCondition:
        return pk(board=each(boards))

    @table.query(Row, expected_items=3_000)
    def many_rows(boards: list[str]) -> KeyCondition:
        return pk(board=each(boards))

    @table.query(Row)
    def any_rows(boards: Annotated[list[str], Field(max_length=8)]) -> KeyCondition:
        return pk(board=each(boards))

    @table.query(Row, expected_items=4)
    def of_two() -> KeyCondition:
        return pk(board=each(("a", "b")))

    assert expected(any_rows).units.read == 37, "one of 300,000 bytes: nothing says how many are asked"
    assert expected(of_two).units.read == 1, "two requests of 600 bytes"
    assert expected(rows).units.read == 8, "eight requests of 7,500 bytes"
    assert expected(many_rows).units.read == pytest.approx(3 * 36.5 + 1.5, abs=2), "three, of a thousand rows each"


@pytest.mark.parametrize(
    ("pattern", "units"),
    [("begin", 1), ("keep", 0.01), ("forget", 0.01), ("end", 1), ("take_back", 1), ("rename", 2)],
)
def test_new_items_enter_and_completed_items_leave_a_sparse_index(pattern: str, units: float) -> None:
    (matching_count,) = [pattern_cost for pattern_cost in loans().patterns if pattern_cost.name == pattern]
    assert expected(matching_count).units.indexes == {"out": pytest.approx(units)}


def test_an_update_whose_condition_excludes_an_index_writes_no_entry() -> None:
    table = Table("tasks", pk="id", indexes=[GSI("due", pk="D", project="keys")])

    @table.entity(indexes={"due": key("{state}#{due}")}, volume=Volume(1_000, bytes=Bytes(300)))
    class Task(Entity):
        id: str
        state: str
        due: date | None = None

    @table.update(Task)
    def move(id: str, state: str) -> ItemWrite:
        return item(id=id).set(state=state).condition(F.due.missing())

    @table.update(Task)
    def date_it(id: str, state: str, due: date) -> ItemWrite:
        return item(id=id).set(state=state, due=due).condition(F.due.missing())

    assert expected(move).units.indexes == {}
    assert expected(date_it).units.indexes == {"due": 1}


def test_assumptions_about_new_items_are_listed() -> None:
    begin, *rest = loans().patterns
    assert expected(begin).guesses == ("every new Loan is in index out because of its defaults",)
    assert not any(expected(pattern).guesses for pattern in rest)


def test_new_items_whose_defaults_exclude_an_index_are_estimated_like_stored_items() -> None:
    table = Table("jobs", pk="id", indexes=[GSI("failed", pk="F")])

    @table.entity(
        indexes={"failed": key("FAILED", only_if=F.state == "failed")},
        volume=Volume(1_000, bytes=Bytes(300), distinct={"state": {"done": 0.75, "failed": 0.25}}),
    )
    class Job(Entity):
        id: str
        state: Literal["done", "failed"] = "done"

    @table.create(Job)
    def begin(job: Job) -> ItemWrite:
        return item(job)

    assert (expected(begin).units.indexes, expected(begin).guesses) == ({"failed": 0.25}, ())


def test_the_repetitions_of_a_transaction_step_are_declared_or_assumed() -> None:
    table = Table("accounts", pk="name")

    @table.entity(volume=Volume(1_000, bytes=Bytes(300)))
    class Account(Entity):
        name: str

    @table.create(Account)
    def open_account(account: Account) -> ItemWrite:
        return item(account)

    @transaction()
    def open_some(accounts: list[Account]) -> list[WriteCall[Account]]:
        return [open_account(each(accounts))]

    @transaction(expected_items=5)
    def open_five(accounts: list[Account]) -> list[WriteCall[Account]]:
        return [open_account(each(accounts))]

    assert (expected(open_some).units.total_write, expected(open_some).guesses) == (
        2,
        ("open_some repeats open_account once",),
    )
    assert (expected(open_five).units.total_write, expected(open_five).guesses) == (10, ())


def test_a_replacement_moves_only_keys_with_fields_outside_the_primary_key() -> None:
    table = Table(
        "groups", pk="group", sk="user", indexes=[GSI("inverted", pk="user", sk="group"), GSI("roles", pk="role")]
    )

    @table.entity(volume=Volume(1_000, bytes=Bytes(300)))
    class Membership(Entity):
        group: str
        user: str
        role: str

    @table.replace(Membership)
    def change(membership: Membership) -> ItemWrite:
        return item(membership)

    assert expected(change).units.indexes == {"inverted": 1, "roles": 2}


def test_the_number_of_returned_items_does_not_determine_the_number_read() -> None:
    table = Table("goods", pk="category", sk="sku")

    @table.entity(volume=Volume(50_000, bytes=Bytes(600), distinct={"category": 100}))
    class Good(Entity):
        category: str
        sku: str
        cents: int

    @table.query(Good, expected_items=1)
    def cheaper(category: str, cents: int) -> KeyCondition:
        return pk(category=category).filter(F.cents < cents)

    @table.query(Good, expected_items=1, expected_scanned=20)
    def measured(category: str, cents: int) -> KeyCondition:
        return pk(category=category).filter(F.cents < cents)

    @table.scan(Good, expected_items=1)
    def anywhere(cents: int) -> KeyCondition:
        return everything().filter(F.cents < cents)

    @table.query(Good, expected_items=1)
    def of_kind(category: str, kind: str, cents: int) -> KeyCondition:
        return pk(category=category).sk.between(sku=(kind, kind)).filter(F.cents < cents)

    estimates = [expected(pattern) for pattern in (cheaper, measured, anywhere, of_kind)]
    assert [(estimate.evaluated, estimate.returned) for estimate in estimates] == [
        (500, 1),
        (20, 1),
        (50_000, 1),
        (1, 1),
    ]


club = Table("club", pk="member", ttl="until")


@club.entity(unique=["email"], volume=Volume(100, bytes=Bytes(300)))
class Member(Entity):
    member: str
    email: str
    points: int = 0
    until: datetime | None = None


@club.create(Member)
def join(member: Member) -> ItemWrite:
    return item(member)


@club.replace(Member)
def swap(member: Member) -> ItemWrite:
    return item(member)


@club.delete(Member)
def leave(member: str) -> ItemWrite:
    return item(member=member)


@club.update(Member)
def move(member: str, email: str) -> ItemWrite:
    return item(member=member).set(email=email)


@club.update(Member)
def prolong(member: str, until: datetime) -> ItemWrite:
    return item(member=member).set(until=until)


@club.update(Member, upsert=True)
def meet(member: str, email: str) -> ItemWrite:
    return item(member=member).set_if_missing(email=email)


@club.update(Member)
def score(member: str, points: int) -> ItemWrite:
    return item(member=member).set(points=points)


@club.check(Member)
def is_strong(member: str) -> ItemWrite:
    return item(member=member).condition(F.points > 10)


@transaction()
def score_the_strong(member: str, friend: str, points: int) -> list[WriteCall[Any]]:
    return [score(member=member, points=points), is_strong(member=friend)]


@transaction()
def move_and_join(member: str, email: str, new: Member) -> list[WriteCall[Member]]:
    return [move(member=member, email=email), join(new)]


@pytest.mark.parametrize(
    ("pattern", "read", "written"),
    [
        (join, 0, 4),
        (swap, 1, 4),
        (leave, 2, 4),  # what it returns is read, and again for the transaction's conditions
        (move, 2, 6),  # the item, the old sentinel, the new one
        (prolong, 2, 4),  # sentinels expire with their item
        (meet, 2, 4),
        (score, 0, 1),
        (is_strong, 0, 2),
        (score_the_strong, 0, 4),
        (move_and_join, 1, 10),
    ],
    ids=lambda values: getattr(values, "name", ""),
)
def test_writes_with_unique_values_are_transactions_with_their_sentinels(
    pattern: Pattern[..., Any], read: float, written: float
) -> None:
    units = expected(pattern).units
    assert (units.read, units.total_write) == (read, written)


def test_a_first_unique_value_releases_no_other() -> None:
    table = Table("bills", pk="bill")

    @table.entity(unique=["number"], volume=Volume(100, bytes=Bytes(300)))
    class Bill(Entity):
        bill: str
        number: str | None = None
        paid: bool = False

    @table.update(Bill)
    def renumber(bill: str, number: str) -> ItemWrite:
        return item(bill=bill).set(number=number).condition(F.paid == False)  # noqa: E712 - a condition

    @table.update(Bill)
    def number_it(bill: str, number: str) -> ItemWrite:
        return item(bill=bill).set(number=number).condition(F.number.missing())

    @table.update(Bill)
    def number_known(bill: str, number: str) -> ItemWrite:
        return item(bill=bill).set(number=number).assuming(number=None)

    assert [expected(pattern).units.total_write for pattern in (renumber, number_it, number_known)] == [6, 4, 4]


def test_a_batch_writes_its_declared_number_of_items_and_other_writes_one() -> None:
    table = Table("marks", pk="mark", indexes=[GSI("marks", pk="mark")])

    @table.entity(volume=Volume(1_000, bytes=Bytes(1_500)))
    class Mark(Entity):
        mark: str

    @table.batch_put(Mark, expected_items=25)
    def keep(marks: list[Mark]) -> ItemWrite:
        return item(marks)

    @table.batch_put(Mark)
    def keep_some(marks: list[Mark]) -> ItemWrite:
        return item(marks)

    @table.put(Mark)
    def keep_one(mark: Mark) -> ItemWrite:
        return item(mark)

    assert [expected(pattern).units.total_write for pattern in (keep, keep_some, keep_one)] == [100, 4, 4]


def test_a_large_item_read_before_a_write_is_charged_in_blocks() -> None:
    table = Table("files", pk="path")

    @table.entity(unique=["digest"], volume=Volume(1_000, bytes=Bytes(9_000)))
    class File(Entity):
        path: str
        digest: str

    @table.replace(File)
    def keep(file: File) -> ItemWrite:
        return item(file)

    units = expected(keep).units
    assert (units.read, units.total_write) == (3, 2 * (9 + 1)), "4 KB a block; twice 1 KB a block and the sentinel"


def test_the_number_of_pages_follows_from_the_megabytes_read() -> None:
    table = Table("lines", pk="book", sk="line")

    @table.entity(volume=Volume(1_000_000, bytes=Bytes(1_024), distinct={"book": 100}))
    class Line(Entity):
        book: str
        line: int

    @table.query(Line)
    def of_book(book: str) -> KeyCondition:
        return pk(book=book)

    @table.query(Line, consistent=True)
    def now_of_book(book: str) -> KeyCondition:
        return pk(book=book)

    @table.put(Line)
    def keep(line: Line) -> ItemWrite:
        return item(line)

    @table.get(Line)
    def one(book: str, line: int) -> ItemKey:
        return item(book=book, line=line)

    @table.scan(Line)
    def every() -> KeyCondition:
        return everything()

    actual_pages = [pages(pattern) for pattern in (of_book, now_of_book, every, keep, one)]
    assert actual_pages == pytest.approx([9.765625, 9.765625, 976.5625, 0, 0])


def test_a_batch_reads_its_named_keys_or_its_declared_number() -> None:
    table = Table("marks", pk="mark")

    @table.entity(volume=Volume(1_000, bytes=Bytes(1_500)))
    class Mark(Entity):
        mark: str

    @table.batch_get(Mark)
    def three() -> ItemKey:
        return item(mark=each(("a", "b", "c")))

    @table.batch_get(Mark, expected_items=7)
    def seven(marks: list[str]) -> ItemKey:
        return item(mark=each(marks))

    @table.batch_get(Mark)
    def some(marks: list[str]) -> ItemKey:
        return item(mark=each(marks))

    @table.batch_get(Mark, expected_items=2)
    def two_of_three() -> ItemKey:
        return item(mark=each(("a", "b", "c")))

    @table.get(Mark, expected_items=0.1)
    def seldom_there(mark: str) -> ItemKey:
        return item(mark=mark)

    texts = Table("texts", pk="name")

    @texts.entity(volume=Volume(10, bytes=Bytes(20_000)))
    class Text(Entity):
        name: str

    @texts.get(Text, expected_items=0.25)
    def seldom_there_and_long(name: str) -> ItemKey:
        return item(name=name)

    batches = (three, seven, some, two_of_three)
    assert [expected(batch).units.read for batch in batches] == [1.5, 3.5, 0.5, 1.5]
    assert expected(seldom_there).units.read == 0.5, "what is not there is read and paid for too"
    assert expected(seldom_there_and_long).units.read == 0.25 * 2.5 + 0.75 * 0.5, "but only as a small item"


def test_each_item_not_projected_by_a_local_index_is_fetched_whole() -> None:
    table = Table("tasks", pk="owner", sk="at", indexes=[LSI("by_state", sk="state", project="keys")])

    @table.entity(volume=Volume(3_000, bytes=Bytes(9_000), distinct={"owner": 100}))
    class Task(Entity):
        owner: str
        at: int
        state: str
        text: str

    @table.query(Task, index="by_state")
    def by_state(owner: str) -> KeyCondition:
        return pk(owner=owner)

    assert expected(by_state).units.read == 30 * 1.5 + 0.5


def test_a_stored_field_is_selected_by_its_value_and_not_by_its_prefix() -> None:
    table = Table("books", pk="book", indexes=[GSI("by_kind", pk="kind", sk="title")])

    @table.entity(volume=Volume(10_000, bytes=Bytes(300), distinct={"kind": 10, "title": 100}))
    class Book(Entity):
        book: str
        kind: str
        title: str

    @table.query(Book, index="by_kind")
    def called(kind: str, title: str) -> KeyCondition:
        return pk(kind=kind).sk(title=title)

    @table.query(Book, index="by_kind")
    def beginning(kind: str, letters: str) -> KeyCondition:
        return pk(kind=kind).sk.begins_with(title=letters)

    assert [expected(pattern).evaluated for pattern in (called, beginning)] == [10, 1000]


goods = Table("goods", pk="category", sk="sku", indexes=[GSI("of_state", pk="state")])
notes = Table("notes", pk="topic", sk="note")


@goods.entity(
    volume=Volume(1_000, bytes=Bytes(600), distinct={"category": 10, "state": {"new": 1.0, "gone": 0.0}}),
)
class Good(Entity):
    category: str
    sku: str
    state: Literal["new", "gone"]
    cents: int


@goods.entity(volume=Volume(500, bytes=Bytes(600)))
class Leaflet(Entity):
    category: str
    sku: str
    pages: int


@notes.entity()
class Note(Entity):
    topic: str
    note: str
    text: str


@goods.query(Good, page_size=7)
def page(category: str) -> KeyCondition:
    return pk(category=category)


@goods.query(Good, limit=7)
def cheap(category: str, cents: int) -> KeyCondition:
    return pk(category=category).filter(F.cents < cents)


@goods.query(Good, limit=7, expected_items=3)
def few(category: str) -> KeyCondition:
    return pk(category=category)


@goods.query(Good, limit=7, expected_items=3)
def few_cheap(category: str, cents: int) -> KeyCondition:
    return pk(category=category).filter(F.cents < cents)


@goods.query(Good, page_size=7, expected_items=3)
def page_of_cheap(category: str, cents: int) -> KeyCondition:
    return pk(category=category).filter(F.cents < cents)


@goods.query(Good, page_size=7)
def any_of_page(category: str, cents: int) -> KeyCondition:
    return pk(category=category).filter(F.cents < cents)


@goods.scan(Good, page_size=20)
def scanned_page(cents: int) -> KeyCondition:
    return everything().filter(F.cents < cents)


@goods.query(Good, expected_items=3)
def later_cheap(category: str, sku: str, cents: int) -> KeyCondition:
    return pk(category=category).sk.gte(sku=sku).filter(F.cents < cents)


@goods.query(Good, index="of_state")
def gone() -> KeyCondition:
    return pk(state="gone")


@goods.scan(Good, expected_scanned=40)
def some() -> KeyCondition:
    return everything()


@goods.scan(Good, expected_items=1)
def cheapest(cents: int) -> KeyCondition:
    return everything().filter(F.cents < cents)


@notes.query(Note, expected_items=3)
def notes_on(topic: str) -> KeyCondition:
    return pk(topic=topic)


@notes.query(Note, expected_items=3)
def notes_with(topic: str, text: str) -> KeyCondition:
    return pk(topic=topic).filter(F.text.contains(text))


@notes.query(Note)
def all_on(topic: str) -> KeyCondition:
    return pk(topic=topic)


@pytest.mark.parametrize(
    ("pattern", "evaluated", "returned", "counted"),
    [
        (page, 7, 7, True),
        (cheap, 150, 7, True),
        (few, 4.5, 3, True),
        (few_cheap, 4.5, 3, True),
        (page_of_cheap, 4.5, 3, True),
        (any_of_page, 7, 7, True),
        (scanned_page, 20, 20, True),
        (later_cheap, 3, 3, True),
        (gone, 0, 0, True),
        (some, 40, 40, True),
        (cheapest, 1_500, 1, True),
        (notes_on, 3, 3, True),
        (notes_with, 3, 3, True),
        (all_on, 20, 20, False),
    ],
    ids=lambda values: getattr(values, "name", ""),
)
def test_declared_numbers_of_a_read_take_precedence_over_computed_ones(
    pattern: Pattern[..., Any], evaluated: float, returned: float, counted: bool
) -> None:
    estimate = expected(pattern)
    assert (estimate.evaluated, estimate.returned, estimate.is_counted) == (evaluated, returned, counted)


def test_an_empty_page_costs_read_units() -> None:
    assert expected(gone).units.read == 0.5
