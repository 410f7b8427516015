"""An online shop, from the data modeling examples of the DynamoDB developer guide.

https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/data-modeling-online-shop.html

Everything about an order is one item collection, and two overloaded indexes serve the other reads. The sixteen reads
are in the order of the guide's table, and each docstring starts with the guide's name.

Differences from the guide:

* Dates are in UTC and end with `Z`, because keyplan stores no local times. Prices, amounts and quantities are numbers.
* Items also have the attributes from which their index keys are made, such as `CustomerId` of an invoice.
* `getShipmentDetailsByShipmentId` reads the whole collection of a shipment, so that its items are included.
"""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import Annotated

from pydantic import AfterValidator, BaseModel, Field

from keyplan import (
    GSI,
    Attribute,
    Bytes,
    Entity,
    F,
    ItemKey,
    ItemWrite,
    KeyCondition,
    Rate,
    Table,
    View,
    Volume,
    WriteCall,
    each,
    item,
    key,
    pk,
    transaction,
)

Id = Annotated[str, Field(min_length=1, max_length=64, pattern="^[^#]+$")]

shop = Table(
    "OnlineShop",
    pk="PK",
    sk="SK",
    indexes=[GSI("GSI1", pk="GSI1-PK", sk="GSI1-SK"), GSI("GSI2", pk="GSI2-PK", sk="GSI2-SK")],
    discriminator="EntityType",
    point_in_time_recovery=True,
    deletion_protection=True,
)


class Address(BaseModel):
    country: Annotated[str, Field(alias="Country")]
    county: Annotated[str, Field(alias="County")]
    city: Annotated[str, Field(alias="City")]
    street: Annotated[str, Field(alias="Street")]
    number: Annotated[str, Field(alias="Number")]
    zip_code: Annotated[str, Field(alias="ZipCode")]

    model_config = {"populate_by_name": True}


class ProductDetail(BaseModel):
    name: Annotated[str, Field(alias="Name")]
    description: Annotated[str, Field(alias="Description")]

    model_config = {"populate_by_name": True}


class Payment(BaseModel):
    type: Annotated[str, Field(alias="Type")]
    amount: Annotated[Decimal, Field(alias="Amount")]
    data: Annotated[str, Field(alias="Data")]

    model_config = {"populate_by_name": True}


class InvoiceDetail(BaseModel):
    payments: Annotated[list[Payment], Field(alias="Payments")]

    model_config = {"populate_by_name": True}


class ShippedProduct(BaseModel):
    product_id: Id
    warehouse_id: Id
    quantity: Annotated[int, Field(ge=1)]


@shop.entity(
    name="customer",
    key=key("c#{customer_id}", "c#{customer_id}"),
    volume=Volume(count=200_000, bytes=Bytes(200)),
    store_key_fields=False,
)
class Customer(Entity):
    customer_id: Id
    email: Annotated[str, Attribute("Email")]
    name: Annotated[str, Attribute("Name")]


@shop.entity(
    name="product",
    key=key("p#{product_id}", "p#{product_id}"),
    volume=Volume(count=50_000, bytes=Bytes(600)),
    store_key_fields=False,
)
class Product(Entity):
    product_id: Id
    detail: Annotated[ProductDetail, Attribute("Detail")]
    price: Annotated[Decimal, Attribute("Price")]


@shop.entity(
    name="warehouse",
    key=key("w#{warehouse_id}", "w#{warehouse_id}"),
    volume=Volume(count=20, bytes=Bytes(300)),
    store_key_fields=False,
)
class Warehouse(Entity):
    warehouse_id: Id
    address: Annotated[Address, Attribute("Address")]


@shop.entity(
    name="warehouseItem",
    key=key("p#{product_id}", "w#{warehouse_id}"),
    indexes={"GSI2": key("w#{warehouse_id}", "p#{product_id}")},
    volume=Volume(count=100_000, bytes=Bytes(100), distinct={"product_id": 50_000, "warehouse_id": 20}),
    store_key_fields=False,
)
class WarehouseItem(Entity):
    product_id: Id
    warehouse_id: Id
    quantity: Annotated[int, Attribute("Quantity")]


@shop.entity(
    name="order",
    key=key("o#{order_id}", "c#{customer_id}"),
    volume=Volume(count=2_000_000, bytes=Bytes(100), distinct={"customer_id": 200_000}),
    store_key_fields=False,
)
class Order(Entity):
    order_id: Id
    customer_id: Id
    date: Annotated[datetime, Attribute("Date", stored="iso_s")]


@shop.entity(
    name="orderItem",
    key=key("o#{order_id}", "p#{product_id}"),
    indexes={
        "GSI1": key("p#{product_id}", "{date:utc_s}"),
        "GSI2": key("c#{customer_id}", "p#{date:utc_s}"),
    },
    volume=Volume(
        count=5_000_000,
        bytes=Bytes(200),
        distinct={"order_id": 2_000_000, "product_id": 50_000, "customer_id": 200_000},
    ),
    store_key_fields=False,
)
class OrderItem(Entity):
    order_id: Id
    product_id: Id
    customer_id: Annotated[Id, Attribute("CustomerId")]
    date: Annotated[datetime, Attribute("Date", stored="iso_s")]
    price: Annotated[Decimal, Attribute("Price")]
    quantity: Annotated[int, Attribute("Quantity")]


@shop.entity(
    name="invoice",
    key=key("o#{order_id}", "i#{invoice_id}"),
    indexes={
        "GSI1": key("i#{invoice_id}", "i#{invoice_id}"),
        "GSI2": key("c#{customer_id}", "i#{date:utc_s}"),
    },
    volume=Volume(count=2_000_000, bytes=Bytes(500), distinct={"order_id": 2_000_000, "customer_id": 200_000}),
    store_key_fields=False,
)
class Invoice(Entity):
    order_id: Id
    invoice_id: Id
    customer_id: Annotated[Id, Attribute("CustomerId")]
    date: Annotated[datetime, Attribute("Date", stored="iso_s")]
    amount: Annotated[Decimal, Attribute("Amount")]
    detail: Annotated[InvoiceDetail, Attribute("Detail")]


@shop.entity(
    name="shipment",
    key=key("o#{order_id}", "sh#{shipment_id}"),
    indexes={
        "GSI1": key("sh#{shipment_id}", "sh#{shipment_id}"),
        "GSI2": key("w#{warehouse_id}", "sh#{shipment_id}"),
    },
    volume=Volume(count=2_500_000, bytes=Bytes(400), distinct={"order_id": 2_000_000, "warehouse_id": 20}),
    store_key_fields=False,
)
class Shipment(Entity):
    order_id: Id
    shipment_id: Id
    warehouse_id: Annotated[Id, Attribute("WarehouseId")]
    address: Annotated[Address, Attribute("Address")]
    type: Annotated[str, Attribute("Type")]
    date: Annotated[datetime, Attribute("Date", stored="iso_s")]


@shop.entity(
    name="shipmentItem",
    key=key("o#{order_id}", "shp#{shipment_item_id}"),
    indexes={"GSI1": key("sh#{shipment_id}", "p#{product_id}")},
    volume=Volume(
        count=5_000_000,
        bytes=Bytes(150),
        distinct={"order_id": 2_000_000, "shipment_id": 2_500_000, "product_id": 50_000},
    ),
    store_key_fields=False,
)
class ShipmentItem(Entity):
    order_id: Id
    shipment_item_id: Id
    shipment_id: Annotated[Id, Attribute("ShipmentId")]
    product_id: Annotated[Id, Attribute("ProductId")]
    quantity: Annotated[int, Attribute("Quantity")]


class InvoicePayments(View[Invoice]):
    """The attributes of an invoice from which its payments are read."""

    order_id: Id
    invoice_id: Id
    detail: Annotated[InvoiceDetail, Attribute("Detail")]


@shop.get(Customer, rate=Rate(average=20, peak=100))
def customer(customer_id: Id) -> ItemKey:
    """getCustomerByCustomerId: get a customer."""
    return item(customer_id=customer_id)


@shop.get(Product, rate=Rate(average=200, peak=1_000))
def product(product_id: Id) -> ItemKey:
    """getProductByProductId: get a product."""
    return item(product_id=product_id)


@shop.get(Warehouse, rate=Rate(average=1))
def warehouse(warehouse_id: Id) -> ItemKey:
    """getWarehouseByWarehouseId: get a warehouse."""
    return item(warehouse_id=warehouse_id)


@shop.query(WarehouseItem, rate=Rate(average=50, peak=200))
def inventory_of_product(product_id: Id) -> KeyCondition:
    """getProductInventoryByProductId: list the quantity of a product in each warehouse."""
    return pk(product_id=product_id)


@shop.query(Order, OrderItem, Invoice, Shipment, ShipmentItem, rate=Rate(average=10, peak=50))
def order_details(order_id: Id) -> KeyCondition:
    """getOrderDetailsByOrderId: get all items of an order's item collection with one query."""
    return pk(order_id=order_id)


@shop.query(OrderItem, rate=Rate(average=10, peak=50))
def products_of_order(order_id: Id) -> KeyCondition:
    """getProductByOrderId: list the products of an order."""
    return pk(order_id=order_id)


@shop.query(Invoice, rate=Rate(average=5, peak=20))
def invoices_of_order(order_id: Id) -> KeyCondition:
    """getInvoiceByOrderId: get the invoice for an order."""
    return pk(order_id=order_id)


@shop.query(Shipment, rate=Rate(average=5, peak=20))
def shipments_of_order(order_id: Id) -> KeyCondition:
    """getShipmentByOrderId: list the shipments of an order."""
    return pk(order_id=order_id)


@shop.query(OrderItem, index="GSI1", page_size=100, rate=Rate(average=1, peak=5))
def orders_of_product(product_id: Id, start: datetime, end: datetime) -> KeyCondition:
    """getOrderByProductIdForDateRange: list the orders of a product between two dates."""
    return pk(product_id=product_id).sk.between(start, end)


@shop.query(Invoice, index="GSI1", rate=Rate(average=5, peak=20))
def invoice(invoice_id: Id) -> KeyCondition:
    """getInvoiceByInvoiceId: get an invoice."""
    return pk(invoice_id=invoice_id).sk(invoice_id=invoice_id)


@shop.query(InvoicePayments, index="GSI1", rate=Rate(average=5, peak=20))
def payments_of_invoice(invoice_id: Id) -> KeyCondition:
    """getPaymentByInvoiceId: get the payments for an invoice."""
    return pk(invoice_id=invoice_id).sk(invoice_id=invoice_id)


@shop.query(Shipment, ShipmentItem, index="GSI1", rate=Rate(average=5, peak=20))
def shipment_details(shipment_id: Id) -> KeyCondition:
    """getShipmentDetailsByShipmentId: get a shipment and its items."""
    return pk(shipment_id=shipment_id)


@shop.query(Shipment, index="GSI2", page_size=100, rate=Rate(average=1, peak=5))
def shipments_of_warehouse(warehouse_id: Id) -> KeyCondition:
    """getShipmentByWarehouseId: list the shipments from a warehouse."""
    return pk(warehouse_id=warehouse_id)


@shop.query(WarehouseItem, index="GSI2", page_size=100, rate=Rate(average=1, peak=5))
def inventory_of_warehouse(warehouse_id: Id) -> KeyCondition:
    """getProductInventoryByWarehouseId: list the quantity of each product in a warehouse."""
    return pk(warehouse_id=warehouse_id)


@shop.query(Invoice, index="GSI2", page_size=100, rate=Rate(average=2, peak=10))
def invoices_of_customer(customer_id: Id, start: datetime, end: datetime) -> KeyCondition:
    """getInvoiceByCustomerIdForDateRange: list the invoices for a customer between two dates."""
    return pk(customer_id=customer_id).sk.between(start, end)


@shop.query(OrderItem, index="GSI2", page_size=100, rate=Rate(average=2, peak=10))
def products_of_customer(customer_id: Id, start: datetime, end: datetime) -> KeyCondition:
    """getProductsByCustomerIdForDateRange: list the products that a customer ordered between two dates."""
    return pk(customer_id=customer_id).sk.between(start, end)


@shop.create(Customer, rate=Rate(average=0.1))
def add_customer(new: Customer) -> ItemWrite:
    """Store a new customer."""
    return item(new)


@shop.create(Product, rate=Rate(average=0.1))
def add_product(new: Product) -> ItemWrite:
    """Store a new product."""
    return item(new)


@shop.create(Warehouse, rate=Rate(average=0.001))
def add_warehouse(new: Warehouse) -> ItemWrite:
    """Store a new warehouse."""
    return item(new)


@shop.create(WarehouseItem, rate=Rate(average=0.1))
def add_inventory(new: WarehouseItem) -> ItemWrite:
    """Store a product in a warehouse for the first time."""
    return item(new)


@shop.update(WarehouseItem)
def take_from_warehouse(shipped: ShippedProduct) -> ItemWrite:
    """Reduce the quantity of a product in a warehouse, if the warehouse has enough of the product."""
    return (
        item(product_id=shipped.product_id, warehouse_id=shipped.warehouse_id)
        .subtract(quantity=shipped.quantity)
        .condition(F.quantity >= shipped.quantity)
    )


@shop.create(Order)
def add_order(new: Order) -> ItemWrite:
    """Store a new order."""
    return item(new)


@shop.create(OrderItem)
def add_order_item(new: OrderItem) -> ItemWrite:
    """Store a product in an order."""
    return item(new)


@shop.create(Invoice)
def add_invoice(new: Invoice) -> ItemWrite:
    """Store the invoice for an order."""
    return item(new)


@transaction(rate=Rate(average=1, peak=10), expected_items=3)
def place_order(
    order: Order, items: Annotated[list[OrderItem], Field(max_length=90)], invoice: Invoice
) -> list[WriteCall[Order] | WriteCall[OrderItem] | WriteCall[Invoice]]:
    """Store an order with its products and its invoice."""
    return [add_order(order), add_order_item(each(items)), add_invoice(invoice)]


@shop.create(Shipment)
def add_shipment(new: Shipment) -> ItemWrite:
    """Store a new shipment."""
    return item(new)


@shop.create(ShipmentItem)
def add_shipment_item(new: ShipmentItem) -> ItemWrite:
    """Store a product in a shipment."""
    return item(new)


def once_each(shipped: list[ShippedProduct]) -> list[ShippedProduct]:
    """Reject two entries with the same product and warehouse, because a transaction can write each item only once."""
    if len({(entry.product_id, entry.warehouse_id) for entry in shipped}) < len(shipped):
        raise ValueError("add up the quantities of a product from one warehouse")
    return shipped


@transaction(rate=Rate(average=1, peak=10), expected_items=2)
def ship(
    shipment: Shipment,
    items: Annotated[list[ShipmentItem], Field(max_length=45)],
    shipped: Annotated[list[ShippedProduct], Field(max_length=45), AfterValidator(once_each)],
) -> list[WriteCall[Shipment] | WriteCall[ShipmentItem] | WriteCall[WarehouseItem]]:
    """Store a shipment with its items, and deduct the shipped quantities from the warehouses.

    `shipped` has one entry for each product and warehouse, with the total quantity.
    """
    return [add_shipment(shipment), add_shipment_item(each(items)), take_from_warehouse(each(shipped))]
