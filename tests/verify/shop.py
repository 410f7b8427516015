"""A design with all that a design can have, and no faults: what verifying it must find is that everything holds."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, Literal, NewType

from pydantic import BaseModel, Field

from keyplan import (
    GSI,
    LSI,
    Attribute,
    Bytes,
    Claim,
    Distinct,
    Entity,
    F,
    ItemKey,
    ItemWrite,
    KeyCondition,
    Provisioned,
    Table,
    Volume,
    WriteCall,
    attr,
    each,
    every_shard,
    everything,
    item,
    key,
    pk,
    transaction,
    unique,
)

CustomerId = NewType("CustomerId", str)
Status = Literal["open", "paid", "sent"]


class Country(Enum):
    FRANCE = "FR"
    ITALY = "IT"


class Address(BaseModel):
    street: str
    country: Country


shop = Table(
    "shop",
    pk="PK",
    sk="SK",
    ttl="expires_at",
    stream="NEW_AND_OLD_IMAGES",
    discriminator="kind",
    indexes=[
        GSI("by_status", pk="GSI1PK", sk="GSI1SK"),
        GSI("open_due", pk="GSI2PK", sk="GSI2SK", project=["country", "placed_at", "remark", "status", "total"]),
        GSI("by_country", pk=("country", "status"), sk=("due_at",), project=["kind"]),
        LSI("by_total", sk="total", project=["status"]),
    ],
)


@shop.entity(
    key=key("CUSTOMER#{customer_id}", "PROFILE"),
    version="version",
    unique=["email", unique("phone")],
    volume=Volume(count=20_000, bytes=Bytes(500, p99=900), present={"phone": 0.5}),
    store_key_fields=False,
)
class Customer(Entity):
    customer_id: CustomerId
    email: str
    phone: str | None = None
    name: Annotated[str, Field(min_length=1, max_length=80)]
    address: Address
    tags: set[str] = Field(default_factory=set)
    notes: list[str] = Field(default_factory=list)
    orders: int = 0
    expires_at: datetime | None = None
    version: int = 0


@shop.entity(
    key=key("CUSTOMER#{customer_id}", "ORDER#{order_id}"),
    indexes={
        "by_status": key("STATUS#{status}#{order_id:shard(3)}", "{placed_at:utc_ms}"),
        "open_due": key("DUE#{customer_id}", attr("due_at"), only_if=F.status == "open"),
    },
    version="version",
    volume=Volume(
        count=400_000,
        bytes=Bytes(900, p99=6_000),
        distinct={
            "customer_id": Distinct(20_000, hottest=0.02),
            "status": {"open": 0.2, "paid": 0.3, "sent": 0.5},
            "country": {Country.FRANCE: 0.6, Country.ITALY: 0.4},
        },
        present={"due_at": 0.7},
    ),
)
class Order(Entity):
    customer_id: CustomerId
    order_id: str
    status: Status
    country: Country
    total: Decimal
    placed_at: datetime
    due_at: Annotated[datetime | None, Attribute(stored="epoch_s")] = None
    remark: str
    lines: list[str] = Field(default_factory=list)
    version: int = 0


products = Table("products", pk="product_id", billing=Provisioned(read=100, write=50))


@products.entity(volume=Volume(count=2_000, bytes=Bytes(300), distinct={"product_id": 2_000}))
class Product(Entity):
    product_id: int
    name: str
    stock: int
    image: bytes
    labels: frozenset[str] = frozenset()


# Reads.


@shop.get(Customer, consistent=True, claims=Claim("1 RCU"))
def customer(customer_id: CustomerId) -> ItemKey:
    """One customer."""
    return item(customer_id=customer_id)


@shop.query(Customer, Order)
def customer_with_orders(customer_id: CustomerId) -> KeyCondition:
    """Return a customer and all orders."""
    return pk(customer_id=customer_id)


@shop.query(Order, limit=5, descending=True)
def last_orders(customer_id: CustomerId) -> KeyCondition:
    """Return the last five orders."""
    return pk(customer_id=customer_id)


@shop.query(Order, index="by_status", ordered_by="placed_at")
def orders_by_status(status: Status) -> KeyCondition:
    """All orders of a status, over all shards."""
    return pk(status=status, order_id=every_shard())


@shop.query(Order, index="by_status", descending=True, limit=7)
def placed_before(status: Status, before: datetime) -> KeyCondition:
    """Return the last orders before a time."""
    return pk(status=status, order_id=every_shard()).sk.lt(placed_at=before)


@shop.query(Order, index="open_due")
def due_between(customer_id: CustomerId, first: datetime, last: datetime) -> KeyCondition:
    """Open orders that fall due in a time."""
    return pk(customer_id=customer_id).sk.between(due_at=(first, last))


@shop.count(Order, index="by_country")
def count_in_country(country: Country, status: Status) -> KeyCondition:
    """How many there are."""
    return pk(country=country, status=status)


@shop.count(Order, index="by_total", consistent=True)
def dear_orders(customer_id: CustomerId, least: Decimal) -> KeyCondition:
    """How many orders of at least this total: a local index, which does not hold what tells whose its entries are."""
    return pk(customer_id=customer_id).sk.gte(total=least).filter(F.status.exists())


@shop.query(Order, index="by_total")
def orders_by_total(customer_id: CustomerId) -> KeyCondition:
    """Whole orders of a local index that holds little of them: each is fetched."""
    return pk(customer_id=customer_id)


@shop.count(Order)
def paid_orders(customer_id: CustomerId) -> KeyCondition:
    """How many of a customer are paid."""
    return pk(customer_id=customer_id).filter(F.status == "paid")


@shop.scan(Order)
def orders_with(text: str) -> KeyCondition:
    """Orders whose remark has a text."""
    return everything().filter(F.remark.contains(text) | F.remark.begins_with(text))


@shop.scan(Order, index="by_status", page_size=100)
def all_by_status() -> KeyCondition:
    """Return the whole index, page by page."""
    return everything()


@products.batch_get(Product, expected_items=20)
def some_products(product_ids: list[int]) -> ItemKey:
    """Several products."""
    return item(product_id=each(product_ids))


# Writes.


@shop.create(Customer)
def register(customer: Customer) -> ItemWrite:
    """Store a new customer with a unique email address."""
    return item(customer)


@shop.update(Customer)
def change_email(customer_id: CustomerId, email: str, version: int) -> ItemWrite:
    """Another email: its sentinel changes hands."""
    return item(customer_id=customer_id).set(email=email).if_version(version)


@shop.update(Customer)
def annotate(customer_id: CustomerId, tag: str, note: str) -> ItemWrite:
    """Change sets, lists and maps."""
    return (
        item(customer_id=customer_id).add_to_set(tags=tag).append(notes=note).add(orders=1).set_if_missing(phone=None)
    )


@shop.replace(Customer)
def save(customer: Customer) -> ItemWrite:
    """Store a whole customer."""
    return item(customer)


@shop.delete(Customer)
def forget(customer_id: CustomerId) -> ItemWrite:
    """Delete a customer and release the unique values."""
    return item(customer_id=customer_id)


@shop.put(Order)
def place(order: Order) -> ItemWrite:
    """Store an order."""
    return item(order)


@shop.update(Order)
def pay(customer_id: CustomerId, order_id: str, placed_at: datetime, due_at: datetime | None) -> ItemWrite:
    """Pay an open order: it leaves one index and moves in another."""
    return (
        item(customer_id=customer_id, order_id=order_id)
        .set(status="paid")
        .assuming(placed_at=placed_at, due_at=due_at)
        .condition(F.status == "open")
    )


@shop.update(Order)
def remark(customer_id: CustomerId, order_id: str, remark_: str) -> ItemWrite:
    """Only what an index shows changes."""
    return item(customer_id=customer_id, order_id=order_id).set(remark=remark_).remove("lines")


@products.update(Product, upsert=False)
def take(product_id: int, amount: int) -> ItemWrite:
    """Take from the stock."""
    return item(product_id=product_id).subtract(stock=amount).condition(F.stock >= amount)


@products.batch_put(Product)
def import_products(products_: list[Product]) -> ItemWrite:
    """Many products."""
    return item(products_)


@products.batch_delete(Product)
def drop_products(product_ids: list[int]) -> ItemWrite:
    """Many products are gone."""
    return item(product_id=each(product_ids))


@shop.check(Customer)
def customer_is_there(customer_id: CustomerId) -> ItemWrite:
    """Check that the customer exists."""
    return item(customer_id=customer_id)


@transaction(claims=Claim("single-digit ms"))
def buy(order: Order, product_ids: list[int]) -> list[WriteCall[Any]]:
    """Store an order, check its customer and take its products."""
    return [place(order), customer_is_there(order.customer_id), take(each(product_ids), 1)]
