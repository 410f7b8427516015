"""The API application: GraphQL at /graphql, the text of the GraphQL schema, the calendar feed, and health checks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Final

from fastapi import APIRouter, FastAPI, Header, Query
from fastapi.routing import APIRoute
from starlette.concurrency import run_in_threadpool
from starlette.responses import PlainTextResponse, Response

from keyplan.clock import Clock
from keyplan_systems.venue_booking.api.context import Context
from keyplan_systems.venue_booking.api.endpoint import Endpoint
from keyplan_systems.venue_booking.api.schema import make_schema
from keyplan_systems.venue_booking.calendar_feed import CONTENT_TYPE, Feed, calendar_feed
from keyplan_systems.venue_booking.domain.refusals import RefusalError
from keyplan_systems.venue_booking.domain.requests import Language
from keyplan_systems.venue_booking.service import Service
from keyplan_systems.web.application import add_routes, api_router, web_application
from keyplan_systems.web.authentication import Caller
from keyplan_systems.web.health import Check
from keyplan_systems.web.problems import Problem
from keyplan_systems.web.tokens import TokenVerifier

BODY_LIMIT_BYTES: Final = 64 * 1024
FEED_KEPT_S: Final = 300
"""Number of seconds for which clients may cache the calendar feed."""
_BODY: Final = {
    "required": True,
    "content": {
        "application/json": {
            "schema": {
                "type": "object",
                "required": ["query"],
                "properties": {
                    "query": {"type": "string"},
                    "variables": {"type": "object"},
                    "operationName": {"type": "string"},
                },
            },
            "example": {
                "query": "query ($a: Date!, $b: Date!)"
                " { availability(firstDate: $a, lastDate: $b) { date durations slots { name state } } }",
                "variables": {"a": "2025-11-01", "b": "2025-11-30"},
            },
        }
    },
}
"""OpenAPI description of the request body of the GraphQL route. The GraphQL library does not provide such a
description.
"""


def application(
    service: Service,
    verifier: TokenVerifier,
    clock: Clock,
    checks: Mapping[str, Check],
    domain: str = "localhost",
) -> FastAPI:
    """Return the API application for a service.

    `checks` contains the health checks by name. `domain` is part of the event IDs in the calendar feed.
    """
    app = web_application(
        "Venue booking",
        verifier=verifier,
        checks=checks,
        clock=clock,
        translations={RefusalError: _refusal_problem},
        body_limit_bytes=BODY_LIMIT_BYTES,
    )
    app.include_router(_graphql(service))
    add_routes(app, _calendar(service, domain))
    return app


def _refusal_problem(error: RefusalError) -> Problem:
    return Problem(422, error.message, code=error.code, details=dict(error.details))


def _graphql(service: Service) -> APIRouter:
    schema = make_schema()

    async def context(caller: Caller) -> Context:
        return Context(service, caller)

    router = Endpoint(
        schema, "/graphql", context_getter=context, graphql_ide=None, allow_queries_via_get=False, tags=["graphql"]
    )

    for route in router.routes:
        if isinstance(route, APIRoute) and "POST" in (route.methods or ()):
            route.openapi_extra = {"requestBody": _BODY}

    @router.get("/schema.graphql", response_class=PlainTextResponse, summary="The GraphQL schema as text")
    def text() -> str:
        return schema.as_str()

    return router


def _calendar(service: Service, domain: str) -> APIRouter:
    router = api_router(tags=["calendar"])

    @router.get(
        "/calendar.ics",
        summary="Public events and closures of the next twelve months, as an iCalendar feed",
        responses={200: {"content": {"text/calendar": {"example": "BEGIN:VCALENDAR\r\n..."}}}, 304: {}},
        response_class=Response,
    )
    async def feed(
        language: Annotated[Language, Query(examples=["it"])] = Language.ITALIAN,
        reserved: Annotated[bool, Query(description="Also show booked slots, without the names of the users.")] = False,
        if_none_match: Annotated[str | None, Header()] = None,
    ) -> Response:
        feed = await run_in_threadpool(_feed, service, domain, language, reserved)
        headers = {"ETag": feed.etag, "Cache-Control": f"public, max-age={FEED_KEPT_S}"}
        if if_none_match is not None and _is_among(feed.etag, if_none_match):
            return Response(status_code=304, headers=headers)
        return Response(feed.content, headers=headers, media_type=CONTENT_TYPE)

    return router


def _is_among(etag: str, header: str) -> bool:
    """Return True if the value of an If-None-Match header contains the entity tag.

    Weak tags in the header also match (RFC 9110, section 13.1.2).
    """
    return header.strip() == "*" or etag in {tag.strip().removeprefix("W/") for tag in header.split(",")}


def _feed(service: Service, domain: str, language: Language, show_reserved: bool) -> Feed:
    events = service.calendar.upcoming_events()
    return calendar_feed(service.base.venue, events, domain=domain, language=language, show_reserved=show_reserved)
