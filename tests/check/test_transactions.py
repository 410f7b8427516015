"""Two writes of a transaction write the same item if their keys come from the same parameters."""

from __future__ import annotations

from typing import Any

from keyplan import Entity, ItemWrite, Table, each, item, key, transaction
from keyplan.check.rules.consistency.transactions import origin_of, transaction_writes

app = Table("app", pk="PK", sk="SK")


@app.entity(key=key("ORDER#{order_id}", "ORDER"), unique=("reference",))
class Order(Entity):
    order_id: str
    customer: str
    reference: str


@app.entity(key=key("CUSTOMER#{customer}", "CUSTOMER"))
class Customer(Entity):
    customer: str
    orders: int = 0


@app.create(Order)
def create_order(order: Order) -> ItemWrite:
    return item(order)


@app.delete(Order)
def delete_order(order_id: str) -> ItemWrite:
    return item(order_id=order_id)


@app.update(Customer)
def count(customer: str) -> ItemWrite:
    return item(customer=customer).add(orders=1)


def keys_of(call: Any) -> list[dict[str, tuple[object, ...]]]:
    return [dict(write.keys) for write in transaction_writes(call)]


def test_equal_parameters_give_equal_keys() -> None:
    @transaction()
    def both(first: str, second: str) -> list[Any]:
        return [count(first), count(first), count(second)]

    one, equal, different = keys_of(both)
    assert one == equal
    assert one != different


def test_a_field_of_an_item_equals_the_argument_it_is_passed_as() -> None:
    @transaction()
    def replace_order(order: Order, other: str) -> list[Any]:
        return [create_order(order), delete_order(order.order_id), delete_order(other)]

    created, deleted, another = keys_of(replace_order)
    assert created["Order"] == deleted["Order"]
    assert created["Order"] != another["Order"]


def test_creating_an_item_also_writes_the_keys_of_its_sentinels() -> None:
    @transaction()
    def one(order: Order) -> list[Any]:
        return [create_order(order)]

    (keys,) = keys_of(one)
    assert set(keys) == {"Order", "the unique reference of Order"}


def test_equal_constants_give_equal_keys() -> None:
    @transaction()
    def constants(customer: str) -> list[Any]:
        return [count("a"), count("a"), count("b"), count(customer)]

    first, second, third, fourth = keys_of(constants)
    assert first == second
    assert len({str(each_one) for each_one in (first, third, fourth)}) == 3


def test_a_repeated_step_varies_if_its_key_uses_the_values() -> None:
    @transaction()
    def all_of(customers: list[str], customer: str) -> list[Any]:
        return [count(each(customers)), count(customer)]

    first, second = transaction_writes(all_of)
    assert first.varies
    assert not second.varies
    assert dict(first.keys) != dict(second.keys)


def test_members_of_repeated_items_vary_too() -> None:
    @transaction()
    def create_all(orders: list[Order]) -> list[Any]:
        return [create_order(each(orders))]

    (write,) = transaction_writes(create_all)
    assert write.varies
    assert origin_of(write.sources["order_id"]) == ("each", "parameter", "orders", "order_id")


def test_equal_keys_in_another_table_are_different_items() -> None:
    other = Table("other", pk="PK", sk="SK")

    @other.entity(key=key("CUSTOMER#{customer}", "CUSTOMER"))
    class Copy(Entity):
        customer: str
        orders: int = 0

    @other.update(Copy)
    def count_copy(customer: str) -> ItemWrite:
        return item(customer=customer).add(orders=1)

    @transaction()
    def both(customer: str) -> list[Any]:
        return [count(customer), count_copy(customer)]

    first, second = keys_of(both)
    assert set(first.values()).isdisjoint(second.values())
