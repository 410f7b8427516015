"""What a pattern is expected to cost: how many items it reads of each entity, and which share an index holds."""

from __future__ import annotations

from enum import StrEnum

import pytest

from keyplan.cost.expected import expected
from keyplan.design import GSI, Bytes, Change, Cond, Entity, F, Items, Table, everything, key, pk, put, where


class Level(StrEnum):
    """What the index sorts by."""

    LOW = "low"
    HIGH = "high"


def test_only_fields_that_the_condition_reads_say_what_share_a_sparse_index_holds() -> None:
    table = Table("lessons", pk="lesson_id", indexes=[GSI("on_offer", pk="offer", sk="level_key")])

    @table.entity(
        indexes={"on_offer": key("ON", "{level:rank(low,high)}#{level}", when=F.active == True)},  # noqa: E712
        items=Items(
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
    def add(lesson: Lesson) -> Change:
        return put(lesson)

    assert expected(add).units.indexes == {"on_offer": pytest.approx(0.75)}


def shop(readings: dict[str, int]) -> Table:
    """Few large devices, and many small readings in the partition of each."""
    table = Table("devices", pk="PK", sk="SK")

    @table.entity(key=key("DEVICE#{device_id}", "META"), items=Items(count=100, bytes=Bytes(4_000)))
    class Device(Entity):
        device_id: str
        city: str

    @table.entity(
        key=key("DEVICE#{device_id}", "READ#{number:06d}"),
        items=Items(count=90_000, bytes=Bytes(100), distinct=readings),
    )
    class Reading(Entity):
        device_id: str
        number: int

    @table.query(Device, Reading)
    def all_of(device_id: str) -> Cond:
        return pk(device_id=device_id)

    @table.scan(Device)
    def devices_of(city: str) -> Cond:
        return where(F.city == city)

    @table.scan(Device, limit=10)
    def some_devices() -> Cond:
        return everything()

    return table


def test_a_partition_of_few_large_items_and_many_small_ones_is_as_large_as_they_are_together() -> None:
    all_of, _, _ = shop({"device_id": 100}).patterns
    told = expected(all_of)
    assert told.evaluated == 901
    assert told.units.read == pytest.approx(0.5 * -(-(4_000 + 900 * 100) // 4096))


def test_a_scan_reads_what_it_is_not_about_too() -> None:
    _, devices_of, some_devices = shop({"device_id": 100}).patterns
    told = expected(devices_of)
    assert (told.evaluated, told.returned) == (90_100, 100)
    assert told.units.read == pytest.approx(0.5 * -(-(100 * 4_000 + 90_000 * 100) // 4096))
    assert expected(some_devices).evaluated == 10 + 9_000, "a tenth of the devices, after as much of the rest"


def test_a_field_that_is_the_whole_key_of_an_entity_has_as_many_values_as_there_are_of_it() -> None:
    all_of, _, _ = shop({}).patterns
    told = expected(all_of)
    assert told.evaluated == 901
    assert told.guesses == ("Reading.device_id is taken to have as many values as there are Device",)
