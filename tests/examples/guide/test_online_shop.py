"""The access patterns of the guide's online shop, on the guide's sample items."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from examples.guide.online_shop import (
    Address,
    Customer,
    Invoice,
    InvoiceDetail,
    InvoicePayments,
    Order,
    OrderItem,
    Payment,
    Product,
    ProductDetail,
    Shipment,
    ShipmentItem,
    ShippedProduct,
    Warehouse,
    WarehouseItem,
)

from examples.guide import online_shop as guide
from keyplan.client.connection import Connection
from keyplan.client.errors import TransactionFailedError


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def address(city: str, street: str, number: str, zip_code: str) -> Address:
    return Address(
        country="Sweden", county="Vastra Gotaland", city=city, street=street, number=number, zip_code=zip_code
    )


CUSTOMER = Customer(customer_id="12345", email="samaneh@example.com", name="Samaneh")
ALBUM = Product(
    product_id="12345", detail=ProductDetail(name="Options Open", description="The latest album"), price=Decimal(100)
)
BOOK = Product(
    product_id="99887", detail=ProductDetail(name="The Book", description="The best book ever"), price=Decimal(40)
)
GOTEBORG = Warehouse(warehouse_id="12345", address=address("Goteborg", "MainStreet", "20", "41111"))
BORAS = Warehouse(warehouse_id="12376", address=address("Boras", "RiverStreet", "20", "11111"))
STOCK = [
    WarehouseItem(product_id="12345", warehouse_id="12345", quantity=50),
    WarehouseItem(product_id="99887", warehouse_id="12345", quantity=4),
    WarehouseItem(product_id="99887", warehouse_id="12376", quantity=4),
]
ORDER = Order(order_id="12345", customer_id="12345", date=at("2020-06-21T19:10:00"))
ORDER_ITEMS = [
    OrderItem(
        order_id="12345",
        product_id="12345",
        customer_id="12345",
        date=at("2020-06-21T19:18:00"),
        price=Decimal(100),
        quantity=2,
    ),
    OrderItem(
        order_id="12345",
        product_id="99887",
        customer_id="12345",
        date=at("2020-06-21T19:20:00"),
        price=Decimal(40),
        quantity=5,
    ),
]
INVOICE = Invoice(
    order_id="12345",
    invoice_id="55443",
    customer_id="12345",
    date=at("2020-06-21T19:18:00"),
    amount=Decimal(400),
    detail=InvoiceDetail(
        payments=[
            Payment(type="GiftCard", amount=Decimal(100), data="GiftCard data here..."),
            Payment(type="MasterCard", amount=Decimal(300), data="Payment data here..."),
        ]
    ),
)
HOME = address("Goteborg", "Slanbarsvagen", "34", "41787")
FROM_BORAS = Shipment(
    order_id="12345",
    shipment_id="88899",
    warehouse_id="12376",
    address=HOME,
    type="Express",
    date=at("2020-06-22T08:20:00"),
)
FROM_GOTEBORG = Shipment(
    order_id="12345",
    shipment_id="98765",
    warehouse_id="12345",
    address=HOME,
    type="Express",
    date=at("2020-06-22T10:20:00"),
)


def shipped(item: str, shipment: str, product: str, quantity: int) -> ShipmentItem:
    return ShipmentItem(
        order_id="12345", shipment_item_id=item, shipment_id=shipment, product_id=product, quantity=quantity
    )


ALBUMS = shipped("55555", "98765", "12345", 2)
THREE_BOOKS = shipped("12345", "98765", "99887", 3)
TWO_BOOKS = shipped("54321", "88899", "99887", 2)


@pytest.fixture(autouse=True)
def sold(db: Connection) -> None:
    db.run(guide.add_customer(CUSTOMER))
    for product in (ALBUM, BOOK):
        db.run(guide.add_product(product))
    for warehouse in (GOTEBORG, BORAS):
        db.run(guide.add_warehouse(warehouse))
    for quantity in STOCK:
        db.run(guide.add_inventory(quantity))
    db.run(guide.place_order(ORDER, ORDER_ITEMS, INVOICE))
    db.run(guide.ship(FROM_BORAS, [TWO_BOOKS], [ShippedProduct(product_id="99887", warehouse_id="12376", quantity=2)]))
    db.run(
        guide.ship(
            FROM_GOTEBORG,
            [ALBUMS, THREE_BOOKS],
            [
                ShippedProduct(product_id="12345", warehouse_id="12345", quantity=2),
                ShippedProduct(product_id="99887", warehouse_id="12345", quantity=3),
            ],
        )
    )


def test_the_keys_match_the_guide(stored: Callable[..., list[dict[str, Any]]]) -> None:
    names = ("PK", "SK", "EntityType", "GSI1-PK", "GSI1-SK", "GSI2-PK", "GSI2-SK")
    items = {tuple(item.get(name) for name in names) for item in stored(guide.shop)}
    assert items == {
        ("c#12345", "c#12345", "customer", None, None, None, None),
        ("p#12345", "p#12345", "product", None, None, None, None),
        ("p#99887", "p#99887", "product", None, None, None, None),
        ("w#12345", "w#12345", "warehouse", None, None, None, None),
        ("w#12376", "w#12376", "warehouse", None, None, None, None),
        ("p#12345", "w#12345", "warehouseItem", None, None, "w#12345", "p#12345"),
        ("p#99887", "w#12345", "warehouseItem", None, None, "w#12345", "p#99887"),
        ("p#99887", "w#12376", "warehouseItem", None, None, "w#12376", "p#99887"),
        ("o#12345", "c#12345", "order", None, None, None, None),
        ("o#12345", "p#12345", "orderItem", "p#12345", "2020-06-21T19:18:00Z", "c#12345", "p#2020-06-21T19:18:00Z"),
        ("o#12345", "p#99887", "orderItem", "p#99887", "2020-06-21T19:20:00Z", "c#12345", "p#2020-06-21T19:20:00Z"),
        ("o#12345", "i#55443", "invoice", "i#55443", "i#55443", "c#12345", "i#2020-06-21T19:18:00Z"),
        ("o#12345", "sh#88899", "shipment", "sh#88899", "sh#88899", "w#12376", "sh#88899"),
        ("o#12345", "sh#98765", "shipment", "sh#98765", "sh#98765", "w#12345", "sh#98765"),
        ("o#12345", "shp#55555", "shipmentItem", "sh#98765", "p#12345", None, None),
        ("o#12345", "shp#12345", "shipmentItem", "sh#98765", "p#99887", None, None),
        ("o#12345", "shp#54321", "shipmentItem", "sh#88899", "p#99887", None, None),
    }


def test_1_a_customer_is_read_by_id(db: Connection) -> None:
    assert db.run(guide.customer("12345")) == CUSTOMER


def test_2_a_product_is_read_by_id(db: Connection) -> None:
    assert db.run(guide.product("99887")) == BOOK


def test_3_a_warehouse_is_read_by_id(db: Connection) -> None:
    assert db.run(guide.warehouse("12376")) == BORAS


def test_4_the_inventory_of_a_product_lists_its_warehouses(db: Connection) -> None:
    results = [(entry.warehouse_id, entry.quantity) for entry in db.run(guide.inventory_of_product("99887"))]
    assert results == [("12345", 1), ("12376", 2)]


def test_5_everything_about_an_order_is_one_query(db: Connection) -> None:
    assert db.run(guide.order_details("12345")).items == (
        ORDER,
        INVOICE,
        *ORDER_ITEMS,
        FROM_BORAS,
        FROM_GOTEBORG,
        THREE_BOOKS,
        TWO_BOOKS,
        ALBUMS,
    )


def test_5_the_parts_of_an_order_are_read_by_their_type(db: Connection) -> None:
    details = db.run(guide.order_details("12345"))
    assert details.of(OrderItem) == ORDER_ITEMS
    assert details.of(Shipment) == [FROM_BORAS, FROM_GOTEBORG]


def test_6_the_products_of_an_order_are_a_range(db: Connection) -> None:
    assert db.run(guide.products_of_order("12345")).items == tuple(ORDER_ITEMS)


def test_7_the_invoice_of_an_order_is_a_range(db: Connection) -> None:
    assert db.run(guide.invoices_of_order("12345")).items == (INVOICE,)


def test_8_the_shipments_of_an_order_leave_out_their_items(db: Connection) -> None:
    assert db.run(guide.shipments_of_order("12345")).items == (FROM_BORAS, FROM_GOTEBORG)


def test_9_the_orders_of_a_product_are_found_between_two_dates(db: Connection) -> None:
    start, end = at("2020-06-21T00:00:00"), at("2020-06-21T19:19:00")
    assert db.run(guide.orders_of_product("12345", start, end)).items == (ORDER_ITEMS[0],)
    assert not db.run(guide.orders_of_product("99887", start, end)).items


def test_10_an_invoice_is_read_by_its_id(db: Connection) -> None:
    assert db.run(guide.invoice("55443")).items == (INVOICE,)


def test_11_the_payments_of_an_invoice_are_read_by_its_id(db: Connection) -> None:
    result = db.run(guide.payments_of_invoice("55443"))
    assert result.items == (InvoicePayments(order_id="12345", invoice_id="55443", detail=INVOICE.detail),)
    assert sum(payment.amount for payment in result.items[0].detail.payments) == 400


def test_12_a_shipment_is_read_with_its_items(db: Connection) -> None:
    assert db.run(guide.shipment_details("98765")).items == (ALBUMS, THREE_BOOKS, FROM_GOTEBORG)


def test_13_the_shipments_from_a_warehouse_are_listed(db: Connection) -> None:
    assert db.run(guide.shipments_of_warehouse("12376")).items == (FROM_BORAS,)


def test_14_the_inventory_of_a_warehouse_lists_its_products(db: Connection) -> None:
    results = [(entry.product_id, entry.quantity) for entry in db.run(guide.inventory_of_warehouse("12345"))]
    assert results == [("12345", 48), ("99887", 1)]


def test_15_the_invoices_of_a_customer_are_found_between_two_dates(db: Connection) -> None:
    june, july = at("2020-06-01T00:00:00"), at("2020-07-01T00:00:00")
    assert db.run(guide.invoices_of_customer("12345", june, july)).items == (INVOICE,)
    assert not db.run(guide.invoices_of_customer("12345", july, at("2020-08-01T00:00:00"))).items


def test_16_the_products_of_a_customer_are_found_between_two_dates(db: Connection) -> None:
    june, evening = at("2020-06-01T00:00:00"), at("2020-06-21T19:19:00")
    assert db.run(guide.products_of_customer("12345", june, evening)).items == (ORDER_ITEMS[0],)


def test_the_warehouse_never_ships_more_than_its_stock(db: Connection) -> None:
    late = FROM_BORAS.model_copy(update={"shipment_id": "77777"})
    books = ShippedProduct(product_id="99887", warehouse_id="12376", quantity=3)
    with pytest.raises(TransactionFailedError):
        db.run(guide.ship(late, [shipped("66666", "77777", "99887", 3)], [books]))
    assert db.run(guide.shipments_of_warehouse("12376")).items == (FROM_BORAS,)


def test_two_entries_of_one_product_are_refused_before_the_shipment(db: Connection) -> None:
    books = ShippedProduct(product_id="99887", warehouse_id="12376", quantity=1)
    with pytest.raises(ValueError, match="add up the quantities"):
        guide.ship(FROM_BORAS, [TWO_BOOKS], [books, books])
