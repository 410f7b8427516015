"""The endpoint of the GraphQL library, adapted to the error format of this application."""

from __future__ import annotations

from typing import Any

import orjson
from cross_web import HTTPException
from fastapi.routing import APIWebSocketRoute
from starlette.requests import Request
from strawberry.fastapi import GraphQLRouter
from strawberry.http import GraphQLHTTPResponse
from strawberry.types import ExecutionResult

from keyplan_systems.venue_booking.api.context import Context
from keyplan_systems.web.problems import Problem
from keyplan_systems.web.request_context import with_unreadable


class Endpoint(GraphQLRouter[Context, None]):
    """GraphQL over HTTP POST. The schema has no subscriptions, so the library's WebSocket route is omitted."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.routes[:] = [route for route in self.routes if not isinstance(route, APIWebSocketRoute)]

    async def run(self, *args: Any, **options: Any) -> Any:
        """Execute a GraphQL request and return the response.

        Raises `Problem` for errors that the library would return as plain text.
        """
        try:
            return await super().run(*args, **options)
        except HTTPException as error:
            raise Problem(error.status_code, error.reason) from error

    async def process_result(self, request: Request, result: ExecutionResult) -> GraphQLHTTPResponse:
        """Return the response body. If unreadable items were omitted, `extensions` contains their number."""
        response = await super().process_result(request, result)
        omitted = with_unreadable({})
        if omitted:
            response["extensions"] = {**(response.get("extensions") or {}), **omitted}
        return response

    def decode_json(self, data: str | bytes) -> object:
        """Return the parsed request body.

        Raises `Problem` if the body is not a JSON object or if `operationName` is not a string. The library does not
        check this.
        """
        try:
            body = orjson.loads(data)
        except orjson.JSONDecodeError as error:
            raise Problem(400, "The body is not valid JSON.", code="malformed") from error
        if not isinstance(body, dict):
            raise Problem(400, "A GraphQL request is a JSON object with a query.")
        if not isinstance(body.get("operationName"), str | None):
            raise Problem(400, "The name of an operation must be a string.")
        return body
