"""Transports: the embedded engine in this process, boto3, aiobotocore."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from functools import cache, partial
from typing import Any, Protocol

from keyplan import errors
from keyplan.client.errors import NoAnswerError
from keyplan.client.requests import Answer, Request
from keyplan.errors import ServiceError, UnknownOperationError


class Embedded(Protocol):
    """The part of an engine that connections use."""

    @property
    def waits_for_disk(self) -> bool:
        """Whether a write waits until it is on the disk."""

    def call(self, operation: str, request: Request) -> Answer:
        """Run one operation. Raises ServiceError."""

    def close(self) -> None:
        """Close the database."""


class EngineTransport:
    """Calls an engine in this process."""

    def __init__(self, engine: Embedded, *, owned: bool) -> None:
        self.engine, self._owned = engine, owned
        self.call = engine.call

    def prepared(self, operation: str) -> Callable[[str, Request], Answer]:
        """Return the function that sends an operation's requests, for those that are compiled from a pattern."""
        return _prepared(self.engine, operation)

    def close(self) -> None:
        """Close the engine, if it was opened for this connection."""
        if self._owned:
            self.engine.close()


class AsyncEngineTransport:
    """Calls an engine in this process from an event loop.

    A call takes tens of microseconds, less than a change of threads, so it runs in the loop's own thread. With
    durability "full" a write waits for the disk, which takes milliseconds: it runs in another thread.
    """

    def __init__(self, engine: Embedded, *, owned: bool) -> None:
        self.engine, self._owned = engine, owned

    async def call(self, operation: str, request: Request) -> Answer:
        """Run one operation."""
        if not self._is_immediate(operation):
            return await _in_thread(partial(self.engine.call, operation, request))
        return self.engine.call(operation, request)

    def immediate(self, operation: str) -> Callable[[str, Request], Answer] | None:
        """Return the engine's call for an operation that does not wait for the disk."""
        return _prepared(self.engine, operation) if self._is_immediate(operation) else None

    def _is_immediate(self, operation: str) -> bool:
        return operation in _READS or not self.engine.waits_for_disk

    async def close(self) -> None:
        """Close the engine, if it was opened for this connection."""
        if self._owned:
            self.engine.close()


def _prepared(engine: Embedded, operation: str) -> Callable[[str, Request], Answer]:
    """Return the engine's call for compiled requests; of an object around an engine, the object's own call."""
    prepared = getattr(type(engine), "prepared", None)
    if prepared is None:
        return engine.call
    call: Callable[[str, Request], Answer] = prepared(engine, operation)
    return call


async def _in_thread(call: Callable[[], Answer]) -> Answer:
    """Run a call in another thread, or in this one if no thread can be started."""
    answer: Future[Answer] = Future()
    unclaimed = threading.Lock()

    def make() -> None:
        if unclaimed.acquire(blocking=False) and answer.set_running_or_notify_cancel():
            try:
                answer.set_result(call())
            except BaseException as error:  # noqa: BLE001 - it is raised where the answer is awaited
                answer.set_exception(error)

    try:
        asyncio.get_running_loop().run_in_executor(None, make)
    except RuntimeError:  # it is queued all the same, and an existing thread may run it, or have run it
        make()
    return await asyncio.wrap_future(answer)


_READS = frozenset({"GetItem", "Query", "Scan", "BatchGetItem", "TransactGetItems", "DescribeTable"})


class BotoTransport:
    """Calls a boto3 client, whose own retries should be off."""

    def __init__(self, client: Any) -> None:
        self.client = client
        self._methods: dict[str, Any] = {}

    def call(self, operation: str, request: Request) -> Answer:
        """Return the answer of an operation."""
        from botocore.exceptions import ClientError, ConnectionError, HTTPClientError  # noqa: A004, PLC0415 - an extra

        method = self._methods.get(operation)
        if method is None:
            method = self._methods[operation] = getattr(self.client, snake(operation))
        try:
            answer: Answer = method(**request)
        except ClientError as error:
            raise _failure(error, self.client, operation, request) from error
        except (HTTPClientError, ConnectionError) as error:
            raise no_answer(error) from error
        return answer

    def close(self) -> None:
        """Close the client's connections."""
        self.client.close()


class AioTransport:
    """Calls an aiobotocore client, whose own retries should be off."""

    def __init__(self, client: Any, context: Any) -> None:
        self.client, self._context = client, context

    async def call(self, operation: str, request: Request) -> Answer:
        """Return the answer of an operation."""
        from botocore.exceptions import ClientError, ConnectionError, HTTPClientError  # noqa: A004, PLC0415 - an extra

        try:
            answer: Answer = await getattr(self.client, snake(operation))(**request)
        except ClientError as error:
            raise _failure(error, self.client, operation, request) from error
        except (HTTPClientError, ConnectionError) as error:
            raise no_answer(error) from error
        return answer

    def immediate(self, _operation: str) -> Callable[[str, Request], Answer] | None:
        """Return None: every operation waits for the network."""

    async def close(self) -> None:
        """Close the client's connections."""
        await self._context.__aexit__(None, None, None)


@cache
def snake(operation: str) -> str:
    """Return a client's name of an operation: get_item for GetItem."""
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in operation).lstrip("_")


def no_answer(error: Exception) -> NoAnswerError:
    """Return the error of a failed exchange: whether the service may have received the request."""
    from botocore.exceptions import ConnectTimeoutError, EndpointConnectionError  # noqa: PLC0415 - an extra

    return NoAnswerError(str(error), sent=not isinstance(error, (ConnectTimeoutError, EndpointConnectionError)))


def _failure(error: Any, client: Any, operation: str, request: Request) -> ServiceError:
    """Return the service's error for a client's; an unsupported operation is named with its endpoint and purpose."""
    failure = service_error(dict(error.response))
    if failure.code not in _UNSUPPORTED and failure.status != _NOT_IMPLEMENTED:
        return failure
    on_table = f" (table {request['TableName']})" if "TableName" in request else ""
    answer = f": {failure.message}" if failure.message else ""
    return UnknownOperationError(
        f"the endpoint {client.meta.endpoint_url} does not support {operation}, which is needed for "
        f"{_PURPOSES.get(operation, 'this call')}{on_table}{answer}"
    )


_NOT_IMPLEMENTED = 501
_UNSUPPORTED = frozenset(
    {
        "UnknownOperationException",
        "UnknownOperation",
        "UnsupportedOperation",
        "UnsupportedOperationException",
        "NotImplemented",
        "NotImplementedException",
    }
)
"""Error codes of the service, and of servers in its place, for an unsupported operation."""
_CHANGES = "consumers of changes"
_EXPIRY = "the expiry (ttl=...)"
_BACKUPS = "the backups (point_in_time_recovery=...)"
_PURPOSES = {
    "BatchGetItem": "reads of several items",
    "BatchWriteItem": "writes of several items",
    "CreateTable": "creating the declared tables",
    "DescribeContinuousBackups": _BACKUPS,
    "DescribeStream": _CHANGES,
    "DescribeTable": "comparing tables with their declarations",
    "DescribeTimeToLive": _EXPIRY,
    "GetRecords": _CHANGES,
    "GetShardIterator": _CHANGES,
    "ListStreams": _CHANGES,
    "TransactGetItems": "consistent reads of several items",
    "TransactWriteItems": "transactions and unique values",
    "UpdateContinuousBackups": _BACKUPS,
    "UpdateTimeToLive": _EXPIRY,
}


def service_error(response: dict[str, Any]) -> ServiceError:
    """Return the service's error that a client read from an answer."""
    error = response.get("Error", {})
    members = {name: value for name, value in response.items() if name not in _NO_MEMBERS}
    status = response.get("ResponseMetadata", {}).get("HTTPStatusCode", 400)
    return _class(str(error.get("Code")), int(status))(str(error.get("Message", "")), **members)


_NO_MEMBERS = frozenset({"Error", "ResponseMetadata", "message", "Message"})


@cache
def _class(code: str, status: int) -> type[ServiceError]:
    for kind in ServiceError.__subclasses__():
        if kind.code == code and kind.__module__ == errors.__name__:
            return kind
    # An unknown code keeps its name; the status decides whether the request is repeated.
    return type(code, (ServiceError,), {"code": code, "status": status})
