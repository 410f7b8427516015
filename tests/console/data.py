"""Sample tables for the tests of the console's Data pages."""

from __future__ import annotations

from typing import Any, Protocol


class Database(Protocol):
    """An engine, or the source of a console."""

    def call(self, operation: str, request: dict[str, Any], /) -> dict[str, Any]:
        """Run an operation."""


PICTURES = ("<img src=x onerror=alert(1)>", '"><script>alert(1)</script>', "{{ 7*7 }}", "javascript:alert(1)")
"""Texts that would run a script in a page that does not escape them."""


def create(engine: Database, name: str = "orders", **options: Any) -> None:
    """Create a table of orders: a string and a number as key, and an index by status."""
    engine.call(
        "CreateTable",
        {
            "TableName": name,
            "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": [
                {"AttributeName": "customer", "AttributeType": "S"},
                {"AttributeName": "number", "AttributeType": "N"},
                {"AttributeName": "status", "AttributeType": "S"},
            ],
            "KeySchema": [
                {"AttributeName": "customer", "KeyType": "HASH"},
                {"AttributeName": "number", "KeyType": "RANGE"},
            ],
            "GlobalSecondaryIndexes": [
                {
                    "IndexName": "by-status",
                    "KeySchema": [
                        {"AttributeName": "status", "KeyType": "HASH"},
                        {"AttributeName": "number", "KeyType": "RANGE"},
                    ],
                    "Projection": {"ProjectionType": "KEYS_ONLY"},
                }
            ],
            **options,
        },
    )


def put(engine: Database, customer: str, number: int, table: str = "orders", **attributes: dict[str, Any]) -> None:
    """Store an order."""
    engine.call(
        "PutItem",
        {"TableName": table, "Item": {"customer": {"S": customer}, "number": {"N": str(number)}, **attributes}},
    )


def get(engine: Database, customer: str, number: int, table: str = "orders") -> dict[str, Any] | None:
    """Return a stored order, or None."""
    key = {"customer": {"S": customer}, "number": {"N": str(number)}}
    item: dict[str, Any] | None = engine.call("GetItem", {"TableName": table, "Key": key}).get("Item")
    return item


def fill(engine: Database) -> None:
    """Store seven orders of three customers, with values of all types."""
    names = ("Ada Lovelace", "Grace Hopper", "Alan Turing")
    states = ("open", "shipped", "paid")
    for place in range(7):
        put(
            engine,
            names[place % 3],
            1000 + place,
            status={"S": states[place % 3]},
            total={"N": f"{19 + place * 7}.90"},
            express={"BOOL": place % 2 == 0},
            tags={"SS": ["gift", "fragile"][: 1 + place % 2]},
            address={"M": {"city": {"S": "London"}, "lines": {"L": [{"S": "12 St James's Square"}]}}},
            label={"B": bytes(range(8))},
        )
