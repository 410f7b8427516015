"""The partition model: burst, splits for heat, loads that no split helps, ceilings."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import pytest
from tests.engine import tables_of
from tests.engine.tables_of import kilobytes, put

from keyplan.clock import ManualClock
from keyplan.dynamodb.values.keybytes import partition_prefix
from keyplan.engine.engine import Engine
from keyplan.engine.faults.partitions import GROWTH_S, Bucket, OnDemandCeiling, Partitions, ProvisionedCeiling
from keyplan.engine.items.keys import partition_bytes_of
from keyplan.errors import ProvisionedThroughputExceededError, ServiceError, ThrottlingError

STEPS = 50  # in a second: the time resolution of the simulation


def partitions(count: int = 1, **options: Callable[[bytes], bytes]) -> Partitions:
    return Partitions(count, 0.0, random.Random(1), **options)


def refused(model: Partitions, keys: Iterator[bytes], units_per_s: float, seconds: range) -> float:
    """Return the share of writes refused between two seconds, with units spread evenly over time and keys."""
    units, requests, denied = units_per_s / STEPS / 10, 0, 0
    for step in range(seconds.start * STEPS, seconds.stop * STEPS):
        now = step / STEPS
        for _ in range(10):
            key = next(keys)
            requests += 1
            if model.admits("Write", key, units, now):
                model.consume("Write", key, units)
            else:
                denied += 1
    return denied / requests


def forever(*keys: bytes) -> Iterator[bytes]:
    while True:
        yield from keys


def rising(prefix: bytes = b"") -> Iterator[bytes]:
    number = 0
    while True:
        yield prefix + number.to_bytes(8, "big")
        number += 1


def item_keys(count: int) -> list[bytes]:
    return [partition_prefix(b"key%d" % number) for number in range(count)]


def test_a_hot_key_is_throttled_by_about_a_third_once_burst_is_used_up() -> None:
    model = partitions()
    keys = forever(*item_keys(1))
    refused(model, keys, 1500, range(600))
    assert refused(model, keys, 1500, range(600, 900)) == pytest.approx(1 / 3, abs=0.01)
    assert len(model) == 1


def test_burst_is_the_unused_capacity_of_five_minutes() -> None:
    model = partitions()
    keys = forever(*item_keys(1))
    assert refused(model, keys, 1500, range(1000, 1599)) == 0
    assert refused(model, keys, 1500, range(1600, 1700)) == pytest.approx(1 / 3, abs=0.01)


@pytest.mark.parametrize(("units_per_s", "needed"), [(1500, 2), (3500, 4)])
def test_a_load_over_ten_keys_is_not_throttled_after_splits(units_per_s: int, needed: int) -> None:
    model = partitions()
    keys = forever(*item_keys(10))
    assert refused(model, keys, units_per_s, range(120)) > 0.1
    refused(model, keys, units_per_s, range(120, 240))
    assert refused(model, keys, units_per_s, range(240, 300)) == 0
    assert len(model) >= needed


def test_a_rising_sort_key_never_recovers() -> None:
    model = partitions()
    keys = rising(partition_prefix(b"events"))
    refused(model, keys, 1500, range(900))
    assert refused(model, keys, 1500, range(900, 1200)) == pytest.approx(1 / 3, abs=0.01)
    assert len(model) == 1


def test_a_falling_sort_key_never_recovers() -> None:
    model = partitions()
    keys = ((2**60 - number).to_bytes(8, "big") for number in range(10**9))
    refused(model, keys, 1500, range(900))
    assert refused(model, keys, 1500, range(900, 1000)) == pytest.approx(1 / 3, abs=0.01)
    assert len(model) == 1


def test_a_hot_item_is_isolated_from_its_neighbours() -> None:
    model = partitions()
    hot, *others = sorted(item_keys(7))
    keys = forever(hot, others[0], hot, others[1], hot, others[2])
    refused(model, keys, 1600, range(300))
    assert refused(model, keys, 1600, range(300, 400)) == 0


def test_a_hot_item_at_the_low_end_is_isolated() -> None:
    model = partitions()
    hot, *others = sorted(item_keys(5))
    keys = forever(hot, hot, hot, others[0], hot, others[1], hot, others[2])
    refused(model, keys, 1500, range(300))
    assert refused(model, keys, 1500, range(300, 400)) == 0


def test_a_hot_item_with_little_load_below_it_is_isolated() -> None:
    model = partitions()
    lowest, hot, *others = sorted(item_keys(4))
    keys = forever(lowest, *[hot, hot, hot, *others] * 25)
    refused(model, keys, 1500, range(300))
    assert refused(model, keys, 1500, range(300, 400)) == 0


@pytest.mark.parametrize(
    ("first", "second", "splits"),
    [((1, 2), (1, 2), True), ((1, 2), (1, 9), True), ((1, 9), (1, 2), False), ((1, 2), (8, 9), False)],
)
def test_the_first_half_of_a_minute_decides_the_split_point_and_the_second_whether_to_split(
    first: tuple[int, int], second: tuple[int, int], splits: bool
) -> None:
    model = partitions()
    keys = sorted(item_keys(10))
    refused(model, forever(*(keys[number] for number in first)), 4000, range(30))
    refused(model, forever(*(keys[number] for number in second)), 4000, range(30, 60))
    model.admits("Write", keys[0], 1, 60.0)
    assert len(model) == (2 if splits else 1)


def test_the_whole_first_half_is_sampled() -> None:
    model = partitions()
    *low, first, second = sorted(item_keys(6))
    refused(model, forever(*low), 4000, range(2))
    refused(model, forever(first, second), 4000, range(2, 60))
    model.admits("Write", first, 1, 60.0)
    assert len(model) == 2


def test_samples_from_before_a_split_do_not_divide_the_remaining_partition() -> None:
    model = partitions()
    keys = item_keys(100)
    low = [key for key in keys if key[0] < 128]
    refused(model, forever(*(key for key in keys if key not in low)), 1500, range(59))
    model.grow(2, 59.0)
    model.admits("Write", low[0], 1, 60.0)
    assert len(model) == 2


def test_collections_that_stay_together_are_not_split() -> None:
    prefix = partition_prefix(b"one")
    keys = [prefix + bytes([number]) for number in range(20)]
    together, loose = partitions(collection=partition_bytes_of), partitions()
    for model in (together, loose):
        refused(model, forever(*keys), 1500, range(300))
    assert refused(together, forever(*keys), 1500, range(300, 400)) > 0.3
    assert refused(loose, forever(*keys), 1500, range(300, 400)) == 0


def test_a_cold_partition_is_not_split() -> None:
    model = partitions()
    assert refused(model, forever(*item_keys(10)), 800, range(300)) == 0
    assert len(model) == 1


def test_a_partition_near_its_limit_is_split_before_it_is_throttled() -> None:
    model = partitions()
    assert refused(model, forever(*item_keys(10)), 950, range(70)) == 0
    assert len(model) == 2


def test_a_briefly_throttled_partition_is_split_even_with_low_use() -> None:
    model = partitions()
    keys = forever(*item_keys(10))
    assert refused(model, keys, 4000, range(1)) > 0.5
    assert refused(model, keys, 100, range(1, 70)) == 0
    assert len(model) == 2


def test_a_read_load_splits_partitions_too() -> None:
    model = partitions()
    keys = forever(*item_keys(10))
    for second in range(70):
        for _ in range(10):
            key = next(keys)
            assert model.admits("Read", key, 285, float(second))
            model.consume("Read", key, 285)
    assert len(model) == 2


@pytest.mark.parametrize(("first", "second", "parts"), [(15, 40, 1), (40, 15, 1), (16, 16, 2)])
def test_too_few_requests_in_a_half_cause_no_split(first: int, second: int, parts: int) -> None:
    model = partitions()
    keys = forever(*item_keys(10))
    for time_s in (*[10.0] * first, *[40.0] * second, 60.0):
        model.admits("Write", next(keys), 10**6, time_s)
    assert len(model) == parts


def test_a_load_that_has_moved_is_not_split_at_its_old_position() -> None:
    model = partitions()
    first, *others = sorted(item_keys(9))
    refused(model, forever(first, others[0]), 1500, range(30))
    refused(model, forever(*others[1:]), 1500, range(30, 59))
    model.admits("Write", first, 1, 60.0)
    assert len(model) == 1


def test_initial_partitions_divide_the_keys_evenly() -> None:
    model = partitions(8)
    assert len(model) == 8
    assert refused(model, iter(item_keys(1000) * 10), 7000, range(1)) < 0.05


def test_splits_are_never_undone() -> None:
    model = partitions()
    refused(model, forever(*item_keys(10)), 1500, range(300))
    split = len(model)
    refused(model, forever(*item_keys(10)), 1, range(300, 2000))
    assert len(model) == split


def test_partitions_grow_by_halving_the_widest() -> None:
    model = partitions(2)
    model.grow(8, 0.0)
    assert len(model) == 8
    assert refused(model, forever(*item_keys(1000)), 7000, range(20)) < 0.05


def test_a_bucket_admits_oversized_requests_only_when_full() -> None:
    bucket = Bucket(1.0, 0.0)
    assert not bucket.has_units(1000, 298.0)
    assert bucket.has_units(1000, 300.0)
    bucket.consume(1000)
    assert not bucket.has_units(1, 600.0)


def test_units_accrue_at_the_old_rate_until_it_changes() -> None:
    bucket = Bucket(1.0, 0.0)
    bucket.change_rate(100.0, 99.0)
    assert bucket.units == 100, "one a second, and those of the first second"
    bucket.change_rate(0.1, 99.0)
    assert bucket.units == 30, "no more than can be kept at the new rate"


def test_a_split_shares_unused_units_and_does_not_affect_other_partitions() -> None:
    model = partitions(2)
    model.grow(3, 9.0)
    for first_byte, units in ((b"\x00", 5_000), (b"\x40", 5_000), (b"\x80", 10_000)):
        key = first_byte * 16
        assert not model.admits("Write", key, units + 1, 9.0)
        assert model.admits("Write", key, units, 9.0)
        model.consume("Write", key, units)


def test_provisioned_capacity_has_a_burst_of_five_minutes() -> None:
    ceiling = ProvisionedCeiling(10, 0.0)
    passed = 0
    while ceiling.admits(1, 10_000.0):
        ceiling.consume(1)
        passed += 1
    assert passed == 3000


def test_an_on_demand_ceiling_rises_to_double_the_peak_after_half_an_hour() -> None:
    ceiling = OnDemandCeiling(4000.0, 0.0)
    limits_seen = []
    for second in range(int(GROWTH_S * 2) + 200):
        while ceiling.admits(500, float(second)):
            ceiling.consume(500)
        limits_seen.append(ceiling.units_per_s)
    assert limits_seen[int(GROWTH_S) - 100] == 4000
    assert limits_seen[int(GROWTH_S) + 100] == pytest.approx(8000, rel=0.01)
    assert limits_seen[-1] == pytest.approx(16000, rel=0.02)
    assert ceiling.partition_count("Write") in (16, 17)


def test_an_on_demand_ceiling_accumulates_nothing_and_rises_only_with_traffic() -> None:
    ceiling = OnDemandCeiling(4000.0, 0.0)
    for time_s in (GROWTH_S, 3 * GROWTH_S):
        assert ceiling.admits(4000, time_s)
        ceiling.consume(4000)
        assert not ceiling.admits(1, time_s)
    assert ceiling.units_per_s == 4000


def test_a_peak_counts_even_if_the_load_falls_afterwards() -> None:
    ceiling = OnDemandCeiling(4000.0, 0.0)
    for second in range(1_800):
        units = 3000 if second < 60 else 10
        assert ceiling.admits(units, float(second))
        ceiling.consume(units)
    assert ceiling.units_per_s == 4000, "half an hour is not over"
    assert ceiling.admits(1, 1_800.0)
    assert ceiling.units_per_s == 6000


def test_a_late_peak_raises_the_ceiling_as_soon_as_it_is_measured() -> None:
    ceiling = OnDemandCeiling(4000.0, 0.0)
    for second in range(2_100):
        units = 10 if second < 1_900 else 3_000
        assert ceiling.admits(units, float(second))
        ceiling.consume(units)
    assert ceiling.units_per_s == 6000


def test_a_peak_before_a_pause_counts_in_full() -> None:
    ceiling = OnDemandCeiling(4000.0, 0.0)
    for second in range(60):
        assert ceiling.admits(3000, float(second))
        ceiling.consume(3000)
    ceiling.admits(1, GROWTH_S)
    assert ceiling.units_per_s == 6000


def test_warming_never_lowers_a_ceiling() -> None:
    ceiling = OnDemandCeiling(4000.0, 0.0)
    ceiling.raise_limit(5000.0, 10.0)
    ceiling.raise_limit(4500.0, 10.0)
    assert ceiling.units_per_s == 5000


# Through an engine: coarser time steps, the same behaviour.


def share_refused(
    engine: Engine,
    clock: ManualClock,
    seconds: int,
    kilobytes_per_s: int,
    item: Callable[[int], tuple[str, str]],
    **attributes: Callable[[int], str],
) -> float:
    """Write items of 250 KB for some seconds; return the refused share."""
    writes = kilobytes_per_s // 250
    denied = number = 0
    for _ in range(seconds):
        for _ in range(writes):
            p, s = item(number)
            extra: dict[str, Any] = {name: {"S": make(number)} for name, make in attributes.items()}
            try:
                put(engine, p, s, v=kilobytes(250 - (1 if extra else 0)), **extra)
            except (ProvisionedThroughputExceededError, ThrottlingError):
                denied += 1
            number += 1
            clock.advance(1 / writes)
    return denied / (seconds * writes)


def test_one_hot_key_of_a_table_is_throttled_by_about_a_third(engine: Engine, clock: ManualClock) -> None:
    tables_of.create(engine)
    share = share_refused(engine, clock, 120, 1500, lambda _: ("hot", "1"))
    assert share == pytest.approx(1 / 3, abs=0.03)


def test_ten_keys_of_a_table_are_not_throttled(engine: Engine, clock: ManualClock) -> None:
    tables_of.create(engine)
    share_refused(engine, clock, 120, 1500, lambda number: (str(number % 10), "1"))
    assert share_refused(engine, clock, 60, 1500, lambda number: (str(number % 10), "1")) == 0


def test_a_new_on_demand_table_throttles_ten_thousand_per_second_until_it_has_grown(
    engine: Engine, clock: ManualClock
) -> None:
    tables_of.create(engine)
    spread = lambda number: (str(number % 997), "1")  # noqa: E731
    assert share_refused(engine, clock, 10, 10_000, spread) > 0.5
    for _ in range(2):
        share_refused(engine, clock, 70, 10_000, spread)
        clock.advance(GROWTH_S)
    share_refused(engine, clock, 130, 10_000, spread)
    assert share_refused(engine, clock, 20, 10_000, spread) < 0.01


def test_two_values_of_an_index_key_throttle_the_table(engine: Engine, clock: ManualClock) -> None:
    tables_of.create(engine, **tables_of.with_index())
    share = share_refused(
        engine, clock, 130, 3000, lambda number: (str(number), "1"), g=lambda number: "ab"[number % 2]
    )
    assert share > 0.3


SORTED = tables_of.with_index(
    KeySchema=[{"AttributeName": "g", "KeyType": "HASH"}, {"AttributeName": "s", "KeyType": "RANGE"}]
)


@pytest.mark.parametrize(
    ("members", "indexed", "recovers"),
    [
        ({}, False, True),
        (tables_of.with_local_index(), False, False),
        (SORTED, True, True),
        (SORTED | tables_of.with_local_index("local"), True, True),
        (tables_of.with_index(), True, False),
    ],
    ids=[
        "table",
        "table with a local index",
        "index with a sort key",
        "index with a sort key beside a local one",
        "index without",
    ],
)
def test_many_items_of_one_key_are_split_unless_they_must_stay_together(
    members: dict[str, Any], indexed: bool, recovers: bool, engine: Engine, clock: ManualClock
) -> None:
    tables_of.create(engine, **members)

    every = count()

    def item(number: int) -> tuple[str, str]:
        return (str(next(every)) if indexed else "one", str(number % 20))

    extra: dict[str, Callable[[int], str]] = {"g": lambda _: "one"} if indexed else {}
    share_refused(engine, clock, 200, 1500, item, **extra)
    share = share_refused(engine, clock, 30, 1500, item, **extra)
    assert (share == 0) if recovers else (share > 0.3)


def test_a_throttled_index_rejects_the_write_and_is_named(engine: Engine) -> None:
    tables_of.create(engine, **tables_of.with_index())
    error = first_refusal(engine, lambda number: put(engine, str(number), g={"S": "a"}, v=kilobytes(250)))
    assert isinstance(error, ThrottlingError)
    assert error.message.startswith("Throughput exceeds the current capacity for one or more global secondary indexes")
    (reason,) = error.members["throttlingReasons"]
    assert reason["reason"] == "IndexWriteKeyRangeThroughputExceeded"
    assert reason["resource"].endswith(":table/things/index/by_g")
    items = engine.call("Scan", {"TableName": "things", "Select": "COUNT"})["Count"]
    entries = engine.call("Scan", {"TableName": "things", "IndexName": "by_g", "Select": "COUNT"})["Count"]
    assert items == entries


def first_refusal(engine: Engine, write: Callable[[int], object]) -> ServiceError:
    for number in range(10_000):
        try:
            write(number)
        except ServiceError as error:
            return error
    raise AssertionError("nothing was refused")


def test_provisioned_capacity_is_enforced(engine: Engine, clock: ManualClock) -> None:
    tables_of.create(
        engine,
        BillingMode="PROVISIONED",
        ProvisionedThroughput={"ReadCapacityUnits": 5, "WriteCapacityUnits": 5},
    )
    clock.advance(1000)
    passed = 0

    def write(number: int) -> None:
        nonlocal passed
        put(engine, str(number))
        passed += 1

    error = first_refusal(engine, write)
    assert passed == 1500
    assert isinstance(error, ProvisionedThroughputExceededError)
    assert error.message.startswith("The level of configured provisioned throughput for the table was exceeded.")
    (reason,) = error.members["ThrottlingReasons"]
    assert reason["reason"] == "TableWriteProvisionedThroughputExceeded"
    clock.advance(1)
    put(engine, "again")


def test_a_throttled_page_uses_no_units_so_that_the_next_can_succeed(engine: Engine, clock: ManualClock) -> None:
    tables_of.create(
        engine,
        BillingMode="PROVISIONED",
        ProvisionedThroughput={"ReadCapacityUnits": 2, "WriteCapacityUnits": 1000},
    )
    clock.advance(60)
    for number in range(10):
        put(engine, "one", str(number), v=kilobytes(4))
    page = {
        "TableName": "things",
        "KeyConditionExpression": "p = :p",
        "ExpressionAttributeValues": {":p": {"S": "one"}},
        "ConsistentRead": True,
    }
    for _ in range(12):  # ten units each, from two a second for a minute and the initial units
        engine.call("Query", page)
    waited = 0.0
    while waited < 60:
        try:
            engine.call("Query", page)
        except ProvisionedThroughputExceededError:
            clock.advance(0.1)
            waited += 0.1
        else:
            break
    assert waited == pytest.approx(4.0, abs=0.2)


def test_reads_are_charged_too(engine: Engine, clock: ManualClock) -> None:
    tables_of.create(
        engine,
        BillingMode="PROVISIONED",
        ProvisionedThroughput={"ReadCapacityUnits": 2, "WriteCapacityUnits": 100},
    )
    put(engine, "a", v=kilobytes(4))
    query = {
        "TableName": "things",
        "KeyConditionExpression": "p = :p",
        "ExpressionAttributeValues": {":p": {"S": "a"}},
        "ConsistentRead": True,
    }
    assert engine.call("Query", query)["Count"] == 1
    tables_of.get(engine, "a", ConsistentRead=True)
    with pytest.raises(ProvisionedThroughputExceededError):
        tables_of.get(engine, "a")
    with pytest.raises(ProvisionedThroughputExceededError):
        engine.call("Query", query)
    clock.advance(0.25)
    tables_of.get(engine, "a")


def test_the_on_demand_maximum_is_enforced(engine: Engine) -> None:
    tables_of.create(engine, OnDemandThroughput={"MaxWriteRequestUnits": 2})
    error = first_refusal(engine, lambda number: put(engine, str(number)))
    (reason,) = error.members["throttlingReasons"]
    assert reason["reason"] == "TableWriteMaxOnDemandThroughputExceeded"


def provision(engine: Engine, read: int, write: int) -> None:
    capacity = {"ReadCapacityUnits": read, "WriteCapacityUnits": write}
    engine.call("UpdateTable", {"TableName": "things", "ProvisionedThroughput": capacity})


def test_increased_provisioned_capacity_takes_effect_immediately(engine: Engine, clock: ManualClock) -> None:
    capacity = {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1}
    tables_of.create(engine, BillingMode="PROVISIONED", ProvisionedThroughput=capacity)
    put(engine, "a")
    with pytest.raises(ProvisionedThroughputExceededError):
        put(engine, "b")
    provision(engine, 1, 51)
    clock.advance(1)
    for number in range(50):
        put(engine, str(number))


def test_unused_capacity_before_an_increase_accrues_at_the_old_rate(engine: Engine, clock: ManualClock) -> None:
    capacity = {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1}
    tables_of.create(engine, BillingMode="PROVISIONED", ProvisionedThroughput=capacity)
    put(engine, "a")
    clock.advance(200)
    provision(engine, 1, 50)
    clock.advance(1)
    passed = 0

    def write(number: int) -> None:
        nonlocal passed
        put(engine, str(number))
        passed += 1

    first_refusal(engine, write)
    assert passed in range(248, 252), "200 at one a second, 50 at fifty"


def test_increased_provisioned_capacity_adds_partitions(engine: Engine, clock: ManualClock) -> None:
    capacity = {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1}
    tables_of.create(engine, BillingMode="PROVISIONED", ProvisionedThroughput=capacity)
    put(engine, "a")
    provision(engine, 1, 8_000)
    clock.advance(2)
    assert share_refused(engine, clock, 4, 4_000, lambda number: (str(number % 997), "1")) < 0.05


def test_a_warmed_table_accepts_more_load_immediately(engine: Engine, clock: ManualClock) -> None:
    tables_of.create(engine)
    spread = lambda number: (str(number % 997), "1")  # noqa: E731
    assert share_refused(engine, clock, 4, 8_000, spread) > 0.3
    warm = {"ReadUnitsPerSecond": 12_000, "WriteUnitsPerSecond": 16_000}
    engine.call("UpdateTable", {"TableName": "things", "WarmThroughput": warm})
    clock.advance(2)
    assert share_refused(engine, clock, 4, 8_000, spread) < 0.05


def test_a_new_on_demand_table_accumulates_no_burst(engine: Engine, clock: ManualClock) -> None:
    tables_of.create(engine)
    clock.advance(100)
    for number in range(4_000 // 250):
        put(engine, str(number), v=kilobytes(250))
    with pytest.raises(ThrottlingError) as caught:
        put(engine, "a", v=kilobytes(250))
    (reason,) = caught.value.members["throttlingReasons"]
    assert reason["reason"] == "TableWriteKeyRangeThroughputExceeded"


def protect(engine: Engine) -> None:
    """Change a setting without effect on throughput."""
    engine.call("UpdateTable", {"TableName": "things", "DeletionProtectionEnabled": True})


def test_a_raised_ceiling_adds_partitions_and_survives_other_changes(engine: Engine, clock: ManualClock) -> None:
    tables_of.create(engine)
    spread = lambda number: (str(number % 997), "1")  # noqa: E731
    share_refused(engine, clock, 61, 3_000, spread)
    clock.advance(GROWTH_S)
    put(engine, "a")
    protect(engine)
    assert share_refused(engine, clock, 4, 6_000, spread) == 0
    assert engine.faults is not None
    assert engine.faults.throttle is not None
    (resource,) = engine.faults.throttle._resources.values()
    assert len(resource.partitions) == 6


def test_an_exhausted_maximum_stays_exhausted_after_other_changes(engine: Engine) -> None:
    tables_of.create(engine, OnDemandThroughput={"MaxWriteRequestUnits": 2})
    first_refusal(engine, lambda number: put(engine, str(number)))
    protect(engine)
    with pytest.raises(ThrottlingError):
        put(engine, "a")


def test_a_maximum_may_be_raised_and_removed(engine: Engine, clock: ManualClock) -> None:
    tables_of.create(engine, OnDemandThroughput={"MaxWriteRequestUnits": 2})
    first_refusal(engine, lambda number: put(engine, str(number)))
    maximum = {"TableName": "things", "OnDemandThroughput": {"MaxWriteRequestUnits": 30}}
    engine.call("UpdateTable", maximum)
    first_refusal(engine, lambda number: put(engine, str(number)))
    clock.advance(1)
    for number in range(30):
        put(engine, str(number))
    with pytest.raises(ThrottlingError):
        put(engine, "a")
    engine.call("UpdateTable", {**maximum, "OnDemandThroughput": {"MaxWriteRequestUnits": -1}})
    clock.advance(1)
    for number in range(1_000):
        put(engine, str(number))


def test_a_table_switched_to_provisioned_has_no_earlier_burst(engine: Engine, clock: ManualClock) -> None:
    tables_of.create(engine)
    put(engine, "a")
    clock.advance(100)
    capacity = {"ReadCapacityUnits": 1, "WriteCapacityUnits": 2}
    engine.call("UpdateTable", {"TableName": "things", "BillingMode": "PROVISIONED", "ProvisionedThroughput": capacity})
    put(engine, "b")
    put(engine, "c")
    with pytest.raises(ProvisionedThroughputExceededError):
        put(engine, "d")


def test_a_batch_returns_throttled_writes_as_unprocessed(engine: Engine) -> None:
    capacity = {"ReadCapacityUnits": 3, "WriteCapacityUnits": 3}
    tables_of.create(engine, BillingMode="PROVISIONED", ProvisionedThroughput=capacity)
    puts = [{"PutRequest": {"Item": tables_of.key(name)}} for name in "abcde"]
    left = engine.call("BatchWriteItem", {"RequestItems": {"things": puts}})["UnprocessedItems"]
    assert left == {"things": puts[3:]}
    with pytest.raises(ProvisionedThroughputExceededError):
        engine.call("BatchWriteItem", {"RequestItems": left})
    keys = [tables_of.key(name) for name in "abcdefgh"]
    response = engine.call("BatchGetItem", {"RequestItems": {"things": {"Keys": keys}}})
    assert response["UnprocessedKeys"]["things"]["Keys"] == keys[6:]
    assert len(response["Responses"]["things"]) == 3


def test_a_throttled_transaction_is_cancelled(engine: Engine) -> None:
    capacity = {"ReadCapacityUnits": 3, "WriteCapacityUnits": 3}
    tables_of.create(engine, BillingMode="PROVISIONED", ProvisionedThroughput=capacity)
    puts = [{"Put": {"TableName": "things", "Item": tables_of.key(name)}} for name in "ab"]
    with pytest.raises(ServiceError) as caught:
        engine.call("TransactWriteItems", {"TransactItems": puts})
    reasons = caught.value.members["CancellationReasons"]
    assert [reason["Code"] for reason in reasons] == ["None", "ProvisionedThroughputExceeded"]
    gets = [{"Get": {"TableName": "things", "Key": tables_of.key(name)}} for name in "ab"]
    with pytest.raises(ServiceError) as caught:
        engine.call("TransactGetItems", {"TransactItems": gets})
    assert [reason["Code"] for reason in caught.value.members["CancellationReasons"]] == [
        "None",
        "ProvisionedThroughputExceeded",
    ]
