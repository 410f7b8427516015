"""Venue booking's part of the demo: two users want one date, one gets it, the other sees the refusal."""

from __future__ import annotations

import random
from datetime import date, timedelta
from typing import Any

import httpx

from keyplan_systems.web.system import DemoStage, json_of

_DAYS = """query($first: Date!, $last: Date!) {
  availability(firstDate: $first, lastDate: $last) { date bookable durations } }"""
_REQUEST = "mutation($input: BookingInput!) { requestBooking(input: $input) { id code status version } }"
_APPROVE = "mutation($id: ID!) { approveBooking(id: $id) { id status } }"


def play(stage: DemoStage) -> None:
    """Play the part. Raises httpx.HTTPError for an unexpected refusal."""
    with (
        stage.client("demo-ada", email="demo-ada@example.org", name="Ada Rossi") as ada,
        stage.client("demo-bob", email="demo-bob@example.org", name="Bob Bianchi") as bob,
        stage.client("demo-warden", roles=("administrators",), email="demo-warden@example.org") as warden,
    ):
        day, duration = _free_day(ada)
        answers = [
            _data(client, _REQUEST, input=_wish(name, day, duration)) for client, name in ((ada, "Ada"), (bob, "Bob"))
        ]
        bookings = [answer["requestBooking"] for answer in answers]
        stage.say(f"ada and bob both ask for {day}, {duration}: nothing is taken yet")
        approved = _data(warden, _APPROVE, id=bookings[0]["id"])["approveBooking"]
        stage.say(f"the warden approves ada's: {approved['status'].lower()}")
        refused = _answer(warden, _APPROVE, id=bookings[1]["id"])
        stage.say(f"bob's cannot be approved any more: {refused['errors'][0]['message']}")
    feed = httpx.get(f"{stage.url}/calendar.ics", timeout=30).raise_for_status().text
    stage.say(f"the public calendar has {feed.count('BEGIN:VEVENT')} event(s), and no private names")


def _free_day(client: httpx.Client) -> tuple[str, str]:
    """Return a bookable date and a duration, unlikely to be used by earlier demos."""
    first = date.fromisoformat(_first_date()) + timedelta(days=random.randrange(30, 300))  # noqa: S311 - no secret
    last = first + timedelta(days=30)
    days = _data(client, _DAYS, first=first.isoformat(), last=last.isoformat())["availability"]
    free = next(day for day in days if day["bookable"] and day["durations"])
    return str(free["date"]), str(free["durations"][-1])


def _first_date() -> str:
    return date.today().isoformat()


def _wish(name: str, day: str, duration: str) -> dict[str, Any]:
    contact = {"fullName": f"{name} Demo", "email": f"demo-{name.lower()}@example.org", "phone": "+39 333 1234567"}
    wish = {
        "description": "A birthday party",
        "attendees": 30,
        "contact": contact,
        "consent": True,
        "language": "ENGLISH",
    }
    return {"date": day, "duration": duration, **wish}


def _answer(client: httpx.Client, query: str, **variables: Any) -> dict[str, Any]:
    answer: dict[str, Any] = json_of(client.post("/graphql", json={"query": query, "variables": variables}))
    return answer


def _data(client: httpx.Client, query: str, **variables: Any) -> dict[str, Any]:
    answer = _answer(client, query, **variables)
    if answer.get("errors"):
        raise httpx.HTTPError(f"refused: {answer['errors']}")
    data: dict[str, Any] = answer["data"]
    return data
