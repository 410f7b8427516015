"""Effects that happen once although changes are delivered more often."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.streams.shop import NOW, World

from keyplan import DesignError, Inserted, Modified, Table
from keyplan.client.errors import NotFoundError, TransactionFailedError
from keyplan.streams import FileCheckpoints, HandledChanges


def counted(world: World, customer: str = "ada") -> int:
    """How many orders the customer's profile counts."""
    key = {"PK": {"S": f"CUSTOMER#{customer}"}, "SK": {"S": "PROFILE"}}
    item = world.engine.call("GetItem", {"TableName": "shop", "Key": key}).get("Item", {"orders": {"N": "0"}})
    return int(item["orders"]["N"])


@pytest.mark.parametrize("place", ["a table of its own", "the shop's table"])
def test_replayed_changes_have_their_effect_once(world: World, tmp_path: Path, place: str) -> None:
    shop, expected = world.shop, []
    marks = HandledChanges() if place == "a table of its own" else HandledChanges(shop.table)
    if place == "a table of its own":
        world.db.create_tables(marks.table)

    @shop.table.on_change(shop.Order)
    def count(change: Inserted[Any]) -> None:
        expected.append(marks.apply(world.db, "count", change, shop.count_order(change.new.customer)))

    shop.orders(world.db, 5)
    for attempt in range(3):
        with world.runner(checkpoints=FileCheckpoints(tmp_path / f"{attempt}.json")) as runner:
            runner.run_once()
    assert counted(world) == 5
    assert expected == [True] * 5 + [False] * 10


def test_a_failed_effect_leaves_no_mark(inside: World) -> None:
    shop, marks, got = inside.shop, HandledChanges(inside.shop.table), []

    @shop.table.on_change(shop.Order)
    def watch(change: Inserted[Any]) -> None:
        got.append(change)

    shop.orders(inside.db, 1)
    inside.runner().run_once()
    with pytest.raises(TransactionFailedError) as failed:
        marks.apply(inside.db, "watch", got[0], shop.move("ada", 99, "paid"))
    assert isinstance(failed.value.reasons[1], NotFoundError)
    assert marks.apply(inside.db, "watch", got[0], shop.move("ada", 0, "paid"))


def test_consumers_mark_changes_separately_and_may_write_marks_in_their_transactions(inside: World) -> None:
    shop, marks, got = inside.shop, HandledChanges(inside.shop.table), []

    @shop.table.on_change(shop.Order)
    def watch(change: Inserted[Any] | Modified[Any]) -> None:
        got.append(change)

    shop.orders(inside.db, 1)
    inside.runner().run_once()
    for consumer in ("one", "two"):
        inside.db.transact(marks.mark(consumer, got[0]), shop.count_order("ada"))
        with pytest.raises(TransactionFailedError):
            inside.db.transact(shop.count_order("ada"), marks.mark(consumer, got[0]))
    assert counted(inside) == 2


def test_marks_expire_when_no_change_can_be_repeated(inside: World) -> None:
    shop, marks, got = inside.shop, HandledChanges(retention=timedelta(days=2)), []

    @shop.table.on_change(shop.Order)
    def watch(change: Inserted[Any]) -> None:
        got.append(change)
        marks.apply(inside.db, "watch", change)

    shop.orders(inside.db, 1)
    inside.runner().run_once()
    (mark,) = inside.engine.call("Scan", {"TableName": "keyplan-seen"})["Items"]
    assert mark["expires_at"] == {"N": str(int(NOW) + 2 * 24 * 3600)}
    inside.clock.advance(2 * 24 * 3600 + 1)
    assert inside.engine.sweep() == 1


def test_a_table_without_expiry_is_rejected() -> None:
    with pytest.raises(DesignError, match="marks would never expire"):
        HandledChanges(Table("plain", pk="id"))
