"""Operations in botocore's service model.

They convert requests to the form that the engine accepts, and the engine's responses to the form that botocore returns.
"""

from __future__ import annotations

import itertools
import json
from functools import cached_property
from typing import Any, Protocol

from botocore import handlers
from botocore.discovery import block_endpoint_discovery_required_operations
from botocore.model import ServiceModel

from keyplan.errors import SerializationError, ServiceError, ValidationError
from keyplan.testing.shapes import Reader, blob_reader, request_check, time_reader

# Handlers that botocore registers for every client and that do nothing for DynamoDB and streams, so
# an event that only they listen to is not emitted. Not every release has them all.
_IDLE_HANDLERS = frozenset(
    {
        block_endpoint_discovery_required_operations,
        handlers.__dict__.get("_handle_request_validation_mode_member"),
        handlers.__dict__.get("add_recursion_detection_header"),
        handlers.__dict__.get("inject_api_version_header_if_needed"),
    }
)
_TOKEN_HANDLER = handlers.generate_idempotent_uuid

_request_numbers = itertools.count(1)


class EngineLike(Protocol):
    """The interface of an object that answers requests: an engine, or a replacement for an engine."""

    def call(self, operation: str, request: dict[str, Any], /) -> dict[str, Any]:
        """Return the response to a request, with binary values as bytes. Raises ServiceError for an error response."""


class Event:
    """A botocore event of an operation. It is emitted only if a registered handler might have an effect."""

    def __init__(self, name: str, idle_handlers: frozenset[Any]) -> None:
        self.name = name
        self._idle = idle_handlers
        self._last: tuple[Any, bool] = (None, False)

    def has_active_handlers(self, emitter: Any) -> bool:
        """Return True if a registered handler might have an effect. Handlers that are known to do nothing are ignored.

        botocore caches the handlers of an event name in a list, and replaces the list when a handler is registered.
        Therefore, the result is cached as long as this list is the same object.
        """
        inner_emitter = getattr(emitter, "_emitter", emitter)
        handlers = inner_emitter._lookup_cache.get(self.name)
        if handlers is None:
            handlers = inner_emitter._handlers.prefix_search(self.name)
            inner_emitter._lookup_cache[self.name] = handlers
        last_handlers, has_active = self._last
        if handlers is not last_handlers:
            has_active = not self._idle.issuperset(handlers)
            self._last = (handlers, has_active)
        return has_active


class Operation:
    """An operation in a service model, compiled once for all clients and calls."""

    def __init__(self, service_model: ServiceModel, name: str) -> None:
        self.name = name
        # The type stubs of botocore are wrong about `shape_for_error_code`.
        self.service_model: Any = service_model
        self.model = service_model.operation_model(name)
        self._is_valid = request_check(self.model.input_shape)
        self._read_times = time_reader(self.model.output_shape)
        idle_handlers = _IDLE_HANDLERS
        if not self.model.idempotent_members:
            idle_handlers |= {_TOKEN_HANDLER}
        event_suffix = f"{service_model.service_id.hyphenize()}.{name}"
        self.provide_params = Event(f"provide-client-params.{event_suffix}", idle_handlers)
        self.before_build = Event(f"before-parameter-build.{event_suffix}", idle_handlers)
        self.before_call = Event(f"before-call.{event_suffix}", idle_handlers)
        self.after_call = Event(f"after-call.{event_suffix}", idle_handlers)
        self.needs_retry = f"needs-retry.{event_suffix}"

    def context(self, client: Any) -> dict[str, Any]:
        """Return the request context that botocore passes to event handlers."""
        return {
            "client_region": client.meta.region_name,
            "client_config": client.meta.config,
            "has_streaming_input": False,
            "auth_type": self.model.resolved_auth_type,
            "unsigned_payload": self.model.unsigned_payload,
            "auth_options": self.service_model.metadata.get("auth"),
        }

    def answer(self, client: Any, engine: EngineLike, params: dict[str, Any]) -> dict[str, Any]:
        """Return the engine's response or error in the format of botocore's parser.

        Raises ParamValidationError if an unmodified client would raise it. A request that is not obviously valid is
        validated before the engine runs it. Other requests are validated only if the engine rejects them as invalid.
        """
        is_valid = self._is_valid(params)
        try:
            return self._success(engine.call(self.name, params if is_valid else self._serialized(client, params)))
        except (ValidationError, SerializationError) as error:
            if not is_valid:
                return self._failure(error)
        except ServiceError as error:
            return self._failure(error)
        # The attribute values may be invalid for botocore, or sent by it in another form.
        try:
            return self._success(engine.call(self.name, self._serialized(client, params)))
        except ServiceError as error:
            return self._failure(error)

    def _serialized(self, client: Any, params: dict[str, Any]) -> dict[str, Any]:
        """Return a request in the form in which botocore would send it, but with binary values as bytes."""
        body = client._serializer.serialize_to_request(params, self.model)["body"]
        request: dict[str, Any] = json.loads(body)
        return request if self._read_blobs is None else self._read_blobs(request)

    @cached_property
    def _read_blobs(self) -> Reader | None:
        return blob_reader(self.model.input_shape)

    def _success(self, response: dict[str, Any]) -> dict[str, Any]:
        if self._read_times is not None:
            response = self._read_times(response)
        return {**response, "ResponseMetadata": _metadata(200)}

    def _failure(self, error: ServiceError) -> dict[str, Any]:
        """Convert an error to a parsed error response, including the members that the service model defines for the
        error.
        """
        shape = self.service_model.shape_for_error_code(error.code)
        members = dict(error.members)
        if error.message:
            members |= {"message": error.message, "Message": error.message}
        modeled_names = {} if shape is None else shape.members
        return {
            "Error": {"Message": error.message, "Code": error.code},
            "ResponseMetadata": _metadata(error.status),
            **{name: members[name] for name in modeled_names if name in members},
        }


def _metadata(status: int) -> dict[str, Any]:
    """Return the ResponseMetadata of a response.

    Request IDs have DynamoDB's format of 52 uppercase letters and digits, and are numbered consecutively.
    """
    request_id = f"KEYPLAN{next(_request_numbers):045d}"
    return {
        "RequestId": request_id,
        "HTTPStatusCode": status,
        "HTTPHeaders": {
            "content-type": "application/x-amz-json-1.0",
            "x-amzn-requestid": request_id,
        },
        "RetryAttempts": 0,
    }
