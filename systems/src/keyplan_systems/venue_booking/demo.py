"""The venue booking part of the demo, in which two users request the same date and only one request is approved."""

from __future__ import annotations

import random
from datetime import date, timedelta
from typing import Any

import httpx

from keyplan_systems.web.system import DemoStage, json_of
from keyplan_systems.web.tour import Actor, Tour

_DAYS = """query($first: Date!, $last: Date!) {
  availability(firstDate: $first, lastDate: $last) { date bookable durations } }"""
_REQUEST = "mutation($input: BookingInput!) { requestBooking(input: $input) { id code status version } }"
_APPROVE = "mutation($id: ID!) { approveBooking(id: $id) { id status } }"


def play(stage: DemoStage) -> None:
    """Run the venue booking part of the demo. Raises httpx.HTTPError if a request fails unexpectedly."""
    with (
        stage.client("ada", email="ada@example.org", name="Ada Rossi") as ada,
        stage.client("bruno", email="bruno@example.org", name="Bruno Conti") as bruno,
        stage.client("carla", roles=("administrators",), email="carla@example.org") as carla,
    ):
        day, duration = _free_day(ada)
        responses = [
            _data(client, _REQUEST, input=_booking_input(name, day, duration))
            for client, name in ((ada, "Ada"), (bruno, "Bruno"))
        ]
        bookings = [response["requestBooking"] for response in responses]
        stage.say(f"ada and bruno both request {day}, {duration}: no slot is reserved yet")
        approved_booking = _data(carla, _APPROVE, id=bookings[0]["id"])["approveBooking"]
        stage.say(f"carla, an administrator, approves ada's request: {approved_booking['status'].lower()}")
        response = _post(carla, _APPROVE, id=bookings[1]["id"])
        stage.say(f"bruno's request can no longer be approved: {response['errors'][0]['message']}")
        stage.link(f"bookings/{bookings[0]['id']}", "Ada Rossi")
        stage.link(f"inbox/{bookings[1]['id']}", "Carla Neri")
    feed = httpx.get(f"{stage.url}/calendar.ics", timeout=30).raise_for_status().text
    stage.say(f"the public calendar has {feed.count('BEGIN:VEVENT')} event(s), and no private names")
    stage.link(f"?day={day}")


def show(tour: Tour) -> None:
    """Run the venue booking part of the demo in a browser: two users request the same hours, and the administrator
    approves one of the requests.
    """
    ada = tour.open("ada")
    tour.say(ada, "Ada looks for a free day and requests it")
    for _ in range(random.randrange(2, 8)):  # noqa: S311 - a different month from earlier demos
        ada.click(ada.page.get_by_role("link", name="Next month"))
    ada.click(ada.page.locator("a[data-day].free").first)
    ada.click(ada.page.locator("#day a.button.block").last)
    path = ada.page.url.partition("/app/")[2]
    _request(tour, ada, "A birthday party with music")
    bruno = tour.open("bruno", f"app/{path}")
    tour.say(bruno, "Bruno requests the same hours: a request does not reserve them")
    _request(tour, bruno, "Rehearsal of the choir")
    carla = tour.open("carla", f"app/inbox/{ada.page.url.rpartition('/')[2]}")
    tour.say(carla, "Carla decides; she sees both requests and the emails that she would send")
    carla.click(carla.page.get_by_role("button", name="Approve"))
    carla.page.get_by_text("The email is on its way").wait_for()
    ada.page.reload()
    tour.say(ada, "Ada's booking is approved")
    carla.page.goto(f"{tour.url}/venue_booking/app/inbox/{bruno.page.url.rpartition('/')[2]}")
    tour.say(carla, "Bruno's request can no longer be approved")
    carla.see(carla.page.get_by_text("This request cannot be approved"))


def _request(tour: Tour, actor: Actor, occasion: str) -> None:
    page = actor.page
    actor.write(page.get_by_label("Occasion"), occasion)
    actor.write(page.get_by_label("Number of people"), "30")
    actor.write(page.get_by_label("Telephone"), "+39 333 1234567")
    page.get_by_label("Email address").fill(f"demo-{random.randrange(10**9)}@example.org")  # noqa: S311 - not a secret
    actor.click(page.get_by_label("I agree"))
    actor.click(page.get_by_role("button", name="Send the request"))
    page.wait_for_url("**/app/bookings/*")
    tour.say(actor, "The request is waiting for a decision")


def _free_day(client: httpx.Client) -> tuple[str, str]:
    """Return a bookable date and a duration that earlier runs of the demo are unlikely to have used."""
    first = date.fromisoformat(_first_date()) + timedelta(days=random.randrange(30, 300))  # noqa: S311 - not a secret
    last = first + timedelta(days=30)
    days = _data(client, _DAYS, first=first.isoformat(), last=last.isoformat())["availability"]
    free_day = next(day for day in days if day["bookable"] and day["durations"])
    return str(free_day["date"]), str(free_day["durations"][-1])


def _first_date() -> str:
    return date.today().isoformat()


def _booking_input(name: str, day: str, duration: str) -> dict[str, Any]:
    contact = {"fullName": f"{name} Demo", "email": f"demo-{name.lower()}@example.org", "phone": "+39 333 1234567"}
    fields = {
        "description": "A birthday party",
        "attendees": 30,
        "contact": contact,
        "consent": True,
        "language": "ENGLISH",
    }
    return {"date": day, "duration": duration, **fields}


def _post(client: httpx.Client, query: str, **variables: Any) -> dict[str, Any]:
    body: dict[str, Any] = json_of(client.post("/graphql", json={"query": query, "variables": variables}))
    return body


def _data(client: httpx.Client, query: str, **variables: Any) -> dict[str, Any]:
    body = _post(client, query, **variables)
    if body.get("errors"):
        raise httpx.HTTPError(f"refused: {body['errors']}")
    data: dict[str, Any] = body["data"]
    return data
