"""Concurrent requests over real HTTP: one winner for each slot, decision and address, and a reason for the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import boto3
import pytest
from tests.sdk import ONCE
from tests.systems.served_engine import ServedEngine, served
from tests.systems.venue_booking.consistency import check, of_kind, text
from tests.systems.venue_booking.samples import NOW, VENUE
from tests.systems.venue_booking.stage import Caller, Refused, Stage, all_items, connected, staged

import keyplan
from keyplan.client.connection import Connection
from keyplan.client.requests import Retries
from keyplan.clock import ManualClock
from keyplan.engine.engine import Engine
from keyplan.engine.faults.settings import Faults
from keyplan.server.thread import ThreadedServer

APPROVALS = 50
DURATIONS = ("FULL_DAY", "HALF_DAY_MORNING", "HALF_DAY_AFTERNOON", "EVENING", "FULL_DAY")
FAULTS = Faults(
    seed=7, conflicts=0.1, internal_errors=0.05, gsi_lag=(0.0, 2.0), stale_reads=0.3, unprocessed=0.2, throttle=True
)


@contextmanager
def over_http(engine: Engine, clock: ManualClock) -> Iterator[Connection]:
    """Yield a connection through a server and boto3."""
    with ThreadedServer(engine) as server:
        client = boto3.client(
            "dynamodb",
            region_name="eu-south-1",
            endpoint_url=server.url,
            config=ONCE,
            aws_access_key_id="any",
            aws_secret_access_key="any",
        )
        retries = Retries(attempts=40, first_s=0.002, most_s=0.1)
        with keyplan.connect(client=client, clock=clock, retries=retries, cursor_key=b"tests") as connection:
            yield connection


@dataclass
class World:
    """System, and the location of its tables."""

    stage: Stage
    engine: Engine | ServedEngine
    clock: ManualClock

    def settled(self) -> int:
        """Let indexes catch up, and compare all items with each other; return the number of bookings."""
        self.clock.advance(60)
        all_items(self.engine)
        self.clock.advance(60)  # so that even a stale read does not return older index entries
        return check(self.engine)


@contextmanager
def faulty(folder: Path, faults: Faults, door: Callable[..., Any] = connected) -> Iterator[World]:
    """Yield the system on an engine with injected faults."""
    clock = ManualClock(NOW.timestamp())
    with (
        Engine.memory(clock=clock, ttl_sweep_s=None, faults=faults) as engine,
        door(engine, clock) as connection,
        staged(connection, clock, folder / "keys", VENUE) as stage,
    ):
        yield World(stage, engine, clock)


@contextmanager
def calm(folder: Path) -> Iterator[World]:
    """Yield the system on an engine without faults."""
    with faulty(folder, Faults()) as world:
        yield world


@contextmanager
def elsewhere(folder: Path) -> Iterator[World]:
    """Yield the system on a database that another process serves."""
    clock = ManualClock(NOW.timestamp())
    with (
        served(folder) as engine,
        connected(engine, clock) as connection,
        staged(connection, clock, folder / "keys", VENUE) as stage,
    ):
        yield World(stage, engine, clock)


WORLDS: dict[str, Callable[[Path], AbstractContextManager[World]]] = {
    "calm": calm,
    "served": elsewhere,
    "faults": lambda folder: faulty(folder, FAULTS),
    "faults_over_http": lambda folder: faulty(folder, FAULTS, over_http),
}


@pytest.fixture(params=WORLDS)
def world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[World]:
    """Yield each world."""
    with WORLDS[request.param](tmp_path) as world:
        yield world


def at_once(works: Sequence[Callable[[], Any]]) -> list[str]:
    """Return the outcome of each call: "won", or the code of its refusal. Calls refused with try_again are repeated."""

    def outcome(work: Callable[[], Any]) -> str:
        while True:
            try:
                work()
            except Refused as refused:
                if refused.code not in {"try_again", "unavailable"}:
                    return refused.code
            else:
                return "won"

    with ThreadPoolExecutor(len(works)) as pool:
        return list(pool.map(outcome, works))


def eager(work: Callable[[], Any], *passing: str) -> Any:
    """Return the result of a call, repeated after try_again and after other temporary refusals."""
    while True:
        try:
            return work()
        except Refused as refused:
            if refused.code not in {"try_again", "unavailable", *passing}:
                raise


def test_fifty_concurrent_approvals_have_one_winner_for_each_slot(world: World) -> None:
    people = [world.stage.person(f"user{number}") for number in range(5)]
    bookings = [
        eager(partial(people[number % 5].request, duration=DURATIONS[number * 3 % 5])) for number in range(APPROVALS)
    ]
    admins = [world.stage.admin(f"admin{number}") for number in range(10)]
    works = [partial(admins[number % 10].decide, "approve", pending["id"]) for number, pending in enumerate(bookings)]
    outcomes = at_once(works)
    assert world.settled() == APPROVALS
    slots = of_kind(all_items(world.engine), "EventSlot")
    assert sorted(text(slot, "timeSlot") for slot in slots) == ["AFTERNOON", "EVENING", "MORNING"]
    winners = {pending["id"] for pending, outcome in zip(bookings, outcomes, strict=True) if outcome == "won"}
    assert winners == {text(slot, "bookingId") for slot in slots}
    assert set(outcomes) == {"won", "slot_taken"}
    assert len(winners) in {1, 3}


def test_a_losing_approval_reports_the_reserved_slots(stage: Stage) -> None:
    ada, admin = stage.person("ada"), stage.admin()
    bookings = [ada.request() for _ in range(8)]
    result: list[dict[str, Any]] = []

    def approve(booking_id: str) -> None:
        try:
            admin.decide("approve", booking_id)
        except Refused as refused:
            result.append(refused.details)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(approve, [pending["id"] for pending in bookings]))
    assert result == [{"date": "2025-11-15", "slots": ["MORNING", "AFTERNOON", "EVENING"]}] * 7


def test_one_of_many_concurrent_decisions_on_one_booking_counts(world: World) -> None:
    ada, admin = world.stage.person("ada"), world.stage.admin()
    booking = eager(ada.request)
    works = [
        partial(who.decide, action, booking["id"], version=1)
        for _ in range(7)
        for who, action in ((admin, "approve"), (admin, "reject"), (ada, "cancel"))
    ]
    outcomes = Counter(at_once(works))
    assert outcomes["won"] == 1
    assert set(outcomes) <= {"won", "already_decided", "stale_version"}
    assert world.settled() == 1


def test_concurrent_events_closures_and_approvals_compete_for_the_same_slots(world: World) -> None:
    ada, admin = world.stage.person("ada"), world.stage.admin()
    bookings = [eager(lambda: ada.request(duration="EVENING")) for _ in range(8)]
    works: list[Callable[[], Any]] = [partial(admin.decide, "approve", pending["id"]) for pending in bookings]
    for kind in ("PUBLIC_EVENT", "CLOSURE"):
        works += [partial(admin.event, date="2025-11-15", kind=kind, duration="EVENING")] * 4
    assert Counter(at_once(works)) == {"won": 1, "slot_taken": 15}
    assert world.settled() == 8


def test_concurrent_bookings_and_cancellations_leave_a_consistent_table(world: World) -> None:
    people = [world.stage.person(f"user{number}") for number in range(4)]
    admin = world.stage.admin()

    def life(number: int) -> None:
        person = people[number % 4]
        # A user who holds a slot always releases it eventually.
        booking = eager(lambda: person.request(duration=DURATIONS[number % 5]), "slot_taken")
        for caller, action in ((admin, "approve"), (admin, "reject"), (person, "cancel")):
            at_once([partial(caller.decide, action, booking["id"])])

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(life, range(24)))
    assert world.settled() == 24
    assert of_kind(all_items(world.engine), "EventSlot") == []


CHANGE = "mutation ($input: ProfileInput!, $v: Int) { changeProfile(input: $input, version: $v) { email version } }"


def test_one_of_many_users_who_want_one_address_gets_it(world: World) -> None:
    people = [world.stage.person(f"user{number}") for number in range(12)]
    for person in people:
        eager(partial(person.ask, "{ me { id } }"))
    body = {"email": "Wanted@Example.org"}
    vouched = [world.stage.person(person.name, **body) for person in people]
    outcomes = at_once([partial(person.ask, CHANGE, input=body) for person in vouched])
    assert Counter(outcomes) == {"won": 1, "email_taken": 11}
    world.clock.advance(60)
    _check_addresses(world.engine, people)


def _check_addresses(engine: Engine | ServedEngine, people: list[Caller]) -> None:
    """Check that every address has one user and one guard, which belongs to that user."""
    items = all_items(engine)
    users = {text(item, "email"): text(item, "PK") for item in of_kind(items, "User")}
    assert len(users) == len(people)
    guards = [item for item in items if item["SK"]["S"] == "GUARD"]
    assert {item["PK"]["S"].removeprefix("EMAIL#") for item in guards} == set(users)
    assert len(guards) == len(people)


def test_an_address_passed_between_users_never_belongs_to_two(world: World) -> None:
    people = [world.stage.person(f"user{number}") for number in range(6)]
    for person in people:
        eager(partial(person.ask, "{ me { id } }"))

    def change(number: int) -> None:
        address = f"shared{number % 3}@example.org"
        person = world.stage.person(f"user{number % 6}", email=address)
        at_once([lambda: person.ask(CHANGE, input={"email": address})])

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(change, range(36)))
    world.clock.advance(60)
    _check_addresses(world.engine, people)


def test_concurrent_first_visits_with_one_address_create_one_user(stage: Stage, engine: Engine | ServedEngine) -> None:
    people = [stage.person(f"user{number}", email="Same@example.org") for number in range(10)]
    outcomes = Counter(at_once([partial(person.ask, "{ me { id } }") for person in people]))
    assert outcomes == {"won": 1, "email_taken": 9}
    assert len(of_kind(all_items(engine), "User")) == 1


def test_concurrent_first_visits_of_one_person_create_one_profile(stage: Stage, engine: Engine | ServedEngine) -> None:
    ada = stage.person("ada")
    assert set(at_once([lambda: ada.ask("{ me { id } }")] * 10)) == {"won"}
    assert len(of_kind(all_items(engine), "User")) == 1


def test_a_stale_profile_change_is_rejected(stage: Stage) -> None:
    ada = stage.person("ada")
    ada.ask("{ me { id } }")
    works = [lambda number=number: ada.ask(CHANGE, input={"name": f"Ada {number}"}, v=1) for number in range(8)]
    assert Counter(at_once(works)) == {"won": 1, "stale_version": 7}
