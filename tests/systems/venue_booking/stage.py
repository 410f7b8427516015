"""Venue booking on a real socket, with users who have tokens, for tests and audits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import httpx
from tests.systems import served_engine
from tests.systems.app_clients import AppClients, passing_check
from tests.systems.served_engine import ServedEngine
from tests.systems.venue_booking.samples import REQUEST, VENUE

from keyplan.client.connection import Connection
from keyplan.clock import Clock
from keyplan.engine.engine import Engine
from keyplan_systems.venue_booking.api.application import application
from keyplan_systems.venue_booking.domain.users import ADMINISTRATORS
from keyplan_systems.venue_booking.domain.venue import Venue
from keyplan_systems.venue_booking.entities import venue
from keyplan_systems.venue_booking.service import Service
from keyplan_systems.web.development import development_key

AUDIENCE = "venue"
TABLE = "venue-booking"


class Refused(Exception):  # noqa: N818 - a refusal that a caller receives, not a fault
    """GraphQL errors, represented by their first one."""

    def __init__(self, errors: list[dict[str, Any]]) -> None:
        super().__init__(errors[0]["message"])
        self.errors = errors
        self.code: str = errors[0]["extensions"]["code"]
        self.details: dict[str, Any] = errors[0]["extensions"].get("details", {})


@dataclass(kw_only=True)
class Stage(AppClients):
    """Running system with its dependencies."""

    connection: Connection
    service: Service

    def person(self, subject: str, /, *roles: str, **claims: Any) -> Caller:
        """Return a client with a valid token."""
        result = {"email": f"{subject}@example.org", "name": subject.title(), **claims}
        return Caller(self.client(self.token(subject, *roles, **result)), subject)

    def admin(self, subject: str = "root") -> Caller:
        """Return an administrator's client."""
        return self.person(subject, ADMINISTRATORS)


@dataclass
class Caller:
    """Client of one user."""

    client: httpx.Client
    name: str

    def ask(self, query: str, **variables: Any) -> Any:
        """Return the data of a query. Raises Refused."""
        response = self.client.post("/graphql", json={"query": query, "variables": variables})
        assert response.status_code == 200, response.text
        body = response.json()
        if body.get("errors"):
            raise Refused(body["errors"])
        return body["data"]

    def request(self, **changes: Any) -> dict[str, Any]:
        """Create a booking of the sample request, with changes."""
        result = self.ask(
            "mutation ($input: BookingInput!) {"
            " requestBooking(input: $input) { id code status version date duration } }",
            input=booking_input(**changes),
        )
        booking: dict[str, Any] = result["requestBooking"]
        return booking

    def decide(self, action: str, booking_id: str, **values: Any) -> dict[str, Any]:
        """Approve, reject or cancel a booking."""
        query = (
            "mutation ($id: ID!, $version: Int, $reason: String) {"
            f" {action}Booking(id: $id, version: $version, reason: $reason) {{ id status version slots eventId }} }}"
        )
        result = self.ask(query, id=booking_id, **values)
        decided: dict[str, Any] = result[f"{action}Booking"]
        return decided

    def event(self, **changes: Any) -> dict[str, Any]:
        """Create an event as an administrator."""
        values = {"date": "2025-12-06", "duration": "FULL_DAY", "kind": "PUBLIC_EVENT", "title": "Market", **changes}
        result = self.ask(
            "mutation ($input: EventInput!) { createEvent(input: $input) { id date slots version title } }",
            input=values,
        )
        event: dict[str, Any] = result["createEvent"]
        return event


def booking_input(**changes: Any) -> dict[str, Any]:
    """Return the sample request in GraphQL form, with changes."""
    contact: Mapping[str, Any] = REQUEST["contact"]
    values = {**REQUEST, **changes}
    values["contact"] = {
        "fullName": contact["full_name"],
        "email": contact["email"],
        "phone": contact["phone"],
        **changes.get("contact", {}),
    }
    return values


def code_of(caller: Caller, query: str, **variables: Any) -> str:
    """Return the code of the error that a query is refused with."""
    try:
        caller.ask(query, **variables)
    except Refused as refused:
        return refused.code
    raise AssertionError(f"it was answered: {query}")


@contextmanager
def staged(connection: Connection, clock: Clock, folder: Path, rules: Venue | None = None) -> Iterator[Stage]:
    """Serve the API over a connection, on a real socket."""
    connection.create_tables(venue)
    service = Service.from_connection(connection, clock, rules or VENUE)
    stage = Stage(clock=clock, key=development_key(folder), audience=AUDIENCE, connection=connection, service=service)
    with stage.serve(application(service, stage.verifier, clock, {"table": passing_check})):
        yield stage


connected = partial(served_engine.connected, attempts=40)
"""Settings of a connection with many retries."""


def all_items(engine: Engine | ServedEngine) -> list[dict[str, Any]]:
    """Return all items of the table, in the service's form."""
    items: list[dict[str, Any]] = []
    request: dict[str, Any] = {"TableName": TABLE, "ConsistentRead": True}
    while True:
        response = served_engine.raw(engine, "Scan", request)
        items += response["Items"]
        if not response.get("LastEvaluatedKey"):
            return items
        request["ExclusiveStartKey"] = response["LastEvaluatedKey"]
