"""One engine behind two doors: clients are tested in process and over HTTP, with the same code."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import boto3
import pytest
from tests.sdk import alone

from keyplan.engine.engine import Engine
from keyplan.testing.boto import answered_by
from keyplan.testing.endpoint import serving

REGION = "eu-west-1"


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Set a region and credentials, without files of the user and without a proxy."""
    alone(monkeypatch, tmp_path_factory, AWS_DEFAULT_REGION=REGION)


@pytest.fixture
def engine() -> Iterator[Engine]:
    """Yield the engine that is reached in process and over HTTP."""
    with Engine.memory() as engine:
        yield engine


@pytest.fixture
def http_endpoint(engine: Engine) -> Iterator[str]:
    """Yield the URL of the HTTP server."""
    with serving(engine) as url:
        yield url


@pytest.fixture(params=["in process", "over HTTP"])
def endpoint(request: pytest.FixtureRequest, engine: Engine) -> Iterator[str | None]:
    """Yield the endpoint URL of clients: None in process, where requests do not leave the process."""
    if request.param == "over HTTP":
        with serving(engine) as url:
            yield url
    else:
        with answered_by(engine):
            yield None


@pytest.fixture
def connect(endpoint: str | None) -> Iterator[Callable[[str], Any]]:
    """Yield a factory of boto3 clients of the engine, and close the clients afterwards."""
    clients = []

    def make(service: str) -> Any:
        clients.append(boto3.client(service, endpoint_url=endpoint))  # type: ignore[call-overload]
        return clients[-1]

    yield make
    for client in clients:
        client.close()


@pytest.fixture
def client(connect: Callable[[str], Any]) -> Any:
    """Return a boto3 client of DynamoDB."""
    return connect("dynamodb")


@pytest.fixture
def orders() -> dict[str, Any]:
    """Return the CreateTable request of a table with a sort key, both kinds of index and a stream."""
    return {
        "TableName": "orders",
        "KeySchema": [
            {"AttributeName": "customer", "KeyType": "HASH"},
            {"AttributeName": "placed", "KeyType": "RANGE"},
        ],
        "AttributeDefinitions": [
            {"AttributeName": "customer", "AttributeType": "S"},
            {"AttributeName": "placed", "AttributeType": "N"},
            {"AttributeName": "state", "AttributeType": "S"},
            {"AttributeName": "total", "AttributeType": "N"},
        ],
        "GlobalSecondaryIndexes": [
            {
                "IndexName": "by-state",
                "KeySchema": [
                    {"AttributeName": "state", "KeyType": "HASH"},
                    {"AttributeName": "placed", "KeyType": "RANGE"},
                ],
                "Projection": {"ProjectionType": "ALL"},
            }
        ],
        "LocalSecondaryIndexes": [
            {
                "IndexName": "by-total",
                "KeySchema": [
                    {"AttributeName": "customer", "KeyType": "HASH"},
                    {"AttributeName": "total", "KeyType": "RANGE"},
                ],
                "Projection": {"ProjectionType": "KEYS_ONLY"},
            }
        ],
        "BillingMode": "PAY_PER_REQUEST",
        "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
    }


@pytest.fixture
def table(engine: Engine, orders: dict[str, Any]) -> str:
    """Create the table and return its name."""
    engine.call("CreateTable", orders)
    name: str = orders["TableName"]
    return name
