"""API calls of a botocore client that an engine answers. The events have the same order as in an unmodified client.

An unmodified client's `_make_api_call` emits events, serializes the request, signs and sends it, parses the response,
possibly retries, and finally returns or raises an exception. Here, an engine call replaces the steps from serialization
to parsing. Everything that other code can observe happens in the same order:

    provide-client-params     the resource layer copies the parameters
    before-parameter-build    conditions become expressions, values become attribute values, tokens
    (validation)              ParamValidationError wherever an unmodified client would raise it
    before-call               only if there are listeners; a stubber's answer is used
    engine.call
    needs-retry               after an error: the client's own retry handler decides, and the client waits as usual
    after-call                attribute values become Python values
    return, or the client's modeled exception is raised

No HTTP request is made, so `request-created`, `before-sign`, `before-send`, `response-received` and `before-parse` are
not emitted, and no credentials are needed.

`exchange` is a generator, so that blocking and asynchronous clients can share it. It yields functions. The driver calls
them (`run`), or calls and awaits them (`run_async`), and sends the results back.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Generator
from functools import partial
from typing import Any

from botocore.awsrequest import AWSResponse, prepare_request_dict
from botocore.hooks import first_non_none_response

from keyplan.testing.operation import EngineLike, Operation

Step = Callable[[], Any]
Parsed = dict[str, Any]
Steps = Generator[Step, Any, Parsed]


def exchange(
    operation: Operation,
    client: Any,
    engine: EngineLike,
    params: dict[str, Any],
    sleep: Callable[[float], Any],
) -> Steps:
    """Run an API call from the caller's parameters to the response or exception.

    `sleep` waits for a number of seconds between attempts.
    """
    events = client.meta.events
    context = operation.context(client)
    if operation.provide_params.has_active_handlers(events):
        response = yield partial(
            events.emit,
            operation.provide_params.name,
            params=params,
            model=operation.model,
            context=context,
        )
        params = first_non_none_response(response, default=params)
    if operation.before_build.has_active_handlers(events):
        yield partial(
            events.emit,
            operation.before_build.name,
            params=params,
            model=operation.model,
            context=context,
        )
    answer = None
    if operation.before_call.has_active_handlers(events):
        answer = yield from _emit_before_call(operation, client, params, context)
    if answer is None:
        answer = yield from _run_on_engine(operation, client, engine, params, context=context, sleep=sleep)
    http, parsed = answer
    if operation.after_call.has_active_handlers(events):
        http = http or _http_response(client, parsed)
        yield partial(
            events.emit,
            operation.after_call.name,
            http_response=http,
            parsed=parsed,
            model=operation.model,
            context=context,
        )
    if http is None or http.status_code < 300:
        return parsed
    code = context.get("error_code_override") or parsed.get("Error", {}).get("Code")
    raise client.exceptions.from_code(code)(parsed, operation.name)


def run(steps: Steps) -> Parsed:
    """Run the steps of an API call for a blocking client, and return the response."""
    result = None
    while True:
        try:
            step = steps.send(result)
        except StopIteration as end:
            response: Parsed = end.value
            return response
        result = step()


async def run_async(steps: Steps) -> Parsed:
    """Run the steps of an API call for an asynchronous client, and return the response."""
    result = None
    while True:
        try:
            step = steps.send(result)
        except StopIteration as end:
            response: Parsed = end.value
            return response
        result = await step()


def _emit_before_call(
    operation: Operation, client: Any, params: dict[str, Any], context: dict[str, Any]
) -> Generator[Step, Any, tuple[Any, Parsed] | None]:
    """Emit botocore's event before-call.

    If an event handler, such as botocore's Stubber, answers the request, return an HTTP response and the parsed
    response. Otherwise, return None.
    """
    request = client._serializer.serialize_to_request(params, operation.model)
    prepare_request_dict(request, endpoint_url=client.meta.endpoint_url, context=context)
    _, response = yield partial(
        client.meta.events.emit_until_response,
        operation.before_call.name,
        model=operation.model,
        params=request,
        request_signer=client._request_signer,
        context=context,
    )
    return response  # type: ignore[no-any-return]


def _run_on_engine(
    operation: Operation,
    client: Any,
    engine: EngineLike,
    params: dict[str, Any],
    *,
    context: dict[str, Any],
    sleep: Callable[[float], Any],
) -> Generator[Step, Any, tuple[Any, Parsed]]:
    """Run the call on the engine, and return the HTTP response and the parsed response.

    The HTTP response is None if the call succeeded, and has an empty body if the call failed. A failed attempt is
    repeated as often as the client's retry handler requests it.
    """
    attempts = 1
    while True:
        parsed = operation.answer(client, engine, params)
        parsed["ResponseMetadata"]["RetryAttempts"] = attempts - 1
        if "Error" not in parsed:
            return None, parsed
        http = _http_response(client, parsed)
        context["retries"] = {"attempt": attempts}
        retry_results = yield partial(
            client.meta.events.emit,
            operation.needs_retry,
            response=(http, parsed),
            endpoint=client._endpoint,
            operation=operation.model,
            attempts=attempts,
            caught_exception=None,
            request_dict={"context": context},
        )
        wait_s = first_non_none_response(retry_results)
        if wait_s is None or wait_s is False:
            return http, parsed
        yield partial(sleep, wait_s)
        attempts += 1


def _http_response(client: Any, parsed: Parsed) -> AWSResponse:
    """Return an HTTP response with an empty body, and with the status and headers of a parsed response, for event
    handlers that expect an HTTP response.
    """
    metadata = parsed["ResponseMetadata"]
    return AWSResponse(
        client.meta.endpoint_url,
        metadata["HTTPStatusCode"],
        metadata["HTTPHeaders"],
        _NoBody(),
    )


class _NoBody(io.BytesIO):
    """An empty response body that supports streaming, as in urllib3."""

    def stream(self) -> list[bytes]:
        """Return an empty list, because the body has no chunks."""
        return []
