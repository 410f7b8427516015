"""Transports for the embedded engine, boto3 and aiobotocore."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from functools import cache, partial
from typing import Any, Protocol

from keyplan import errors
from keyplan.client.errors import NoAnswerError
from keyplan.client.requests import Request, Response
from keyplan.errors import ServiceError, UnknownOperationError


class Embedded(Protocol):
    """The interface of the embedded engine, as used by connections."""

    @property
    def waits_for_disk(self) -> bool:
        """Whether a write waits until its data is on disk."""

    def call(self, operation: str, request: Request) -> Response:
        """Run one operation. Raises ServiceError if DynamoDB would return an error."""

    def close(self) -> None:
        """Close the database."""


class EngineTransport:
    """A transport that calls an engine in this process."""

    def __init__(self, engine: Embedded, *, owned: bool) -> None:
        self.engine, self._owned = engine, owned
        self.call = engine.call

    def prepared(self, operation: str) -> Callable[[str, Request], Response]:
        """Return the engine's fast function for an operation. It accepts only requests that were compiled from
        patterns.
        """
        return _prepared(self.engine, operation)

    def close(self) -> None:
        """Close the engine if it was opened for this connection."""
        if self._owned:
            self.engine.close()


class AsyncEngineTransport:
    """A transport for asyncio that calls an engine in this process.

    A call usually needs only tens of microseconds, which is less than the cost of a thread switch. Therefore, it runs
    in the event loop's thread. With durability "full", a write waits milliseconds for the disk, so it runs in another
    thread.
    """

    def __init__(self, engine: Embedded, *, owned: bool) -> None:
        self.engine, self._owned = engine, owned

    async def call(self, operation: str, request: Request) -> Response:
        """Run one DynamoDB operation on the engine and return its response."""
        if not self._is_immediate(operation):
            return await _in_thread(partial(self.engine.call, operation, request))
        return self.engine.call(operation, request)

    def immediate(self, operation: str) -> Callable[[str, Request], Response] | None:
        """Return the engine's function for an operation, or None if the operation must wait for the disk."""
        return _prepared(self.engine, operation) if self._is_immediate(operation) else None

    def _is_immediate(self, operation: str) -> bool:
        return operation in _READS or not self.engine.waits_for_disk

    async def close(self) -> None:
        """Close the engine if it was opened for this connection."""
        if self._owned:
            self.engine.close()


def _prepared(engine: Embedded, operation: str) -> Callable[[str, Request], Response]:
    """Return the engine's fast function for compiled requests. For a wrapper without such a function, return
    `engine.call`.
    """
    prepared = getattr(type(engine), "prepared", None)
    if prepared is None:
        return engine.call
    call: Callable[[str, Request], Response] = prepared(engine, operation)
    return call


async def _in_thread(call: Callable[[], Response]) -> Response:
    """Run a call in another thread, or in the current thread if no thread can be started."""
    future: Future[Response] = Future()
    unclaimed = threading.Lock()

    def run_call() -> None:
        if unclaimed.acquire(blocking=False) and future.set_running_or_notify_cancel():
            try:
                future.set_result(call())
            except BaseException as error:  # noqa: BLE001 - raised again where the response is awaited
                future.set_exception(error)

    try:
        asyncio.get_running_loop().run_in_executor(None, run_call)
    except RuntimeError:  # no new thread; the call is queued anyway, and `make` runs it at most once
        run_call()
    return await asyncio.wrap_future(future)


_READS = frozenset({"GetItem", "Query", "Scan", "BatchGetItem", "TransactGetItems", "DescribeTable"})


class BotoTransport:
    """A transport that uses a boto3 client. The retries of the client should be turned off."""

    def __init__(self, client: Any) -> None:
        self.client = client
        self._methods: dict[str, Any] = {}

    def call(self, operation: str, request: Request) -> Response:
        """Send a request and return the response. Raises ServiceError for an error response."""
        from botocore.exceptions import ClientError, ConnectionError, HTTPClientError  # noqa: A004, PLC0415 - an extra

        method = self._methods.get(operation)
        if method is None:
            method = self._methods[operation] = getattr(self.client, snake(operation))
        try:
            response: Response = method(**request)
        except ClientError as error:
            raise _failure(error, self.client, operation, request) from error
        except (HTTPClientError, ConnectionError) as error:
            raise no_answer(error) from error
        return response

    def close(self) -> None:
        """Close the connections of the client."""
        self.client.close()


class AioTransport:
    """A transport that uses an aiobotocore client. The retries of the client should be turned off."""

    def __init__(self, client: Any, context: Any) -> None:
        self.client, self._context = client, context

    async def call(self, operation: str, request: Request) -> Response:
        """Send a request and return the response. Raises ServiceError for an error response."""
        from botocore.exceptions import ClientError, ConnectionError, HTTPClientError  # noqa: A004, PLC0415 - an extra

        try:
            response: Response = await getattr(self.client, snake(operation))(**request)
        except ClientError as error:
            raise _failure(error, self.client, operation, request) from error
        except (HTTPClientError, ConnectionError) as error:
            raise no_answer(error) from error
        return response

    def immediate(self, _operation: str) -> Callable[[str, Request], Response] | None:
        """Return None, because every operation waits for the network."""

    async def close(self) -> None:
        """Close the connections of the client."""
        await self._context.__aexit__(None, None, None)


@cache
def snake(operation: str) -> str:
    """Return the name of the client method for an operation, such as get_item for GetItem."""
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in operation).lstrip("_")


def no_answer(error: Exception) -> NoAnswerError:
    """Return the error for a request without a response. Its `sent` attribute is True if the server may have received
    the request.
    """
    from botocore.exceptions import ConnectTimeoutError, EndpointConnectionError  # noqa: PLC0415 - an extra

    return NoAnswerError(str(error), sent=not isinstance(error, (ConnectTimeoutError, EndpointConnectionError)))


def _failure(error: Any, client: Any, operation: str, request: Request) -> ServiceError:
    """Convert an exception from an AWS SDK client to a ServiceError.

    If the server does not support the operation, the message names the endpoint and the purpose of the operation.
    """
    failure = service_error(dict(error.response))
    if failure.code not in _UNSUPPORTED and failure.status != _NOT_IMPLEMENTED:
        return failure
    on_table = f" (table {request['TableName']})" if "TableName" in request else ""
    message = f": {failure.message}" if failure.message else ""
    return UnknownOperationError(
        f"the endpoint {client.meta.endpoint_url} does not support {operation}, which is needed for "
        f"{_PURPOSES.get(operation, 'this call')}{on_table}{message}"
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
"""The error codes that DynamoDB and compatible servers return for unsupported operations."""
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
    """Convert an error response, in the format of botocore, to a ServiceError."""
    error = response.get("Error", {})
    members = {name: value for name, value in response.items() if name not in _NO_MEMBERS}
    status = response.get("ResponseMetadata", {}).get("HTTPStatusCode", 400)
    return _error_class(str(error.get("Code")), int(status))(str(error.get("Message", "")), **members)


_NO_MEMBERS = frozenset({"Error", "ResponseMetadata", "message", "Message"})


@cache
def _error_class(code: str, status: int) -> type[ServiceError]:
    for error_class in ServiceError.__subclasses__():
        if error_class.code == code and error_class.__module__ == errors.__name__:
            return error_class
    # An unknown code keeps its name. The HTTP status decides whether the request is repeated.
    return type(code, (ServiceError,), {"code": code, "status": status})
