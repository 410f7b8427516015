"""aiobotocore: the same client, awaited."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

session_module = pytest.importorskip("aiobotocore.session")

Work = Callable[[Any], Awaitable[None]]


@pytest.fixture
def run(endpoint: str | None) -> Callable[[Work], None]:
    """Return a function that runs a coroutine function with a client, each in a new event loop."""

    async def with_client(work: Work) -> None:
        session = session_module.get_session()
        async with session.create_client("dynamodb", endpoint_url=endpoint) as client:
            await work(client)

    return lambda work: asyncio.run(with_client(work))


def item(placed: int) -> dict[str, Any]:
    return {"customer": {"S": "ann"}, "placed": {"N": str(placed)}}


def test_items_are_written_and_read_concurrently(run: Callable[[Work], None], table: str) -> None:
    async def work(client: Any) -> None:
        await asyncio.gather(*(client.put_item(TableName=table, Item=item(n)) for n in range(20)))
        got = await asyncio.gather(*(client.get_item(TableName=table, Key=item(n)) for n in range(20)))
        assert [response["Item"] for response in got] == [item(n) for n in range(20)]

    run(work)


def test_pages_and_waiters_are_awaited(run: Callable[[Work], None], orders: dict[str, Any]) -> None:
    async def work(client: Any) -> None:
        await client.create_table(**orders)
        await client.get_waiter("table_exists").wait(TableName="orders")
        puts = [{"PutRequest": {"Item": item(n)}} for n in range(10)]
        await client.batch_write_item(RequestItems={"orders": puts})
        pages = client.get_paginator("query").paginate(
            TableName="orders",
            KeyConditionExpression="customer = :c",
            ExpressionAttributeValues={":c": {"S": "ann"}},
            PaginationConfig={"PageSize": 4},
        )
        assert [len(page["Items"]) async for page in pages] == [4, 4, 2]

    run(work)


def test_errors_are_raised_when_awaited(run: Callable[[Work], None], table: str) -> None:
    async def work(client: Any) -> None:
        await client.put_item(TableName=table, Item=item(1))
        write = {
            "Put": {
                "TableName": table,
                "Item": item(1),
                "ConditionExpression": "attribute_not_exists(customer)",
            }
        }
        with pytest.raises(client.exceptions.TransactionCanceledException) as caught:
            await client.transact_write_items(TransactItems=[write])
        (reason,) = caught.value.response["CancellationReasons"]
        assert reason["Code"] == "ConditionalCheckFailed"

    run(work)
