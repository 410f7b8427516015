"""Tables of shop.json, a NoSQL Workbench model.

Shop: Customers and what they order
"""

from decimal import Decimal
from typing import Any

from keyplan import (
    GSI,
    Entity,
    ItemKey,
    ItemWrite,
    KeyCondition,
    OnDemand,
    Table,
    item,
    key,
    pk,
)

# To complete:
# - fields besides keys, and their types: Decimal is any Number, Any is unknown
# - volume=Volume(count=..., bytes=Bytes(average=...)) for each entity
# - rate=Rate(average=..., peak=...) of each pattern, and the patterns of your programs

# Guessed from sample items, please check: "type" names the kind of each item.
shop = Table(
    "shop",
    pk="PK",
    sk="SK",
    indexes=[
        GSI("GSI1", pk="GSI1PK", sk="GSI1SK"),
    ],
    billing=OnDemand(),
    discriminator="type",
)


# Guessed from sample items, please check: the keys, of "PK" as "CUSTOMER#...", "SK" as
# "PROFILE".
@shop.entity(
    key=key("CUSTOMER#{customer_id}", "PROFILE"),
    name="customer",
    store_key_fields=False,
)
class Customer(Entity):
    """Items of 'shop' of the kind 'customer'."""

    customer_id: str
    email: str | None = None


@shop.get(Customer)
def get_customer(customer_id: str) -> ItemKey:
    """One Customer by its key."""
    return item(customer_id=customer_id)


@shop.put(Customer)
def put_customer(new: Customer) -> ItemWrite:
    """Write a whole Customer."""
    return item(new)


@shop.delete(Customer)
def delete_customer(customer_id: str) -> ItemWrite:
    """Delete one Customer."""
    return item(customer_id=customer_id)


@shop.query(Customer)
def list_customer(customer_id: str) -> KeyCondition:
    """Each Customer of a partition."""
    return pk(customer_id=customer_id)


# Guessed from sample items, please check: the keys, of "PK" as "CUSTOMER#...", "SK" as
# "ORDER#...", "GSI1PK" as "ORDERS", "GSI1SK" as "...".
@shop.entity(
    key=key("CUSTOMER#{customer_id}", "ORDER#{order_id}"),
    indexes={"GSI1": key("ORDERS", "{order_id}")},
    name="order",
    store_key_fields=False,
)
class Order(Entity):
    """Items of 'shop' of the kind 'order'."""

    customer_id: str
    order_id: str
    total: Decimal | None = None
    paid: bool | None = None
    lines: list[Any] | None = None


@shop.get(Order)
def get_order(customer_id: str, order_id: str) -> ItemKey:
    """One Order by its key."""
    return item(customer_id=customer_id, order_id=order_id)


@shop.put(Order)
def put_order(new: Order) -> ItemWrite:
    """Write a whole Order."""
    return item(new)


@shop.delete(Order)
def delete_order(customer_id: str, order_id: str) -> ItemWrite:
    """Delete one Order."""
    return item(customer_id=customer_id, order_id=order_id)


@shop.query(Order)
def list_order(customer_id: str) -> KeyCondition:
    """Each Order of a partition."""
    return pk(customer_id=customer_id)


@shop.query(Order, index="GSI1")
def list_order_by_gsi1() -> KeyCondition:
    """Each Order of a partition of the index 'GSI1'."""
    return pk()
