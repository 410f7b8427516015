"""An implementation of the DynamoDB JSON protocol. It turns HTTP requests into HTTP responses and uses no sockets.

`answer` does everything in one step. Servers that let several requests share a commit use three steps: `read` runs all
checks that do not need the engine and returns a `ProtocolCall` or a `Response`, `run` calls the engine, and
`render` converts the result to a response. No step raises an exception. Every error becomes a response in DynamoDB's
format. An unexpected exception is logged with its traceback and becomes an InternalServerError.

The checks have the same order as in the service: method, path and content type, JSON, target, signature, and operation.
If the Host and Origin headers are checked, this happens first (see `hosts`).

Source: responses of the service that public test suites recorded. The responses for other paths and for headers over 16
KB are from ScyllaDB's pull request 23442 and issue 23438, whose tests also run against AWS.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, NamedTuple, Protocol

import orjson

from keyplan.clock import SystemClock
from keyplan.dynamodb.messages import protocol as texts
from keyplan.dynamodb.messages.requests import UNEXPECTED_VALUE, unrecognized_collection
from keyplan.engine.commands import UNSUPPORTED, raise_unsupported
from keyplan.errors import (
    AccessDeniedError,
    EngineClosedError,
    InternalServerError,
    SerializationError,
    ServiceError,
    ServiceUnavailableError,
    StorageError,
)
from keyplan.limits import REQUEST_BYTES
from keyplan.server import compression
from keyplan.server.catalogue import CAPITAL_MESSAGE, SILENT_OPERATIONS, TABLES_PREFIX, prefix_of
from keyplan.server.hosts import LocalHosts
from keyplan.server.sigv4 import FormatChecker, SignatureChecker
from keyplan.server.wire import JSON, JSON_1_0, TEXT, XML, Request, RequestIds, Response

logger = logging.getLogger("keyplan.server")

_CONTENT_TYPES = frozenset((JSON_1_0, JSON))
_ALLOW_ORIGIN = (b"Access-Control-Allow-Origin", b"*")
_EXPOSE = (
    b"Access-Control-Expose-Headers",
    b"x-amzn-RequestId,x-amzn-ErrorType,x-amzn-ErrorMessage,Date",
)
_MAX_AGE = (b"Access-Control-Max-Age", b"172800")
_UNSUPPORTED = {f"{TABLES_PREFIX}.{name}".encode(): name for name in UNSUPPORTED}
_ROOT_PATHS = frozenset({b"/", b""})
_HEALTH_PATHS = _ROOT_PATHS | {b"/ping"}
_DESCRIBE_ENDPOINTS = "DescribeEndpoints"
_ADAPTED_OPERATIONS = SILENT_OPERATIONS | {_DESCRIBE_ENDPOINTS}


class ServedEngine(Protocol):
    """The interface of an engine, as used by the servers."""

    region: str

    @property
    def operations(self) -> frozenset[str]:
        """The names of the operations that the engine supports."""

    def call_wire(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        """Run a request, given as parsed JSON, and return its response. Raises ServiceError if DynamoDB would return an
        error.
        """

    @property
    def waits_for_disk(self) -> bool:
        """Whether commits are written to disk before they are acknowledged."""

    def group(self) -> AbstractContextManager[Any]:
        """Return a context manager that groups writes. All writes in the `with` block are committed together at the end
        of the block.
        """


class ProtocolCall(NamedTuple):
    """A call to an operation. Its request has passed all checks that do not need the engine."""

    operation: str
    request: dict[str, Any]
    content_type: bytes
    headers: dict[bytes, bytes]


class DynamoDBProtocol:
    """The DynamoDB protocol for one engine.

    `signatures` checks the signatures of requests. By default, any access key is accepted. `hosts` checks the Host and
    Origin headers. By default, these headers are not checked.
    """

    def __init__(
        self, engine: ServedEngine, *, signatures: SignatureChecker | None = None, hosts: LocalHosts | None = None
    ) -> None:
        self.engine = engine
        self._hosts = hosts
        self._call: Callable[[str, dict[str, Any]], dict[str, Any]] = engine.call_wire
        self._signatures = signatures or FormatChecker()
        self._ids = RequestIds(SystemClock().random)
        self._region_host = f"dynamodb.{engine.region}.amazonaws.com"
        self._targets = {f"{prefix_of(name)}.{name}".encode(): name for name in engine.operations}

    def answer(self, request: Request) -> Response:
        """Run a request and return the response."""
        return self.finish(self.read(request))

    def read(self, request: Request) -> ProtocolCall | Response:
        """Run all checks on a request that do not need the engine.

        Return a call to run, or the response if the request is invalid or does not call an operation.
        """
        headers, content_type = request.headers, JSON
        if self._hosts is not None and (reason := self._hosts.refusal(headers)) is not None:
            return self.forbidden(reason)
        try:
            if request.method != b"POST":
                return self._answer_non_post(request)
            if request.target != b"/" and request.path not in _ROOT_PATHS:
                return self._no_such_page(headers)
            media_type = headers.get(b"content-type", b"")
            if media_type not in _CONTENT_TYPES:
                media_type = _plain_type(media_type)
            if media_type in _CONTENT_TYPES:
                content_type = media_type
            elif request.body:
                return self._no_such_page(headers)
            return self._read_call(request, content_type)
        except compression.TooLargeError:
            return self.too_large(headers)
        except Exception as error:  # noqa: BLE001 - every exception becomes a response
            return self._error(self.failure(error), content_type, headers)

    def _read_call(self, request: Request, content_type: bytes) -> ProtocolCall:
        headers = request.headers
        body = request.body
        if b"content-encoding" in headers:
            body = compression.inflate(body, headers[b"content-encoding"], REQUEST_BYTES)
        parsed: Any = None
        if body:
            try:
                parsed = orjson.loads(body)
            except orjson.JSONDecodeError as error:
                raise SerializationError from error
        operation = self._operation(headers.get(b"x-amz-target", b""))
        self._signatures.check(request)
        if type(parsed) is not dict:
            raise _not_a_structure(parsed, operation)
        return ProtocolCall(operation, parsed, content_type, headers)

    def finish(self, job: ProtocolCall | Response) -> Response:
        """Return the response for `job`, a result of `read`. If `job` is a call, run the call first."""
        return self.render(job, self.run(job)) if isinstance(job, ProtocolCall) else job

    def run(self, call: ProtocolCall) -> dict[str, Any] | Exception:
        """Run a call to an operation. Return the engine's result, or the exception that the engine raised."""
        try:
            return self._call(call.operation, call.request)
        except Exception as error:  # noqa: BLE001 - every exception becomes a response
            return error

    def render(self, call: ProtocolCall, result: dict[str, Any] | Exception) -> Response:
        """Return the response for a call. `result` is the engine's result or the exception that the engine raised."""
        if isinstance(result, Exception):
            return self._error(self.failure(result), call.content_type, call.headers)
        if call.operation in _ADAPTED_OPERATIONS:
            if call.operation in SILENT_OPERATIONS:
                return self._response(200, b"", call.content_type, call.headers)
            result = self._with_server_address(result, call.headers)
        try:
            body = orjson.dumps(result)
        except Exception as error:  # noqa: BLE001 - every exception becomes a response
            return self._error(self.failure(error), call.content_type, call.headers)
        return self._response(200, body, call.content_type, call.headers)

    def failure(self, error: Exception) -> ServiceError:
        """Return the service error to send for an exception. Unexpected exceptions are logged."""
        if isinstance(error, ServiceError):
            return error
        if isinstance(error, EngineClosedError):
            return ServiceUnavailableError(texts.UNAVAILABLE)
        if isinstance(error, StorageError):
            logger.error("%s: %s", type(error).__name__, error)
            return InternalServerError(texts.storage_failed(str(error)))
        if isinstance(error, compression.BadEncodingError):
            return InternalServerError(texts.INTERNAL)  # the service returns 500
        logger.error("an operation failed unexpectedly", exc_info=error)
        return InternalServerError(texts.INTERNAL)

    def too_large(self, headers: dict[bytes, bytes]) -> Response:
        """Return the response for a body over 16 MB. It has status 413 and no Content-Length, as in DynamoDB."""
        return Response(413, b"", JSON, self._ids.next(), _cors(headers), unsized=True)

    def forbidden(self, reason: str) -> Response:
        """Return the response for a request whose Host or Origin header is not accepted. `reason` is the
        error message.
        """
        return Response(403, error_body(AccessDeniedError(reason)), JSON, self._ids.next())

    def malformed(self, status: int) -> Response:
        """Return the response for input that is not HTTP, arrives too slowly, or has headers that are too long."""
        body = b'{"__type":"com.amazon.coral.service#MalformedHttpRequestException"}'
        return Response(status, body, JSON, self._ids.next())

    def _operation(self, target: bytes) -> str:
        operation = self._targets.get(target)
        if operation is None:
            raise_unsupported(_UNSUPPORTED.get(target, ""))
        return operation

    def _host(self, headers: dict[bytes, bytes]) -> str:
        """Return the host and port from the Host header of a request, or DynamoDB's host name if the header
        is missing.
        """
        return headers[b"host"].decode("latin-1") if headers.get(b"host") else self._region_host

    def _with_server_address(self, result: dict[str, Any], headers: dict[bytes, bytes]) -> dict[str, Any]:
        """Return a copy of a DescribeEndpoints result that contains the address of this server.

        Clients that use endpoint discovery send all later requests to this address.
        """
        host = self._host(headers)
        return {**result, "Endpoints": [{**endpoint, "Address": host} for endpoint in result["Endpoints"]]}

    def _answer_non_post(self, request: Request) -> Response:
        """Return the response for a request with a method other than POST.

        Only health checks and CORS preflight requests are supported.
        """
        headers = request.headers
        if request.method in (b"GET", b"HEAD"):
            if request.path in _HEALTH_PATHS:
                healthy = texts.HEALTHY.format(host=self._host(headers)).encode("latin-1")
                return Response(200, healthy, TEXT, self._ids.next(), _cors(headers))
        elif request.method == b"OPTIONS" and b"origin" in headers:
            extra = (*_cors(headers), *_preflight(headers))
            return Response(200, b"", TEXT, self._ids.next(), extra)
        return self._no_such_page(headers)

    def _no_such_page(self, headers: dict[bytes, bytes]) -> Response:
        body = texts.NO_SUCH_PAGE.encode()
        return Response(404, body, XML, self._ids.next(), _cors(headers))

    def _error(self, error: ServiceError, content_type: bytes, headers: dict[bytes, bytes]) -> Response:
        try:
            body = error_body(error)
        except Exception:
            logger.exception("cannot encode the members of an error: %r", error)
            error = InternalServerError(texts.INTERNAL)
            body = error_body(error)
        return self._response(error.status, body, content_type, headers)

    def _response(self, status: int, body: bytes, content_type: bytes, headers: dict[bytes, bytes]) -> Response:
        extra: tuple[tuple[bytes, bytes], ...] = ()
        if len(body) >= compression.THRESHOLD_BYTES and b"accept-encoding" in headers:
            coding = compression.negotiate(headers[b"accept-encoding"])
            if coding is not None:
                body = compression.compress(body, coding)
                extra = ((b"Content-Encoding", coding),)
        if b"origin" in headers:
            extra += _cors(headers)
        return Response(status, body, content_type, self._ids.next(), extra)


def error_body(error: ServiceError) -> bytes:
    """Return the JSON body for an error, with its type, its members and, if it has one, its message."""
    members: dict[str, Any] = {"__type": error.wire_type, **error.members}
    if error.message:
        members["Message" if error.code in CAPITAL_MESSAGE else "message"] = error.message
    return orjson.dumps(members)


def _plain_type(content_type: bytes) -> bytes:
    return content_type.partition(b";")[0].strip().lower()


def _not_a_structure(parsed: Any, operation: str) -> SerializationError:
    if parsed is None:
        return SerializationError()
    if isinstance(parsed, list):
        input_type = f"class com.amazonaws.dynamodb.v20120810.{operation}Input"
        return SerializationError(unrecognized_collection(input_type))
    return SerializationError(UNEXPECTED_VALUE)


def _cors(headers: dict[bytes, bytes]) -> tuple[tuple[bytes, bytes], ...]:
    return (_ALLOW_ORIGIN, _EXPOSE) if b"origin" in headers else ()


def _preflight(headers: dict[bytes, bytes]) -> list[tuple[bytes, bytes]]:
    """Return the response headers for a CORS preflight request. They allow requests from every origin."""
    headers_out = [_MAX_AGE]
    if requested_headers := headers.get(b"access-control-request-headers"):
        headers_out.append((b"Access-Control-Allow-Headers", requested_headers))
    if method := headers.get(b"access-control-request-method"):
        headers_out.append((b"Access-Control-Allow-Methods", method))
    return headers_out
