"""Prices are dated data, and a month follows from them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from keyplan import (
    GSI,
    LSI,
    Bytes,
    Design,
    Entity,
    ItemKey,
    ItemWrite,
    KeyCondition,
    OnDemand,
    Provisioned,
    Rate,
    Table,
    Volume,
    WriteCall,
    item,
    pk,
    transaction,
)
from keyplan.cost.estimate import estimate
from keyplan.cost.prices import HOURS_PER_MONTH, PriceDataError, book, load


def test_the_shipped_prices_give_the_published_examples() -> None:
    prices = book()
    assert prices.region == "us-east-1"
    assert prices.dated.year >= 2026
    assert prices["write_unit"] * 1e6 == pytest.approx(0.625)
    assert prices["read_unit"] * 1e6 == pytest.approx(0.125)
    assert 100 * prices["write_unit_hour"] * HOURS_PER_MONTH == pytest.approx(47.45)
    assert 100 * prices["read_unit_hour"] * HOURS_PER_MONTH == pytest.approx(9.49)
    assert all(price.source for price in prices.prices.values())


def test_a_region_without_prices_is_a_clear_error() -> None:
    with pytest.raises(PriceDataError, match="no prices are included for mars-1"):
        book("mars-1")


def test_prices_can_be_overridden_by_name_and_by_file(tmp_path: Path) -> None:
    assert book().with_prices({"write_unit": 1e-6})["write_unit"] == 1e-6
    with pytest.raises(PriceDataError, match="unknown price writes"):
        book().with_prices({"writes": 1.0})
    path = tmp_path / "prices.json"
    path.write_text("{}")
    with pytest.raises(PriceDataError, match="is not a price file"):
        load(path)
    with pytest.raises(PriceDataError, match="cannot be read"):
        load(tmp_path / "none.json")


def design(billing: OnDemand | Provisioned) -> Design:
    table = Table("notes", pk="note_id", billing=billing, indexes=[GSI("by_owner", pk="owner", sk="at")])

    @table.entity(volume=Volume(count=1_000_000, bytes=Bytes(1000), distinct={"owner": 10_000}))
    class Note(Entity):
        note_id: str
        owner: str
        at: int
        text: str

    @table.create(Note, rate=Rate.monthly(1_000_000))
    def write(note: Note) -> ItemWrite:
        return item(note)

    @table.get(Note, rate=Rate.monthly(2_000_000))
    def read(note_id: str) -> ItemKey:
        return item(note_id=note_id)

    @table.query(Note, index="by_owner", rate=Rate.monthly(1_000_000))
    def of_owner(owner: str) -> KeyCondition:
        return pk(owner=owner)

    @table.update(Note, rate=Rate.monthly(1_000_000))
    def move(note_id: str, owner: str) -> ItemWrite:
        return item(note_id=note_id).set(owner=owner)

    return Design("notes", (table,))


def test_the_monthly_on_demand_cost_is_requests_times_units_times_price() -> None:
    costs = estimate(design(OnDemand()), book())
    by_name = {cost.name: cost for cost in costs.patterns}
    assert by_name["write"].expected.units.total_write == 2  # the item and its entry
    assert by_name["write"].requests == pytest.approx(2 * 0.625)
    assert by_name["read"].requests == pytest.approx(2 * 0.5 * 0.125)
    assert by_name["of_owner"].expected.evaluated == 100  # a million notes of ten thousand owners
    assert by_name["of_owner"].expected.units.read == 12.5  # 100 kB in blocks of 4 KiB, eventually consistent
    assert by_name["move"].expected.units.total_write == 3  # the item, the entry it leaves, the entry it makes
    (table,) = costs.tables
    assert table.requests == pytest.approx(sum(cost.requests for cost in costs.patterns))
    assert table.storage == pytest.approx(2 * 1100 * 1_000_000 / 1e9 * 0.25)
    assert costs.free_storage == pytest.approx(table.storage)  # 2.2 GB of the 25 that are free
    assert costs.total == pytest.approx(table.requests)


def test_provisioned_capacity_is_priced_by_the_hour() -> None:
    costs = estimate(design(Provisioned(read=100, write=100)), book())
    (table,) = costs.tables
    assert table.parts[0].provisioned == pytest.approx(47.45 + 9.49)
    assert table.requests == pytest.approx(sum(part.provisioned for part in table.parts))


def test_an_index_is_priced_by_its_own_capacity() -> None:
    index = GSI("by_owner", pk="owner", billing=Provisioned(read=200, write=50))
    table = Table("notes", pk="id", indexes=[index], billing=Provisioned(read=100, write=100))

    @table.entity()
    class Note(Entity):
        id: str
        owner: str

    (month,) = estimate(Design("notes", (table,)), book()).tables
    assert [part.name for part in month.parts] == ["notes", "notes/by_owner"]
    assert [part.provisioned for part in month.parts] == pytest.approx(
        [100 * 0.4745 + 100 * 0.0949, 50 * 0.4745 + 200 * 0.0949]
    )


def test_a_local_index_uses_the_tables_capacity_and_point_in_time_recovery() -> None:
    indexes = [LSI("by_title", sk="title"), GSI("titles", pk="title", project="keys")]
    table = Table("notes", pk="owner", sk="at", indexes=indexes, point_in_time_recovery=True)

    @table.entity(volume=Volume(count=1_000_000, bytes=Bytes(1000), distinct={"owner": 10_000}))
    class Note(Entity):
        owner: str
        at: int
        title: str
        text: str

    @table.create(Note, rate=Rate(average=70))
    def write(note: Note) -> ItemWrite:
        return item(note)

    @table.query(Note, index="by_title", rate=Rate(average=4))
    def of_owner(owner: str) -> KeyCondition:
        return pk(owner=owner)

    (month,) = estimate(Design("notes", (table,)), book()).tables
    own, local, other = month.parts
    assert (own.write, local.write, other.write) == (70, 70, 70)
    assert local.provisioned == 0
    assert other.provisioned == pytest.approx(100 * 0.4745 + 0.0949), "the least that can be bought is one unit"
    assert own.provisioned == pytest.approx(200 * 0.4745 + 72 * 0.0949)  # at 70 % use: 140 writes, 50 reads
    assert month.recovered_bytes == own.storage_bytes + local.storage_bytes
    assert month.point_in_time == pytest.approx(2 * 1.1 * 0.20)


def test_the_monthly_cost_covers_table_classes_recovery_and_transactions() -> None:
    """Pricing page: 25 GB are free in the Standard class alone; recovery is $0.20, storage $0.25 and $0.10 for a GB."""
    kept = Table("kept", pk="id", point_in_time_recovery=True)
    by_kind = GSI("by_kind", pk="kind", project="keys")
    archive = Table("archive", pk="id", table_class="STANDARD_INFREQUENT_ACCESS", indexes=[by_kind])

    @kept.entity(volume=Volume(20_000_000, bytes=Bytes(900)))
    class Kept(Entity):
        id: str

    @archive.entity(volume=Volume(10_000_000, bytes=Bytes(1_900)))
    class Old(Entity):
        id: str
        kind: str

    @kept.create(Kept, rate=Rate.monthly(1_000_000, peak=10))
    def keep(entity: Kept) -> ItemWrite:
        return item(entity)

    @kept.get(Kept)
    def look_up(id: str) -> ItemKey:
        return item(id=id)

    @kept.delete(Kept)
    def forget(id: str) -> ItemWrite:
        return item(id=id)

    @archive.create(Old)
    def file(entity: Old) -> ItemWrite:
        return item(entity)

    @archive.query(Old, index="by_kind", expected_items=1, rate=Rate.monthly(4_000_000))
    def of_kind(kind: str) -> KeyCondition:
        return pk(kind=kind)

    @transaction(rate=Rate.monthly(1_000_000, peak=5))
    def put_away(id: str, entity: Old) -> list[WriteCall[Any]]:
        return [forget(id), file(entity)]

    month = estimate(Design("records", (kept, archive), (put_away,)), book())
    standard, rare = month.tables
    second = 730 * 3600

    assert [part.name for part in (*standard.parts, *rare.parts)] == ["kept", "archive", "archive/by_kind"]
    writes = [part.write * second / 1e6 for part in (*standard.parts, *rare.parts)]
    assert writes == pytest.approx([1 + 2, 2 * 2, 1]), "two units for each kilobyte in a transaction, one in an index"
    assert [part.read * second / 1e6 for part in rare.parts] == pytest.approx([0, 2])
    assert (standard.parts[0].peak_write, rare.parts[0].peak_write, rare.parts[1].peak_write) == (20, 20, 5)
    assert rare.parts[1].peak_read == pytest.approx(4e6 / second / 2)

    assert standard.requests == pytest.approx(3 * 0.625)
    assert (standard.storage, standard.storage_ia) == pytest.approx((20 * 0.25, 20 * 0.10))
    assert standard.point_in_time == pytest.approx(20 * 0.20)
    assert standard.requests_ia == pytest.approx(3 * 0.78)
    assert standard.total == pytest.approx(3 * 0.625 + 20 * 0.25 + 20 * 0.20)
    stored = 20 + rare.parts[1].storage_bytes / 1e9
    assert (rare.requests, rare.requests_ia) == pytest.approx((5 * 0.78 + 2 * 0.155,) * 2)
    assert (rare.storage, rare.total) == pytest.approx((stored * 0.10, stored * 0.10 + 5 * 0.78 + 2 * 0.155))
    assert month.free_storage == pytest.approx(20 * 0.25), "the 20 GB of the Standard class"
    assert month.total == pytest.approx(standard.total + rare.total - 20 * 0.25)

    actual = {
        pattern.name: (pattern.table, pattern.calls, pattern.requests, pattern.per_million)
        for pattern in month.patterns
    }
    assert actual["keep"] == pytest.approx(("kept", 1e6, 0.625, 0.625))
    assert actual["look_up"] == ("kept", 0, 0, 0)
    moved = 2 * 0.625 + (2 * 2 + 1) * 0.78
    assert actual["put_away"] == pytest.approx(("kept", 1e6, moved, moved)), "each step in the class of its table"
    assert actual["of_kind"] == pytest.approx(("archive", 4e6, 2 * 0.155, 0.5 * 0.155))
    assert [guess for guess in month.guesses if "rate" in guess] == [
        f"{name} declares no rate" for name in ("look_up", "forget", "file")
    ]


@pytest.mark.parametrize(("gigabytes", "free"), [(24, 24 * 0.25), (25, 25 * 0.25), (26, 25 * 0.25)])
def test_free_storage_is_limited_to_the_stored_and_the_free_amount(gigabytes: int, free: float) -> None:
    table = Table("notes", pk="id")

    @table.entity(volume=Volume(gigabytes * 1_000_000, bytes=Bytes(900)))
    class Note(Entity):
        id: str

    month = estimate(Design("notes", (table,)), book())
    assert month.free_storage == pytest.approx(free)
    assert month.total == pytest.approx(gigabytes * 0.25 - free)


@pytest.mark.parametrize(("rate", "bought"), [(0, 1), (0.7, 1), (7, 10), (21, 30), (357, 510), (357.1, 511)])
def test_provisioned_capacity_keeps_the_peak_at_seventy_percent(rate: float, bought: int) -> None:
    table = Table("notes", pk="id")

    @table.entity(volume=Volume(1_000, bytes=Bytes(500)))
    class Note(Entity):
        id: str

    @table.create(Note, rate=Rate(average=rate))
    def write(note: Note) -> ItemWrite:
        return item(note)

    ((part,),) = (month.parts for month in estimate(Design("notes", (table,)), book()).tables)
    assert part.provisioned == pytest.approx(bought * 0.4745 + 0.0949)


def test_the_peaks_of_a_table_and_its_local_indexes_are_provisioned_together() -> None:
    table = Table("notes", pk="owner", sk="at", indexes=[LSI("by_title", sk="title")])

    @table.entity(volume=Volume(1_000, bytes=Bytes(4_000), distinct={"owner": 1_000}))
    class Note(Entity):
        owner: str
        at: int
        title: str

    @table.query(Note, rate=Rate(average=70))
    def of_owner(owner: str) -> KeyCondition:
        return pk(owner=owner)

    @table.query(Note, index="by_title", rate=Rate(average=140))
    def titles(owner: str) -> KeyCondition:
        return pk(owner=owner)

    (month,) = estimate(Design("notes", (table,)), book()).tables
    assert month.parts[0].provisioned == pytest.approx(0.4745 + 150 * 0.0949)


def test_an_index_stores_only_its_entries() -> None:
    table = Table("notes", pk="id", indexes=[GSI("by_owner", pk="owner")])

    @table.entity(volume=Volume(1_000_000, bytes=Bytes(900), present={"owner": 0.25}))
    class Note(Entity):
        id: str
        owner: str | None = None

    (month,) = estimate(Design("notes", (table,)), book()).tables
    own, index = month.parts
    assert index.storage_bytes == pytest.approx(own.storage_bytes / 4)
    assert month.storage_ia == pytest.approx((own.storage_bytes + index.storage_bytes) / 1e9 * 0.10)
    assert month.billing == "on demand"


def test_an_overridden_price_has_the_source_given() -> None:
    changed = book().with_prices({"export_gb": 0.0})
    assert (changed["export_gb"], changed.prices["export_gb"].source) == (0.0, "given")
    assert changed.prices["export_gb"].verified
    assert changed["write_unit"] == book()["write_unit"]


@pytest.mark.parametrize("price", [float("inf"), float("nan"), -1.0, "1"])
def test_a_price_must_be_finite_and_not_negative(price: float) -> None:
    with pytest.raises(ValueError, match="is not a price: expected a finite number of at least 0"):
        book().with_prices({"write_unit": price})
