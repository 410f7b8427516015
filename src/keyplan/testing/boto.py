"""boto3 without sockets: an engine in the same process answers clients that are based on botocore.

    with answered_by(engine):
        boto3.resource("dynamodb", region_name="eu-west-1").Table("orders").get_item(Key={"id": "7"})

`answered_by` can also decorate a function, a coroutine function or a test class.

The engine answers every `dynamodb` and `dynamodbstreams` client, even if the client was created before. This includes
boto3's clients and resources with paginators, waiters, conditions and batch writers, and also PynamoDB, aiobotocore and
aioboto3. Calls to other services are not affected. `attach` does the same for a single client, until `detach` is
called.

Calls are intercepted in `BaseClient._make_api_call`, before they are serialized, signed or sent. No credentials are
needed, and a call costs little more than the engine's own work. Everything else works as in an unmodified client:
events, parameter validation, exceptions, and retries with the configured attempts and waits. To test faults without
waiting, create the client with `Config(retries={"total_max_attempts": 1})`.
"""

from __future__ import annotations

import asyncio
import copy
import functools
import inspect
import sys
import threading
import time
from collections.abc import Callable
from contextvars import ContextVar
from types import TracebackType
from typing import Any, TypeVar, cast

try:
    from botocore.client import BaseClient
except ModuleNotFoundError as missing:
    raise ImportError("botocore is required for keyplan.testing.boto: install keyplan[aws]") from missing

from keyplan.testing.classes import decorate_class
from keyplan.testing.exchange import exchange, run, run_async
from keyplan.testing.operation import EngineLike, Operation

ANSWERED_SERVICES = frozenset({"dynamodb", "dynamodbstreams"})
"""The botocore names of the services whose calls an engine answers."""

D = TypeVar("D", bound=Callable[..., Any])


def answered_by(engine: EngineLike) -> AnsweredBy:
    """Return an object that makes `engine` answer the calls of every DynamoDB client. It is a context manager and a
    decorator.

    It can decorate functions and test classes. Each test of a class starts with a copy of the engine (see
    `keyplan.testing.classes`). Blocks can be nested, and the engine of the innermost block answers. In a thread or task
    that has not entered a block itself, the engine of the block that was entered last answers.
    """
    return AnsweredBy(engine)


def attach(client: Any, engine: EngineLike) -> None:
    """Attach an engine to a client or boto3 resource. The engine answers its calls until `detach` is called.

    Raises ValueError for a client of another service.
    """
    client = _client_of(client)
    service = client.meta.service_model.service_name
    if service not in ANSWERED_SERVICES:
        raise ValueError(f"expected a client for {' or '.join(sorted(ANSWERED_SERVICES))}, got a client for {service}")
    answer = _answer_async if _is_asynchronous(client) else _answer
    client._make_api_call = functools.partial(answer, client, engine)


def detach(client: Any) -> None:
    """Undo `attach`, so that the client sends requests to its endpoint again.

    If the client was never attached, it is not changed.
    """
    vars(_client_of(client)).pop("_make_api_call", None)


class _AnsweredBlock:
    """A `with` block in which an engine answers the calls of DynamoDB clients.

    `outer` is the enclosing block in the same thread or task.
    """

    def __init__(self, engine: EngineLike, outer: _AnsweredBlock | None) -> None:
        self.engine = engine
        self.outer = outer
        self.is_active = True


# A task started inside a block copies its context and may outlive the block, so `_AnsweredBlock.is_active` is needed.
_current_block: ContextVar[_AnsweredBlock | None] = ContextVar("keyplan_answered_by", default=None)
_blocks: list[_AnsweredBlock] = []
_originals: dict[type, dict[str, Any]] = {}
_lock = threading.Lock()


class AnsweredBy:
    """The context manager and decorator that `answered_by` returns. It is reusable and reentrant."""

    def __init__(self, engine: EngineLike) -> None:
        self._engine = engine
        self._entered_blocks: list[_AnsweredBlock] = []

    def __enter__(self) -> EngineLike:
        block = _AnsweredBlock(self._engine, _current_block.get())
        _current_block.set(block)
        self._entered_blocks.append(block)
        with _lock:
            _blocks.append(block)
            _patch_classes()
        return self._engine

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        block = self._entered_blocks.pop()
        block.is_active = False
        if _current_block.get() is block:
            _current_block.set(block.outer)
        with _lock:
            _blocks.remove(block)
            if not _blocks:
                _restore_classes()

    def __call__(self, function_or_class: D) -> D:
        """Decorate a function, a coroutine function or a test class.

        The engine answers DynamoDB clients while the function or a test of the class runs.
        """
        if inspect.isclass(function_or_class):
            decorate_class(function_or_class, self._engine, AnsweredBy)
            return function_or_class
        if inspect.iscoroutinefunction(function_or_class):

            @functools.wraps(function_or_class)
            async def asynchronous(*args: Any, **kwargs: Any) -> Any:
                with AnsweredBy(self._engine):
                    return await function_or_class(*args, **kwargs)

            return cast("D", asynchronous)

        @functools.wraps(function_or_class)
        def blocking(*args: Any, **kwargs: Any) -> Any:
            with AnsweredBy(self._engine):
                return function_or_class(*args, **kwargs)

        return cast("D", blocking)


def _current_engine() -> EngineLike | None:
    block = _current_block.get()
    while block is not None and not block.is_active:
        block = block.outer
    if block is not None:
        return block.engine
    try:
        return _blocks[-1].engine
    except IndexError:  # another thread has just left the last block
        return None


def _answer(client: Any, engine: EngineLike, name: str, params: dict[str, Any]) -> Any:
    return run(exchange(_operation(client, name), client, engine, params, time.sleep))


async def _answer_async(client: Any, engine: EngineLike, name: str, params: dict[str, Any]) -> Any:
    # aiobotocore's endpoint knows whether asyncio or anyio runs it; older releases know only asyncio.
    sleep = getattr(client._endpoint, "_sleep", asyncio.sleep)
    return await run_async(exchange(_operation(client, name), client, engine, params, sleep))


def _operation(client: Any, name: str) -> Operation:
    """Return the compiled operation with the given name, which is cached in the client's service model."""
    model = client.meta.service_model
    operations = vars(model).setdefault("_keyplan_operations", {})
    operation: Operation | None = operations.get(name)
    if operation is None:
        operation = operations[name] = Operation(model, name)
    return operation


def _patch_classes() -> None:
    """Patch the client classes of botocore and aiobotocore that have been imported.

    aiobotocore may be imported inside a block, so this function is called again whenever a client is created.
    """
    if BaseClient not in _originals:
        _replace(BaseClient, "__init__", _constructor(BaseClient.__init__))
        _replace(BaseClient, "_make_api_call", _blocking(vars(BaseClient)["_make_api_call"]))
    aio = _aio_client_class()
    if aio is not None and aio not in _originals:
        _replace(aio, "_make_api_call", _asynchronous(vars(aio)["_make_api_call"]))


def _replace(patched_class: type, name: str, method: Any) -> None:
    _originals.setdefault(patched_class, {})[name] = (vars(patched_class)[name], method)
    setattr(patched_class, name, method)


def _restore_classes() -> None:
    """Restore the original methods of the client classes, except those that other code has patched since."""
    for patched_class, methods in _originals.items():
        for name, (original, replacement) in methods.items():
            if vars(patched_class)[name] is replacement:
                setattr(patched_class, name, original)
    _originals.clear()


def _constructor(original: Any) -> Any:
    @functools.wraps(original)
    def construct(self: Any, *args: Any, **kwargs: Any) -> None:
        with _lock:
            if _blocks:
                _patch_classes()
        original(self, *args, **kwargs)

    return construct


def _blocking(original: Any) -> Any:
    @functools.wraps(original)
    def _make_api_call(self: Any, operation_name: str, api_params: dict[str, Any]) -> Any:
        engine = _current_engine()
        if engine is None or self.meta.service_model.service_name not in ANSWERED_SERVICES:
            return original(self, operation_name, api_params)
        return _answer(self, engine, operation_name, api_params)

    return _make_api_call


def _asynchronous(original: Any) -> Any:
    @functools.wraps(original)
    async def _make_api_call(self: Any, operation_name: str, api_params: dict[str, Any]) -> Any:
        engine = _current_engine()
        if engine is None or self.meta.service_model.service_name not in ANSWERED_SERVICES:
            return await original(self, operation_name, api_params)
        return await _answer_async(self, engine, operation_name, api_params)

    return _make_api_call


def _aio_client_class() -> type | None:
    """Return aiobotocore's client class, or None if aiobotocore is not imported.

    It must be patched separately, because it overrides the patched method of botocore's client class.
    """
    module = sys.modules.get("aiobotocore.client")
    return None if module is None else getattr(module, "AioBaseClient", None)


def _is_asynchronous(client: Any) -> bool:
    aio = _aio_client_class()
    return aio is not None and isinstance(client, aio)


def _client_of(client_or_resource: Any) -> Any:
    """Return the client of a boto3 resource. Return a client unchanged."""
    if isinstance(client_or_resource, BaseClient):
        return client_or_resource
    return client_or_resource.meta.client


try:
    import boto3
except ModuleNotFoundError as missing:
    raise ImportError("boto3 is required for this: install keyplan[aws]") from missing

REGION = "us-east-1"


def make_client(service: str, engine: EngineLike) -> Any:
    """Return a boto3 client for `dynamodb` or `dynamodbstreams` whose calls the engine answers."""
    client = _copy_of(_client(service))
    attach(client, engine)
    return client


def make_resource(engine: EngineLike) -> Any:
    """Return a boto3 resource for DynamoDB whose calls the engine answers."""
    original = _resource()
    resource = copy.copy(original)
    resource.meta = copy.copy(original.meta)
    resource.meta.client = _copy_of(original.meta.client)
    attach(resource, engine)
    return resource


@functools.cache
def _session() -> boto3.Session:
    return boto3.Session(
        region_name=REGION,
        aws_access_key_id="keyplan",
        aws_secret_access_key="keyplan",  # noqa: S106  nothing is ever signed with it
    )


@functools.cache
def _client(service: str) -> Any:
    return _session().client(service)  # type: ignore[call-overload]


@functools.cache
def _resource() -> Any:
    return _session().resource("dynamodb")


def _copy_of(client: Any) -> Any:
    # Not copy.copy: it asks the new object for `__setstate__` before it has any attribute, and a client searches its
    # event handlers for missing attributes, which never ends.
    client_copy = object.__new__(type(client))
    vars(client_copy).update(vars(client))
    client_copy.meta = copy.copy(client.meta)
    client_copy.meta.events = copy.copy(client.meta.events)
    return client_copy
