"""The pytest plugin, which provides a new database and clients for every test.

| fixture                  | value                                                                       |
| ------------------------ | --------------------------------------------------------------------------- |
| `keyplan_engine`         | a new in-memory engine for every test, closed at the end of the test        |
| `engine`                 | the same engine, under a shorter name                                       |
| `engine_template`        | the engine's initial state; override it to start with tables and data       |
| `dynamodb_client`        | a boto3 client for DynamoDB whose calls the engine answers                  |
| `dynamodb_resource`      | a boto3 resource for DynamoDB whose calls the engine answers                |
| `dynamodbstreams_client` | a boto3 client for DynamoDB Streams whose calls the engine answers          |
| `dynamodb_answered`      | the engine, which answers every DynamoDB client in the process in this test |
| `dynamodb_endpoint`      | the URL of an HTTP server for the engine, on a free port of this machine    |

Override `engine_template` at session scope with an engine that contains common tables and data. Each test then gets a
separate copy, which takes about a millisecond:

    @pytest.fixture(scope="session")
    def engine_template():
        with Engine.memory() as engine:
            create_tables(engine)
            yield engine

The marker `keyplan` passes options to the engine of a test: `@pytest.mark.keyplan(clock=...)`.

Only pytest is imported before a fixture is used, because pytest loads this module in every run.
"""

# ruff: noqa: PLC0415  fixtures import modules on first use, as said above

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from keyplan.engine.engine import Engine

# For code that creates its own clients. Existing environment variables are not overwritten.
_CLIENT_ENVIRONMENT = {
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_ACCESS_KEY_ID": "keyplan",
    "AWS_SECRET_ACCESS_KEY": "keyplan",
}


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker `keyplan`."""
    config.addinivalue_line("markers", "keyplan(**options): options of the engine for this test.")


@pytest.fixture(scope="session")
def engine_template() -> Engine | None:
    """Return the engine that is copied for every test, or None if every test starts with an empty engine.

    By default, return None. Override this fixture to start with tables and data.
    """
    return None


@pytest.fixture
def keyplan_engine(request: pytest.FixtureRequest, engine_template: Engine | None) -> Iterator[Engine]:
    """Yield an in-memory engine for one test: a copy of the template, or an empty engine."""
    from keyplan.engine.engine import Engine

    marker = request.node.get_closest_marker("keyplan")
    options: dict[str, Any] = marker.kwargs if marker else {}
    make = Engine.memory if engine_template is None else engine_template.copy
    with make(**options) as engine:
        yield engine


@pytest.fixture
def engine(keyplan_engine: Engine) -> Engine:
    """Return the same engine as `keyplan_engine`."""
    return keyplan_engine


@pytest.fixture
def dynamodb_client(keyplan_engine: Engine) -> Any:
    """Return a boto3 client for DynamoDB whose calls the test's engine answers."""
    from keyplan.testing.boto import make_client

    return make_client("dynamodb", keyplan_engine)


@pytest.fixture
def dynamodbstreams_client(keyplan_engine: Engine) -> Any:
    """Return a boto3 client for DynamoDB Streams whose calls the test's engine answers."""
    from keyplan.testing.boto import make_client

    return make_client("dynamodbstreams", keyplan_engine)


@pytest.fixture
def dynamodb_resource(keyplan_engine: Engine) -> Any:
    """Return a boto3 resource for DynamoDB whose calls the test's engine answers."""
    from keyplan.testing.boto import make_resource

    return make_resource(keyplan_engine)


@pytest.fixture
def dynamodb_answered(keyplan_engine: Engine, monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    """Yield the test's engine, which answers the calls of every DynamoDB client in this process during the test.

    A Region and credentials are set in the environment for code that creates clients.
    """
    import os

    from keyplan.testing.boto import answered_by

    for name, value in _CLIENT_ENVIRONMENT.items():
        monkeypatch.setenv(name, os.environ.get(name, value))
    with answered_by(keyplan_engine):
        yield keyplan_engine


@pytest.fixture
def dynamodb_endpoint(keyplan_engine: Engine) -> Iterator[str]:
    """Yield the URL of an HTTP server for the test's engine. Clients in any language can use it."""
    from keyplan.testing.endpoint import serving

    with serving(keyplan_engine) as url:
        yield url
