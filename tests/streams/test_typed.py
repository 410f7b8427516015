"""Which changes consumers get: of which entity, which kind, and which pass their condition."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from tests.streams.shop import NOW, Address, Shop, World

from keyplan import DesignError, Expired, F, Inserted, Modified, Removed, changed
from keyplan.streams import ConsumerSetupError, ConsumerStoppedError, JsonLinesFolder


def test_each_kind_of_change_has_its_own_type(world: World) -> None:
    shop, got = world.shop, list[Any]()

    @shop.table.on_change(shop.Order)
    def watch(change: Inserted[Any] | Modified[Any] | Removed[Any] | Expired[Any]) -> None:
        got.append(change)

    world.db.run(shop.place(shop.Order(customer="ada", number=1, total=5)))
    world.db.run(shop.move("ada", 1, "paid"))
    world.db.run(shop.drop("ada", 1))
    counts = world.runner().run_once()
    assert [type(change) for change in got] == [Inserted, Modified, Removed]
    inserted, modified, removed = got
    assert inserted.new == shop.Order(customer="ada", number=1, total=5)
    assert (modified.old.state, modified.new.state) == ("open", "paid")
    assert removed.old == modified.new
    assert int(inserted.sequence_number) < int(modified.sequence_number) < int(removed.sequence_number)
    assert len({change.event_id for change in got}) == 3
    assert inserted.at_s == NOW
    assert (counts.read, counts.delivered, counts.waiting) == (3, 3, 0)


def test_expired_items_are_distinguished_from_deleted_ones(world: World) -> None:
    shop, removed, expired = world.shop, [], []

    @shop.table.on_change(shop.Order)
    def on_removal(change: Removed[Any]) -> None:
        removed.append(change.old.number)

    @shop.table.on_change(shop.Order)
    def on_expiry(change: Expired[Any]) -> None:
        expired.append(change.old.number)

    soon = datetime.fromtimestamp(NOW + 60, UTC)
    for number in (1, 2):
        world.db.run(shop.place(shop.Order(customer="ada", number=number, expires_at=soon)))
    world.db.run(shop.drop("ada", 1))
    world.clock.advance(120)
    assert world.engine.sweep() == 1
    counts = world.runner().run_once()
    assert (removed, expired) == ([1], [2])
    assert (counts.read, counts.delivered, counts.skipped) == (4, 2, 6)


def test_other_entities_and_sentinels_are_skipped(world: World) -> None:
    shop, orders, customers = world.shop, [], []

    @shop.table.on_change(shop.Order)
    def on_order(change: Inserted[Any]) -> None:
        orders.append(change.new.number)

    @shop.table.on_change(shop.Customer)
    def on_customer(change: Inserted[Any]) -> None:
        customers.append(change.new.customer)

    world.db.run(shop.register(shop.Customer(customer="ada")))
    world.db.run(shop.place(shop.Order(customer="ada", number=1, reference="R-1")))
    counts = world.runner().run_once()
    assert (orders, customers) == ([1], ["ada"])
    assert counts.read == 3, "the order's sentinel is a record too"


def test_an_item_that_replaces_a_sentinel_is_inserted(inside: World) -> None:
    shop, got = inside.shop, []

    @shop.table.on_change(shop.Order)
    def watch(change: Inserted[Any] | Modified[Any] | Removed[Any]) -> None:
        got.append(type(change))

    key = {"PK": {"S": "CUSTOMER#ada"}, "SK": {"S": "ORDER#1"}}
    for item in ({"keyplan:owner": {"M": key}}, {"number": {"N": "1"}, "customer": {"S": "ada"}}):
        inside.engine.call("PutItem", {"TableName": "shop", "Item": {**key, **item}})
    inside.runner().run_once()
    assert got == [Inserted]


def test_one_consumer_may_receive_several_entities_in_a_list(inside: World) -> None:
    shop, got = inside.shop, []

    @shop.table.on_change(shop.Order, shop.Customer)
    def watch(changes: list[Inserted[Any]]) -> None:
        got.append([type(change.new).__name__ for change in changes])

    inside.db.run(shop.register(shop.Customer(customer="ada")))
    shop.orders(inside.db, 2)
    inside.runner().run_once()
    assert got == [["Customer", "Order", "Order"]]


def test_an_item_that_becomes_another_entity_is_removed_from_one_and_inserted_into_the_other(inside: World) -> None:
    from keyplan import Entity, ItemWrite, Table, item  # noqa: PLC0415 - a separate design

    table = Table("zoo", pk="id", stream="NEW_AND_OLD_IMAGES", discriminator="kind")

    @table.entity()
    class Egg(Entity):
        id: str

    @table.entity()
    class Bird(Entity):
        id: str

    @table.put(Egg)
    def lay(egg: Egg) -> ItemWrite:
        return item(egg)

    @table.put(Bird)
    def hatch(bird: Bird) -> ItemWrite:
        return item(bird)

    got: list[Any] = []

    @table.on_change(Egg, Bird)
    def watch(change: Inserted[Any] | Modified[Any] | Removed[Any]) -> None:
        got.append((type(change), type(change.old if isinstance(change, Removed) else change.new), change.event_id))

    inside.shop.table = table
    inside.db.run(lay(Egg(id="1")))
    inside.db.run(hatch(Bird(id="1")))
    inside.runner().run_once()
    assert [(kind, entity) for kind, entity, _ in got] == [(Inserted, Egg), (Removed, Egg), (Inserted, Bird)]
    assert len({event_id for *_, event_id in got}) == 3


def test_filters_by_changed_fields_apply_before_delivery(world: World) -> None:
    shop, paid, moved = world.shop, [], []

    @shop.table.on_change(shop.Order, filter=changed("state", "paid"))
    def on_paid(change: Inserted[Any] | Modified[Any]) -> None:
        paid.append((type(change), change.new.number))

    @shop.table.on_change(shop.Order, filter=changed("state"))
    def on_move(change: Modified[Any]) -> None:
        moved.append((change.old.state, change.new.state))

    shop.orders(world.db, 1)
    world.db.run(shop.place(shop.Order(customer="ada", number=7, state="paid")))
    world.db.run(shop.move("ada", 0, "paid"))
    world.db.run(shop.place(shop.Order(customer="ada", number=0, state="paid", total=9)))
    world.db.run(shop.move("ada", 0, "sent"))
    world.runner().run_once()
    assert paid == [(Inserted, 7), (Modified, 0)]
    assert moved == [("open", "paid"), ("paid", "sent")]


@pytest.mark.parametrize(
    ("condition", "matching"),
    [
        (F.total > 4, {2}),
        ((F.total > 4) | (F.state == "paid"), {1, 2}),
        (~(F.state == "paid"), {0, 2}),
        (F.tags.contains("gift"), {1}),
        (F.tags.size() >= 2, {1}),
        (F.tags.size() == 0, set()),
        (F.reference.size() == 2, {2}),  # UTF-16 units, as the service counts
        (F.address["city"] == "Bath", {2}),
        (F.address.exists(), {2}),
        (F.address["city"].begins_with("B") & F.customer.is_in("ada", "bob"), {2}),
        (F.number.between(1, 2), {1, 2}),
    ],
)
def test_conditions_are_evaluated_on_the_new_item(inside: World, condition: Any, matching: set[int]) -> None:
    shop, got = inside.shop, set()

    @shop.table.on_change(shop.Order, filter=condition)
    def watch(change: Inserted[Any]) -> None:
        got.add(change.new.number)

    orders = [
        shop.Order(customer="ada", number=0),
        shop.Order(customer="ada", number=1, state="paid", tags={"gift", "big"}),
        shop.Order(customer="ada", number=2, total=5, reference="\N{PARTY POPPER}", address=Address(city="Bath")),
    ]
    for order in orders:
        inside.db.run(shop.place(order))
    inside.runner().run_once()
    assert got == matching


def test_a_condition_on_a_removed_item_is_evaluated_on_its_last_state(inside: World) -> None:
    shop, got = inside.shop, []

    @shop.table.on_change(shop.Order, filter=F.state == "paid")
    def watch(change: Removed[Any]) -> None:
        got.append(change.old.number)

    shop.orders(inside.db, 2)
    inside.db.run(shop.move("ada", 1, "paid"))
    inside.db.run(shop.drop("ada", 0))
    inside.db.run(shop.drop("ada", 1))
    inside.runner().run_once()
    assert got == [1]


def spoil(world: World, number: int) -> None:
    """Store an item that cannot be read as an Order."""
    item = {"PK": {"S": "CUSTOMER#ada"}, "SK": {"S": f"ORDER#{number}"}, "total": {"S": "much"}}
    world.engine.call("PutItem", {"TableName": "shop", "Item": item})


def test_an_invalid_item_is_a_failed_record(world: World, tmp_path: Any) -> None:
    shop, got, dead = world.shop, [], JsonLinesFolder(tmp_path)

    @shop.table.on_change(shop.Order, on_failure="dead", retries=5)
    def watch(changes: list[Inserted[Any]]) -> None:
        got.append([change.new.number for change in changes])

    shop.orders(world.db, 2)
    spoil(world, 2)
    shop.orders(world.db, 2, first=3)
    counts = world.runner(destinations={"dead": dead}).run_once()
    assert got == [[0, 1], [3, 4]]
    assert (counts.failed, counts.retried) == (1, 0)
    (failure,) = dead.read("shop/watch")
    assert failure.record.keys["SK"] == {"S": "ORDER#2"}
    assert "cannot be read as Order: total" in failure.error
    assert failure.attempts == 1


def test_without_a_destination_an_unreadable_item_stops_the_consumer(inside: World) -> None:
    shop = inside.shop

    @shop.table.on_change(shop.Order)
    def watch(change: Inserted[Any]) -> None:
        raise AssertionError("nothing can be delivered")

    spoil(inside, 2)
    with pytest.raises(ConsumerStoppedError, match=r"ORDER#2.*cannot be read as Order") as stopped:
        inside.runner().run_once()
    assert stopped.value.failure.record.event_name == "INSERT"


def test_consumers_that_cannot_run_are_rejected_with_a_fix(inside: World) -> None:
    shop = inside.shop
    with pytest.raises(ConsumerSetupError, match="has no consumer: declare one"):
        inside.runner()

    @shop.table.on_change(shop.Order, on_failure="dlq")
    def watch(change: Inserted[Any]) -> None:
        """Take orders."""

    with pytest.raises(ConsumerSetupError, match=r'"dlq", which the runner does not have'):
        inside.runner()
    with pytest.raises(ConsumerSetupError, match="no consumer look; it has: watch"):
        inside.runner("look")

    @shop.table.on_change(shop.Order)  # type: ignore[no-redef]  # that there are two of them is the test
    def watch(change: Inserted[Any]) -> None:  # noqa: F811
        """Take orders again."""

    with pytest.raises(ConsumerSetupError, match="two consumers named watch"):
        inside.runner()


def test_a_stream_view_without_the_required_images_is_rejected(inside: World) -> None:
    inside.engine.call("DeleteTable", {"TableName": "shop"})
    shop = inside.shop = Shop(view="NEW_IMAGE")
    inside.db.create_tables(shop.table)

    @shop.table.on_change(shop.Order)
    def on_new(change: Inserted[Any]) -> None:
        """Need the new image only."""

    @shop.table.on_change(shop.Order)
    def on_old(change: Removed[Any]) -> None:
        """Need the old one."""

    shop.orders(inside.db, 1)
    assert inside.runner(on_new).run_once().delivered == 1
    runner = inside.runner(on_old)
    for _ in range(2):  # however often it is driven
        with pytest.raises(ConsumerSetupError, match="needs the old image"):
            runner.run_once()


def test_a_table_without_a_stream_is_rejected(inside: World) -> None:
    inside.engine.call("DeleteTable", {"TableName": "shop"})
    inside.clock.advance(25 * 3600)
    shop = inside.shop = Shop(view=None)

    @shop.table.on_change(shop.Order)
    def watch(change: Inserted[Any]) -> None:
        """Wait in vain."""

    with pytest.raises(ConsumerSetupError, match="has no stream"):
        inside.runner().run_once()


def test_an_unknown_field_in_changed_is_rejected_where_it_is_declared(inside: World) -> None:
    shop = inside.shop
    with pytest.raises(DesignError, match="has no field colour"):

        @shop.table.on_change(shop.Order, filter=changed("colour"))
        def watch(change: Inserted[Any]) -> None:
            """Never declared."""


def test_a_coroutine_function_is_rejected_because_it_would_not_be_awaited(inside: World) -> None:
    shop = inside.shop

    @shop.table.on_change(shop.Order)  # type: ignore[arg-type]  # wrong on purpose
    async def watch(change: Inserted[Any]) -> None:
        """Never awaited."""

    with pytest.raises(ConsumerSetupError, match="watch is a coroutine function"):
        inside.runner()


def test_a_handler_may_replace_the_declared_function(inside: World) -> None:
    shop, got = inside.shop, list[Inserted[Any]]()

    @shop.table.on_change(shop.Order)
    def watch(change: Inserted[Any]) -> None:
        raise AssertionError("a handler takes its place")

    async def never_awaited(change: Inserted[Any]) -> None:
        """Never awaited either."""

    shop.orders(inside.db, 2)
    inside.runner(handlers={watch: got.append}).run_once()
    assert [change.new.number for change in got] == [0, 1]
    with pytest.raises(ConsumerSetupError, match="a coroutine function"):
        inside.runner(handlers={"watch": never_awaited})
    with pytest.raises(ConsumerSetupError, match="no consumer look"):
        inside.runner(handlers={"look": got.append})
